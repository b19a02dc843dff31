/** Loops by their names, and cancelling those that no runner has. */
import { describe, expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import { TWO } from '../../test/support/plan-play.ts';
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

  test('of a plan that a person started, it ends at once', async () => {
    await loop('aaaa0001', null);
    expect(await cancelled()).toMatchObject({ pending: false, already: false });
    expect(await state()).toBe('abandoned');
    expect(await requests()).toEqual([]);
    expect(await cancelled()).toMatchObject({ pending: false, already: true });
  });
});
