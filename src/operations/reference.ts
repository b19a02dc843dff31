/**
 * What people write for a task: its id, the beginning of its id, a loop's name, or an issue's number for its latest attempt. Digits
 * alone always mean an issue: `task abandon 9` must not hit some task whose id happens to begin with a 9.
 */
import { nameOfTask, type StoredTask } from '../core/task.ts';
import { UserError } from '../errors.ts';
import type { Store } from '../store/store.ts';

export async function findTask(store: Pick<Store, 'tasks'> | null, reference: string): Promise<StoredTask> {
  const all = store ? await store.tasks() : [];
  const exact = all.find(({ task }) => task.id === reference);
  if (exact) return exact;
  const number = issueNumber(reference);
  const ofIssue = number === null ? [] : all.filter(({ task }) => task.issue === number);
  if (ofIssue.length > 0) return ofIssue.reduce((a, b) => (b.task.attempt > a.task.attempt ? b : a));
  const named = all.findLast(({ task }) => task.plan?.name === reference);
  if (named) return named;
  const isPrefix = number === null && reference !== '';
  const beginning = isPrefix ? all.filter(({ task }) => task.id.startsWith(reference.toLowerCase())) : [];
  if (beginning.length === 1) return beginning[0]!;
  if (beginning.length > 1) {
    throw new UserError(
      `${reference} begins the ids of ${beginning.length} tasks: ${listed(beginning)}.`,
      'Give more of the id.',
    );
  }
  throw new UserError(
    `There is no task ${reference}.`,
    all.length === 0
      ? 'There are no tasks yet: `forge-loop run` makes them.'
      : `Known: ${listed(all.slice(-8).reverse())}.`,
  );
}

/** `7` and `#7`. */
function issueNumber(reference: string): number | null {
  const digits = /^#?(\d+)$/.exec(reference.trim())?.[1];
  return digits === undefined ? null : Number(digits);
}

const listed = (tasks: readonly StoredTask[]): string =>
  tasks.map(({ task }) => `${task.id} (${nameOfTask(task)}, ${task.state})`).join(', ');
