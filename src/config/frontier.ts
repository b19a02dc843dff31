/**
 * `.forge/frontier.yaml` becomes a direction. It is advice, so a mistake in it stops nothing: the key that can't be used is
 * left out and told, and a file that is no YAML at all is left out whole.
 */
import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import { type Frontier, NO_FRONTIER } from '../core/direction/frontier.ts';
import type { ConfigProblem } from '../errors.ts';
import { BadFrontMatter, type FrontMatter, readFrontMatter } from '../front-matter.ts';
import { nearest } from './nearest.ts';

export interface ReadFrontier {
  frontier: Frontier;
  problems: ConfigProblem[];
}

const MOST_BYTES = 64 * 1024;

const text = z.string().trim().max(500);
const texts = z.union([text.min(1).transform((one) => [one]), z.array(text.min(1)).max(50)]);
const rejected = z.union([
  text.min(1).transform((approach) => ({ approach, why: null })),
  z.strictObject({ approach: text.min(1), why: text.nullish().transform((why) => why || null) }),
]);
const path = text
  .min(1)
  .refine(
    (one) => !one.startsWith('/') && !one.split('/').includes('..'),
    'must be a path from the top of the repository',
  );

const KEYS = {
  goal: text.transform((one) => one || null),
  current_problem: text.transform((one) => one || null),
  next_expansion: texts,
  rejected_approaches: z.array(rejected).max(50),
  hot_files: z.array(path).max(50),
};
type Key = keyof typeof KEYS;
type Values = { [K in Key]?: z.output<(typeof KEYS)[K]> };

/** For editors that check YAML by a JSON Schema. */
export const frontierSchema = z.strictObject(
  Object.fromEntries(Object.entries(KEYS).map(([key, type]) => [key, type.nullish()])),
);

export function readFrontier(source: string): ReadFrontier {
  if (Buffer.byteLength(source) > MOST_BYTES) return unread(1, `is larger than ${MOST_BYTES / 1024} KiB`);
  let matter: FrontMatter;
  try {
    matter = readFrontMatter(`---\n${source.replace(/^---\r?\n/, '\n')}\n---\n`);
  } catch (bad) {
    if (!(bad instanceof BadFrontMatter)) throw bad;
    const [first] = bad.problems;
    return bad.kind === 'not_a_map'
      ? unread(1, 'must be a map (goal: …)')
      : unread(Math.max(1, first!.line - 1), first!.text);
  }
  const problems: ConfigProblem[] = [];
  const values: { [K in Key]?: unknown } = {};
  for (const [key, value] of Object.entries(matter.values)) {
    const line = Math.max(1, matter.lineOf([key]) - 1);
    if (!isKey(key)) {
      const meant = nearest(key, Object.keys(KEYS));
      const hint = meant ? `Did you mean ${meant}?` : `Known: ${Object.keys(KEYS).join(', ')}.`;
      problems.push({ level: 'warning', line, key, text: `unknown key ${key}`, hint });
      continue;
    }
    // Written, and still to be filled in.
    if (value === null) continue;
    const parsed = KEYS[key].safeParse(value);
    if (parsed.success) values[key] = parsed.data;
    else problems.push(unusable(key, matter, parsed.error));
  }
  return { frontier: frontierOf(values as Values), problems };
}

const isKey = (key: string): key is Key => Object.hasOwn(KEYS, key);

const frontierOf = (values: Values): Frontier => ({
  goal: values.goal ?? null,
  currentProblem: values.current_problem ?? null,
  nextExpansion: values.next_expansion ?? [],
  rejected: values.rejected_approaches ?? [],
  hotFiles: values.hot_files ?? [],
});

const FORMS: Record<Key, string> = {
  goal: 'a text of at most 500 characters',
  current_problem: 'a text of at most 500 characters',
  next_expansion: 'a text or a list of at most 50 texts',
  rejected_approaches: 'a list of at most 50 texts, or of maps with approach and why',
  hot_files: 'a list of at most 50 paths from the top of the repository',
};

function unusable(key: Key, matter: FrontMatter, error: z.ZodError): ConfigProblem {
  const at = [key, ...pathOf(error.issues[0])] as (string | number)[];
  const line = Math.max(1, matter.lineOf(at) - 1);
  return { level: 'error', line, key, text: `${key} is left out: it must be ${FORMS[key]}`, hint: null };
}

/** Of a value that may have several forms, the place in the one that it came nearest to. */
function pathOf(issue: z.core.$ZodIssue | undefined): readonly PropertyKey[] {
  if (issue?.code !== 'invalid_union') return issue?.path ?? [];
  const inner = issue.errors.flat().map(pathOf);
  return [...issue.path, ...(inner.sort((a, b) => b.length - a.length)[0] ?? [])];
}

function unread(line: number, text: string): ReadFrontier {
  return { frontier: NO_FRONTIER, problems: [{ level: 'error', line, key: null, text, hint: null }] };
}

/** Reads the file again when it changed. One that is not there is no direction, and no mistake. */
export function openFrontier(path: string): () => Promise<ReadFrontier> {
  let seen: { version: string; read: ReadFrontier } | null = null;
  return async () => {
    const stats = await stat(path).catch(() => null);
    if (!stats?.isFile()) return { frontier: NO_FRONTIER, problems: [] };
    const version = `${stats.ino}:${stats.mtimeMs}:${stats.size}`;
    if (seen?.version !== version) {
      const read =
        stats.size > MOST_BYTES
          ? unread(1, `is larger than ${MOST_BYTES / 1024} KiB`)
          : await readFile(path, 'utf8').then(readFrontier, (problem: Error) =>
              unread(1, `can't be read: ${problem.message}`),
            );
      seen = { version, read };
    }
    return seen.read;
  };
}

export const frontierProblem = ({ line, text, hint }: ConfigProblem): string =>
  `.forge/frontier.yaml:${line}: ${text}${hint ? `. ${hint}` : ''}`;

/** For the loop, which reads on; what is wrong is told once. */
export function toldOnce(
  read: () => Promise<ReadFrontier>,
  warn: (message: string) => void,
): () => Promise<Frontier> {
  let told = '';
  return async () => {
    const { frontier, problems } = await read();
    const text = problems.map(frontierProblem).join('; ');
    if (text !== told && text !== '') warn(text);
    told = text;
    return frontier;
  };
}

/** What a new file says: nothing yet. */
export const FRONTIER_SCAFFOLD = `# Where this project is heading. The loop reads it before it takes up issues:
# among issues as urgent as each other, those about next_expansion go first and those about
# rejected_approaches last; coders are told all of it as background. Nothing is ever dropped.
# Check it with "forge-loop frontier check".

# What the project is to become, in a sentence.
goal:

# What hurts most now.
current_problem:

# What comes next, each in a few words: "session recovery".
next_expansion:

# What was tried and should not be tried again: a text, or approach and why.
rejected_approaches:

# Files and folders that many changes touch.
hot_files:
`;
