/** What plans need of the operator's own files: those for their worktrees, and the skill of the post action. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import type { Policy } from '../core/policy.ts';
import type { Check } from './doctor.ts';

export async function planNeeds({ git }: Pick<Context, 'git'>, { loop }: Policy): Promise<Check[]> {
  const { worktreeFiles, skills, postAction } = loop;
  const checks: Check[] = [];
  for (const { path, from } of worktreeFiles) {
    const key = `loop.worktree_files: ${path}`;
    if (!existsSync(from)) checks.push(fail(`${key}: ${from} is missing`, 'Make it, or take the entry out.'));
    const tracked = await git(['ls-tree', '-z', 'HEAD', '--', path], {
      env: { GIT_LITERAL_PATHSPECS: '1' },
      allow: [128],
    });
    if (tracked.stdout !== '')
      checks.push(fail(`${key} is tracked by git`, 'Place it elsewhere, or leave it to git.'));
  }
  const skill = postAction?.skill;
  if (!skill) return checks;
  const file = skills === null ? null : join(skills, skill, 'SKILL.md');
  if (file === null)
    checks.push(fail(`loop.post_action.skill is ${skill}, but loop.skills is not set`, 'Set loop.skills.'));
  else if (!existsSync(file))
    checks.push(fail(`the skill ${skill} has no ${file}`, 'Write it, or correct loop.post_action.skill.'));
  return checks;
}

const fail = (what: string, fix: string): Check => ({ name: 'plans', level: 'fail', what, fix });
