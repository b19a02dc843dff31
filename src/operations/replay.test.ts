/** A task's story again, here and on another machine; and whether rows are what their events say. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { moved, openedRepository } from '../../test/support/opened-repository.ts';
import { event } from '../core/event.ts';
import { promptPathOf } from '../loop/turn-files.ts';
import { openContext } from '../main.ts';
import { perform } from '../operations.ts';

const here = openedRepository();
const TURN = { turn: 1, role: 'coder', sessionId: 's', prompt: 'task' } as const;
const SECRET = `ghp_${'a1B2'.repeat(9)}`;

/** A turn that changed a file: dispatched, asked, answered, saved. */
async function worked(): Promise<{ base: string; head: string }> {
  await here.ready('One');
  const base = here.git('rev-parse', 'HEAD');
  writeFileSync(join(here.root, 'greet.txt'), 'hello\n');
  here.git('add', 'greet.txt');
  here.git('commit', '-q', '-m', 'work');
  const head = here.git('rev-parse', 'HEAD');
  const tree = here.git('rev-parse', 'HEAD^{tree}');
  const ended = { status: 'finished', code: null, message: '', retryAt: null, durationMs: 1 } as const;
  const stored = await here.commit(
    await here.taskOf(1, 'aaaa0001'),
    moved('queued', 'dispatched'),
    event('workspace_ready', { path: '/w', baseSha: base }),
    moved('dispatched', 'running'),
    event('turn_started', TURN),
  );
  await here.commit(
    stored,
    event('turn_completed', { ...TURN, ...ended, usage: 'known' }),
    event('checkpointed', { head: { sha: head, tree }, baseSha: base, changed: true, empty: false }),
    moved('running', 'abandoned', 'no_progress'),
  );
  const path = promptPathOf(await here.context.places(), 'aaaa0001', TURN);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `Please greet. The key is ${SECRET}.`);
  return { base, head };
}

describe('replay', () => {
  test('tells each step: the state after it and what it changed', async () => {
    await worked();
    const { name, steps, at, differences } = await perform(here.context, 'replay', { task: '1' });
    expect([name, at, differences]).toEqual(['#1', null, []]);
    expect(steps.map(({ step, type, state }) => [step, type, state])).toEqual([
      [1, 'task_created', 'queued'],
      [2, 'worker_state_transition', 'dispatched'],
      [3, 'workspace_ready', 'dispatched'],
      [4, 'worker_state_transition', 'running'],
      [5, 'turn_started', 'running'],
      [6, 'turn_completed', 'running'],
      [7, 'checkpointed', 'running'],
      [8, 'worker_state_transition', 'abandoned'],
    ]);
    expect(steps[2]!.changed).toEqual(['workspace', 'baseSha']);
  });

  test('one step by its number, its event, or the last of a type: what was asked, what came of it, the diff then', async () => {
    const { base, head } = await worked();
    const at = async (at: string | number) => (await perform(here.context, 'replay', { task: '1', at })).at!;
    expect(await at(5)).toMatchObject({
      type: 'turn_started',
      asked: { role: 'coder', turn: 1, prompt: 'task', text: expect.stringContaining('Please greet.') },
      cameOf: { step: 6, type: 'turn_completed', data: { status: 'finished' } },
      diff: null,
    });
    const saved = await at('checkpointed');
    expect(saved).toMatchObject({ step: 7, asked: null, row: { headSha: head }, diff: { base, head } });
    expect(saved.diff!.patch).toContain('+hello');
    expect((await at(`e${saved.seq}`)).step).toBe(7);
    await expect(at(9)).rejects.toMatchObject({ hint: expect.stringContaining('1 to 8') });
  });

  test('says where commits or prompts are gone', async () => {
    const { head } = await worked();
    const gone = 'c'.repeat(40);
    const stored = (await (await here.context.writing()).task('aaaa0001'))!;
    const lost = { head: { sha: gone, tree: gone }, baseSha: head, changed: true, empty: false };
    await here.commit(stored, event('checkpointed', lost));
    const { at } = await perform(here.context, 'replay', { task: '1', at: 'checkpointed' });
    expect(at!.diff).toEqual({ base: head, head: gone, patch: null });
  });
});

describe('task export', () => {
  test('replays elsewhere as it does here, without the secrets', async () => {
    await worked();
    const exported = JSON.stringify(await perform(here.context, 'task.export', { task: '1' }));
    expect(exported).not.toContain(SECRET);
    const expected = await perform(here.context, 'replay', { task: '1', at: 7 });
    const elsewhere = join(here.root, 'elsewhere');
    mkdirSync(elsewhere);
    here.git('init', '-q', elsewhere);
    const other = await openContext(elsewhere);
    for (const [file, text] of [
      ['plain.json', exported],
      ['packed.json.gz', gzipSync(exported)],
    ] as const) {
      writeFileSync(join(elsewhere, file), text);
      const path = join(elsewhere, file);
      expect(await perform(other, 'replay.file', { file: path, at: 7 })).toEqual(expected);
      const { at } = await perform(other, 'replay.file', { file: path, at: 5 });
      expect(at!.asked!.text).toBe('Please greet. The key is [redacted].');
    }
    await other.close();
  });

  test.each([
    ['not JSON', 'x'],
    ['something else', '{"format":"forge-loop task 1"}'],
    ['another version', '{"format":"forge-loop task 2","events":[]}'],
  ])('%s is refused', async (_what, text) => {
    const file = join(here.root, 'x.json');
    writeFileSync(file, text);
    await expect(perform(here.context, 'replay.file', { file })).rejects.toThrow('is not a task that');
  });

  test('events that no task can have had are refused, in words', async () => {
    await worked();
    const exported = await perform(here.context, 'task.export', { task: '1' });
    const file = join(here.root, 'x.json');
    writeFileSync(file, JSON.stringify({ ...exported, events: exported.events.slice(2) }));
    await expect(perform(here.context, 'replay.file', { file })).rejects.toThrow("can't be replayed");
  });
});

describe('replay --verify', () => {
  test('finds every row as its events say', async () => {
    await worked();
    await here.ready('Two');
    await here.taskOf(2, 'bbbb0002');
    const verified = await perform(here.context, 'replay.verify');
    expect(verified).toMatchObject({ rows: { tasks: 2, turns: 1, plans: 0, loop: 1 }, differences: [] });
    expect(await perform(here.context, 'replay.verify', { task: '2' })).toMatchObject({
      rows: { tasks: 1, turns: 0, plans: 0, loop: 0 },
      differences: [],
    });
  });

  test('names the row and the field where they differ', async () => {
    await worked();
    const { default: Database } = await import('libsql');
    const database = new Database(here.context.databasePath);
    database.exec(`UPDATE tasks SET data = json_set(data, '$.turns', 7, '$.roles.coder.session', 'x')`);
    database.exec(`UPDATE turns SET status = 'failed'`);
    database.close();
    await here.reopen();
    const { differences } = await perform(here.context, 'replay.verify');
    expect(differences).toEqual([
      { row: 'task aaaa0001', field: 'turns', stored: 7, folded: 1 },
      { row: 'task aaaa0001', field: 'roles.coder.session', stored: 'x', folded: 's' },
      { row: 'turns of aaaa0001', field: '0.status', stored: 'failed', folded: 'finished' },
    ]);
    expect((await perform(here.context, 'replay', { task: '1' })).differences).toHaveLength(2);
  });
});
