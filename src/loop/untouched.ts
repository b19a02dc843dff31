/**
 * What a role that only reads must leave as it is: the task's branch and workspace, and every ref that neither the
 * loop nor a fetch moves by itself.
 *
 * A person who commits at that moment can't be told from an agent that did. The answer is asked for again then: that
 * costs a turn, and trusting it could cost the repository.
 */
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
  trunk: string,
): Promise<Surroundings> {
  const spec = workspaceKey(task);
  const { intact, dirty } = await workspaces.probe(spec);
  const standing = new Map(await workspaces.refs(spec));
  standing.delete(`refs/heads/${trunk}`);
  standing.set(`${task.branch} as published`, (await forge.branchHead(task.branch))?.sha ?? '');
  standing.set('the workspace', `${intact} ${dirty}`);
  return { dirty: intact && dirty, standing };
}

export function changedSince(before: Surroundings['standing'], after: Surroundings['standing']): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name));
}
