/**
 * Answers "what object does this name stand for?" and "what is in this commit?" from one git that stays open. Refs are
 * read afresh each time, so that what any other process has moved is seen; what a commit's id leads to never changes
 * and is asked once.
 */
import { type Companion, type CompanionProgram, createCompanion } from '../process/companion.ts';
import { looseRef } from './loose-ref.ts';

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

/** `program` is `git cat-file --batch-command`, `gitDir` the directory of the repository it reads. */
export function createReader(program: () => CompanionProgram, gitDir: string): Reader {
  const git: Companion = createCompanion(program);
  /** By id, or id and `^{…}`: only what was found. */
  const led = new Map<string, string>();

  const recall = (name: string): string | null => {
    const { start, peel } = parted(name);
    // Whether an object is there at all can change, and is what such a question is for.
    if (isId(start)) return peel === '' ? null : (led.get(name) ?? null);
    const id = looseRef(gitDir, start);
    return id === null ? null : (led.get(`${id}${peel}`) ?? null);
  };
  const remember = (name: string, found: string): void => {
    const { start, peel } = parted(name);
    if (led.size >= MOST) led.clear();
    if (isId(start)) led.set(name, found);
    else if (peel !== '^{tree}') for (const known of [found, `${found}${peel}`]) led.set(known, found);
  };

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

  const resolveAll = async (names: readonly string[]): Promise<(string | null)[]> => {
    const found = names.map((name) => (isName(name) ? recall(name) : null));
    const asked = names.flatMap((name, at) => (found[at] === null && isName(name) ? [at] : []));
    const answers = await headers(asked.map((at) => names[at]!));
    for (const [nth, at] of asked.entries()) {
      const sha = answers[nth]?.sha ?? null;
      if (sha !== null) remember(names[at]!, sha);
      found[at] = sha;
    }
    return found;
  };

  return {
    resolve: async (name) => (await resolveAll([name]))[0]!,

    resolveAll,

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

const MOST = 4000;

function parted(name: string): { start: string; peel: string } {
  const peel = /\^\{(?:commit|tree)\}$/.exec(name)?.[0] ?? '';
  return { start: name.slice(0, name.length - peel.length), peel };
}

/** A full id: it stands for one object for ever. */
export const isId = (text: string): boolean => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

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
