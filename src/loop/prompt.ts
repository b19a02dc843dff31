/** What the agent of a turn is told: the operator's template, filled with what the task and its surroundings say. */

import type { Action } from '../core/action.ts';
import { adviceText } from '../core/direction/advice.ts';
import type { PromptKind } from '../core/event.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Task } from '../core/task.ts';
import { digestOf } from '../core/text/digest.ts';
import { type IssueFields, type PromptInputs, promptContext } from '../core/words/prompt-context.ts';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';
import { UserError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import {
  auditInputs,
  conventionsAlone,
  criticInputs,
  NOTHING_TO_JUDGE,
  openFindings,
} from './critic-brief.ts';
import { nothingToDo, postSkill } from './placed-files.ts';
import type { Ports } from './ports.ts';

type TurnAction = Extract<Action, { kind: 'turn' }>;
type PromptBroken = Extract<Outcome, { kind: 'prompt_broken' }>;

export async function promptFor(
  ports: Ports,
  task: Task,
  { prompt, turn, priorFailure }: TurnAction,
): Promise<{ kind: 'prompt'; text: string } | PromptBroken> {
  const { settings } = ports;
  const template = settings.template(prompt);
  // Our own prompts name nothing that has to be looked up for them.
  const issue = template === DEFAULT_PROMPTS[prompt] ? null : await issueFields(ports, task);
  const skill = prompt === 'post_action' ? await postSkill(ports) : null;
  const inputs = { ...(await inputsOf(ports, task, prompt)), ...(skill && { skill }), issue };
  const context = promptContext(prompt, task, turn, settings.policy(), inputs, priorFailure);
  const broken = (problem: string): PromptBroken => ({
    kind: 'prompt_broken',
    prompt,
    problem,
    digest: templateDigest(template),
  });
  const nothing = prompt === 'post_action' ? nothingToDo(settings.policy(), skill) : null;
  if (nothing !== null) return broken(nothing);
  try {
    const text = ports.render(prompt, template, context);
    const advice = OPENS_WORK.includes(prompt) ? await directionFor(ports, task) : '';
    return { kind: 'prompt', text: withAdvice(text, advice) };
  } catch (problem) {
    if (!(problem instanceof UserError)) throw problem;
    return broken(problem.message);
  }
}

/** The prompts that tell a coder all there is to know. */
const OPENS_WORK: readonly PromptKind[] = ['task', 'handover', 'plan'];

/** Below whatever the operator's template says: it is no part of the contract. */
export const withAdvice = (text: string, advice: string): string =>
  advice === '' ? text : `${text.trimEnd()}\n\n${advice}\n`;

export async function directionFor({ frontier, store }: Needs, task: Task): Promise<string> {
  const stated = await frontier();
  if (stated.hotFiles.length === 0) return adviceText(stated, []);
  const live = (await store?.tasks({ live: true })) ?? [];
  const others = live.flatMap((one) => (one.task.id === task.id ? [] : [one.task]));
  return adviceText(stated, others);
}

interface Needs {
  frontier: Ports['frontier'];
  /** Null where there is no database yet. */
  store: Pick<Store, 'tasks'> | null;
}

/** What the forge says of a task's issue, for templates that name it. */
export async function issueFields({ forge }: Pick<Ports, 'forge'>, task: Task): Promise<IssueFields | null> {
  const number = task.issue ?? task.plan?.draftOf ?? null;
  const issue = number === null ? null : await forge.issue(number, 'lately');
  if (!issue) return null;
  const blockers = [];
  for (const blocker of issue.blockedBy) {
    const found = await forge.issue(blocker, 'lately');
    blockers.push({ number: blocker, state: found?.state ?? null });
  }
  return { ...issue, url: issue.url ?? null, blockers };
}

/** By which one knows a template that could not be rendered. */
export const templateDigest = (template: string): string => digestOf(template, 16);

async function inputsOf(ports: Ports, task: Task, prompt: TurnAction['prompt']): Promise<PromptInputs> {
  const history = prompt === 'task' && task.attempt > 1 ? await attemptHistory(ports, task) : '';
  const inputs = GIVEN[prompt];
  return {
    history,
    ...(inputs ? await inputs(ports, task) : NOTHING_TO_JUDGE),
  };
}

/** What is looked up for a prompt, beside what the task itself says. */
const GIVEN: Partial<
  Record<PromptKind, (ports: Ports, task: Task) => Promise<Omit<PromptInputs, 'history'>>>
> = {
  critic: criticInputs,
  next_round: criticInputs,
  audit: auditInputs,
  final_audit: auditInputs,
  plan: openFindings,
  audited: openFindings,
  final_fix: openFindings,
  plan_draft: conventionsAlone,
};

/** What a new attempt is told about the earlier ones. */
export async function attemptHistory(ports: Pick<Ports, 'store'>, task: Task): Promise<string> {
  if (task.issue === null) return '';
  const attempts = (await ports.store.tasks({ issue: task.issue })).map((stored) => stored.task);
  const earlier = attempts.filter((other) => other.attempt < task.attempt);
  return earlier
    .map(
      (other) =>
        `- attempt ${other.attempt} on ${other.branch}: ${other.reason ?? other.state}. ${other.why}`,
    )
    .join('\n');
}
