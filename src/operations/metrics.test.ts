import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { moved, openedRepository } from '../../test/support/opened-repository.ts';
import { event } from '../core/event.ts';
import { prometheusText, readMetrics } from './metrics.ts';

const here = openedRepository();

/** One task that waits, one that failed after a turn of 30 tokens. */
async function night(): Promise<void> {
  await here.ready('One');
  await here.ready('Two');
  await here.commit(
    await here.taskOf(1, 'aaaa0001'),
    event('hold_set', { reason: 'operator_pause', detail: 'paused', until: null }),
  );
  const turn = { turn: 1, role: 'coder', sessionId: 's' } as const;
  const stored = await here.commit(
    await here.taskOf(2, 'aaaa0002'),
    moved('queued', 'dispatched'),
    event('workspace_ready', { path: '/w', baseSha: 'b' }),
    moved('dispatched', 'running'),
    event('turn_started', { ...turn, prompt: 'task' }),
  );
  const store = await here.context.writing();
  const used = { input: 10, output: 5, cacheRead: 15, cacheWrite: 0, reasoning: 0, costUsd: 0.5 };
  const lease = await here.leaseOf('aaaa0002');
  await store.addUsage(lease, [{ key: 'k', task: 'aaaa0002', ...turn, model: 'm', ...used, at: 1 }]);
  const ended = { status: 'finished', code: null, message: '', retryAt: null, durationMs: 1 } as const;
  await here.commit(
    stored,
    event('turn_completed', { ...turn, ...ended, usage: 'known' }),
    moved('running', 'abandoned', 'no_progress'),
  );
}

describe('figures', () => {
  test('say how the loop stands, what came of tasks, and what it cost', async () => {
    await night();
    const text = prometheusText(await readMetrics(here.context));
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'forge_loop_tasks{state="queued"} 1',
        'forge_loop_tasks_held{reason="operator_pause"} 1',
        'forge_loop_slots_used 0',
        'forge_loop_ended_tasks{state="abandoned",reason="no_progress"} 1',
        'forge_loop_turns_total{role="coder"} 1',
        'forge_loop_tokens_total{role="coder",kind="cache_read"} 15',
        'forge_loop_cost_usd_total{role="coder"} 0.5',
      ]),
    );
  });

  test('are there before anything was done', async () => {
    expect(prometheusText(await readMetrics(here.context))).toContain('forge_loop_slots 3\n');
  });

  const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
  // Without Prometheus' own tool there is nobody to ask; CI installs it.
  test.runIf(hasPromtool)(`are good by Prometheus' own check (promtool, package prometheus)`, async () => {
    await night();
    const input = prometheusText(await readMetrics(here.context));
    execFileSync('promtool', ['check', 'metrics'], { input, stdio: ['pipe', 'pipe', 'pipe'] });
  });
});

test('labels are escaped', () => {
  const values = [{ labels: { why: 'a "quoted"\nline \\' }, value: 1 }];
  expect(prometheusText([{ name: 'x', help: 'X.', kind: 'gauge', values }])).toBe(
    '# HELP x X.\n# TYPE x gauge\nx{why="a \\"quoted\\"\\nline \\\\"} 1\n',
  );
});
