/** What people do with issues. A runner that is at work is told, so that it looks before its next poll. */
import type { Context } from '../context.ts';
import { event } from '../core/event.ts';
import { UsageError, UserError } from '../errors.ts';
import type { Issue } from '../forge/forge.ts';
import { iso } from '../view.ts';

export interface IssueView {
  number: number;
  title: string;
  state: 'open' | 'closed';
  labels: string[];
  priority: number | null;
  blockedBy: number[];
  /** In other repositories. */
  blockedElsewhere: string[];
  body: string;
  createdAt: string;
  updatedAt: string;
}

export interface IssueDetail extends IssueView {
  comments: { by: string; at: string; text: string }[];
}

export async function newIssue(
  context: Context,
  input: {
    title: string;
    body: string;
    labels: string[];
    priority?: number | undefined;
    blockedBy: number[];
    ready: boolean;
  },
): Promise<IssueView> {
  const { priority, ...rest } = input;
  const forge = await context.forge();
  // An issue that waits for nothing would be worked on at once.
  for (const number of input.blockedBy)
    if ((await forge.issue(number)) === null)
      throw new UserError(
        `There is no issue #${number} that it could wait for.`,
        '`forge-loop issue list --all` shows every one.',
      );
  const issue = await forge.newIssue({ ...rest, priority: priority ?? null, by: await context.operator() });
  if (input.ready) await tellRunner(context);
  return issueView(issue);
}

export async function listIssues(context: Context, input: { all: boolean }): Promise<IssueView[]> {
  return (await (await context.forge()).listIssues(input.all)).map(issueView);
}

export async function showIssue(context: Context, input: { issue: number }): Promise<IssueDetail> {
  const forge = await context.forge();
  const comments = (await forge.comments(input.issue)).map(({ by, at, text }) => ({ by, at, text }));
  return { ...issueView((await forge.issue(input.issue))!), comments };
}

export async function readyIssue(
  context: Context,
  input: { issue: number },
): Promise<IssueView & { reopened: boolean }> {
  const forge = await context.forge();
  const reopened = (await forge.issue(input.issue))?.state === 'closed';
  const issue = await forge.markReady(input.issue, await context.operator());
  await tellRunner(context);
  return { ...issueView(issue), reopened };
}

export async function closeIssue(context: Context, input: { issue: number }): Promise<IssueView> {
  const forge = await context.forge();
  await forge.setState(input.issue, 'closed');
  await tellRunner(context);
  return issueView((await forge.issue(input.issue))!);
}

export async function commentIssue(
  context: Context,
  input: { issue: number; text: string },
): Promise<IssueDetail> {
  if (input.text.trim() === '')
    throw new UsageError('A comment needs a text.', 'Give one with --body or --body-file.');
  await (await context.forge()).addComment(input.issue, await context.operator(), input.text);
  return showIssue(context, input);
}

/** Only where a database is: making an issue does not make one. */
export async function tellRunner(context: Context): Promise<void> {
  if ((await context.reading()) === null) return;
  const store = await context.writing();
  const by = await context.operator();
  await store.record({ events: [event('request_made', { kind: 'look', by })], at: context.now() });
}

function issueView(issue: Issue): IssueView {
  const { number, title, state, labels, priority, blockedBy, body } = issue;
  return {
    number,
    title,
    state,
    labels,
    priority,
    blockedBy,
    blockedElsewhere: (issue.blockedElsewhere ?? []).map(({ name }) => name),
    body,
    createdAt: iso(issue.createdAt)!,
    updatedAt: iso(issue.updatedAt)!,
  };
}
