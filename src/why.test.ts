/** What `why` says, on a real repository and database. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../test/support/opened-repository.ts';
import { APPROVE, Play } from '../test/support/play.ts';
import { statusText } from './cli/status.ts';
import { painter, type Terminal } from './cli/terminal.ts';
import type { Action } from './core/action.ts';
import { event } from './core/event.ts';
import { UsageError } from './errors.ts';
import { perform } from './operations.ts';
import { taskLease } from './store/store.ts';

const here = openedRepository();

/** Its task is approved, and waits for its place in line or is about to land. */
async function approved(issue: number, mergeFree: boolean): Promise<void> {
  const play = new Play();
  play.policy = (await here.context.settings()).settings.policy;
  Object.assign(play.world, { mergeFree, issue: await (await here.context.forge()).issue(issue) });
  play.claim(issue).worked('c1').critic(APPROVE);
  if (mergeFree) play.candidate().gate('pass');
  const [, ...events] = play.events;
  await here.commit(await here.taskOf(issue, `aaaa000${issue}`), ...events);
}

describe('why', () => {
  const lines = async () =>
    Object.fromEntries((await perform(here.context, 'why')).issues.map((one) => [one.issue, one.why]));

  test('every open issue has its line (dispatch 11)', async () => {
    await here.ready('Eligible');
    await perform(here.context, 'issue.new', { title: 'Not ready', body: 'x' });
    await here.ready('In hand');
    await perform(here.context, 'issue.new', {
      title: 'Blocked',
      body: 'prints "ok"',
      blockedBy: [1],
      ready: true,
    });
    await perform(here.context, 'issue.new', { title: 'Make it nicer', body: 'and prettier', ready: true });
    await here.taskOf(3, 'aaaa0001');
    expect(await lines()).toEqual({
      1: 'ready: starts when a slot is free',
      2: 'not labelled loop:ready — `forge-loop issue ready 2`',
      3: expect.stringMatching(/^queued: /),
      4: 'blocked by the open issue #1',
      5: 'it is a matter of taste: it will be declined with 3 questions',
    });
  });

  test('who goes behind others because of a file says which', async () => {
    for (const title of ['First', 'Second'])
      await perform(here.context, 'issue.new', { title, body: '`sum.js` returns 3.', ready: true });
    expect(await lines()).toEqual({
      1: 'ready: starts when a slot is free',
      2: 'ready: starts when a slot is free; after #1 (just as urgent), which also names sum.js',
    });
  });

  test('a file that can’t be read is named, in status too, and the others have their lines', async () => {
    await here.ready('Fine');
    writeFileSync(join(here.root, '.forge/issues/0002-broken.md'), '---\ntitle: [x\n---\nText.\n');
    const { loop, issues } = await perform(here.context, 'why');
    const named = expect.stringMatching(/0002-broken\.md:2: the front matter is not valid YAML/);
    expect(loop[0]).toEqual(named);
    expect(loop[0]).toMatch(/^skipped: .*\. Fix the file; until then the issue is skipped\.$/);
    expect(issues.map(({ issue }) => issue)).toEqual([1]);
    const status = await perform(here.context, 'status');
    expect(status.unreadable).toEqual([named]);
    const shown = statusText(status, { paint: painter(false), columns: null } as Terminal);
    const line = shown.split('\n').find((one) => one.startsWith('skipped: '));
    expect(loop[0], 'in the same words').toContain(`${line}. `);
  });

  test('a dry run names what would be taken up, in order, and why not the others; it changes nothing', async () => {
    here.configure('agent: { command: "true", max_concurrent: 1 }\ngate: none');
    await here.reopen();
    for (const title of ['Later', 'Urgent']) await here.ready(title);
    await perform(here.context, 'issue.new', { title: 'Not ready', body: 'x' });
    writeFileSync(
      join(here.root, '.forge/issues/0002-urgent.md'),
      readFileSync(join(here.root, '.forge/issues/0002-urgent.md'), 'utf8').replace(
        'priority: null',
        'priority: 1',
      ),
    );
    const planned = await perform(here.context, 'run.preview');
    expect(planned.takes).toEqual([
      { issue: 2, title: 'Urgent', now: true },
      { issue: 1, title: 'Later', now: false },
    ]);
    expect(planned.others.map(({ issue, why }) => [issue, why])).toEqual([
      [3, 'not labelled loop:ready — `forge-loop issue ready 3`'],
    ]);
    const one = await perform(here.context, 'run.preview', { only: [1] });
    expect(one.takes.map(({ issue }) => issue)).toEqual([1]);
    expect(one.others.map(({ issue }) => issue)).toEqual([2, 3]);
    const absent = await perform(here.context, 'run.preview', { only: [1, 99] });
    expect(absent.others.at(-1)).toMatchObject({ name: '#99', why: 'there is no such issue' });
    expect((await perform(here.context, 'status')).tasks).toEqual([]);
  });

  test('one line is that of an issue, or of a loop by its name or its task', async () => {
    await here.ready('Other');
    const { task } = await perform(here.context, 'loop.start', { goal: 'Stream it', name: 'tally' });
    const lineOf = async (input: Record<string, unknown>) =>
      (await perform(here.context, 'why', input)).issues;
    const line = { name: 'tally', issue: null, task, why: 'queued: ready; the runner takes the next step' };
    for (const loop of ['tally', 'tal', task]) expect(await lineOf({ loop })).toMatchObject([line]);
    expect(await lineOf({ issue: 1 })).toMatchObject([{ name: '#1' }]);
    await perform(here.context, 'loop.cancel', { loop: 'tally' });
    expect(await lineOf({ loop: 'tally' })).toMatchObject([
      { name: 'tally', task, why: expect.stringContaining('ended (cancelled): ') },
    ]);
    await expect(lineOf({ loop: 'nothing' })).rejects.toThrow('There is no loop "nothing".');
    await expect(lineOf({ loop: 'tally', issue: 1 })).rejects.toThrow(UsageError);
  });

  test('a hold, a slot that is taken, and an ending are each named', async () => {
    here.configure('agent: { command: "true", max_concurrent: 1 }\ngate: none');
    for (const title of ['Held', 'Working', 'Waiting', 'Ended']) await here.ready(title);
    await here.commit(
      await here.taskOf(1, 'aaaa0001'),
      event('hold_set', {
        reason: 'provider_limit',
        detail: 'limit reached',
        until: here.context.now() + MINUTE,
      }),
    );
    await here.commit(await here.taskOf(2, 'aaaa0002'), moved('queued', 'dispatched'));
    await here.taskOf(3, 'aaaa0003');
    await here.commit(await here.taskOf(4, 'aaaa0004'), moved('queued', 'abandoned', 'no_progress'));
    await (await here.context.forge()).relabel(4, { add: [], remove: ['loop:ready'] });
    const { issues } = await perform(here.context, 'why');
    expect(issues.map(({ why, until }) => [why, until])).toEqual([
      [expect.stringMatching(/^held \(provider_limit\): limit reached/), expect.stringMatching(/Z$/)],
      [expect.stringMatching(/^dispatched: /), null],
      ['queued: waiting for a slot (1 of 1 in use)', null],
      [expect.stringMatching(/^attempt 1 ended \(no_progress\): so it was — The agent is stuck/), null],
    ]);
  });

  test('an account that is out is named with its words, since when, and its next try, as in status', async () => {
    const failed = { turn: 1, role: 'coder', sessionId: 's', status: 'failed', code: 'overload' } as const;
    const told = {
      message: '503 Service Unavailable',
      retryAt: null,
      durationMs: 1,
      usage: 'known',
    } as const;
    const account = 'command true';
    const fails = event('turn_completed', { ...failed, ...told, account, workless: true });
    const store = await here.context.writing();
    const at = new Date(2026, 10, 17, 2, 10).getTime();
    const said = async (now: number) => {
      const then = { ...here.context, now: () => now };
      const { accountLimits } = await perform(then, 'status');
      const { loop } = await perform(then, 'why');
      expect(loop).toEqual(expect.arrayContaining(accountLimits.map(({ text }) => text)));
      return accountLimits.map(({ text }) => text);
    };
    await here.ready('Another');
    const { version } = await here.taskOf(1, 'aaaa0001');
    await store.record({ events: [fails, fails], at });
    expect(await said(at)).toEqual([]);
    const lease = (await store.acquireLease(taskLease('aaaa0001'), 'test', at, 60 * MINUTE, () => true))!;
    const other = { lease, taskId: 'aaaa0001', expectedVersion: version, events: [fails] };
    await store.commit({ ...other, at: at + MINUTE });
    expect(await said(at + MINUTE)).toEqual([
      'command true has failed for every task since 02:10:00 (503 Service Unavailable). Next try 02:11:10 — `forge-loop resume` tries now',
    ]);
    const tries = { turn: 1, role: 'coder', sessionId: 's', prompt: 'task', triesAccount: account } as const;
    await store.record({ events: [event('turn_started', tries)], at: at + 2 * MINUTE });
    expect(await said(at + 2 * MINUTE)).toEqual([expect.stringContaining('. One turn is trying it — ')]);
  });

  test('where the forge takes one at a time, who waits for another to land is not said to be next', async () => {
    await here.ready('Landing');
    await here.ready('Approved');
    await approved(1, true);
    await approved(2, false);
    expect((await lines())[2]).toBe('awaiting_critic: ready; the runner takes the next step');
    const forge = { ...(await here.context.forge()), mergesAlone: async () => true };
    const { issues } = await perform({ ...here.context, forge: async () => forge }, 'why');
    expect(issues[1]?.why).toBe('awaiting_critic: approved; others merge first (#1)');
  });

  test('of two that wait for the last place in line the more urgent one is next, in status too', async () => {
    here.configure(`agent: { command: "true" }\ngate: none\nmerge: { queue: { ahead: 1 } }`);
    await here.reopen();
    for (const [at, title] of ['Older', 'Urgent'].entries()) {
      await here.ready(title);
      await approved(at + 1, false);
    }
    const file = join(here.root, '.forge/issues/0002-urgent.md');
    writeFileSync(file, readFileSync(file, 'utf8').replace('priority: null', 'priority: 1'));
    const said = {
      1: 'awaiting_critic: approved; others merge first',
      2: 'awaiting_critic: ready; the runner takes the next step',
    };
    expect(await lines()).toEqual(said);
    const { tasks } = await perform(here.context, 'status');
    expect(Object.fromEntries(tasks.map(({ issue, rests }) => [issue, rests]))).toEqual(await lines());
  });

  test('a plan whose runner is gone keeps no slot from an issue, as it keeps none from a runner', async () => {
    here.configure('agent: { command: "true", max_concurrent: 1 }\ngate: none');
    await here.reopen();
    const { task } = await perform(here.context, 'loop.start', { goal: 'Make it pass.' });
    const store = await here.context.writing();
    const stored = (await store.task(task))!;
    await here.commit(stored, moved('queued', 'dispatched'), moved('dispatched', 'running'));
    await here.ready('Ready');
    const preview = await perform(here.context, 'run.preview');
    expect(preview.takes).toEqual([{ issue: 1, title: 'Ready', now: true }]);
    expect(await lines()).toMatchObject({ 1: 'ready: starts when a slot is free' });
    await here.taskOf(1, 'aaaa0001');
    expect((await lines())[1]).toBe('queued: ready; the runner takes the next step');
    const { slots } = await perform(here.context, 'status');
    expect(slots.used).toBe(0);
    await here.commit((await store.task(task))!, moved('running', 'awaiting_critic'));
    const { backlog } = await perform(here.context, 'status');
    expect(backlog.waiting).toBe(0);
  });

  test('a status does not ask another forge, and says so of what only that knows', async () => {
    await here.ready('Approved');
    await approved(1, false);
    const { settings, problem } = await here.context.settings();
    const elsewhere = { ...settings, tracker: { ...settings.tracker, kind: 'github' as const } };
    const { tasks } = await perform(
      {
        ...here.context,
        settings: async () => ({ settings: elsewhere, problem }),
        forge: () => Promise.reject(new Error('it was asked')),
      },
      'status',
    );
    expect(tasks[0]?.rests).toBe(
      'awaiting_critic: approved; `forge-loop why` asks the forge what it waits for',
    );
  });

  test('a run whose runner died is not said to be at work', async () => {
    await here.ready('Cut');
    const stored = await here.taskOf(1, 'aaaa0001');
    const store = await here.context.writing();
    const at = here.context.now();
    const lease = (await store.acquireLease(taskLease('aaaa0001'), 'test', at, MINUTE, () => true))!;
    const gate: Action = { kind: 'gate', scope: 'work', tree: 't', commit: 'c' };
    await store.commit({
      ...{ lease, taskId: 'aaaa0001', expectedVersion: stored.version, at },
      ...{ events: [moved('queued', 'dispatched'), moved('dispatched', 'running')], addActions: [gate] },
    });
    const [pending] = await store.pendingActions('aaaa0001');
    await store.startAction(lease, pending!.id, at);
    await store.releaseLease(lease);
    expect(await lines()).toEqual({ 1: 'running: interrupted in the gate; the next run resumes it' });
  });

  test.each<[string, Action]>([
    ['label', { kind: 'label', issue: 1, add: ['x'], remove: [] }],
    ['publishing', { kind: 'push', sha: 'c1', expected: null }],
  ])('an effect that failed, %s, is named with what kept it from being done', async (name, effect) => {
    await here.ready('Put off');
    const stored = await here.taskOf(1, 'aaaa0001');
    const store = await here.context.writing();
    const at = here.context.now();
    const lease = (await store.acquireLease(taskLease('aaaa0001'), 'test', at, MINUTE, () => true))!;
    const written = { taskId: 'aaaa0001', expectedVersion: stored.version, at, events: [] };
    await store.commit({ lease, ...written, addActions: [effect] });
    const [pending] = await store.pendingActions('aaaa0001');
    const problem = 'GitHub refused it (403):\nno.';
    const failed = event('effect_failed', { action: effect.kind, problem, attempt: 1 });
    await store.deferAction(lease, pending!.id, at + MINUTE, [failed], at);
    const said = { 1: `${name} failed 1×; will retry: GitHub refused it (403): no.` };
    expect(await lines()).toEqual(said);
    const later = await perform({ ...here.context, now: () => at + 2 * MINUTE }, 'why');
    expect(later.issues[0]?.why, 'when no runner has tried it again').toBe(said[1]);
  });

  test('what holds the whole loop comes first: no runner, a pause, a broken file', async () => {
    await perform(here.context, 'pause');
    writeFileSync(join(here.root, 'WORKFLOW.md'), '---\nagent: [\n---\n');
    await here.reopen();
    const { loop } = await perform(here.context, 'why');
    expect(loop).toEqual([
      expect.stringMatching(/^WORKFLOW.md can't be used: .*WORKFLOW.md:\d+:/),
      'the loop is paused by Eva — `forge-loop resume`',
      'no runner is running — `forge-loop run`',
      expect.stringContaining('no open issue'),
    ]);
  });
});
