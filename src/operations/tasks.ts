/** Looking at tasks, and asking something of one. What is asked is a fact for the runner that owns the task. */
import { readdir } from 'node:fs/promises';
import type { Context } from '../context.ts';
import type { Finding } from '../core/change/findings.ts';
import type { EventData, NetworkRow } from '../core/event.ts';
import type { Criterion } from '../core/issue/criteria.ts';
import { specificationText } from '../core/issue/specification.ts';
import { type CostLine, costLine, type UnknownTurn } from '../core/money/cost.ts';
import { callsOf, isSameTurn, roundOf } from '../core/money/turn-cost.ts';
import { policyFor } from '../core/plan/limits.ts';
import { isOutOfTurns, type RequestKind, refusal } from '../core/request.ts';
import { roleRow, turnName } from '../core/role.ts';
import { isEnded, nameOfTask, type Task } from '../core/task.ts';
import type { Judgement } from '../core/verdict.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { adviceText } from '../core/words/words.ts';
import { UserError } from '../errors.ts';
import type { Request, Store, TurnRow } from '../store/store.ts';
import { iso, isRunnerAlive, type TaskView, taskViews } from '../view.ts';
import { differingAccounts, type TurnWarningView, warningsOf } from './cost.ts';
import { findTask } from './reference.ts';
import { type Timeline, timelineOf } from './task-timeline.ts';

export async function listTasks(
  context: Context,
  input: {
    all: boolean;
    ended: boolean;
    search?: string | undefined;
    limit?: number | undefined;
    skip: number;
  },
): Promise<TaskView[]> {
  const store = await context.reading();
  if (!store) return [];
  const { all, ended, search, limit, skip } = input;
  if (ended && search === undefined) {
    const page = await store.ended({ skip, ...(limit !== undefined && { limit }) });
    return taskViews(
      context,
      store,
      page.map(({ task }) => task),
    );
  }
  const tasks = (await store.tasks({ live: !all && !ended }))
    .map(({ task }) => task)
    .filter((task) => (ended ? isEnded(task) : all || !isEnded(task)))
    .filter((task) => search === undefined || isAbout(task, search));
  if (ended) tasks.sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0));
  return taskViews(context, store, tasks.slice(skip, limit === undefined ? undefined : skip + limit));
}

