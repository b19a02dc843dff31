/** Looking at tasks, and asking something of one. What is asked is a fact for the runner that owns the task. */
import type { Context } from '../context.ts';
import type { Finding } from '../core/change/findings.ts';
import type { EventData, NetworkRow } from '../core/event.ts';
import type { Criterion } from '../core/issue/criteria.ts';
import { specificationText } from '../core/issue/specification.ts';
import { type RequestKind, refusal } from '../core/request.ts';
import { isEnded, type Task } from '../core/task.ts';
import type { Judgement } from '../core/verdict.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { adviceText } from '../core/words/words.ts';
import { UserError } from '../errors.ts';
import type { Request, Store, TurnRow } from '../store/store.ts';
import { iso, isRunnerAlive, type TaskView, taskViews } from '../view.ts';
import { findTask } from './reference.ts';

export async function listTasks(context: Context, input: { all: boolean }): Promise<TaskView[]> {
  const store = await context.reading();
  if (!store) return [];
  const tasks = (await store.tasks()).map(({ task }) => task);
  return taskViews(
    context,
    store,
    tasks.filter((task) => input.all || !isEnded(task)),
  );
}

interface TaskDetail extends TaskView {
  /** The text beside the issue's own, when there is one. */
  specification: string | null;
  advice: string | null;
  turnsTaken: (Omit<TurnRow, 'startedAt' | 'endedAt'> & { startedAt: string; endedAt: string | null })[];
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
}

export async function showTask(
  context: Context,
  input: { task: string; network: boolean },
): Promise<TaskDetail> {
  const store = await context.reading();
  const { task } = await findTask(store, input.task);
  const places = await context.places();
  const [view] = await taskViews(context, store!, [task]);
  return {
    ...view!,
    specification:
      task.spec && 'specification' in task.spec ? specificationText(task.spec.specification) : null,
    advice: adviceText(task),
    turnsTaken: (await store!.turns(task.id)).map((turn) => ({
      ...turn,
      startedAt: iso(turn.startedAt)!,
      endedAt: iso(turn.endedAt),
    })),
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

export async function ask(context: Context, reference: string, kind: RequestKind): Promise<Asked> {
  const reader = await context.reading();
  const { task } = await findTask(reader, reference);
  refuse(task, kind, await reader!.requests(task.id));
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

/** A new attempt: the issue is made ready again, and the request on its last task skips the cooldown. */
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
