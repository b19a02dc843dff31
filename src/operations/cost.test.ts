/** What was spent, from a real database. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
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

  test.each(['yesterday', '7', '2026-13-45', ''])('since %j is no time', async (since) => {
    await expect(perform(here.context, 'cost', { since })).rejects.toThrow('is no time to begin at');
  });
});
