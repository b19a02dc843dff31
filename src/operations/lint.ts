/** What readiness says about an issue and why, so that its author can check it before labelling it. */
import type { Context } from '../context.ts';
import { type Readiness, readiness } from '../core/issue/readiness.ts';
import { type LintProblem, lintPlan } from '../core/plan/lint.ts';
import { parsePlan } from '../core/plan/plan.ts';
import { planReadiness } from '../core/plan/start.ts';
import { UsageError, UserError } from '../errors.ts';
import { BadFrontMatter, splitFrontMatter } from '../front-matter.ts';

interface Lint extends Readiness {
  /** Null for a text that is no issue yet. */
  issue: number | null;
  title: string;
  /** What its plan is cut into, and what is missing in it; null for an issue without one. */
  plan: { milestones: number; problems: LintProblem[] } | null;
}

export async function lintIssue(
  context: Context,
  input: { issue?: number | undefined; text?: string | undefined },
): Promise<Lint> {
  const { issue, title, body } = await textOf(context, input);
  const judged = readiness(title, body);
  const asPlan = planReadiness(body);
  if (!asPlan) return { issue, title, ...judged, plan: null };
  const parsed = parsePlan(body, { markers: 'optional' });
  // Whoever works to a plan is judged by its milestones: the rules for other issues do not hold for it.
  const checkable = asPlan.decision === 'ready';
  return {
    issue,
    title,
    ...asPlan,
    checkable,
    thin: false,
    score: 0,
    rules: [],
    plan: {
      milestones: parsed.ok ? parsed.plan.milestones.length : 0,
      problems: lintPlan(body, { markers: 'optional' }),
    },
  };
}

async function textOf(
  context: Context,
  { issue, text }: { issue?: number | undefined; text?: string | undefined },
): Promise<{ issue: number | null; title: string; body: string }> {
  if ((issue === undefined) === (text === undefined))
    throw new UsageError('issue lint needs one thing to look at.', 'Give an issue number, or --file <path>.');
  if (issue === undefined) return { issue: null, ...draftIn(text!) };
  const found = await (await context.forge()).issue(issue);
  if (!found)
    throw new UserError(`There is no issue #${issue}.`, '`forge-loop issue list` shows the open ones.');
  return { issue, title: found.title, body: found.body };
}

/** The title is `title:` of the front matter, else the first line; the rest is the body. */
export function draftIn(text: string): { title: string; body: string } {
  const { front, rest: below } = partsOf(text.replaceAll('\r\n', '\n'));
  const body = below.trim();
  const named = /^title: *(["']?)(.+?)\1 *$/m.exec(front ?? '')?.[2];
  if (named !== undefined) return { title: named, body };
  const [first = '', ...rest] = body.split('\n');
  return { title: first.replace(/^#{1,6} +/, '').trim(), body: rest.join('\n').trim() };
}

/** A draft may begin with a line across the page: what is never closed is no front matter. */
function partsOf(text: string): { front: string | null; rest: string } {
  try {
    return splitFrontMatter(text);
  } catch (error) {
    if (!(error instanceof BadFrontMatter)) throw error;
    return { front: null, rest: text };
  }
}
