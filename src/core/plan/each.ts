/** A list of features, one loop each: which wait for which, and how many may be at work at the same time. */
import { isEnded, nameOfTask, type Task } from '../task.ts';
import { loopStatus } from './status.ts';

export interface Feature {
  name: string;
  /** The hash of what it asks for. Two loops that ask for the same are never at work at once. */
  contract: string;
  /** The names of those that have to be completed before. */
  after: readonly string[];
}

interface Problem {
  at: number;
  problem: string;
}

/** What is wrong with the list, and at which feature; null when nothing is. */
export function featureProblem(features: readonly Feature[]): Problem | null {
  const names = features.map(({ name }) => name);
  for (const [at, { name, after }] of features.entries()) {
    if (names.indexOf(name) !== at) return { at, problem: `"${name}" is listed twice` };
    const unknown = after.find((other) => !names.includes(other));
    if (unknown !== undefined)
      return { at, problem: `"${name}" waits for "${unknown}", which is not listed` };
  }
  const circle = circleIn(features);
  if (circle) {
    const problem = `these wait for each other: ${[...circle, circle[0]].join(' → ')}`;
    return { at: names.indexOf(circle[0]!), problem };
  }
  for (const [at, { name, contract }] of features.entries()) {
    const same = features.slice(0, at).find((other) => other.contract === contract);
    if (same)
      return { at, problem: `"${name}" has the same plan and goal as "${same.name}": it would be one loop` };
  }
  return null;
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

/**
 * Of a list that is started again, the loops of before, by the names of their features: those that have not ended, and as
 * long as there are such, those that completed with them.
 */
export function startedBefore(features: readonly Feature[], tasks: readonly Task[]): Map<string, Task> {
  const found = new Map<string, Task>();
  for (const { name, contract } of features) {
    const live = tasks.find((task) => !isEnded(task) && asksFor(task, contract));
    if (live) found.set(name, live);
  }
  const group = groupOf(found);
  for (const { name, contract } of features) {
    const isDone = (task: Task): boolean => isCompleted(task) && task.plan?.group?.id === group;
    const done = tasks.find((task) => isDone(task) && asksFor(task, contract));
    if (group !== null && done && !found.has(name)) found.set(name, done);
  }
  return found;
}

/** The group that a list's loops of before are in, which those that are started now join. */
export const groupOf = (before: ReadonlyMap<string, Task>): string | null =>
  [...before.values()].find(({ plan }) => plan?.group)?.plan?.group?.id ?? null;

/** What a loop of before can't take from the list as it is now; null when there is nothing. */
export function changeProblem(
  features: readonly Feature[],
  most: number | null,
  before: ReadonlyMap<string, Task>,
  tasks: readonly Task[],
): Problem | null {
  const contractOf = (name: string) => features.find((one) => one.name === name)!.contract;
  for (const [at, { name, after }] of features.entries()) {
    const task = before.get(name);
    if (!task || isEnded(task)) continue;
    const group = task.plan?.group;
    const [was, is] = [group?.most ?? null, most].map((many) => many ?? 'none');
    const told = `"${name}" was started before`;
    if (was !== is) return { at, problem: `${told} with another concurrency (${was}, here ${is})` };
    if (most !== null && group?.id !== groupOf(before)) return { at, problem: `${told} with another list` };
    const waitsFor = tasks.filter(({ id }) => group?.after.includes(id));
    const isSame =
      waitsFor.length === after.length &&
      after.every((other) => waitsFor.some((one) => asksFor(one, contractOf(other))));
    if (task.state === 'queued' && !isSame) {
      const [now, here] = [waitsFor.map(nameOfTask), after].map((names) => names.join(', ') || 'nothing');
      return { at, problem: `${told} and waits for ${now}: here it waits for ${here}` };
    }
  }
  return null;
}

const asksFor = ({ plan, issue, contract }: Task, wanted: string): boolean =>
  plan !== undefined && issue === null && contract.hash === wanted;

/** What a queued loop waits for; null when it may begin. `known` has every task it may wait for, ended ones too. */
export function whyAwaits(
  task: Task,
  live: readonly Task[],
  known: ReadonlyMap<string, Task>,
): string | null {
  const group = task.plan?.group;
  if (!group || task.state !== 'queued') return null;
  const open = group.after.map((id) => standIn(id, known)).find((other) => !isCompleted(other));
  if (open) {
    const name = nameOfTask(open);
    const ended = `, which ended without completing (${open.reason}): \`forge-loop loop restart ${name}\` continues it`;
    return `waits for the loop ${name}${isEnded(open) ? ended : ''}`;
  }
  if (group.most === null) return null;
  const isDue = ({ state, plan }: Task): boolean =>
    state !== 'queued' || (plan?.group?.after ?? []).every((id) => isCompleted(standIn(id, known)));
  const members = live
    .filter((other) => other.plan?.group?.id === group.id && isDue(other))
    .sort(beginsBefore);
  const place = members.findIndex(({ id }) => id === task.id);
  return place < group.most ? null : `waits for a place: ${group.most} of its features may be at work`;
}

/** Where one was given up, the same started again after it will do. */
function standIn(id: string, known: ReadonlyMap<string, Task>): Task | undefined {
  const first = known.get(id);
  if (!first || !isGivenUp(first)) return first;
  const again = [...known.values()].filter(
    (other) => asksFor(other, first.contract.hash) && other.createdAt >= first.createdAt,
  );
  return again.find(isCompleted) ?? again.find((other) => !isEnded(other)) ?? again.at(-1) ?? first;
}

export const isGivenUp = (task: Task): boolean => isEnded(task) && !isCompleted(task);

const isCompleted = (task: Task | undefined): boolean =>
  task !== undefined && loopStatus(task) === 'completed';

const beginsBefore = (a: Task, b: Task): number =>
  Number(a.state === 'queued') - Number(b.state === 'queued') ||
  a.createdAt - b.createdAt ||
  (a.id < b.id ? -1 : 1);
