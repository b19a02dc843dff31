/** What of the operator's lies in the worktree of a plan: the files they name, and the skill of the post action. */
import { join } from 'node:path';
import type { PlacedFile } from '../workspace/workspace.ts';
import type { Ports } from './ports.ts';

/** No file of git's or of the work ever lies there. */
const SKILLS = '.forge/skills';

export async function placedFiles(ports: Pick<Ports, 'settings' | 'readText'>): Promise<PlacedFile[]> {
  const { worktreeFiles } = ports.settings.policy().loop;
  const skill = await postSkill(ports);
  return [...worktreeFiles, ...(skill ? [{ path: `${SKILLS}/${skill.name}`, from: skill.folder }] : [])];
}

/** Null when there is none, or it is not there: `doctor` says so. */
export async function postSkill({
  settings,
  readText,
}: Pick<Ports, 'settings' | 'readText'>): Promise<{ name: string; folder: string; text: string } | null> {
  const { skills, postAction } = settings.policy().loop;
  if (skills === null || !postAction?.skill) return null;
  const folder = join(skills, postAction.skill);
  const text = await readText(join(folder, 'SKILL.md'));
  return text === null ? null : { name: postAction.skill, folder, text };
}
