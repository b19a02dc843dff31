/**
 * What only a person goes on with, since its runner is gone: plans that people started, and with `recovery.mode: manual`
 * whatever was at work. Such a task keeps no slot and no place from others, and nothing waits for it.
 */
import { hasLapsed, momentOf } from '../core/lease.ts';
import { isInLine } from '../core/line/line.ts';
import { isLeftBegun, isLeftToPeople } from '../core/recover.ts';
import { isEnded, isJudging, occupiesSlot, type StoredTask, type Task } from '../core/task.ts';
import { type Commit, type Store, taskLease } from '../store/store.ts';
import type { Ports } from './ports.ts';

interface Needs extends Pick<Ports, 'isOwnerDead' | 'bootClock'> {
  owner?: Ports['owner'];
  store: Pick<Store, 'leases'>;
  clock: Pick<Ports['clock'], 'now'>;
}

/** Plans. */
export const interruptedAmong = (ports: Needs, tasks: readonly Task[]): Promise<Set<Task>> =>
  unowned(ports, tasks.filter(isLeftToPeople));

/** Plans, and with `recovery.mode: manual` whatever was at work. */
export async function leftAmong(
  ports: Needs & { settings: Pick<Ports['settings'], 'policy'>; store: Pick<Store, 'startedActions'> },
  tasks: readonly Task[],
): Promise<Set<Task>> {
  const policy = ports.settings.policy();
  if (policy.recovery.mode === 'auto') return interruptedAmong(ports, tasks);
  const started = await ports.store.startedActions();
  const begun = new Set(started.filter((one) => isLeftBegun([one], policy)).map(({ task }) => task));
  return unowned(
    ports,
    tasks.filter((task) => isLeftToPeople(task) || begun.has(task.id)),
  );
}

interface Counted {
  notEnded: readonly Task[];
  left: ReadonlySet<Task>;
  /** Without those that are left to people: what slots, critics and places in line are counted by. */
  live: readonly Task[];
}

/** `among`: all that are not ended, where they were read before; others among them make no difference. */
export async function underWay(
  ports: Parameters<typeof leftAmong>[0] & { store: Pick<Store, 'tasks'> },
  among?: readonly Task[],
): Promise<Counted> {
  const notEnded =
    among?.filter((task) => !isEnded(task)) ?? notEndedIn(await ports.store.tasks({ live: true }));
  const left = await leftAmong(ports, notEnded);
  return { notEnded, left, live: left.size === 0 ? notEnded : notEnded.filter((task) => !left.has(task)) };
}

/** Every look asks, and gets the same list until something was written. */
const known = new WeakMap<readonly StoredTask[], readonly Task[]>();

function notEndedIn(list: readonly StoredTask[]): readonly Task[] {
  const found = known.get(list) ?? list.map(({ task }) => task).filter((task) => !isEnded(task));
  known.set(list, found);
  return found;
}

async function unowned(
  { store, clock, bootClock, isOwnerDead, owner: self }: Needs,
  left: readonly Task[],
): Promise<Set<Task>> {
  if (left.length === 0) return new Set();
  const at = momentOf(clock.now(), bootClock);
  // Whoever asks is alive: what slipped from it is still its own.
  const held = (await store.leases()).filter(
    (lease) => lease.owner === self || !(hasLapsed(lease, at) || isOwnerDead(lease.owner)),
  );
  const keys = new Set(held.map(({ key }) => key));
  return new Set(left.filter(({ id }) => !keys.has(taskLease(id))));
}

/** Limits as they are for the others, since what such a task takes is nobody's; null when there is none. */
export async function limitsBeside(
  ports: Ports,
  limits: Commit['limits'],
): Promise<NonNullable<Commit['limits']> | null> {
  const live = (await ports.store.tasks({ live: true })).map(({ task }) => task);
  const left = [...(await leftAmong(ports, live))];
  if (left.length === 0 || !limits) return null;
  const kinds = Object.keys(limits) as (keyof typeof TAKES)[];
  return Object.fromEntries(kinds.map((kind) => [kind, limits[kind]! + left.filter(TAKES[kind]).length]));
}

const TAKES = {
  slots: occupiesSlot,
  critics: isJudging,
  merging: isInLine,
};