/** As one looks for it: its name, or some of its title. */
function isAbout(task: Task, search: string): boolean {
  const said = `${nameOfTask(task)} ${task.id} ${task.contract.title} ${task.reason ?? ''}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}

interface TurnView extends Omit<TurnRow, 'startedAt' | 'endedAt'> {
  startedAt: string;
  endedAt: string | null;
  round: number;
  cost: CostLine;
  warnings: Pick<TurnWarningView, 'kind' | 'text'>[];
}

interface TaskDetail extends TaskView {
  /** Its name among the loops, where it has a plan; null else. */
  loop: string | null;
  /** The text beside the issue's own, when there is one. */
  specification: string | null;
  advice: string | null;
  turnsTaken: TurnView[];
  /** What each round cost: the work that led to one verdict of the critic, and the critic. */
  rounds: CostLine[];
  /** Its course: states, turns and gates, and what was decided, each with its times. */
  timeline: Timeline;
  /** Each criterion of the contract with what was found about it last; `met` is null when nobody judged it. */
  criteria: (Criterion & { met: Judgement['met'] | null; evidence: string })[];
  findings: Finding[];
  /** The merge gate's last decision; null when it was not asked yet. */
  merge: (EventData['merge_decided'] & { at: string }) | null;
  pending: { action: string; attempts: number; notBefore: string | null }[];
  requests: { kind: string; by: string; at: string }[];
  /** Where its turns and commands went through the gateway, or were not let; null when it was not asked for. */
  network: (NetworkRow & { by: string; at: string })[] | null;
  logs: string;
  /** What was asked for, as it is judged by. */
  body: string;
}

export async function showTask(
  context: Context,
  input: { task: string; network: boolean },
): Promise<TaskDetail> {
  const store = await context.reading();
  const { task } = await findTask(store, input.task);
  const places = await context.places();
  const [view] = await taskViews(context, store!, [task]);
  const files = await readdir(places.log(task.id, '')).catch(() => []);
  return {
    ...view!,
    loop: task.plan && task.plan.mode !== 'draft' ? task.plan.name : null,
    specification:
      task.spec && 'specification' in task.spec ? specificationText(task.spec.specification) : null,
    advice: adviceText(task),
    ...(await turnCosts(context, store!, task)),
    timeline: timelineOf(task, await store!.turns(task.id), await store!.events({ task: task.id }), files),
    criteria: task.contract.criteria.map((criterion) => {
      const judged = task.verdict?.criteria.find(({ id }) => id === criterion.id);
      return { ...criterion, met: judged?.met ?? null, evidence: judged?.evidence ?? '' };
    }),
    findings: await store!.findings(task.id),
    merge: await lastMergeDecision(store!, task.id),
    pending: (await store!.pendingActions(task.id)).map(({ action, attempts, notBefore }) => ({
      action: action.kind,
      attempts,
      notBefore: notBefore > 0 ? iso(notBefore) : null,
    })),
    requests: (await store!.requests(task.id)).map(({ kind, by, at }) => ({ kind, by, at: iso(at)! })),
    network: input.network ? await networkOf(store!, task.id) : null,
    logs: places.log(task.id, ''),
    body: task.contract.body,
  };
}

async function turnCosts(
  context: Context,
  store: Store,
  task: Task,
): Promise<Pick<TaskDetail, 'turnsTaken' | 'rounds'>> {
  const { policy } = (await context.settings()).settings;
  const calls = await store.usage({ task: task.id });
  const turns = await store.turns(task.id);
  const running = turns.filter(({ endedAt }) => endedAt === null);
  const unknown = [
    ...(await store.unknownTurns({ task: task.id })),
    ...running.map((turn): UnknownTurn => ({ ...turn, at: turn.startedAt })),
  ];
  const warnings = [
    ...warningsOf(calls, [task], policy.budget.warnTurnUsd, 0),
    ...(await differingAccounts(store, [task], { task: task.id })),
  ];
  const rounds = new Set<number>();
  const taken = turns.map((turn): TurnView => {
    const round = roundOf(turns, task.criticRounds, turn);
    rounds.add(round);
    const isLast = turns.findLast((one) => isSameTurn(one, turn)) === turn;
    const isUnknown = (one: UnknownTurn): boolean =>
      isSameTurn(one, turn) && one.at === (turn.endedAt ?? turn.startedAt);
    return {
      ...turn,
      startedAt: iso(turn.startedAt)!,
      endedAt: iso(turn.endedAt),
      round,
      cost: costLine(turnName(turn), '', callsOf(calls, turns, turn), unknown.filter(isUnknown)),
      warnings: warnings
        .filter((one) => isLast && isSameTurn(one, turn))
        .map(({ kind, text }) => ({ kind, text })),
    };
  });
  const inRound = (round: number) => (one: UnknownTurn) => roundOf(turns, task.criticRounds, one) === round;
  return {
    turnsTaken: taken,
    rounds: [...rounds]
      .sort((a, b) => a - b)
      .map((round) =>
        costLine(`round ${round}`, '', calls.filter(inRound(round)), unknown.filter(inRound(round))),
      ),
  };
}

async function networkOf(store: Store, task: string): Promise<NonNullable<TaskDetail['network']>> {
  const used = await store.events({ task, type: 'network_used' });
  return used.flatMap((one) => {
    if (one.type !== 'network_used') return [];
    const { by, requests } = one.data;
    return requests.map((request) => ({ ...request, by, at: iso(one.at)! }));
  });
}

async function lastMergeDecision(store: Store, task: string): Promise<TaskDetail['merge']> {
  const [decided] = await store.events({ task, type: 'merge_decided', last: 1 });
  return decided?.type === 'merge_decided' ? { ...decided.data, at: iso(decided.at)! } : null;
}

export interface Asked {
  task: string;
  issue: number | null;
  asked: RequestKind;
  /** Whether a runner is there to apply it now; else the next one does. */
  runnerAlive: boolean;
}

/** `seen`: the head that the person looked at, where that is known: another one is not approved unseen. */
export async function ask(
  context: Context,
  reference: string,
  kind: RequestKind,
  seen?: string | undefined,
): Promise<Asked> {
  const reader = await context.reading();
  const { task } = await findTask(reader, reference);
  refuse(task, kind, await reader!.requests(task.id));
  if (seen !== undefined && !task.headSha?.startsWith(seen))
    throw new UserError(
      `The head of ${nameOfTask(task)} is ${shortSha(task.headSha, 'not there')} now, not ${shortSha(seen)}: nothing was approved.`,
      'Look at what it is now, then approve that.',
    );
  const head = kind === 'approve' && task.spec?.status !== 'proposed' ? task.headSha : null;
  if (head !== null) await approveHead(context, task);
  const store = await context.writing();
  await store.request({ task: task.id, kind, by: await context.operator(), at: context.now(), head });
  return { task: task.id, issue: task.issue, asked: kind, runnerAlive: await isRunnerAlive(store, context) };
}

function refuse(task: Task, kind: RequestKind, pending: readonly Request[] = []): void {
  const refused = refusal(task, kind, pending);
  if (refused) throw new UserError(refused.why, refused.advice);
}

/** It reaches the coder with its next prompt, and in the middle of a turn with the answers of the loop's tools. */
export async function tell(context: Context, input: { task: string; text: string }): Promise<Asked> {
  const reader = await context.reading();
  const { task } = await findTask(reader, input.task);
  refuse(task, 'tell');
  const policy = policyFor(task, (await context.settings()).settings.policy);
  if (isOutOfTurns(task, policy) && !isWorking(task))
    throw new UserError(
      `Task ${task.id} (${nameOfTask(task)}) has used all of its ${policy.maxTurns} turns.`,
      'Raise `agent.max_turns` and tell it again.',
    );
  const store = await context.writing();
  const said = { by: await context.operator(), at: context.now(), why: input.text };
  await store.request({ task: task.id, kind: 'tell', ...said });
  const runnerAlive = await isRunnerAlive(store, context);
  return { task: task.id, issue: task.issue, asked: 'tell', runnerAlive };
}

/** In the middle of a turn, whatever the count of them. */
const isWorking = ({ turn }: Task): boolean => turn !== null && roleRow(turn.role).place === 'workspace';

/** An approval is for one head: the one the task was verified at, or none. */
async function approveHead(context: Context, task: Task): Promise<void> {
  const forge = await context.forge();
  const head = await forge.branchHead(task.branch);
  if (head?.sha !== task.headSha) {
    throw new UserError(
      `${task.branch} is at ${shortSha(head?.sha, 'no commit')}, and task ${task.id} was verified at ${shortSha(task.headSha)}.`,
      'Let a runner verify the new head first, then approve it.',
    );
  }
  await forge.approvePull(task.pull!, await context.operator());
}

interface Retried {
  issue: number;
  previous: string;
  attempt: number;
  runnerAlive: boolean;
}

/** A new attempt: the issue is marked ready again, and the request on its last task skips the cooldown. */
export async function retryTask(context: Context, input: { task: string }): Promise<Retried> {
  const { task } = await findTask(await context.reading(), input.task);
  if (task.issue === null)
    throw new UserError(`Task ${task.id} belongs to no issue.`, `\`forge-loop task restart ${task.id}\``);
  const store = await context.writing();
  const attempts = (await store.tasks({ issue: task.issue })).map((stored) => stored.task);
  const last = attempts.reduce((a, b) => (b.attempt > a.attempt ? b : a));
  refuse(last, 'retry');
  const by = await context.operator();
  await store.request({ task: last.id, kind: 'retry', by, at: context.now() });
  await (await context.forge()).markReady(task.issue, by);
  return {
    issue: task.issue,
    previous: last.id,
    attempt: last.attempt + 1,
    runnerAlive: await isRunnerAlive(store, context),
  };
}
