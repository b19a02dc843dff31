/** Plan files: a skeleton to fill in, and what is missing in one. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Context } from '../context.ts';

import { type LintProblem, lintPlan } from '../core/plan/lint.ts';
import { type MilestoneText, parsePlan } from '../core/plan/plan.ts';
import { planSkeleton } from '../core/plan/skeleton.ts';
import { slugOf } from '../core/text/slug.ts';
import { UserError } from '../errors.ts';

export async function newPlan(
  _context: Context,
  input: { name: string; output?: string | undefined },
): Promise<{ name: string; path: string }> {
  const name = slugOf(input.name);
  const path = resolve(input.output ?? `${name}.md`);
  try {
    writeFileSync(path, planSkeleton(name), { flag: 'wx' });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new UserError(`${path} already exists.`, 'Name another file with --output.', { cause });
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new UserError(`${path} can't be written: its folder is not there.`, 'Make the folder first.', {
        cause,
      });
    throw cause;
  }
  return { name, path };
}

interface PlanLint {
  /** As it was named. */
  file: string;
  /** Null, like the title, of a file that can't be read as a plan. */
  name: string | null;
  title: string | null;
  milestones: Pick<MilestoneText, 'title' | 'line'>[];
  problems: LintProblem[];
}

export async function lintPlanFile(
  _context: Context,
  { file, text }: { file: string; text: string },
): Promise<PlanLint> {
  const parsed = parsePlan(text);
  const { name, title, milestones } = parsed.ok ? parsed.plan : { name: null, title: null, milestones: [] };
  return {
    file,
    name,
    title,
    milestones: milestones.map(({ title, line }) => ({ title, line })),
    problems: lintPlan(text),
  };
}
