/** What people do with pull requests: look, comment, review, report what CI found. */
import type { Context } from '../context.ts';
import type { Check, Remark } from '../core/change/remark.ts';
import { UsageError, UserError } from '../errors.ts';
import type { Pull } from '../forge/forge.ts';
import { iso } from '../view.ts';
import { tellRunner } from './issues.ts';

export interface PullView {
  number: number;
  title: string;
  issue: number | null;
  branch: string;
  state: Pull['state'];
  headSha: string | null;
  mergedSha: string | null;
  approvals: { headSha: string; by: string }[];
}

export interface PullDetail extends PullView {
  /** What the loop says of it: criteria, evidence, cost. */
  body: string;
  checks: Check[];
  remarks: (Omit<Remark, 'where' | 'at'> & { at: string })[];
}

export async function listPulls(context: Context, input: { all: boolean }): Promise<PullView[]> {
  return (await (await context.pullDesk()).listPulls(input.all)).map(pullView);
}

export async function showPull(context: Context, input: { pull: number }): Promise<PullDetail> {
  const desk = await context.pullDesk();
  const pull = (await desk.listPulls(true)).find(({ number }) => number === input.pull);
  const said = await (await context.forge()).feedback(input.pull);
  if (!pull || !said)
    throw new UserError(
      `There is no pull request #${input.pull}.`,
      '`forge-loop pull list --all` shows every one.',
    );
  return {
    ...pullView(pull),
    body: pull.body,
    checks: said.checks,
    remarks: said.remarks.map(({ where: _where, at, ...remark }) => ({ ...remark, at: iso(at)! })),
  };
}

export async function sayOnPull(
  context: Context,
  input: {
    pull: number;
    verdict: Remark['verdict'];
    body: string;
    file?: string | undefined;
    line?: number | undefined;
  },
): Promise<PullDetail> {
  const { pull, verdict, body, file = null, line = null } = input;
  if (body.trim() === '' && verdict !== 'approve')
    throw new UsageError(
      'What should be different? Only an approval needs no text.',
      'Give one with --body or --body-file.',
    );
  if (line !== null && file === null) throw new UsageError('--line requires --file.');
  const by = await context.operator();
  await (await context.pullDesk()).remark(pull, { by, verdict, body, file, line });
  await tellRunner(context);
  return showPull(context, { pull });
}

export async function reportCheck(
  context: Context,
  input: {
    pull: number;
    name: string;
    state: Check['state'];
    job?: string | undefined;
    step?: string | undefined;
    link?: string | undefined;
    log?: string | undefined;
  },
): Promise<PullDetail> {
  const { pull, name, state, job = null, step = null, link = null, log = null } = input;
  const by = await context.operator();
  await (await context.pullDesk()).reportCheck(pull, { by, name, state, job, step, link, log });
  await tellRunner(context);
  return showPull(context, { pull });
}

function pullView({
  number,
  title,
  issue,
  branch,
  state,
  headSha,
  mergedSha,
  approvals,
}: Pull & { title: string }) {
  return { number, title, issue, branch, state, headSha, mergedSha, approvals };
}
