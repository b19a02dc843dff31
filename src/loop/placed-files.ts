/** What of the operator's lies in the worktree of a plan: the files they name, and the skill of the post action. */
import { join } from 'node:path';
import type { Policy } from '../core/policy.ts';
import type { Task } from '../core/task.ts';
import { BadFrontMatter, readFrontMatter } from '../front-matter.ts';
import type { PlacedFile } from '../workspace/workspace.ts';
import type { Ports } from './ports.ts';

/** No file of git's or of the work ever lies there. */
const SKILLS = '.forge/skills';

type Needed = Pick<Ports, 'settings' | 'readText' | 'agentFor'>;

interface PostSkill {
  name: string;
  folder: string;
  /** What the prompt says of it; null where the agent finds it by itself. */
  text: string | null;
}

export async function placedFiles(ports: Needed): Promise<PlacedFile[]> {
  const { worktreeFiles } = ports.settings.policy().loop;
  const skill = await postSkill(ports);
  const isShown = skill !== null && skill.text !== null;
  return [...worktreeFiles, ...(isShown ? [{ path: `${SKILLS}/${skill.name}`, from: skill.folder }] : [])];
}

/** Null when there is none, or it is not there: `doctor` says so. */
export async function postSkill({ settings, readText, agentFor }: Needed): Promise<PostSkill | null> {
  const { skills, postAction } = settings.policy().loop;
  if (skills === null || !postAction?.skill) return null;
  const { skill: name } = postAction;
  const folder = join(skills, name);
  const text = await readText(join(folder, 'SKILL.md'));
  if (!text?.trim()) return null;
  const isFound = agentFor('coder').looksForSkills === true && isKnownBy(name, text);
  return { name, folder, text: isFound ? null : text };
}

/** Why there is nothing to ask of a post action; null where its skill or its prompt says what to do. */
export function nothingToDo({ loop }: Policy, skill: PostSkill | null): string | null {
  const { postAction, skills } = loop;
  if (postAction === null) return 'loop.post_action is off';
  if (skill !== null || postAction.prompt) return null;
  const { skill: name } = postAction;
  return skills === null
    ? `its skill "${name}" is not known: loop.skills is not set`
    : `its skill "${name}" is missing: there is no ${join(skills, name ?? '', 'SKILL.md')}, or it is empty`;
}

/** For a turn whose agent looks for it, also where the session goes on. */
export async function skillOf(ports: Needed, task: Task): Promise<Pick<PostSkill, 'name' | 'folder'> | null> {
  if (task.plan?.phase !== 'post_action') return null;
  const skill = await postSkill(ports);
  return skill?.text === null ? { name: skill.name, folder: skill.folder } : null;
}

/** Agents pass over a skill that has no description, or another name than its folder. */
function isKnownBy(name: string, text: string): boolean {
  const { name: named, description } = frontMatterOf(text);
  return named === name && typeof description === 'string' && description.trim() !== '';
}

function frontMatterOf(text: string): Record<string, unknown> {
  try {
    return readFrontMatter(text).values;
  } catch (error) {
    if (error instanceof BadFrontMatter) return {};
    throw error;
  }
}
