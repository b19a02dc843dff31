/**
 * The operator's skill for a turn, as agents that look for skills find one: a folder of the name that its SKILL.md has.
 *
 * It is copied beside the session's folder, where a confined agent can't write, and made anew for every turn. So whatever an
 * agent leaves where it looks for skills otherwise stays out of force.
 */
import { chmodSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TurnRequest } from './agent.ts';
import { removeLeft } from './replace-file.ts';

/** `take` gets the turn with its skill in its place, which is gone when it resolves. */
export async function withSkill<T>(turn: TurnRequest, take: (turn: TurnRequest) => Promise<T>): Promise<T> {
  const { skill, access } = turn;
  if (!skill) return take(turn);
  const root = `${turn.sessionDir}-skills`;
  const folder = join(root, 'skills', skill.name);
  removeLeft(root);
  try {
    mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
    cpSync(skill.folder, folder, { recursive: true, dereference: true });
    makeReadOnly(folder);
    mkdirSync(join(root, '.claude-plugin'));
    writeFileSync(join(root, '.claude-plugin', 'plugin.json'), JSON.stringify({ name: 'operator' }));
    const readRoots = [...access.readRoots, root];
    return await take({ ...turn, skill: { ...skill, folder }, access: { ...access, readRoots } });
  } finally {
    removeLeft(root);
  }
}

type Placed = NonNullable<TurnRequest['skill']>;

/** Where skills are looked for, each in a folder of its name. */
export const skillsFolder = ({ folder }: Placed): string => dirname(folder);

/** The same as a plugin of Claude's, which is told of skills in no other way but by its user's settings. */
export const skillPlugin = (placed: Placed): string => dirname(skillsFolder(placed));

/** Folders stay ours to remove. */
function makeReadOnly(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) chmodSync(path, statSync(path).mode & 0o555);
  }
}
