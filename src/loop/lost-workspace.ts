/** A workspace that somebody deleted is no failure of whoever wanted to work in it: it is made anew from what was saved. */
import type { Outcome } from '../core/outcome.ts';
import type { Task } from '../core/task.ts';
import type { Ports } from './ports.ts';
import { workspaceKey } from './workspace-key.ts';

export type LostWorkspace = Extract<Outcome, { kind: 'workspace_lost' }>;

/** Null when it is there, or when nothing of it was saved. To be asked when something was refused: it reads the whole tree. */
export async function lostWorkspace({ workspaces }: Ports, task: Task): Promise<LostWorkspace | null> {
  const { exists, saved } = await workspaces.probe(workspaceKey(task));
  return exists || !saved ? null : { kind: 'workspace_lost', saved };
}
