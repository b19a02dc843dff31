/**
 * The issue of a task as it was last seen. One read serves a turn: what it left is saved and verified by what was seen
 * while it ran, and whatever follows then, by what is read then.
 */
import type { Task } from '../core/task.ts';
import type { Issue } from '../forge/forge.ts';
import type { Ports } from './ports.ts';

export interface SeenIssue {
  read(task: Task, when?: 'lately'): Promise<Issue | null>;
  /** As it was read a moment ago; null when it has to be read. */
  recent(): Issue | null;
  forget(): void;
}

export function seenIssue({ forge, clock, settings }: Ports): SeenIssue {
  let seen: { issue: Issue; at: number } | null = null;
  return {
    async read(task, when) {
      const issue = task.issue === null ? null : await forge.issue(task.issue, when);
      seen = issue && { issue, at: clock.monotonic() };
      return issue;
    },
    recent: () =>
      seen && clock.monotonic() - seen.at <= settings.policy().pollIntervalMs ? seen.issue : null,
    forget: () => {
      seen = null;
    },
  };
}
