/**
 * Work that will likely conflict is not started side by side while there is other work as urgent: an issue that names a file
 * which work under way names or has changed goes behind those. It keeps its turn among those that waited longest. When
 * nothing else is left it is started all the same; while work waits to land, one such at a time.
 */
import type { WorkItem } from '../claim.ts';
import type { Task } from '../task.ts';

/** The file that it has in common with other work, and whose work that is. */
export interface Clash {
  file: string;
  issue: number | null;
  /** That work has changed it, whatever its text names. */
  isChanged?: true;
  /** It is not started while another such is at work. */
  isKeptBack?: true;
}

interface Apart {
  inOrder: WorkItem[];
  clashes: Map<WorkItem, Clash>;
  /** Under way beside what they clash with. */
  clashing: Task[];
}

/** `ready` is in order, and `isAsUrgent` says of two of them which come one after the other that either may go first. */
export function keptApart(
  ready: readonly WorkItem[],
  underWay: readonly Task[],
  isAsUrgent: (one: WorkItem, other: WorkItem) => boolean,
  /** What its last attempt changed: a new one will, too. */
  changedBefore: (item: WorkItem) => readonly string[] = () => [],
): Apart {
  if (ready.length === 0) return { inOrder: [], clashes: new Map(), clashing: [] };
  const taken = new Map<string, Clash>();
  const take = (file: string, by: Clash): void => {
    if (!taken.has(file)) taken.set(file, by);
  };
  const clashing: Task[] = [];
  for (const task of underWay) {
    const { issue, contract } = task;
    const [named, changed] = [filesNamed(contract), changedBy(task)];
    if ([...named, ...changed].some((file) => taken.has(file))) clashing.push(task);
    for (const file of changed)
      for (const name of namesOf(file)) take(name, { file: name, issue, isChanged: true });
    for (const file of named) take(file, { file, issue });
  }
  const clashes = new Map<WorkItem, Clash>();
  const inOrder = groupsOf(ready, isAsUrgent).flatMap((group) => {
    const first: WorkItem[] = [];
    const behind: WorkItem[] = [];
    const takeAll = (item: WorkItem): void => {
      for (const file of filesNamed(item)) take(file, { file, issue: item.number });
    };
    for (const item of group) {
      const file = [...filesNamed(item), ...changedBefore(item)].find((one) => taken.has(one));
      if (file === undefined) {
        takeAll(item);
        first.push(item);
      } else {
        clashes.set(item, taken.get(file)!);
        behind.push(item);
      }
    }
    for (const item of behind) takeAll(item);
    return [...first, ...behind];
  });
  return { inOrder, clashes, clashing };
}

export const changedBy = ({ inspected }: Task): readonly string[] => inspected?.files ?? [];

/** A text may name a file without all of its folders. */
const namesOf = (path: string): string[] => {
  const parts = path.split('/');
  return parts.map((_, at) => parts.slice(at).join('/'));
};

function groupsOf<T>(all: readonly T[], belong: (one: T, other: T) => boolean): T[][] {
  const groups: T[][] = [];
  for (const one of all) {
    const last = groups.at(-1);
    if (last && belong(last[0]!, one)) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

export function clashText({ file, issue, isChanged, isKeptBack }: Clash): string {
  const other = issue === null ? 'a plan' : `#${issue}`;
  const common = `which ${isChanged ? 'has changed' : 'also names'} ${file}`;
  return isKeptBack
    ? `while work waits to land, only one at a time is started beside others that it may conflict with, as ${other}, ${common}`
    : `after ${other} (just as urgent), ${common}`;
}

/** Asked of every open issue at every poll; its text is another object when it changed. */
const known = new WeakMap<object, readonly string[]>();

function filesNamed(text: { body: string }): readonly string[] {
  const files = known.get(text) ?? filesIn(text.body);
  known.set(text, files);
  return files;
}

/** In code, a word like a file's name; elsewhere only one with a folder, for much has a dot. */
export function filesIn(text: string): string[] {
  const inCode = [...text.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => wordsOf(code!));
  const elsewhere = wordsOf(text).filter((word) => word.includes('/'));
  return [...new Set([...inCode, ...elsewhere].filter((word) => FILE.test(word)))];
}

const wordsOf = (text: string): string[] =>
  text.split(/[\s`'"()<>[\]{},;:*|]+/).map((word) => word.replace(/^\.\//, '').replace(/[.!?]+$/, ''));

const FILE = /^(?:[\w@.-]{1,100}\/){0,20}[\w@.-]{0,99}\w\.[A-Za-z][A-Za-z0-9]{0,3}$/;
