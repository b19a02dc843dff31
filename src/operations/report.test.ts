/** The page for the morning, from a real database: what it says, and what it keeps strangers from saying. */
import { describe, expect, test } from 'vitest';
import { moved, openedRepository } from '../../test/support/opened-repository.ts';
import { reportHtml } from '../cli/report/html.ts';
import { reportMarkdown } from '../cli/report/markdown.ts';
import { painter, type Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { event, type HoldReason } from '../core/event.ts';
import { perform } from '../operations.ts';

const here = openedRepository();
const HOSTILE = '<img src=x onerror=alert(1)> | *bold* [link](javascript:alert(1)) "quoted"';

const hold = (reason: HoldReason, until: number | null) =>
  event('hold_set', { reason, detail: 'WORKFLOW.md', until });

async function night(): Promise<void> {
  const merged = await here.taskOf(await here.ready(HOSTILE), 'aaaa0001');
  const turn = { turn: 1, role: 'coder', sessionId: 's' } as const;
  await here.commit(
    merged,
    event('turn_started', { ...turn, prompt: 'task' }),
    event('turn_completed', {
      ...turn,
      ...{ status: 'finished', code: null, message: '', retryAt: null, durationMs: 1, usage: 'known' },
    }),
    moved('queued', 'merged'),
  );
  const store = await here.context.writing();
  const lease = await here.leaseOf('aaaa0001');
  const amounts = { input: 10, output: 5, cacheRead: 30, cacheWrite: 0, reasoning: 0, costUsd: 0.5 };
  await store.addUsage(lease, [
    { task: 'aaaa0001', ...turn, model: 'm', key: 'k', at: here.context.now(), ...amounts },
  ]);
  await store.releaseLease(lease);
  const failed = await here.taskOf(await here.ready('Fails'), 'aaaa0002');
  await here.commit(failed, moved('queued', 'abandoned', 'max_turns_reached'));
  const held = await here.taskOf(await here.ready('Protected'), 'aaaa0003');
  await here.commit(held, hold('protected_paths', null));
  const waiting = await here.taskOf(await here.ready('Later'), 'aaaa0004');
  await here.commit(waiting, hold('retry_backoff', here.context.now() + 60_000));
}

describe('report', () => {
  test('without a database says that nothing happened', async () => {
    const made = await perform(here.context, 'report');
    expect(made).toMatchObject({ merged: [], notMerged: [], needsPerson: [], atWork: [], spans: [] });
    expect(reportMarkdown(made)).toContain('**0 merged · nothing spent**');
  });

  test('tells what landed, what did not, what waits for whom, and what it cost', async () => {
    await night();
    const made = await perform(here.context, 'report');
    expect(made).toMatchObject({
      merged: [{ name: '#1', costUsd: 0.5, complete: true }],
      notMerged: [{ name: '#2', reason: 'max_turns_reached' }],
      needsPerson: [{ name: '#3', title: 'Protected' }],
      atWork: [{ name: '#4', title: 'Later' }],
      cost: { total: { costUsd: 0.5 }, byRole: [{ key: 'coder', turns: 1 }] },
      spans: [{ name: '#1', turns: [{ name: 'turn 1', status: 'finished' }] }],
    });
    const terminal = { paint: painter(false), columns: 100, json: false } as unknown as Terminal;
    const shown = TEXT.report(made, terminal);
    expect(shown).toContain('1 merged · 1 not merged · 1 waits for you · $0.50');
    for (const heading of ['Waits for you', 'Merged', 'Not merged', 'Still open', 'Time', 'Cost'])
      expect(shown.split('\n')).toContain(heading);
  });

  test('of a turn whose usage nobody knows gives no number', async () => {
    const turn = { turn: 1, role: 'coder', sessionId: 's' } as const;
    const ended = { status: 'finished', code: null, message: '', retryAt: null, durationMs: 1 } as const;
    await here.commit(
      await here.taskOf(await here.ready('Blind'), 'aaaa0001'),
      event('turn_started', { ...turn, prompt: 'task' }),
      event('turn_completed', { ...turn, ...ended, usage: 'unknown' }),
    );
    const markdown = reportMarkdown(await perform(here.context, 'report'));
    expect(markdown).toContain('1 turn, tokens unknown');
    expect(markdown).not.toContain('0 tokens');
  });

  test('of a later time leaves out what ended before, not what waits', async () => {
    await night();
    const later = { ...here.context, now: () => here.context.now() + 3_600_000 };
    const made = await perform(later, 'report', { since: '30m' });
    expect(made).toMatchObject({ merged: [], notMerged: [], needsPerson: [{ name: '#3' }], spans: [] });
    expect(made.cost.total.turns).toBe(0);
  });

  test('of one task has no other in it', async () => {
    await night();
    const made = await perform(here.context, 'report', { task: 1 });
    expect(made).toMatchObject({ task: '#1', merged: [{ name: '#1' }], notMerged: [] });
    expect([made.needsPerson, made.atWork]).toEqual([[], []]);
    expect((await perform(here.context, 'report', { task: 2 })).cost.total.turns).toBe(0);
  });

  test('as a page or as Markdown shows what strangers wrote, and is not formatted by it', async () => {
    await night();
    const made = await perform(here.context, 'report');
    const page = reportHtml(made);
    expect(new Set([...page.matchAll(/<(\w+)/g)].map(([, tag]) => tag))).not.toContain('img');
    expect(page).not.toMatch(/<[^>]* (src|href|on\w+)=/);
    expect(page).toContain('&#60;img src=x onerror=alert(1)&#62;');
    const markdown = reportMarkdown(made);
    expect(markdown).toContain('\\<img src=x');
    expect(markdown).not.toMatch(/(?<!\\)\[link|(?<!\\)\*bold/);
  });
});
