/** A list of features, one loop each: which wait for which, and how many may be at work at the same time. */
import { isEnded, nameOfTask, type Task } from '../task.ts';
import { loopStatus } from './status.ts';

export interface Feature {
  name: string;
  /** The names of those that have to be completed before. */
  after: readonly string[];
}

/** What is wrong with the list, and at which feature; null when nothing is. */
export function featureProblem(features: readonly Feature[]): { at: number; problem: string } | null {
  const names = features.map(({ name }) => name);
  for (const [at, { name, after }] of features.entries()) {
    if (names.indexOf(name) !== at) return { at, problem: `"${name}" is listed twice` };
    const unknown = after.find((other) => !names.includes(other));
    if (unknown !== undefined)
      return { at, problem: `"${name}" waits for "${unknown}", which is not listed` };
  }
  const circle = circleIn(features);
  if (!circle) return null;
  const problem = `these wait for each other: ${[...circle, circle[0]].join(' → ')}`;
  return { at: names.indexOf(circle[0]!), problem };
}

/** In an order in which each comes after those it waits for. */
export function inOrder<F extends Feature>(features: readonly F[]): F[] {
  const placed: F[] = [];
  while (placed.length < features.length) {
    const names = placed.map(({ name }) => name);
    const next = features.find(
      (one) => !placed.includes(one) && one.after.every((other) => names.includes(other)),
    );
    if (!next) throw new Error('the features wait for each other');
    placed.push(next);
  }
  return placed;
}

function circleIn(features: readonly Feature[]): string[] | null {
  const byName = new Map(features.map((one) => [one.name, one]));
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): string[] | null => {
    if (path.includes(name)) return path.slice(path.indexOf(name));
    if (done.has(name)) return null;
    for (const other of byName.get(name)?.after ?? []) {
      const found = visit(other, [...path, name]);
      if (found) return found;
    }
    done.add(name);
    return null;
  };
  for (const { name } of features) {
    const found = visit(name, []);
    if (found) return found;
  }
  return null;
}

/** What a queued loop waits for; null when it may begin. `known` has every task it may wait for, ended ones too. */
export function whyAwaits(
  task: Task,
  live: readonly Task[],
  known: ReadonlyMap<string, Task>,
): string | null {
  const group = task.plan?.group;
  if (!group || task.state !== 'queued') return null;
  const open = group.after.map((id) => known.get(id)).find((other) => !isCompleted(other));
  if (open) {
    const ended = isEnded(open) ? `, which ended without completing (${open.reason})` : '';
    return `waits for the loop ${nameOfTask(open)}${ended}`;
  }
  if (group.most === null) return null;
  const isDue = ({ state, plan }: Task): boolean =>
    state !== 'queued' || (plan?.group?.after ?? []).every((id) => isCompleted(known.get(id)));
  const members = live
    .filter((other) => other.plan?.group?.id === group.id && isDue(other))
    .sort(beginsBefore);
  const place = members.findIndex(({ id }) => id === task.id);
  return place < group.most ? null : `waits for a place: ${group.most} of its features may be at work`;
}

const isCompleted = (task: Task | undefined): boolean =>
  task !== undefined && loopStatus(task) === 'completed';

const beginsBefore = (a: Task, b: Task): number =>
  Number(a.state === 'queued') - Number(b.state === 'queued') ||
  a.createdAt - b.createdAt ||
  (a.id < b.id ? -1 : 1);
