/**
 * What a role that only reads must leave as it is: the task's branch and workspace and, where its row says so, every ref that
 * neither the loop nor a fetch moves by itself.
 *
 * A person who commits at that moment can't be told from an agent that did. The answer is asked for again then: that
 * costs a turn, and trusting it could cost the repository.
 */
import { type Role, roleRow } from '../core/role.ts';
import type { Task } from '../core/task.ts';
import type { Ports } from './ports.ts';
import { workspaceKey } from './workspace-key.ts';

interface Surroundings {
  /** Something lies in the workspace that no checkpoint has. */
  dirty: boolean;
  /** Where each thing stands, by the name a person knows it by. */
  standing: ReadonlyMap<string, string>;
}

export async function surroundings(
  { forge, workspaces }: Ports,
  task: Task,
  role: Role,
  trunk: string,
): Promise<Surroundings> {
  const spec = workspaceKey(task);
  const { intact, dirty } = await workspaces.probe(spec);
  const isWatched = (ref: string): boolean =>
    roleRow(role).leavesAlone === 'repository' ? ref !== `refs/heads/${trunk}` : isOwn(task, ref);
  const standing = new Map([...(await workspaces.refs(spec))].filter(([ref]) => isWatched(ref)));
  standing.set(`${task.branch} as published`, (await forge.branchHead(task.branch))?.sha ?? '');
  standing.set('the workspace', `${intact} ${dirty}`);
  return { dirty: intact && dirty, standing };
}

const isOwn = ({ id, branch }: Task, ref: string): boolean =>
  ref === `refs/heads/${branch}` || ref.startsWith(`refs/forge/${id}/`);

export function changedSince(before: Surroundings['standing'], after: Surroundings['standing']): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name));
}
