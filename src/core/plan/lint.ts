/** What is missing in a plan, before anybody is paid to work on it. */
import type { MarkdownLine } from '../issue/markdown.ts';
import { cutPlan, type PlanOptions, type PlanParts, type PlanProblem, saysNothing } from './plan.ts';
import { PLACEHOLDERS } from './skeleton.ts';

export interface LintProblem extends PlanProblem {
  /** With an error it can't be run, or nobody can tell when it is done. With a warning it can, less well. */
  severity: 'error' | 'warning';
}

/** The plan of an issue needs no name: it has that of its issue. */
export function lintPlan(text: string, options: PlanOptions = { markers: 'required' }): LintProblem[] {
  const cut = cutPlan(text, options);
  if (!cut.ok) return [{ severity: 'error', ...cut.problem }];
  const { parts } = cut;
  return [
    ...parts.warnings.map((one): LintProblem => ({ severity: 'warning', ...one })),
    ...ofThePlan(parts, options),
    ...parts.milestones.flatMap(ofMilestone),
    ...unfilled(parts),
    ...absolutePaths(parts),
  ].sort((one, other) => (one.line ?? 0) - (other.line ?? 0));
}

function ofThePlan(
  { from, to, name, objective, shared }: PlanParts,
  { markers }: PlanOptions,
): LintProblem[] {
  // All of a text without markers is the plan: it has no line to name.
  const isWhole = from === 0;
  const found: LintProblem[] = [];
  if (saysNothing(objective.filter(({ kind }) => kind !== 'heading')))
    found.push({
      severity: 'error',
      line: isWhole ? null : from,
      problem: 'the plan has no objective',
      advice: 'Say what is built and why, before the first milestone.',
    });
  if (name === null && markers === 'required')
    found.push({
      severity: 'warning',
      line: from,
      problem: 'the plan has no Loop Name',
      advice:
        'Add a line `Loop Name: auth-refactor`, of one to three words: task, branch and worktree are called so.',
    });
  if (![objective, shared].some((lines) => hasSection(lines, 2, 'Verification')))
    found.push({
      severity: 'error',
      line: isWhole ? null : to,
      problem: 'the plan has no `## Verification`, or nothing below it',
      advice:
        'Say after the last milestone how to tell that the whole plan is done: commands, and what they must show.',
    });
  return found;
}

function ofMilestone({ line, lines }: PlanParts['milestones'][number], at: number): LintProblem[] {
  const first = lines.find((one) => !saysNothing([one]));
  if (first?.kind === 'heading' && first.level > 2)
    return [
      {
        severity: 'error',
        line,
        problem: `this marker stands before a subsection (\`${first.text}\`) and cuts its milestone in two`,
        advice: 'Keep one marker per milestone, just above its `##` heading.',
      },
    ];
  const lacking = (
    severity: LintProblem['severity'],
    titles: readonly string[],
    advice: string,
  ): LintProblem[] => {
    const missing = titles.filter((title) => !hasSection(lines, 3, title)).map((title) => `\`### ${title}\``);
    const problem = `milestone ${at + 1} has no ${missing.join(', no ')}, or nothing below it`;
    return missing.length === 0 ? [] : [{ severity, line, problem, advice }];
  };
  return [
    ...lacking(
      'error',
      ['Acceptance Criteria', 'Verification'],
      'Say how to tell that it is done, and how to check that.',
    ),
    ...lacking(
      'warning',
      ['Files', 'Edits'],
      'Say which files it touches and what changes in them, so that nobody has to guess.',
    ),
  ];
}

/** A heading of that level with something below it, up to the next one that is as high. */
function hasSection(lines: readonly MarkdownLine[], level: number, title: string): boolean {
  let isInside = false;
  for (const line of lines) {
    if (line.kind === 'heading' && line.level <= level)
      isInside = line.level === level && line.title.toLowerCase() === title.toLowerCase();
    else if (isInside && !saysNothing([line])) return true;
  }
  return false;
}

function unfilled({ lines }: PlanParts): LintProblem[] {
  return lines.flatMap(({ raw, number }) => {
    const left = PLACEHOLDERS.get(raw.trim());
    if (!left) return [];
    const problem = 'this line is unchanged from `plan new`';
    const advice = left.isNeeded ? 'Replace it.' : 'Replace it, or remove its section.';
    return [{ severity: left.isNeeded ? 'error' : 'warning', line: number, problem, advice }];
  });
}

function absolutePaths({ lines }: PlanParts): LintProblem[] {
  return lines.flatMap(({ raw, number }) => {
    const path = MACHINE_PATH.exec(raw)?.[1];
    if (path === undefined) return [];
    const problem = `\`${path}\` is a path of one machine`;
    const advice = 'Write it from the top of the repository: the work is done in a worktree somewhere else.';
    return [{ severity: 'warning', line: number, problem, advice }];
  });
}

/**
 * Something in somebody's home (`/home/ann/…`, `/Users/ann/…`, that of root), on a mounted disk (`/mnt/…`, `/Volumes/…`)
 * or on a drive (`C:\code\…`, `C:/code`). Everything else that begins with a slash may be a route, the rest of an address,
 * or the same on every machine (`/api/users`, `/media/logo.png`, `/usr/bin/env`, `/tmp/out`).
 */
const MACHINE_PATH = (() => {
  const before = /(?:^|[\s"'`(=:,[<]|file:\/\/)/;
  const posix = /\/(?:(?:home|Users|mnt|Volumes)\/[\w.-]+|root)\/[\w.-]/;
  const drive = /[A-Za-z]:\\[\w .-]{1,64}\\[\w.-]|[A-Z]:\/[\w.-]/;
  return new RegExp(`${before.source}((?:${posix.source}|${drive.source})[^\\s"'\`)\\]>,;]*)`);
})();
