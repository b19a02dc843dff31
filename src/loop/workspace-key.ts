import type { Task } from '../core/task.ts';
import type { WorkspaceKey } from '../workspace/workspace.ts';

/** The workspace that belongs to a task; its base is known once it was prepared. */
export function workspaceKey(task: Task, baseSha: string = task.baseSha ?? ''): WorkspaceKey {
  return { task: task.id, issue: task.issue, slug: task.slug, branch: task.branch, baseSha };
}
