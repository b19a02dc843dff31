/** Loops by their names, and cancelling those that no runner has. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import { TWO } from '../../test/support/plan-play.ts';
import type { Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { event, type NewEvent } from '../core/event.ts';
import { startedEvents } from '../core/plan/start.ts';
import { UserError } from '../errors.ts';
import { perform } from '../operations.ts';
import { claimLease } from '../store/store.ts';
import { findLoop } from './loops.ts';

const here = openedRepository();

/** Issues whose texts are plans of the same title get loops of the same name. */
async function loop(id: string, issue: number | null): Promise<void> {
  const store = await here.context.writing();
  const at = here.context.now();
  const how = { goal: null, mode: 'loop', delivers: 'branch', startedBy: 'Eva', models: {} } as const;
  const events = startedEvents({ ...how, plan: TWO, name: 'tally' }).map((one) =>
    one.type === 'task_created' ? event('task_created', { ...one.data, issue }) : one,
  );
  const lease = (await store.acquireLease(claimLease({ issue }), 'test', at, MINUTE, () => true))!;
  await store.claim({ lease, taskId: id, issue, events, actions: [], at });
  await store.releaseLease(lease);
}

async function happens(id: string, ...events: NewEvent[]): Promise<void> {
  await here.commit((await (await here.context.writing()).task(id))!, ...events);
}

describe('several loops of one name', () => {
  const found = async (reference: string) => (await findLoop(await here.context.reading(), reference)).id;
  const ended = moved('queued', 'abandoned', 'cancelled');

  test('alive, are told apart by their ids, and none is taken for the other', async () => {
    await loop('aaaa0001', 1);
    await loop('aaaa0002', 2);
    const refused = found('tally');
    await expect(refused).rejects.toThrow(UserError);
    await expect(refused).rejects.toThrow('Several loops are called "tally": tasks aaaa0001, aaaa0002.');
    expect(await found('aaaa0001')).toBe('aaaa0001');
    expect(await found('aaaa0002')).toBe('aaaa0002');
  });

  test('the only one alive is meant, whichever came first; of those that ended, the last', async () => {
    await loop('aaaa0001', 1);
    await loop('aaaa0002', 2);
    await happens('aaaa0002', ended);
    expect(await found('Tally ')).toBe('aaaa0001');
    await happens('aaaa0001', ended);
    expect(await found('tally')).toBe('aaaa0002');
  });
});

describe('a cancel where no runner has the loop', () => {
  const cancelled = () => perform(here.context, 'loop.cancel', { loop: 'tally' });
  const requests = async () =>
    (await (await here.context.writing()).requests('aaaa0001')).map(({ kind }) => kind);
  const state = async () => (await findLoop(await here.context.reading(), 'tally')).state;
  const delivered = event('phase_entered', { phase: 'delivered', milestone: 1, isFresh: false });

  test.each<[string, number | null, NewEvent[]]>([
    ['of an issue, which has to be told', 1, []],
    ['delivered, whose pull request may be in a queue', null, [delivered]],
  ])('%s, is left to the next run and asked for once', async (_which, issue, events) => {
    await loop('aaaa0001', issue);
    await happens('aaaa0001', ...events);
    expect(await cancelled()).toMatchObject({ pending: true, already: false });
    expect(await cancelled()).toMatchObject({ pending: true, already: true });
    expect(await requests()).toEqual(['cancel']);
    expect(await state()).toBe('queued');
  });

  test('that was to remove the worktree, too, says that it stays, and how it goes (loops 61)', async () => {
    await loop('aaaa0001', 1);
    await happens('aaaa0001', event('workspace_ready', { path: 'ws/tally', baseSha: 'base' }));
    const asked = await perform(here.context, 'loop.cancel', { loop: 'tally', cleanupWorktree: true });
    expect(asked).toMatchObject({ pending: true, reaped: null, kept: 'ws/tally' });
    expect(TEXT['loop.cancel'](asked, {} as Terminal)).toContain(
      '\nIts worktree ws/tally stays until then. When it has ended, `forge-loop loop cancel tally --cleanup-worktree` removes it.',
    );
    expect(TEXT['loop.cancel'](await cancelled(), {} as Terminal)).not.toContain('worktree');
  });

  test('of a plan that a person started, it ends at once', async () => {
    await loop('aaaa0001', null);
    expect(await cancelled()).toMatchObject({ pending: false, already: false });
    expect(await state()).toBe('abandoned');
    expect(await requests()).toEqual([]);
    expect(await cancelled()).toMatchObject({ pending: false, already: true });
  });
});

test('what lint has against a plan is told when it is started, with the line', async () => {
  const text = [
    '<!-- forge-plan:start -->',
    'Loop Name: tally',
    'Why.',
    '<!-- forge-section -->',
    '<!-- forge-section -->',
    '## Count',
    'Do it.',
    '<!-- forge-plan:end -->',
  ].join('\n');
  const { warnings } = await perform(here.context, 'loop.start', { text, file: 'tally.md' });
  expect(warnings).toEqual([
    'tally.md:4: this milestone is empty, and is skipped',
    'tally.md:5: milestone 1 has no `### Acceptance Criteria`, no `### Verification`, or nothing below it (1 more: `forge-loop plan lint tally.md`)',
  ]);
});

test('a sandbox that may confine less than the settings say is refused, and nothing is started', async () => {
  here.configure('agent: { command: "true" }\ngate: none\nsandbox: bwrap');
  const features = join(here.root, 'features.yaml');
  writeFileSync(features, 'features: [{ name: a, goal: Tidy. }]');
  const refused = "The loop can't have `--sandbox srt`: WORKFLOW.md says `sandbox: bwrap`";
  await expect(perform(here.context, 'loop.start', { goal: 'Tidy.', sandbox: 'srt' })).rejects.toThrow(
    refused,
  );
  await expect(perform(here.context, 'loop.start_each', { file: features, sandbox: 'srt' })).rejects.toThrow(
    refused,
  );
  await expect(perform(here.context, 'loop.start', { goal: 'Tidy.', sandbox: 'none' })).rejects.toThrow();
  expect(await perform(here.context, 'loop.list', {})).toEqual([]);
});
