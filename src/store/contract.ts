/** What every store must do. A new implementation's test calls `storeContract` and adds only what is its own. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  alive,
  anyEvent,
  claim,
  claimed,
  cleared,
  commit,
  completed,
  everything,
  finding,
  held,
  kinds,
  LABEL,
  lease,
  mulberry32,
  reach,
  spent,
  started,
  TTL,
  to,
  used,
} from '../../test/support/store-steps.ts';
import type { Finding } from '../core/change/findings.ts';
import { event } from '../core/event.ts';
import { fold } from '../core/fold.ts';
import type { BootClock } from '../core/lease.ts';
import { type LoopHold, untestedMerge } from '../core/loop/loop-hold.ts';
import { foldLoop, NOTHING_FOLDED } from '../core/loop/loop-row.ts';
import type { StoredPlan } from '../core/plan/stored.ts';
import { LeaseLost, LimitReached, UserError, VersionConflict } from '../errors.ts';
import { INTAKE_LEASE, PLANS_LEASE, type Store, taskLease } from './store.ts';

interface StoreUnderTest {
  store: Store;
  /** The same data, as another process would find it. */
  reopen(): Promise<Store>;
  cleanup(): Promise<void>;
}

export function storeContract(name: string, make: (boot?: BootClock) => Promise<StoreUnderTest>): void {
  describe(`${name} as a store`, () => {
    let made: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      made = await make();
      store = made.store;
    });
    afterEach(() => made.cleanup());

    describe('claiming', () => {
      test('gives an issue one task, although two ask at once (dispatch 13)', async () => {
        const intake = await lease(store, INTAKE_LEASE);
        const claims = await Promise.all([claim(store, intake, 'a', 7), claim(store, intake, 'b', 7)]);
        expect(claims.map((claimed) => claimed?.task.id)).toEqual(['a', undefined]);
        expect((await store.tasks()).map(({ task }) => task.id)).toEqual(['a']);
        expect(await store.events({ task: 'b' })).toEqual([]);
      });

      test('writes the row, its events and its actions together', async () => {
        const claimed = await claim(store, await lease(store, INTAKE_LEASE), 'a', 7, [LABEL]);
        expect(claimed).toMatchObject({
          version: 1,
          task: { id: 'a', issue: 7, state: 'queued', createdAt: 10 },
        });
        expect((await store.events()).map((e) => [e.seq, e.task, e.type])).toEqual([
          [1, 'a', 'task_created'],
          [2, 'a', 'worker_state_transition'],
        ]);
        expect(await store.pendingActions('a')).toEqual([
          { id: expect.any(Number), task: 'a', action: LABEL, startedAt: null, attempts: 0, notBefore: 0 },
        ]);
      });

      test('gives the issue a new task once the earlier one has ended', async () => {
        const a = await claimed(store, 'a', 7);
        await commit(store, a, [to(a.task, 'abandoned')]);
        expect(await claim(store, await lease(store, INTAKE_LEASE), 'b', 7)).toMatchObject({
          task: { id: 'b' },
        });
        expect((await store.tasks({ issue: 7 })).map(({ task }) => task.id)).toEqual(['a', 'b']);
      });

      test('lets tasks without an issue be many', async () => {
        const plans = await lease(store, PLANS_LEASE);
        expect(await claim(store, plans, 'a', null)).not.toBeNull();
        expect(await claim(store, plans, 'b', null)).not.toBeNull();
      });

      test('needs the intake lease, valid at that time', async () => {
        const task = await lease(store, taskLease('a'));
        await expect(claim(store, task, 'a', 7)).rejects.toThrow(LeaseLost);
        const expired = await lease(store, INTAKE_LEASE, 'me', -TTL);
        await expect(claim(store, expired, 'a', 7)).rejects.toThrow(LeaseLost);
        expect(await store.tasks()).toEqual([]);
      });

      test('does not let a restart stand beside the task that replaced it', async () => {
        const a = await claimed(store, 'a', 7);
        const ended = await commit(store, a, [to(a.task, 'abandoned')]);
        await claimed(store, 'b', 7);
        await expect(commit(store, ended, [to(ended.task, 'queued')])).rejects.toThrow(UserError);
        expect((await store.task('a'))?.task.state).toBe('abandoned');
      });
    });

    describe('committing', () => {
      test('returns what is stored, one version further', async () => {
        const a = await claimed(store, 'a', 7);
        const after = await commit(store, a, [to(a.task, 'dispatched')]);
        expect(after).toMatchObject({ version: 2, task: { state: 'dispatched', startedAt: 20 } });
        expect(await store.task('a')).toEqual(after);
      });

      test('refuses an older version, whole', async () => {
        const a = await claimed(store, 'a', 7);
        await commit(store, a, [to(a.task, 'dispatched')]);
        const before = await everything(store, 'a');
        const stale = commit(store, a, [to(a.task, 'abandoned')], {
          addActions: [LABEL],
          findings: [finding('f')],
        });
        await expect(stale).rejects.toThrow(VersionConflict);
        expect(await everything(store, 'a')).toEqual(before);
      });

      test('lets only one of two commits at the same version happen', async () => {
        const a = await claimed(store, 'a', 7);
        const mine = await lease(store, taskLease('a'));
        const commits = [1, 2].map(() => commit(store, a, [cleared('operator_pause')], { lease: mine }));
        const settled = await Promise.allSettled(commits);
        expect(settled.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
        expect((await store.task('a'))?.version).toBe(2);
      });

      test('refuses an edge the machine does not have, whole', async () => {
        const a = await claimed(store, 'a', 7);
        const before = await everything(store, 'a');
        const illegal = commit(store, a, [held('operator_pause'), to(a.task, 'merging')], {
          addActions: [LABEL],
        });
        await expect(illegal).rejects.toThrow('no edge');
        expect(await everything(store, 'a')).toEqual(before);
      });

      test('needs the lease of that very task', async () => {
        const a = await claimed(store, 'a', 7);
        const other = await lease(store, taskLease('b'));
        await expect(commit(store, a, [], { lease: other })).rejects.toThrow(LeaseLost);
      });

      test('is refused for a runner whose lease was taken over (dispatch 39)', async () => {
        const old = await lease(store, taskLease('a'));
        const a = await claimed(store, 'a', 7);
        const taken = await store.acquireLease(taskLease('a'), 'new', TTL, TTL, alive);
        expect(taken?.fencing).toBe(old.fencing + 1);
        await expect(commit(store, a, [], { lease: old, at: TTL + 1 })).rejects.toThrow(LeaseLost);
        await expect(commit(store, a, [], { lease: old, at: 1 })).rejects.toThrow(LeaseLost);
        expect(await commit(store, a, [], { lease: taken!, at: TTL + 1 })).toMatchObject({ version: 2 });
      });

      test('is refused once the lease expired, taken over or not (dispatch 39)', async () => {
        const a = await claimed(store, 'a', 7);
        const mine = await lease(store, taskLease('a'), 'me', 0);
        await expect(commit(store, a, [], { lease: mine, at: TTL })).rejects.toThrow(LeaseLost);
        expect(await commit(store, a, [], { lease: mine, at: TTL - 1 })).toMatchObject({ version: 2 });
      });

      test('stamps events without gaps, whoever commits in between', async () => {
        const tasks = await Promise.all([1, 2, 3].map((issue) => claimed(store, `t${issue}`, issue)));
        await Promise.all(
          tasks.map(async (task) => {
            let current = task;
            for (let round = 0; round < 10; round++) {
              current = await commit(store, current, [held('operator_pause'), cleared('operator_pause')]);
              await store.record({ events: [event('loop_paused', { by: 'me' })], at: 1 });
            }
          }),
        );
        const events = await store.events();
        expect(events).toHaveLength(3 * 2 + 3 * 10 * 3);
        expect(events.map((e) => e.seq)).toEqual(events.map((_, index) => index + 1));
      });

      test('leaves no gap when a commit in between was refused', async () => {
        const a = await claimed(store, 'a', 7);
        await expect(commit(store, a, [to(a.task, 'merged'), to(a.task, 'merging')])).rejects.toThrow();
        await commit(store, a, [to(a.task, 'dispatched')]);
        expect((await store.events()).map((e) => e.seq)).toEqual([1, 2, 3]);
      });

      test('keeps row and events the same story over random legal walks', async () => {
        for (let seed = 1; seed <= 10; seed++) {
          const random = mulberry32(seed);
          let current = await claimed(store, `walk-${seed}`, 1000 + seed);
          for (let step = 0; step < 40; step++) {
            current = await commit(store, current, [anyEvent(current.task, random)], { at: 100 + step });
          }
          const again = await store.task(current.task.id);
          expect(again).toEqual(current);
          expect(
            fold(current.task.id, await store.events({ task: current.task.id })),
            `seed ${seed}`,
          ).toEqual(again?.task);
        }
      });

      test('gives values whose change by a caller reaches nobody else', async () => {
        const a = await claimed(store, 'a', 7);
        // A copy or a frozen value: either will do.
        Reflect.set(a.task, 'state', 'merged');
        Reflect.set(a.task.contract, 'title', 'changed');
        Reflect.set((await store.events())[0]!, 'at', 0);
        expect(await store.task('a')).toMatchObject({
          task: { state: 'queued', contract: { title: 'Title' } },
        });
        expect((await store.events())[0]?.at).toBe(10);
      });
    });

    describe('limits', () => {
      test('are about the others, and count what holds a slot', async () => {
        const [a, b] = [await claimed(store, 'a', 1), await claimed(store, 'b', 2)];
        const dispatched = await commit(store, a, [to(a.task, 'dispatched')], { limits: { slots: 1 } });
        const before = await everything(store, 'b');
        const refused = commit(store, b, [to(b.task, 'dispatched')], {
          limits: { slots: 1 },
          addActions: [LABEL],
        });
        await expect(refused).rejects.toThrow(LimitReached);
        expect(await everything(store, 'b')).toEqual(before);

        await commit(store, dispatched, [held('retry_backoff')]);
        await commit(store, b, [to(b.task, 'dispatched')], { limits: { slots: 1 } });
      });

      test('refuse nothing to a task that takes nothing, or has it already', async () => {
        const [a, b] = [await claimed(store, 'a', 1), await claimed(store, 'b', 2)];
        const running = await commit(store, a, [to(a.task, 'dispatched')]);
        await commit(store, b, [cleared('operator_pause')], { limits: { slots: 0, critics: 0, merging: 0 } });
        await commit(store, running, [to(running.task, 'running')], { limits: { slots: 0 } });
      });

      test('count critics at work', async () => {
        const [a, b] = [await claimed(store, 'a', 1), await claimed(store, 'b', 2)];
        const judging = await commit(store, a, [started('critic', 1)], { limits: { critics: 1 } });
        await expect(commit(store, b, [started('critic', 1)], { limits: { critics: 1 } })).rejects.toThrow(
          LimitReached,
        );
        await commit(store, b, [started('coder', 1)], { limits: { critics: 1 } });
        await commit(store, judging, [completed('critic', 1)]);
        const free = await store.task('b');
        await commit(store, free!, [completed('coder', 1), started('critic', 2)], { limits: { critics: 1 } });
      });

      test('count tasks in line, and none that stands beside it', async () => {
        const [a, b] = [await reach(store, 'a', 1), await reach(store, 'b', 2)];
        const merging = await commit(store, a, [to(a.task, 'merging')], { limits: { merging: 1 } });
        const second = commit(store, b, [to(b.task, 'merging')], { limits: { merging: 1 } });
        await expect(second).rejects.toThrow(LimitReached);
        const misfit = event('line_left', { with: [], text: null });
        const beside = await commit(store, merging, [misfit]);
        const inLine = await commit(store, b, [to(b.task, 'merging')], { limits: { merging: 1 } });
        const rejoins = commit(store, beside, [event('line_rejoined', {})], { limits: { merging: 1 } });
        await expect(rejoins).rejects.toThrow(LimitReached);
        await commit(store, inLine, [to(inLine.task, 'merged')]);
        await commit(store, beside, [event('line_rejoined', {})], { limits: { merging: 1 } });
      });
    });

    describe('actions', () => {
      test('come in the order they were decided, per task', async () => {
        const a = await claimed(store, 'a', 1, [LABEL]);
        await commit(store, a, [], { addActions: [{ kind: 'prepare_workspace' }, { kind: 'checkpoint' }] });
        await claimed(store, 'b', 2, [{ kind: 'reap_workspace' }]);
        expect(await kinds(store, 'a')).toEqual(['label', 'prepare_workspace', 'checkpoint']);
        expect(await kinds(store, 'b')).toEqual(['reap_workspace']);
      });

      test('a lease is proved without writing, as long as it is held', async () => {
        await claimed(store, 'a', 1, [LABEL]);
        const mine = await lease(store, taskLease('a'));
        const before = await everything(store, 'a');
        await store.proveLease(mine, TTL - 1);
        await expect(store.proveLease(mine, TTL)).rejects.toThrow(LeaseLost);
        await expect(store.proveLease({ ...mine, fencing: mine.fencing - 1 }, 1)).rejects.toThrow(LeaseLost);
        expect(await everything(store, 'a')).toEqual(before);
      });

      test('are marked as started', async () => {
        await claimed(store, 'a', 1, [LABEL]);
        const mine = await lease(store, taskLease('a'));
        const [action] = await store.pendingActions('a');
        await store.startAction(mine, action!.id, 30);
        await store.startAction(mine, action!.id, 31);
        expect(await store.pendingActions('a')).toMatchObject([{ startedAt: 31, attempts: 0 }]);
      });

      test('that were started are found for all tasks at once', async () => {
        for (const [issue, id] of ['a', 'b', 'c'].entries()) await claimed(store, id, issue + 1, [LABEL]);
        expect(await store.startedActions()).toEqual([]);
        for (const id of ['a', 'c']) {
          const [action] = await store.pendingActions(id);
          await store.startAction(await lease(store, taskLease(id)), action!.id, 30);
        }
        const [first, second] = [await store.pendingActions('a'), await store.pendingActions('c')];
        expect(await store.startedActions()).toEqual([...first, ...second]);
      });

      test('are finished with the commit that has their outcome, and only once', async () => {
        const a = await claimed(store, 'a', 1, [LABEL, { kind: 'checkpoint' }]);
        const [first] = await store.pendingActions('a');
        const next = await commit(store, a, [cleared('operator_pause')], { finishActions: [first!.id] });
        expect(await kinds(store, 'a')).toEqual(['checkpoint']);
        const before = await everything(store, 'a');
        const twice = commit(store, next, [cleared('operator_pause')], { finishActions: [first!.id] });
        await expect(twice).rejects.toThrow(VersionConflict);
        expect(await everything(store, 'a')).toEqual(before);
      });

      test('are finished several at a time, all or none', async () => {
        const a = await claimed(store, 'a', 1, [LABEL, { kind: 'checkpoint' }, LABEL]);
        const [first, second] = (await store.pendingActions('a')).map(({ id }) => id);
        const next = await commit(store, a, [], { finishActions: [first!, second!] });
        expect(await kinds(store, 'a')).toEqual(['label']);
        const [third] = (await store.pendingActions('a')).map(({ id }) => id);
        const gone = commit(store, next, [], { finishActions: [third!, first!] });
        await expect(gone).rejects.toThrow(VersionConflict);
        expect(await kinds(store, 'a')).toEqual(['label']);
      });

      test('of another task are not finished', async () => {
        const a = await claimed(store, 'a', 1);
        await claimed(store, 'b', 2, [LABEL]);
        const [others] = await store.pendingActions('b');
        await expect(commit(store, a, [], { finishActions: [others!.id] })).rejects.toThrow(VersionConflict);
        expect(await kinds(store, 'b')).toEqual(['label']);
      });

      test('are dropped all together, but not those of the same commit', async () => {
        const a = await claimed(store, 'a', 1, [LABEL, { kind: 'checkpoint' }]);
        await commit(store, a, [], { dropActions: 'all', addActions: [{ kind: 'preserve_workspace' }] });
        expect(await kinds(store, 'a')).toEqual(['preserve_workspace']);
      });

      test('never get the number of an earlier one', async () => {
        const a = await claimed(store, 'a', 1, [LABEL]);
        const [first] = await store.pendingActions('a');
        await commit(store, a, [], { finishActions: [first!.id], addActions: [LABEL] });
        expect((await store.pendingActions('a'))[0]!.id).toBeGreaterThan(first!.id);
      });

      test('are put off with their event', async () => {
        const a = await claimed(store, 'a', 1, [LABEL]);
        const mine = await lease(store, taskLease('a'));
        const [action] = await store.pendingActions('a');
        await store.startAction(mine, action!.id, 30);
        const failed = event('effect_failed', { action: 'label', problem: 'no answer', attempt: 1 });
        await store.deferAction(mine, action!.id, 99, [failed], 31);
        expect(await store.pendingActions('a')).toMatchObject([
          { startedAt: null, attempts: 1, notBefore: 99 },
        ]);
        expect(await store.events({ last: 1 })).toMatchObject([
          { seq: 3, task: 'a', type: 'effect_failed', at: 31 },
        ]);
        expect(await store.task('a')).toEqual(a);
      });

      test('put off with an event about the task change its row as well', async () => {
        const a = await claimed(store, 'a', 1, [LABEL]);
        const [action] = await store.pendingActions('a');
        await store.deferAction(
          await lease(store, taskLease('a')),
          action!.id,
          99,
          [held('retry_backoff')],
          31,
        );
        const after = await store.task('a');
        expect(after).toMatchObject({ version: a.version + 1, task: { hold: { reason: 'retry_backoff' } } });
        expect(fold('a', await store.events({ task: 'a' }))).toEqual(after?.task);
      });

      test('are started and put off only by the owner of their task', async () => {
        await claimed(store, 'a', 1, [LABEL]);
        const [action] = await store.pendingActions('a');
        const other = await lease(store, taskLease('b'));
        const mine = await lease(store, taskLease('a'), 'me', 0);
        await expect(store.startAction(other, action!.id, 1)).rejects.toThrow(LeaseLost);
        await expect(store.startAction(mine, action!.id, TTL)).rejects.toThrow(LeaseLost);
        await expect(store.deferAction(mine, action!.id, 99, [], TTL)).rejects.toThrow(LeaseLost);
        expect(await store.pendingActions('a')).toMatchObject([
          { startedAt: null, attempts: 0, notBefore: 0 },
        ]);
      });

      test('that are gone can’t be started', async () => {
        const mine = await lease(store, taskLease('a'));
        await expect(store.startAction(mine, 12, 1)).rejects.toThrow(VersionConflict);
      });

      test('of the loop itself are recorded, performed and finished without a task', async () => {
        const intake = await lease(store, INTAKE_LEASE);
        const declined = event('issue_declined', { issue: 3, textHash: 'h', questions: ['why?'] });
        await store.record({ lease: intake, events: [declined], at: 5, addActions: [LABEL] });
        expect(await store.events()).toEqual([{ seq: 1, at: 5, task: null, ...declined }]);
        const [action] = await store.pendingActions(null);
        await store.startAction(intake, action!.id, 6);
        await store.deferAction(intake, action!.id, 50, [], 7);
        expect(await store.pendingActions(null)).toMatchObject([{ task: null, attempts: 1, notBefore: 50 }]);
        await store.record({ lease: intake, events: [], at: 8, finishAction: action!.id });
        expect(await store.pendingActions(null)).toEqual([]);
        await expect(store.record({ events: [], at: 9, finishAction: action!.id })).rejects.toThrow(
          VersionConflict,
        );
      });

      test('of the loop are recorded together with a change of its row, or neither is', async () => {
        const intake = await lease(store, INTAKE_LEASE);
        const notify = { considered: 4, told: { 'task a': 'why' }, channels: {} };
        await store.record({ lease: intake, events: [], at: 5, addActions: [LABEL], loop: { notify } });
        expect((await store.loop()).notify).toEqual(notify);
        expect(await store.pendingActions(null)).toHaveLength(1);
        const lost = { ...intake, fencing: intake.fencing - 1 };
        const late = store.record({
          lease: lost,
          events: [],
          at: 6,
          addActions: [LABEL],
          loop: { notify: null },
        });
        await expect(late).rejects.toThrow(LeaseLost);
        expect((await store.loop()).notify).toEqual(notify);
        expect(await store.pendingActions(null)).toHaveLength(1);
      });

      test('of the loop are not recorded under a lost lease', async () => {
        const intake = await lease(store, INTAKE_LEASE, 'me', 0);
        const late = store.record({ lease: intake, events: [event('loop_paused', { by: 'me' })], at: TTL });
        await expect(late).rejects.toThrow(LeaseLost);
        expect(await store.events()).toEqual([]);
      });
    });

    describe('leases', () => {
      test('belong to one owner until they lapse', async () => {
        const mine = await store.acquireLease('k', 'me', 0, 100, alive);
        expect(mine).toEqual({ key: 'k', owner: 'me', fencing: 1, expiresAt: 100 });
        expect(await store.acquireLease('k', 'you', 99, 100, alive)).toBeNull();
        expect(await store.acquireLease('k', 'me', 50, 100, alive)).toEqual({ ...mine, expiresAt: 150 });
        expect(await store.acquireLease('k', 'you', 150, 100, alive)).toMatchObject({
          owner: 'you',
          fencing: 2,
        });
        expect(await store.acquireLease('k', 'me', 151, 100, alive)).toBeNull();
      });

      test('of an owner that is dead lapse at once (dispatch 39)', async () => {
        await store.acquireLease('k', 'dead', 0, 100, alive);
        const taken = await store.acquireLease('k', 'me', 1, 100, (owner) => owner === 'dead');
        expect(taken).toMatchObject({ owner: 'me', fencing: 2 });
      });

      test('go to one of two that ask at once', async () => {
        const asked = await Promise.all(
          ['me', 'you'].map((owner) => store.acquireLease('k', owner, 0, 100, alive)),
        );
        expect(asked.filter((granted) => granted !== null)).toHaveLength(1);
      });

      test('are renewed together, except those taken over', async () => {
        await store.acquireLease('a', 'me', 0, 100, alive);
        await store.acquireLease('b', 'me', 0, 100, alive);
        await store.acquireLease('b', 'you', 100, 100, alive);
        expect(await store.renewLeases('me', 101, 100)).toEqual([
          { key: 'a', owner: 'me', fencing: 1, expiresAt: 201 },
        ]);
        expect(await store.leases()).toEqual([
          { key: 'a', owner: 'me', fencing: 1, expiresAt: 201 },
          { key: 'b', owner: 'you', fencing: 2, expiresAt: 200 },
        ]);
        expect(await store.leases('b')).toMatchObject([{ key: 'b', owner: 'you' }]);
        expect(await store.leases('c')).toEqual([]);
      });

      test('are free after release, with a number that was never used', async () => {
        const mine = await lease(store, taskLease('a'), 'me', 0);
        const a = await claimed(store, 'a', 1);
        await store.releaseLease(mine);
        expect((await store.leases()).map(({ key }) => key)).not.toContain(mine.key);
        await expect(commit(store, a, [], { lease: mine, at: 1 })).rejects.toThrow(LeaseLost);
        const again = await store.acquireLease(taskLease('a'), 'me', 1, TTL, alive);
        expect(again?.fencing).toBe(mine.fencing + 1);
        await expect(commit(store, a, [], { lease: mine, at: 2 })).rejects.toThrow(LeaseLost);
      });

      test('are not released by somebody who lost them', async () => {
        const old = await lease(store, 'k', 'old', 0);
        await store.acquireLease('k', 'new', TTL, TTL, alive);
        await store.releaseLease(old);
        expect(await store.leases()).toMatchObject([{ owner: 'new' }]);
      });
    });

    describe('leases, whatever wall clocks say', () => {
      const DAY = 86_400_000;
      let boot: { id: string; up: number; now(): number };
      beforeEach(async () => {
        await made.cleanup();
        boot = { id: 'b1', up: 0, now: () => boot.up };
        made = await make(boot);
        store = made.store;
      });

      test('are not taken over by a runner of the same boot whose clock is ahead', async () => {
        await store.acquireLease('k', 'me', 0, 100, alive);
        boot.up = 99;
        expect(await store.acquireLease('k', 'you', DAY, 100, alive)).toBeNull();
        boot.up = 100;
        expect(await store.acquireLease('k', 'you', 0, 100, alive)).toMatchObject({ owner: 'you' });
      });

      test('are not waited for by one whose clock was set back', async () => {
        await store.acquireLease('k', 'me', 30 * DAY, 100, alive);
        boot.up = 100;
        expect(await store.acquireLease('k', 'you', 0, 100, alive)).toMatchObject({ owner: 'you' });
      });

      test('stay with their owner when the clock jumps, and end by the boot’s', async () => {
        const mine = (await store.acquireLease('k', 'me', 0, 100, alive))!;
        await store.proveLease(mine, DAY);
        boot.up = 60;
        expect(await store.renewLeases('me', DAY, 100)).toMatchObject([
          { boot: { id: 'b1', expiresAt: 160 } },
        ]);
        boot.up = 159;
        await store.proveLease(mine, 2 * DAY);
        boot.up = 160;
        await expect(store.proveLease(mine, 0)).rejects.toThrow(LeaseLost);
      });

      test('of another boot lapse by wall time', async () => {
        await store.acquireLease('k', 'me', 0, 100, alive);
        boot = Object.assign(boot, { id: 'b2', up: 5000 });
        expect(await store.acquireLease('k', 'you', 99, 100, alive)).toBeNull();
        expect(await store.acquireLease('k', 'you', 100, 100, alive)).toMatchObject({ owner: 'you' });
      });

      test('of another boot that begin in the future are believed for one term, unless they are renewed', async () => {
        const mine = (await store.acquireLease('k', 'me', 30 * DAY, 100, alive))!;
        boot.id = 'b2';
        expect(await store.acquireLease('k', 'you', 0, 100, alive)).toBeNull();
        await store.proveLease(mine, 30 * DAY + 50);
        await store.renewLeases('me', 30 * DAY + 60, 100);
        boot.id = 'b3';
        expect(await store.acquireLease('k', 'you', 100, 100, alive)).toBeNull();
        expect(await store.acquireLease('k', 'you', 199, 100, alive)).toBeNull();
        expect(await store.acquireLease('k', 'you', 200, 100, alive)).toMatchObject({
          owner: 'you',
          fencing: 2,
        });
      });
    });

    describe('tasks', () => {
      test('are listed oldest first', async () => {
        await claimed(store, 'z', 1, [], 30);
        await claimed(store, 'm', 2, [], 20);
        await claimed(store, 'a', 3, [], 30);
        expect((await store.tasks()).map(({ task }) => task.id)).toEqual(['m', 'z', 'a']);
      });

      test('ended tasks are told of a page at a time, the latest end first, and counted by outcome', async () => {
        const [a, b, c] = [
          await claimed(store, 'a', 1),
          await claimed(store, 'b', 2),
          await claimed(store, 'c', 3),
        ];
        await claimed(store, 'd', 4);
        const end = (one: typeof a, at: number): Promise<unknown> =>
          commit(store, one, [to(one.task, 'abandoned')], { at });
        await end(b, 50);
        await end(c, 70);
        await end(a, 60);
        const ids = async (of?: Parameters<Store['ended']>[0]) =>
          (await store.ended(of)).map(({ task }) => task.id);
        expect(await ids()).toEqual(['c', 'a', 'b']);
        expect(await ids({ limit: 1, skip: 1 })).toEqual(['a']);
        expect(await ids({ skip: 2 })).toEqual(['b']);
        expect(await ids({ since: 60 })).toEqual(['c', 'a']);
        const { reason } = (await store.task('a'))!.task;
        expect(await store.outcomes()).toEqual([{ state: 'abandoned', reason, tasks: 3 }]);
      });

      test('are live until they have ended and nothing is left to do', async () => {
        const a = await claimed(store, 'a', 1, [LABEL]);
        const b = await claimed(store, 'b', 2);
        await commit(store, a, [to(a.task, 'abandoned')]);
        await commit(store, b, [to(b.task, 'abandoned')]);
        await claimed(store, 'c', 3);
        expect((await store.tasks({ live: true })).map(({ task }) => task.id)).toEqual(['a', 'c']);
        expect((await store.tasks({ live: true, issue: 2 })).map(({ task }) => task.id)).toEqual([]);
      });

      test('nobody has heard of are null', async () => {
        expect(await store.task('nobody')).toBeNull();
      });
    });

    describe('beside the tasks', () => {
      test('turns are kept from their events, an interrupted one too', async () => {
        const a = await claimed(store, 'a', 1);
        const b = await commit(store, a, [started('coder', 1)], { at: 30 });
        const c = await commit(store, b, [completed('coder', 1, 'interrupted')], { at: 40 });
        const d = await commit(store, c, [started('coder', 1)], { at: 50 });
        await commit(store, d, [completed('coder', 1), started('critic', 1)], { at: 60 });
        const coder = { task: 'a', turn: 1, role: 'coder', sessionId: 's-coder', prompt: 'task' };
        expect(await store.turns('a')).toEqual([
          { ...coder, status: 'interrupted', startedAt: 30, endedAt: 40 },
          { ...coder, status: 'finished', startedAt: 50, endedAt: 60 },
          { ...coder, role: 'critic', sessionId: 's-critic', status: null, startedAt: 60, endedAt: null },
        ]);
      });

      test('plans are kept from their events, each text once, whatever verb wrote them', async () => {
        const plan = (id: string, status: StoredPlan['status']) =>
          event('plan_stored', {
            id,
            name: 'tokens',
            title: 'Tokens',
            text: `text of ${id}`,
            hash: `hash of ${id}`,
            source: { kind: 'captured', task: 'a', role: 'coder', turn: 1 },
            status,
            by: 'coder',
          });
        const a = await claimed(store, 'a', 1);
        const b = await commit(store, a, [plan('one', 'captured')], { at: 30 });
        await commit(store, b, [plan('one', 'captured')], { at: 40 });
        const by = 'eva';
        await store.record({
          events: [plan('two', 'draft'), event('plan_archived', { plan: 'one', by })],
          at: 50,
        });
        await store.record({ events: [event('plan_approved', { plan: 'two', by })], at: 60 });
        const two = { ...plan('two', 'approved').data, by, createdAt: 50, changedAt: 60 };
        expect(await store.plans()).toEqual([two]);
        const one = { ...plan('one', 'archived').data, by, createdAt: 30, changedAt: 50 };
        expect(await store.plans({ archived: true })).toEqual([one, two]);
        expect(await (await made.reopen()).plans()).toEqual([two]);
      });

      test('usage counts each key once, whenever it is told again (loops 40)', async () => {
        await spent(store, used({ key: 'k1' }), used({ key: 'k2' }));
        await spent(
          store,
          used({ key: 'k1', input: 999 }),
          used({ key: 'k1', turn: 2 }),
          used({ task: 'b', key: 'k1' }),
        );
        expect(await store.usage({ task: 'a' })).toEqual([
          used({ key: 'k1' }),
          used({ key: 'k2' }),
          used({ key: 'k1', turn: 2 }),
        ]);
        expect(await store.usage()).toHaveLength(4);

        expect(await store.spend('a')).toEqual({
          tokens: 3 * 31,
          costUsd: 0.75,
          unpriced: 0,
          complete: true,
        });
      });

      test('usage is asked for by task and by time', async () => {
        await spent(
          store,
          used({ key: 'k1', at: 10 }),
          used({ key: 'k2', at: 20 }),
          used({ task: 'b', at: 30 }),
        );
        const times = async (of: Parameters<Store['usage']>[0]) =>
          (await store.usage(of)).map(({ task, at }) => `${task} ${at}`);
        expect(await times({ since: 20 })).toEqual(['a 20', 'b 30']);
        expect(await times({ task: 'a', since: 20 })).toEqual(['a 20']);
        expect(await times({ since: 31 })).toEqual([]);
      });

      test('usage is told by whoever owns the task: a runner that lost its lease is refused', async () => {
        const old = await lease(store, taskLease('a'), 'old');
        await store.addUsage(old, [used({ key: 'k1' })]);
        const taken = await store.acquireLease(taskLease('a'), 'new', TTL, TTL, alive);
        await store.addUsage(taken!, [used({ key: 'k1' }), used({ key: 'k2' })]);
        await expect(store.addUsage(old, [used({ key: 'k3' })])).rejects.toThrow(LeaseLost);
        await expect(store.addUsage(taken!, [used({ key: 'k4', task: 'b' })])).rejects.toThrow(LeaseLost);
        expect(await store.spend('a')).toMatchObject({ tokens: 62, costUsd: 0.5 });
      });

      test('usage is an amount: nothing is taken back, and of such a report nothing is kept', async () => {
        const mine = await lease(store, taskLease('a'));
        for (const wrong of [{ costUsd: -0.01 }, { input: -1 }, { cacheRead: Number.NaN }])
          await expect(
            store.addUsage(mine, [used({ key: 'k1' }), used({ key: 'k2', ...wrong })]),
          ).rejects.toThrow(/usage k2 of a is no amount/);
        expect(await store.usage()).toEqual([]);
      });

      test('spend is a lower bound when a cost is unknown', async () => {
        await spent(store, used({ key: 'k1' }), used({ key: 'k2', costUsd: null }));
        expect(await store.spend('a')).toEqual({ tokens: 62, costUsd: 0.25, unpriced: 31, complete: false });
      });

      test('spend is a lower bound when a turn ended with unknown usage', async () => {
        const a = await claimed(store, 'a', 1);
        const b = await claimed(store, 'b', 2);
        const next = await commit(store, a, [started('coder', 1)]);
        await commit(store, next, [completed('coder', 1, 'interrupted', 'unknown')]);
        await commit(store, b, [completed('coder', 1)]);
        expect(await store.spend('a')).toEqual({ tokens: 0, costUsd: 0, unpriced: 0, complete: false });
        expect(await store.spend('b')).toEqual({ tokens: 0, costUsd: 0, unpriced: 0, complete: true });
      });

      test('spend of all tasks since a time, with what is unknown of it', async () => {
        const a = await claimed(store, 'a', 1);
        await spent(
          store,
          used({ key: 'k1', at: 100 }),
          used({ key: 'k2', at: 200, task: 'b' }),
          used({ key: 'k3', at: 300, task: 'b' }),
        );
        expect(await store.spendSince(0)).toEqual({ tokens: 93, costUsd: 0.75, unpriced: 0, complete: true });
        expect(await store.spendSince(200)).toEqual({
          tokens: 62,
          costUsd: 0.5,
          unpriced: 0,
          complete: true,
        });
        expect(await store.spendSince(301)).toEqual({ tokens: 0, costUsd: 0, unpriced: 0, complete: true });
        await spent(store, used({ key: 'k4', at: 250, costUsd: null }));
        expect(await store.spendSince(200)).toEqual({
          tokens: 93,
          costUsd: 0.5,
          unpriced: 31,
          complete: false,
        });
        expect(await store.spendSince(300)).toMatchObject({ complete: true });
        const next = await commit(store, a, [started('coder', 1)]);
        const at = (await store.events({ last: 1 }))[0]!.at;
        await commit(store, next, [completed('coder', 1, 'interrupted', 'unknown')]);
        expect(await store.spendSince(at)).toMatchObject({ complete: false });
      });

      test('what was spent since a time is exact to the millisecond, across any number of hours', async () => {
        const hour = 3_600_000;
        const times = [0, hour - 1, hour, hour + 1, 3 * hour - 1, 3 * hour, 400 * hour + 7];
        await spent(store, ...times.map((at, n) => used({ key: `k${n}`, at })));
        await spent(store, used({ key: 'k0', at: 400 * hour }));
        for (const since of [...times, 1, 2 * hour, 3 * hour + 1, 400 * hour, 400 * hour + 8])
          expect((await store.spendSince(since)).tokens, `since ${since}`).toBe(
            31 * times.filter((at) => at >= since).length,
          );
      });

      test('turns of which nobody knows what they used are found by task and by time', async () => {
        const a = await claimed(store, 'a', 1);
        const b = await claimed(store, 'b', 2);
        await commit(store, await commit(store, a, [started('coder', 1)]), [completed('coder', 1)]);
        const before = (await store.events({ last: 1 }))[0]!.at;
        const next = await commit(store, b, [started('critic', 1)]);
        await commit(store, next, [completed('critic', 1, 'interrupted', 'unknown')]);
        const [last] = await store.events({ last: 1 });
        const { sessionId } = (last as { data: { sessionId: string } }).data;
        const found = { task: 'b', role: 'critic', turn: 1, sessionId, at: last!.at };
        expect(await store.unknownTurns()).toEqual([found]);
        expect(await store.unknownTurns({ since: last!.at })).toEqual([found]);
        expect(await store.unknownTurns({ since: last!.at + 1 })).toEqual([]);
        expect(await store.unknownTurns({ task: 'b', since: before })).toEqual([found]);
        expect(await store.unknownTurns({ task: 'a' })).toEqual([]);
      });

      test('findings are of one task, updated in their place, and none is lost (loops 33)', async () => {
        const a = await claimed(store, 'a', 1);
        const b = await commit(store, a, [], { findings: [finding('f1'), finding('f2')] });
        const resolved: Finding = {
          ...finding('f1'),
          status: 'resolved',
          history: [{ status: 'resolved', by: 'critic', at: 3, sha: 'abc', why: 'it is gone' }],
        };
        await commit(store, b, [], { findings: [resolved, finding('f3')] });
        expect(await store.findings('a')).toEqual([resolved, finding('f2'), finding('f3')]);
        expect(await store.findings('b')).toEqual([]);
      });

      test('anybody may note something about a task, but only a commit changes its row', async () => {
        const a = await claimed(store, 'a', 1);
        const note = event('effect_failed', { action: 'push', problem: 'offline', attempt: 1 });
        await store.record({ task: 'a', events: [note], at: 5 });
        expect((await store.events({ task: 'a', last: 1 }))[0]).toMatchObject({ task: 'a', at: 5, ...note });
        expect(await store.task('a')).toEqual(a);
        const before = await everything(store, 'a');
        const change = event('pull_ensured', { pull: 3, headSha: 'x' });
        await expect(store.record({ task: 'a', events: [note, change], at: 6 })).rejects.toThrow('commit it');
        await expect(store.record({ task: 'none', events: [note], at: 6 })).rejects.toThrow('no task');
        expect(await everything(store, 'a')).toEqual(before);
      });

      test('requests are passed on together with the events and actions of whoever heard them, or not at all', async () => {
        await claimed(store, 'a', 1);
        const heard = event('loop_paused', { by: 'ann' });
        const asked = { kind: 'pause', by: 'ann', at: 5 } as const;
        await store.record({
          events: [heard],
          at: 5,
          addActions: [LABEL],
          requests: [{ task: 'a', ...asked }],
        });
        expect(await store.requests('a')).toMatchObject([{ task: 'a', ...asked }]);
        expect((await store.events({ last: 2 })).map(({ type, task }) => [type, task])).toEqual([
          ['loop_paused', null],
          ['request_made', 'a'],
        ]);
        const before = await everything(store, 'a');
        const nobody = store.record({ events: [heard], at: 6, requests: [{ task: 'none', ...asked }] });
        await expect(nobody).rejects.toThrow();
        expect(await everything(store, 'a')).toEqual(before);
      });

      test('requests wait until a commit consumes them', async () => {
        const a = await claimed(store, 'a', 1);
        await claimed(store, 'b', 2);
        await store.request({ task: 'a', kind: 'pause', by: 'eva', at: 1 });
        await store.request({ task: 'a', kind: 'cancel', by: 'eva', at: 2 });
        await store.request({ task: 'b', kind: 'approve', by: 'eva', at: 3, head: 'c1' });
        const [first, second] = await store.requests('a');
        const [others] = await store.requests('b');
        expect(others).toMatchObject({ kind: 'approve', head: 'c1' });
        expect(first).toEqual({
          id: expect.any(Number),
          task: 'a',
          kind: 'pause',
          by: 'eva',
          at: 1,
          finding: null,
          why: null,
          head: null,
        });
        expect(await store.events({ type: 'request_made', task: 'a' })).toMatchObject([
          { at: 1, data: { kind: 'pause', by: 'eva' } },
          { at: 2, data: { kind: 'cancel', by: 'eva' } },
        ]);
        await commit(store, a, [], { consumeRequests: [first!.id, others!.id] });
        expect(await store.requests('a')).toEqual([second]);
        expect(await store.requests('b')).toEqual([others]);
      });

      test('a request about a finding says which one and why', async () => {
        await claimed(store, 'a', 1);
        const about = { finding: 'a.2', why: 'that is how it shall be' };
        await store.request({ task: 'a', kind: 'wontfix', by: 'eva', at: 1, ...about });
        expect(await store.requests('a')).toMatchObject([{ kind: 'wontfix', ...about }]);
      });

      test('a request for a task nobody knows is an error', async () => {
        await expect(store.request({ task: 'nobody', kind: 'pause', by: 'eva', at: 1 })).rejects.toThrow();
      });

      test('children are found again until they are forgotten', async () => {
        const mine = await lease(store, taskLease('a'));
        const child = { task: 'a', pid: 5, startTime: '77', bootId: 'boot', purpose: 'turn' };
        await store.recordProcess(mine, child);
        await store.recordProcess(mine, child);
        await store.recordProcess(mine, { ...child, startTime: '78', task: 'b' });
        expect(await store.processes('a')).toEqual([{ ...child, lease: mine.key }]);
        await store.forgetProcess(child);
        expect(await store.processes()).toMatchObject([{ startTime: '78', task: 'b' }]);
      });

      test('each child says under which lease it was started, whatever it is for', async () => {
        const child = { task: 'a', pid: 5, startTime: '77', bootId: 'boot', purpose: 'turn' };
        await store.recordProcess(await lease(store, INTAKE_LEASE), child);
        await store.recordProcess(await lease(store, 'doctor-gate'), { ...child, pid: 6 });
        expect(await store.processes()).toMatchObject([
          { pid: 5, lease: INTAKE_LEASE },
          { pid: 6, lease: 'doctor-gate' },
        ]);
      });

      test('no child is recorded under a lease that was taken over (dispatch 39)', async () => {
        const old = await lease(store, taskLease('a'), 'old', 0);
        await store.acquireLease(taskLease('a'), 'new', TTL, TTL, alive);
        const child = { task: 'a', pid: 5, startTime: '77', bootId: 'boot', purpose: 'turn' };
        await expect(store.recordProcess(old, child)).rejects.toThrow(LeaseLost);
        expect(await store.processes()).toEqual([]);
      });

      test('the loop has one row of its own', async () => {
        const empty = {
          pausedBy: null,
          stop: 'no',
          configProblem: null,
          commandsSince: null,
          deploy: null,
          deployAgain: null,
          notify: null,
          telemetry: null,
          trunk: null,
          accountLimits: [],
          holds: [],
          trials: [],
        };
        expect(await store.loop()).toEqual(empty);
        const paused = await store.updateLoop({ pausedBy: 'eva' }, [event('loop_paused', { by: 'eva' })], 3);
        expect(paused).toEqual({ ...empty, pausedBy: 'eva' });
        const deploy = { considered: 7, last: null, deployedSha: 'abc' };
        await store.updateLoop({ stop: 'drain', configProblem: 'line 3', commandsSince: 77 }, [], 4);
        await store.updateLoop({ deploy, deployAgain: 'eva', trunk: 'main', telemetry: 12 }, [], 4);
        expect(await store.loop()).toEqual({
          pausedBy: 'eva',
          stop: 'drain',
          configProblem: 'line 3',
          commandsSince: 77,
          deploy,
          deployAgain: 'eva',
          notify: null,
          telemetry: 12,
          trunk: 'main',
          accountLimits: [],
          holds: [],
          trials: [],
        });
        expect(await store.events()).toMatchObject([{ task: null, type: 'loop_paused', at: 3 }]);
      });

      test('a used-up account is known to the loop with the commit that met it, and refuses turns until it is over', async () => {
        const limited = event('account_limited', { account: 'claude', why: 'used up', until: 500 });
        const a = await commit(store, await claimed(store, 'a', 1), [limited]);
        const b = await claimed(store, 'b', 2);
        const accountLimits = [{ account: 'claude', why: 'used up', until: 500 }];
        expect((await store.loop()).accountLimits).toMatchObject(accountLimits);
        await expect(commit(store, b, [held('operator_pause')], { account: 'claude' })).rejects.toThrow(
          LimitReached,
        );
        expect((await store.task('b'))?.version).toBe(b.version);
        await commit(store, b, [held('operator_pause')], { account: 'codex' });
        await commit(store, a, [held('operator_pause')], { account: 'claude', at: 500 });
        await store.updateLoop({}, [event('account_released', { account: 'claude', by: 'eva' })], 30);
        expect((await store.loop()).accountLimits).toEqual([]);
      });

      test('an account that fails for everybody is tried by one runner at a time', async () => {
        const account = 'claude';
        const turn = { turn: 1, role: 'coder', sessionId: 's' } as const;
        const failed = {
          ...turn,
          status: 'failed',
          code: 'overload',
          message: '503',
          retryAt: null,
        } as const;
        const rest = { durationMs: 1, usage: 'known', account, workless: true } as const;
        const fails = event('turn_completed', { ...failed, ...rest });
        const tries = event('turn_started', { ...turn, prompt: 'task', triesAccount: account });
        const a = await commit(store, await claimed(store, 'a', 1), [fails, fails], { at: 10 });
        const b = await commit(store, await claimed(store, 'b', 2), [fails], { at: 10 });
        const nextTry = (await store.loop()).accountLimits[0]?.until ?? 0;
        expect(nextTry).toBeGreaterThan(10);
        await expect(commit(store, b, [tries], { account, at: nextTry - 1 })).rejects.toThrow(LimitReached);

        // Both runners have seen that its time has come.
        const both = [a, b].map((one) => commit(store, one, [tries], { account, at: nextTry }));
        const [first, second] = await Promise.allSettled(both);
        expect(first?.status).toBe('fulfilled');
        expect(second).toMatchObject({ status: 'rejected', reason: expect.any(LimitReached) });
        expect((await store.task('b'))?.task.turn).toBeNull();

        const works = event('turn_completed', {
          ...turn,
          ...failed,
          ...rest,
          status: 'finished',
          code: null,
        });
        const [begun] = await store.tasks({ issue: 1 });
        await commit(store, begun!, [works], { at: nextTry + 1 });
        expect((await store.loop()).accountLimits).toEqual([]);
        await commit(store, b, [tries], { account, at: nextTry + 1 });
      });

      test('what holds the loop is known with the event that says so, beside a pause, until it is released', async () => {
        const hold = (task: string): LoopHold => untestedMerge(task, { why: `of ${task}` });
        await store.updateLoop({ pausedBy: 'eva' }, [event('loop_held', hold('one'))], 1);
        await commit(store, await claimed(store, 'a', 1), [event('loop_held', hold('two'))]);
        await store.record({ events: [event('loop_released', { ...hold('one'), by: 'eva' })], at: 3 });
        expect(await store.loop()).toMatchObject({ pausedBy: 'eva', holds: [hold('two')] });
      });

      test('what the loop’s row keeps of events is their fold, whatever verb wrote them', async () => {
        const limited = event('account_limited', { account: 'claude', why: 'used up', until: 500 });
        const trial = { tree: 't', digest: 'd', outcome: 'pass', detail: '' } as const;
        const tried = event('gate_tried', { ...trial, sha: 's', durationMs: 1 });
        const held = event('loop_held', { key: 'one', reason: 'untested_merge', detail: '' });
        await store.record({ events: [held, tried], at: 1 });
        await commit(store, await claimed(store, 'a', 1), [limited]);
        await store.updateLoop({ pausedBy: 'eva' }, [], 3);
        const folded = (await store.events()).reduce(
          (row, one) => foldLoop(row, [one], one.at),
          NOTHING_FOLDED,
        );
        expect(folded).toMatchObject({ accountLimits: [{}], holds: [{}], trials: [{}] });
        expect(await store.loop()).toMatchObject(folded);
      });

      test('the loop’s row is not changed under a lease that was taken over', async () => {
        const old = await lease(store, INTAKE_LEASE, 'old', 0);
        await store.updateLoop({ deployAgain: 'eva' }, [], 1, old);
        await store.acquireLease(INTAKE_LEASE, 'new', TTL, TTL, alive);
        const change = store.updateLoop({ deployAgain: null }, [event('loop_paused', { by: 'x' })], TTL, old);
        await expect(change).rejects.toThrow(LeaseLost);
        expect((await store.loop()).deployAgain).toBe('eva');
        expect(await store.events()).toEqual([]);
      });

      test('events are asked for by place, task, type and number', async () => {
        const a = await claimed(store, 'a', 1);
        await commit(store, a, [held('operator_pause'), cleared('operator_pause')]);
        await store.record({ events: [event('loop_paused', { by: 'me' })], at: 1 });
        const seqs = async (wanted?: Parameters<Store['events']>[0]) =>
          (await store.events(wanted)).map((e) => e.seq);
        expect(await seqs()).toEqual([1, 2, 3, 4, 5]);
        expect(await seqs({ after: 3 })).toEqual([4, 5]);
        expect(await seqs({ after: 1, limit: 2 })).toEqual([2, 3]);
        expect(await seqs({ last: 2 })).toEqual([4, 5]);
        expect(await seqs({ last: 0 })).toEqual([]);
        expect(await seqs({ task: 'a', last: 1 })).toEqual([4]);
        expect(await seqs({ type: 'hold_set' })).toEqual([3]);
        expect(await seqs({ type: 'hold_set', data: { reason: 'operator_pause' }, last: 1 })).toEqual([3]);
        expect(await seqs({ type: 'hold_set', data: { reason: 'retry_backoff' } })).toEqual([]);
        expect(await seqs({ since: 2 })).toEqual([1, 2, 3, 4]);
        expect(await seqs({ after: 5 })).toEqual([]);
        expect(await seqs({ after: 99 })).toEqual([]);
      });
    });

    test('everything is there for the next process', async () => {
      const a = await claimed(store, 'a', 1, [LABEL]);
      const b = await commit(store, a, [to(a.task, 'dispatched'), started('coder', 1)], {
        findings: [finding('f')],
      });
      await store.request({ task: 'a', kind: 'pause', by: 'eva', at: 1 });
      await spent(store, used({ key: 'k1' }));
      await store.updateLoop({ pausedBy: 'eva' }, [], 3);
      const before = await everything(store, 'a');
      const again = await made.reopen();
      expect(await everything(again, 'a')).toEqual(before);
      await commit(again, b, [to(b.task, 'running')]);
      expect((await again.events({ last: 1 }))[0]).toMatchObject({ seq: 6, type: 'worker_state_transition' });
    });
  });
}
