/** What was spent, from a real database. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { painter, type Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { event } from '../core/event.ts';
import { perform } from '../operations.ts';

const here = openedRepository();

describe('cost', () => {
  const day = (at: number) => here.context.day(at).name;
  const usage = (task: string, key: string, at: number, costUsd: number | null) => ({
    ...{ task, turn: 1, role: 'coder' as const, sessionId: 's', model: 'm', key, at, costUsd },
    ...{ input: 10, output: 5, cacheRead: 30, cacheWrite: 0, reasoning: 0 },
  });

  test('is empty before anything was spent, and makes no database', async () => {
    expect(await perform(here.context, 'cost')).toMatchObject({ since: null, by: 'issue', lines: [] });
    expect(existsSync(join(here.root, '.forge', 'forge.db'))).toBe(false);
  });

  test('adds up what is in the database, and leaves out what is older', async () => {
    const issue = await here.ready('Spent');
    await here.taskOf(issue, 'aaaa0001');
    const now = here.context.now();
    const old = now - 3 * 86_400_000;
    const store = await here.context.writing();
    await store.addUsage(await here.leaseOf('aaaa0001'), [
      usage('aaaa0001', 'k1', old, 1),
      usage('aaaa0001', 'k2', now, 0.5),
    ]);
    expect(await perform(here.context, 'cost')).toMatchObject({
      lines: [{ key: `#${issue}`, title: 'Spent', costUsd: 1.5, tokens: 90, cacheHitRatio: 0.75 }],
      total: { costUsd: 1.5, complete: true },
    });
    expect((await perform(here.context, 'cost', { by: 'day' })).lines.map(({ key }) => key)).toEqual([
      day(old),
      day(now),
    ]);
    const atOnce = { ...here.context, now: () => now };
    for (const since of ['2d', '30h', 'today', day(now), new Date(now).toISOString()])
      expect((await perform(atOnce, 'cost', { since })).total.costUsd, since).toBe(0.5);
  });

  test('warns of a turn whose agent says something else than the gateway counted, in `task show` too', async () => {
    const issue = await here.ready('Counted');
    const task = await here.taskOf(issue, 'aaaa0003');
    const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
    const turn = { turn: 1, role: 'coder', sessionId: 's' } as const;
    await here.commit(
      task,
      event('turn_started', { ...turn, prompt: 'task' }),
      event('accounts_differ', {
        ...turn,
        counted: { ...none, input: 900, cacheRead: 100, output: 40, reasoning: 2 },
        agent: { ...none, input: 500, output: 7 },
        calls: [{ id: 'msg_1', counted: 1042, agent: null }],
      }),
    );
    const text = `#${issue} turn 1 used 1000 tokens in and 42 out by the gateway's count, which is booked, and 500 tokens in and 7 out by its agent's; they differ in msg_1 (1042, none)`;
    const { warnings } = await perform(here.context, 'cost', { by: 'turn' });
    expect(warnings.filter(({ task: of }) => of === 'aaaa0003')).toMatchObject([
      { kind: 'accounts_differ', text },
    ]);
    const { turnsTaken } = await perform(here.context, 'task.show', { task: 'aaaa0003', network: false });
    expect(turnsTaken).toMatchObject([{ warnings: [{ kind: 'accounts_differ', text }] }]);
  });

  test('of each turn and round, in `task show` too, with a warning where a turn cost too much', async () => {
    const issue = await here.ready('Rounds');
    let stored = await here.taskOf(issue, 'aaaa0002');
    const store = await here.context.writing();
    const judged = { headSha: 'c1', verdict: 'REQUEST_CHANGES', by: 'critic', round: 1 } as const;
    const turns = [
      ['coder', 1, 's', 'task'],
      ['critic', 1, 'c', 'critic'],
      ['coder', 2, 's', 'revise'],
    ] as const;
    for (const [role, turn, sessionId, prompt] of turns) {
      const started = event('turn_started', { turn, role, sessionId, prompt });
      const ended = { status: 'finished', code: null, message: '', retryAt: null, durationMs: 1 } as const;
      const isLast = role === 'coder' && turn === 2;
      stored = await here.commit(
        stored,
        started,
        event('turn_completed', { turn, role, sessionId, ...ended, usage: isLast ? 'unknown' : 'known' }),
        ...(role === 'critic' ? [event('verdict_recorded', { ...judged, blocking: [], criteria: [] })] : []),
      );
      const at = here.context.now();
      const costUsd = role === 'critic' ? 0.25 : isLast ? null : 6;
      const lease = await here.leaseOf('aaaa0002');
      await store.addUsage(lease, [
        { ...usage('aaaa0002', `k${turn}`, at, costUsd), role, turn, sessionId, cacheRead: 3 },
      ]);
      await store.releaseLease(lease);
    }
    const costs = async (by: string) =>
      (await perform(here.context, 'cost', { by })).lines
        .filter(({ key }) => key.startsWith(`#${issue} `))
        .map(({ key, costUsd, complete, cacheRead }) => [key, costUsd, complete, cacheRead]);
    expect(await costs('turn')).toEqual([
      [`#${issue} turn 1`, 6, true, 3],
      [`#${issue} critic round 1`, 0.25, true, 3],
      [`#${issue} turn 2`, null, false, 3],
    ]);
    expect(await costs('round')).toEqual([
      [`#${issue} round 1`, 6.25, true, 6],
      [`#${issue} round 2`, null, false, 3],
    ]);
    const says = `#${issue} turn 1 cost $6.00, more than $5.00 (\`budget.warn_turn_usd\`)`;
    expect((await perform(here.context, 'cost')).warnings).toMatchObject([{ kind: 'expensive', text: says }]);

    const task = await perform(here.context, 'task.show', { task: issue });
    expect(task.turnsTaken).toMatchObject([
      { round: 1, cost: { costUsd: 6, cacheRead: 3 }, warnings: [{ kind: 'expensive', text: says }] },
      { round: 1, cost: { costUsd: 0.25 }, warnings: [] },
      { round: 2, cost: { costUsd: null, complete: false }, warnings: [] },
    ]);
    expect(task.rounds).toMatchObject([
      { key: 'round 1', turns: 2, costUsd: 6.25 },
      { key: 'round 2', costUsd: null },
    ]);
    const text = TEXT['task.show'](task, { paint: painter(false), columns: 120 } as Terminal);
    expect(text).toMatch(/^ +turn 1 +task +finished .* +13 +23 % +5 +\$6\.00$/m);
    expect(text).toMatch(/^ +turn 2 +revise .* ≥13 +23 % +≥5 +unknown$/m);
    expect(text).toMatch(/^ +round 1 +2 +26 +23 % +10 +\$6\.25$/m);
    expect(text).toContain(`! ${says}`);
    expect(text).not.toContain('$0.00');
  });

  test.each(['yesterday', '7', '2026-13-45', ''])('since %j is no time', async (since) => {
    await expect(perform(here.context, 'cost', { since })).rejects.toThrow('is not a time');
  });
});
