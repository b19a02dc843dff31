import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { moved, openedRepository } from '../../test/support/opened-repository.ts';
import { event } from '../core/event.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

test('the morning says what needs somebody with what settles it, what ended, and what waits', async () => {
  for (const title of ['Held', 'Merged', 'Given up', 'Waits']) await here.ready(title);
  const held = { reason: 'operator_pause', detail: 'by Eva', until: null } as const;
  await here.commit(
    await here.taskOf(1, 'aaaa0001'),
    moved('queued', 'dispatched'),
    event('hold_set', { ...held, reason: 'gate_could_not_run', detail: 'no npm' }),
  );
  await here.commit(
    await here.taskOf(2, 'aaaa0002'),
    event('merge_observed', { sha: 'c0ffee', by: 'loop' }),
    moved('queued', 'merged'),
  );
  await here.commit(await here.taskOf(3, 'aaaa0003'), moved('queued', 'abandoned', 'no_progress'));
  const seen = await perform(here.context, 'morning', { since: '1h' });
  expect(seen.needsYou).toMatchObject([
    {
      task: 'aaaa0001',
      name: '#1',
      title: 'Held',
      reason: 'gate_could_not_run',
      text: expect.stringContaining('no npm'),
    },
  ]);
  expect(seen.needsYou[0]!.choices[0]).toMatchObject({ operation: 'resume', settles: true });
  const results = seen.results.map(({ name, outcome, mergedSha }) => [name, outcome, mergedSha]);
  expect(results.sort()).toEqual([
    ['#2', 'merged', 'c0ffee'],
    ['#3', 'failure', null],
  ]);
  expect(seen.waiting.lines.map(({ name }) => name)).toContain('#4');
  expect(seen.trunk).toEqual({ branch: 'main', sha: here.git('rev-parse', 'main') });
  expect(seen.loop).toEqual([expect.stringContaining('no runner is running')]);
});

test('what ended before is not of this morning', async () => {
  await here.ready('One');
  await here.commit(await here.taskOf(1, 'aaaa0001'), moved('queued', 'abandoned', 'no_progress'));
  const later = new Date(Date.now() + 60_000).toISOString();
  expect((await perform(here.context, 'morning', { since: later })).results).toEqual([]);
});

test('what a paused loop needs is to be resumed', async () => {
  await perform(here.context, 'pause');
  const { needsYou } = await perform(here.context, 'morning');
  expect(needsYou).toMatchObject([{ task: null, choices: [{ operation: 'resume', input: {} }] }]);
});

test('ended tasks are listed the latest first, a page at a time, and found by words', async () => {
  for (const at of [1, 2, 3]) {
    await here.ready(`Task ${at} of three`);
    await here.commit(await here.taskOf(at, `aaaa000${at}`), moved('queued', 'abandoned', 'no_progress'));
  }
  const list = async (input: object) =>
    (await perform(here.context, 'task.list', { ended: true, ...input })).map(({ name }) => name);
  expect(await list({})).toHaveLength(3);
  const [first, second, third] = await list({});
  expect(await list({ limit: 2 })).toEqual([first, second]);
  expect(await list({ limit: 2, skip: 2 })).toEqual([third]);
  expect(await list({ search: 'THREE 2' })).toEqual(['#2']);
  expect(await list({ search: 'no_progress' })).toHaveLength(3);
});

test('a change is shown by file, of the head or of what landed', async () => {
  await here.ready('One');
  const baseSha = here.git('rev-parse', 'main');
  here.git('switch', '-qc', 'work');
  writeFileSync(`${here.root}/a "q" ü.txt`, 'one\ntwo\n');
  here.git('add', '--', 'a "q" ü.txt');
  here.git('commit', '-qm', 'work');
  const sha = here.git('rev-parse', 'HEAD');
  const stored = await here.taskOf(1, 'aaaa0001');
  expect(await perform(here.context, 'task.change', { task: '1' })).toMatchObject({ base: null, files: [] });
  const checkpoint = { head: { sha, tree: 't' }, baseSha, changed: true, empty: false };
  await here.commit(stored, event('checkpointed', checkpoint));
  const change = await perform(here.context, 'task.change', { task: '1' });
  expect(change.files).toEqual([{ path: 'a "q" ü.txt', from: null, kind: 'added', added: 2, removed: 0 }]);
  expect(change.patch).toBeNull();
  const { patch } = await perform(here.context, 'task.change', { task: '1', file: 'a "q" ü.txt' });
  expect(patch).toContain('+one\n+two');
  await expect(perform(here.context, 'task.change', { task: '1', file: 'b' })).rejects.toThrow(
    'does not change b',
  );
});

