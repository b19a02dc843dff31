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
  /** As `resolve`, several at once. */
  resolveAll(names: readonly string[]): Promise<(string | null)[]>;
  commit(sha: string): Promise<CommitObject | null>;
  /** The text of a file; null when the name stands for no file. */
  text(name: string): Promise<string | null>;
  /** How long each of these objects is; null for one that is not there. */
  sizes(shas: readonly string[]): Promise<(number | null)[]>;
  close(): Promise<void>;
}

/** `program` is `git cat-file --batch-command`. */
export function createReader(program: () => CompanionProgram): Reader {
  const git: Companion = createCompanion(program);

  /** What each of these names stands for; null for one that stands for nothing. */
  const headers = async (names: readonly string[]): Promise<(Header | null)[]> => {
    if (names.length === 0) return [];
    return git.ask(names.map((name) => `info ${name}\n`).join(''), ({ out }) => {
      if (!out.tail.endsWith('\n')) return null;
      const lines = out
        .all()
        .toString('utf8')
        .split(/(?<=\n)/);
      return lines.length < names.length ? null : lines.map(header);
    });
  };

  const contents = async (name: string): Promise<{ type: string; text: string } | null> => {
    const { found } = await git.ask(`contents ${name}\n`, ({ out }) => {
      if (!out.tail.endsWith('\n')) return null;
      const said = out.all();
      const end = said.indexOf('\n');
      const [, , type, size] = HEADER.exec(said.toString('latin1', 0, end + 1)) ?? [];
      if (type === undefined) return { found: null };
      const until = end + 1 + Number(size);
      return said.length <= until ? null : { found: { type, text: said.toString('utf8', end + 1, until) } };
    });
    return found;
  };

  return {
    resolve: async (name) => (isName(name) ? ((await headers([name]))[0]?.sha ?? null) : null),

    async resolveAll(names) {
      const found = await headers(names.filter(isName));
      return names.map((name) => (isName(name) ? (found.shift()?.sha ?? null) : null));
    },

    commit: async (sha) => {
      const found = /^[0-9a-f]{40,64}$/.test(sha) ? await contents(sha) : null;
      return found?.type === 'commit' ? parse(found.text) : null;
    },

    text: async (name) => {
      const found = isName(name) ? await contents(name) : null;
      return found?.type === 'blob' ? found.text : null;
    },

    sizes: async (shas) => (await headers(shas)).map((header) => header?.size ?? null),

    close: git.close,
  };
}

interface Header {
  sha: string;
  size: number;
}

function header(line: string): Header | null {
  const [, sha, , size] = HEADER.exec(line) ?? [];
  return sha === undefined ? null : { sha, size: Number(size) };
}

/** It goes into a line of its own. */
const isName = (name: string): boolean => name !== '' && !/[\n\0]/.test(name);

const HEADER = /^([0-9a-f]{40,64}) (\w+) (\d+)\n$/;

function parse(text: string): CommitObject {
  const end = text.indexOf('\n\n');
  const head = text.slice(0, end).split('\n');
  const values = (key: string): string[] =>
    head.filter((line) => line.startsWith(`${key} `)).map((line) => line.slice(key.length + 1));
  return { tree: values('tree')[0]!, parents: values('parent'), message: text.slice(end + 2) };
}
