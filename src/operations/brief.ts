/** The coder's prompt for an issue, as it would be rendered now. */
import type { Context } from '../context.ts';
import { nextAttempt } from '../core/claim.ts';
import { type EventData, event } from '../core/event.ts';
import { fold } from '../core/fold.ts';
import { isEnded, type Task } from '../core/task.ts';
import { promptContext } from '../core/words/prompt-context.ts';
import { UserError } from '../errors.ts';
import { NOTHING_TO_JUDGE } from '../loop/critic-brief.ts';
import { attemptHistory, directionFor, issueFields, withAdvice } from '../loop/prompt.ts';
import { issueItem } from '../loop/source.ts';

interface Brief {
  issue: number;
  attempt: number;
  branch: string;
  prompt: string;
}

export async function brief(context: Context, input: { issue: number }): Promise<Brief> {
  const { settings, problem } = await context.settings();
  if (problem && problem.kind !== 'missing') throw problem;
  const issue = await (await context.forge()).issue(input.issue);
  if (!issue)
    throw new UserError(`There is no issue #${input.issue}.`, '`forge-loop issue list` shows the open ones.');
  const store = await context.reading();
  const tasks = store ? (await store.tasks({ issue: issue.number })).map((stored) => stored.task) : [];
  const live = tasks.find((task) => !isEnded(task));
  const task = live ?? unborn(nextAttempt(issueItem(issue), tasks), context.now());
  const history = store ? await attemptHistory({ store }, task) : '';
  const fields = await issueFields({ forge: await context.forge() }, task);
  const inputs = { history, issue: fields, ...NOTHING_TO_JUDGE };
  const values = promptContext('task', task, task.turns + 1, settings.policy, inputs, null);
  const { render } = await context.tools();
  const frontier = async () => (await context.frontier()).frontier;
  const advice = await directionFor({ frontier, store }, task);
  const prompt = withAdvice(render('task', settings.prompts.task, values), advice);
  return { issue: issue.number, attempt: task.attempt, branch: task.branch, prompt };
}

function unborn(birth: EventData['task_created'], at: number): Task {
  const created = event('task_created', birth);
  return fold('unborn', [{ ...created, seq: 0, at, task: 'unborn' }]);
}