test('a log is read from its end, or from where one stopped; never half a letter, never another file', async () => {
  await here.ready('One');
  await here.taskOf(1, 'aaaa0001');
  const places = await here.context.places();
  const path = places.log('aaaa0001', 'coder-1-abcdef01.log');
  const text = Array.from({ length: 5000 }, (_, at) => `${at} ünd so weiter 🚀`).join('\n');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `\u001b[31m${text}\n`);
  const read = (input: object) => perform(here.context, 'task.log', { task: '1', ...input });
  const end = await read({});
  expect(end).toMatchObject({ log: 'coder-1-abcdef01.log', next: end.bytes });
  expect(end.text.endsWith('4999 ünd so weiter 🚀\n')).toBe(true);
  let all = '';
  for (let after = 0; after < end.bytes; ) {
    const piece = await read({ log: 'coder-1-abcdef01.log', after });
    expect(piece.next).toBeGreaterThan(after);
    all += piece.text;
    after = piece.next;
  }
  expect(all).toBe(`${text}\n`);
  await expect(read({ log: '../doing.json' })).rejects.toThrow('has no log');
});

test('of an agent that tells what it does, that is its log', async () => {
  await here.ready('One');
  await here.taskOf(1, 'aaaa0001');
  const places = await here.context.places();
  const leave = (name: string, at: number): void => {
    const path = places.log('aaaa0001', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${name}\n`);
    utimesSync(path, at, at);
  };
  leave('coder-1-abcdef01.transcript.jsonl', 1);
  leave('coder-1-abcdef01.log', 2);
  const read = () => perform(here.context, 'task.log', { task: '1' });
  expect(await read()).toMatchObject({ log: 'coder-1-abcdef01.transcript.jsonl' });
  leave('coder-1-abcdef01-gate-1.log', 3);
  expect(await read()).toMatchObject({ log: 'coder-1-abcdef01-gate-1.log' });
});

test('the timeline has every state, turn and gate with its times', async () => {
  await here.ready('One');
  const turn = { turn: 1, role: 'coder', sessionId: 'abcdef0123' } as const;
  const ended = {
    status: 'finished',
    code: null,
    message: '',
    retryAt: null,
    durationMs: 1,
    usage: 'known',
  } as const;
  const evidence = { tree: 't', outcome: 'fail', at: 1, results: [] } as const;
  await here.commit(
    await here.taskOf(1, 'aaaa0001'),
    moved('queued', 'dispatched'),
    moved('dispatched', 'running'),
    event('turn_started', { ...turn, prompt: 'task' }),
    event('turn_completed', { ...turn, ...ended }),
    event('gate_completed', { scope: 'work', evidence: { ...evidence, results: [] } }),
  );
  const { timeline } = await perform(here.context, 'task.show', { task: '1' });
  expect(timeline.states.map(({ state }) => state)).toEqual(['queued', 'dispatched', 'running']);
  expect(timeline.states.at(-1)!.to).toBeNull();
  expect(timeline.path).toEqual([
    { from: 'queued', to: 'dispatched', times: 1 },
    { from: 'dispatched', to: 'running', times: 1 },
  ]);
  expect(timeline.work).toMatchObject([
    { kind: 'turn', outcome: 'finished', logs: ['coder-1-abcdef01.prompt.md', 'coder-1-abcdef01.log'] },
    { kind: 'gate', what: 'gate', outcome: 'fail' },
  ]);
  const transcript = (await here.context.places()).log('aaaa0001', 'coder-1-abcdef01.transcript.jsonl');
  mkdirSync(dirname(transcript), { recursive: true });
  writeFileSync(transcript, '');
  const again = await perform(here.context, 'task.show', { task: '1' });
  expect(again.timeline.work[0]!.logs.at(-1)).toBe('coder-1-abcdef01.transcript.jsonl');
});
