/** What was tried and seen, kept as it happens, and the report that is made of it. */
import type { Made } from './hub.ts';

export type Verdict = 'ok' | 'wrong' | 'skipped';

interface Note {
  verdict: Verdict;
  what: string;
  /** What was seen; where something was skipped, GitHub's words. */
  seen: string;
  /** What to do, so that it is not skipped. */
  remedy?: string;
}

export interface Notes {
  ok(what: string, seen: string): void;
  wrong(what: string, seen: string): void;
  skipped(what: string, said: string, remedy: string): void;
  /** `ok` if it is as it should be. */
  expect(isSo: boolean, what: string, seen: string): void;
  /** What a program said, in full. */
  output(of: string, text: string): void;
  requests(of: string, made: readonly Made[]): void;
  has(verdict: Verdict): boolean;
  report(about: { repository: string; began: Date; ended: Date; left: readonly string[] }): string;
}

const SIGNS: Record<Verdict, string> = { ok: 'ok', wrong: '**wrong**', skipped: 'skipped' };

/** `say`: each note is also told at once. `secrets` are in nothing that is told or reported. */
export function openNotes(say: (line: string) => void, secrets: readonly string[]): Notes {
  const notes: Note[] = [];
  const outputs: { of: string; text: string }[] = [];
  const requests: { of: string; made: readonly Made[] }[] = [];
  const safe = (text: string): string =>
    secrets.reduce((told, secret) => told.replaceAll(secret, '(token)'), text);
  const add = (note: Note): void => {
    notes.push(note);
    say(safe(`${note.verdict.padEnd(8)} ${note.what}: ${note.seen}`));
    if (note.remedy) say(`         ${note.remedy}`);
  };
  const ok: Notes['ok'] = (what, seen) => add({ verdict: 'ok', what, seen });
  const wrong: Notes['wrong'] = (what, seen) => add({ verdict: 'wrong', what, seen });
  return {
    ok,
    wrong,
    skipped: (what, said, remedy) => add({ verdict: 'skipped', what, seen: said, remedy }),
    expect: (isSo, what, seen) => (isSo ? ok : wrong)(what, seen),
    output: (of, text) => void outputs.push({ of, text }),
    requests: (of, made) => void requests.push({ of, made }),
    has: (verdict) => notes.some((note) => note.verdict === verdict),
    report: ({ repository, began, ended, left }) =>
      safe(
        [
          `# forge-loop on ${repository}`,
          `${began.toISOString()} to ${ended.toISOString()}. ${summary(notes)}`,
          '## What was tried and seen',
          table(
            ['', 'what', 'seen'],
            notes.map(({ verdict, what, seen, remedy }) => [
              SIGNS[verdict],
              what,
              remedy ? `${seen} – ${remedy}` : seen,
            ]),
          ),
          '## Requests',
          table(['by', 'requests', 'unchanged (304)', 'writes', 'queries'], requests.map(counted)),
          '## What GitHub refused, in its own words',
          refusals(requests),
          '## What is left',
          left.length === 0
            ? 'The closed issues and pull requests, which GitHub does not delete, the labels, and the runs of Actions.'
            : left.map((line) => `- ${line.replace(/\s+/g, ' ')}`).join('\n'),
          ...outputs.flatMap(({ of, text }) => [`## ${of}`, `~~~\n${text.trimEnd()}\n~~~`]),
        ].join('\n\n'),
      ).concat('\n'),
  };
}

function summary(notes: readonly Note[]): string {
  const count = (verdict: Verdict): number => notes.filter((note) => note.verdict === verdict).length;
  return `${count('ok')} as it should be, ${count('wrong')} wrong, ${count('skipped')} skipped.`;
}

function counted({ of, made }: { of: string; made: readonly Made[] }): string[] {
  const queries = made.filter(({ path }) => path.endsWith('/graphql'));
  const writes = made.filter((one) => one.method !== 'GET' && !queries.includes(one));
  const unchanged = made.filter(({ status }) => status === 304);
  return [of, ...[made, unchanged, writes, queries].map(({ length }) => String(length))];
}

/** Each once, with how often. */
function refusals(requests: readonly { of: string; made: readonly Made[] }[]): string {
  const count = new Map<string, number>();
  for (const { of, made } of requests)
    for (const { method, path, status, said } of made) {
      if (said === null) continue;
      const where = path
        .replace(/\?.*$/, '')
        .replace(/[0-9a-f]{40}/g, 'SHA')
        .replace(/\/\d+(?=\/|$)/g, '/N');
      const row = JSON.stringify([of, `${method} ${where}`, String(status), said]);
      count.set(row, (count.get(row) ?? 0) + 1);
    }
  if (count.size === 0) return 'Nothing.';
  const rows = [...count].map(([row, times]) => [...(JSON.parse(row) as string[]), String(times)]);
  return table(['by', 'request', 'status', 'words', 'times'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
