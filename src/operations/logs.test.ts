/** A transcript of any agent, from what its turns left. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { moved, openedRepository } from '../../test/support/opened-repository.ts';
import { painter, type Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { event } from '../core/event.ts';
import { logPathOf, transcriptPathOf } from '../loop/turn-files.ts';
import { perform } from '../operations.ts';

const here = openedRepository();
const CODER = { turn: 1, role: 'coder', sessionId: 'c', prompt: 'task' } as const;
const CRITIC = { turn: 1, role: 'critic', sessionId: 'k', prompt: 'critic' } as const;
const ENDED = { status: 'finished', code: null, message: '', retryAt: null, durationMs: 1 } as const;

beforeEach(async () => {
  await here.ready('One');
  const stored = await here.commit(
    await here.taskOf(1, 'aaaa0001'),
    moved('queued', 'dispatched'),
    moved('dispatched', 'running'),
    event('turn_started', CODER),
    event('turn_completed', { ...CODER, ...ENDED, usage: 'known' }),
    event('turn_started', CRITIC),
  );
  expect(stored.task.turn).toMatchObject({ role: 'critic' });
});

async function leave(
  path: typeof logPathOf,
  turn: typeof CODER | typeof CRITIC,
  text: string,
): Promise<string> {
  const file = path(await here.context.places(), 'aaaa0001', turn);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const told = (...lines: object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const logs = (input = {}) => perform(here.context, 'logs', { task: '1', ...input });

test('text, calls and their output, each turn under its heading', async () => {
  await leave(
    transcriptPathOf,
    CODER,
    told(
      { at: 1, kind: 'said', text: 'I will' },
      { at: 1, kind: 'said', text: 'I will look.' },
      { at: 2, kind: 'tool', tool: 'Bash', detail: 'npm test', call: 'c1' },
      { at: 3, kind: 'tool_over', call: 'c1', result: 'r', output: '3 passed\nin 2 s' },
      { at: 4, kind: 'refused', code: 'publish', tool: 'Bash', detail: 'git push', why: 'do not push' },
    ),
  );
  const found = await logs();
  expect(found.turns.map(({ role, status }) => [role, status])).toEqual([
    ['coder', 'finished'],
    ['critic', null],
  ]);
  expect(found.turns[0]!.entries.map(({ kind, tool, text }) => [kind, tool, text])).toEqual([
    ['said', null, 'I will look.'],
    ['tool', 'Bash', 'npm test'],
    ['output', null, '3 passed\nin 2 s'],
    ['refused', 'Bash', 'git push: do not push'],
  ]);
  const text = TEXT.logs(found, { paint: painter(false) } as Terminal).replace(/\d{4}-\S+ \S+/g, 'NOW');
  expect(text.split('\n')).toEqual([
    '== coder, turn 1 (task), NOW',
    'I will look.',
    '> Bash npm test',
    '  3 passed',
    '  in 2 s',
    '! refused Bash: git push: do not push',
    '-- finished after 0.0 s',
    '',
    '== critic, critic round 1 (critic), NOW',
    'Nothing of it is kept.',
  ]);
});

test('of a program that only prints, what it printed; while it runs, whole lines alone', async () => {
  const file = await leave(logPathOf, CRITIC, 'reading\nthin');
  const entries = async () => (await logs({ role: 'critic' })).turns[0]!.entries;
  expect(await entries()).toEqual([{ offset: 0, at: null, kind: 'output', tool: null, text: 'reading' }]);
  appendFileSync(file, 'king\n');
  expect((await entries()).map(({ offset, text }) => [offset, text])).toEqual([
    [0, 'reading'],
    [8, 'thinking'],
  ]);
  await leave(logPathOf, CODER, 'no line end');
  expect((await logs({ role: 'coder' })).turns[0]!.entries).toMatchObject([{ text: 'no line end' }]);
});

test('of many turns, the newest; a line that was cut off with its runner is left out', async () => {
  await leave(transcriptPathOf, CRITIC, `${told({ at: 1, kind: 'said', text: 'Hm.' })}{"at":2,"kind":"sa\n`);
  const { turns } = await logs({ last: 1 });
  expect(turns).toMatchObject([{ role: 'critic', entries: [{ text: 'Hm.' }] }]);
});

test('of one turn, and only what came after an entry that was seen', async () => {
  const file = await leave(
    transcriptPathOf,
    CODER,
    told({ at: 1, kind: 'said', text: 'I look.' }, { at: 2, kind: 'tool', tool: 'Bash', detail: 'ls' }),
  );
  await leave(transcriptPathOf, CRITIC, told({ at: 3, kind: 'said', text: 'Hm.' }));
  const one = { role: 'coder', turn: 1 } as const;
  const { turns } = await logs(one);
  expect(turns.map(({ role, entries }) => [role, entries.length])).toEqual([['coder', 2]]);
  const after = turns[0]!.entries.at(-1)!.offset;
  expect((await logs({ ...one, after })).turns).toMatchObject([{ role: 'coder', entries: [] }]);
  appendFileSync(file, told({ at: 4, kind: 'tool_over', call: 'c', result: 'r', output: 'slug.ts' }));
  const news = await logs({ ...one, after });
  expect(news.turns).toMatchObject([{ entries: [{ kind: 'output', text: 'slug.ts' }] }]);
  expect(news.turns[0]!.entries[0]!.offset).toBeGreaterThan(after);
  expect((await logs({ turn: 2 })).turns).toEqual([]);
});
