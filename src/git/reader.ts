/**
 * Answers "what object does this name stand for?" and "what is in this commit?" from one git that stays open. It reads
 * refs afresh each time, so it sees what any other process has moved.
 */
import { type Companion, type CompanionProgram, createCompanion } from '../process/companion.ts';

export interface CommitObject {
  tree: string;
  parents: string[];
  message: string;
}

export interface Reader {
  resolve(name: string): Promise<string | null>;
  commit(sha: string): Promise<CommitObject | null>;
  /** How long each of these objects is; null for one that is not there. */
  sizes(shas: readonly string[]): Promise<(number | null)[]>;
  close(): Promise<void>;
}

/** `program` is `git cat-file --batch-command`. */
export function createReader(program: () => CompanionProgram): Reader {
  const git: Companion = createCompanion(program);
  return {
    async resolve(name) {
      if (name === '' || /[\n\0]/.test(name)) return null;
      return git
        .ask(`info ${name}\n`, ({ out }) => {
          if (!out.tail.endsWith('\n')) return null;
          return { sha: HEADER.exec(out.all().toString('utf8'))?.[1] ?? null };
        })
        .then(({ sha }) => sha);
    },

    async commit(sha) {
      if (!/^[0-9a-f]{40,64}$/.test(sha)) return null;
      return git
        .ask(`contents ${sha}\n`, ({ out }) => {
          if (!out.tail.endsWith('\n')) return null;
          const said = out.all();
          const end = said.indexOf('\n');
          const header = HEADER.exec(said.toString('latin1', 0, end + 1));
          if (!header) return { commit: null };
          const until = end + 1 + Number(header[3]);
          if (said.length <= until) return null;
          return { commit: header[2] === 'commit' ? parse(said.toString('utf8', end + 1, until)) : null };
        })
        .then(({ commit }) => commit);
    },

    async sizes(shas) {
      if (shas.length === 0) return [];
      return git.ask(shas.map((sha) => `info ${sha}\n`).join(''), ({ out }) => {
        if (!out.tail.endsWith('\n')) return null;
        const lines = out
          .all()
          .toString('utf8')
          .split(/(?<=\n)/);
        if (lines.length < shas.length) return null;
        return lines.map((line) => {
          const size = HEADER.exec(line)?.[3];
          return size === undefined ? null : Number(size);
        });
      });
    },

    close: git.close,
  };
}

const HEADER = /^([0-9a-f]{40,64}) (\w+) (\d+)\n$/;

function parse(text: string): CommitObject {
  const end = text.indexOf('\n\n');
  const head = text.slice(0, end).split('\n');
  const values = (key: string): string[] =>
    head.filter((line) => line.startsWith(`${key} `)).map((line) => line.slice(key.length + 1));
  return { tree: values('tree')[0]!, parents: values('parent'), message: text.slice(end + 2) };
}
