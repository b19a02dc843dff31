/**
 * Hears what people write into comments, and answers. What was heard, the request it makes and the answer to it are one
 * record, so that a crash neither forgets a command nor obeys it twice. Only the runner with the intake lease listens.
 */

import type { Place, Remark } from '../core/change/remark.ts';
import { event } from '../core/event.ts';
import { eventText, explain } from '../core/explain.ts';
import { answerCommand, commandIn, markerOf } from '../core/issue/command.ts';
import { oldestFirst, type Schedule } from '../core/line/schedule.ts';
import type { Task } from '../core/task.ts';
import { gateHold, whyUntried } from '../core/trial.ts';
import type { Lease, Store } from '../store/store.ts';
import { underWay } from './interrupted.ts';
import { placesInLine, saidOf } from './landing-facts.ts';
import type { Ports } from './ports.ts';
import { lastFailure } from './put-off.ts';

/** As it was when the forge was last asked for work. */
type Planned = Pick<Schedule, 'order' | 'startable'>;

/** Answers how many were heard. */
export async function answerCommands(ports: Ports, lease: Lease, planned: Planned | null): Promise<number> {
  const { store, forge, clock } = ports;
  const from = (await store.loop()).commandsSince ?? (await beginning(ports));
  const { remarks, seen } = await forge.commands(from - OVERLAP_MS);
  const answered = remarks.length > 0 ? await answeredBefore(store) : new Set();
  let heard = 0;
  for (const remark of remarks) {
    const word = commandIn(remark.body);
    if (word === null || answered.has(remark.id)) continue;
    await answerOne(ports, lease, remark, word, planned);
    answered.add(remark.id);
    heard += 1;
  }
  if (seen - from >= STEP_MS) await store.updateLoop({ commandsSince: seen }, [], clock.now());
  return heard;
}

/** What was said before there was a loop is not said to it. */
async function beginning({ store, clock }: Ports): Promise<number> {
  return (await store.events({ limit: 1 }))[0]?.at ?? clock.now();
}

async function answeredBefore(store: Store): Promise<Set<string>> {
  const events = await store.events({ type: 'command_answered' });
  return new Set(events.flatMap((one) => (one.type === 'command_answered' ? [one.data.id] : [])));
}

async function answerOne(
  ports: Ports,
  lease: Lease,
  remark: Remark,
  word: string,
  planned: Planned | null,
): Promise<void> {
  const { store, forge, clock } = ports;
  const task = await taskAt(store, remark.where);
  const issue = task?.issue == null ? null : await forge.issue(task.issue);
  const explanation = task && word === 'explain' ? await explanationOf(ports, task, planned) : '';
  const pending = task ? await store.requests(task.id) : [];
  const answer = answerCommand({ remark, word, task, issue, pending, explanation }, ports.settings.policy());
  const at = clock.now();
  const head = answer.request === 'approve' ? (task?.headSha ?? null) : null;
  const { id, author, where } = remark;
  const reply = { kind: 'reply' as const, to: { id, where }, marker: markerOf(remark), body: answer.says };
  await store.record({
    lease,
    at,
    events: [
      event('command_answered', {
        id,
        command: word.slice(0, 40),
        author,
        task: task?.id ?? null,
        accepted: answer.accepted,
        says: answer.says,
      }),
    ],
    addActions: [...answer.actions, reply],
    requests: answer.request && task ? [{ task: task.id, kind: answer.request, by: author, at, head }] : [],
  });
  ports.log('info', `/loop ${word} by ${author}: ${answer.accepted ? 'done' : 'refused'}`, {
    task: task?.id,
  });
}

/** The latest attempt. */
async function taskAt(store: Store, { kind, number }: Place): Promise<Task | null> {
  const tasks = (await store.tasks(kind === 'issue' ? { issue: number } : {})).map(({ task }) => task);
  const mine = tasks.filter((task) => (kind === 'issue' ? task.issue : task.pull) === number);
  return mine.sort((a, b) => b.attempt - a.attempt)[0] ?? null;
}

async function explanationOf(ports: Ports, task: Task, planned: Planned | null): Promise<string> {
  const { store, forge, settings, clock } = ports;
  const all = (await store.tasks()).map((stored) => stored.task);
  const pending = (await store.pendingActions(task.id))[0] ?? null;
  const { accountLimits: accounts, trials } = await store.loop();
  const policy = settings.policy();
  const { live } = await underWay(ports, all);
  const others = {
    live,
    eligible: planned?.startable.length ?? 0,
    order: planned?.order ?? oldestFirst,
    lineLength: await placesInLine(forge, policy),
  };
  const said = await saidOf(forge, live);
  const failure = pending && (await lastFailure(store, pending));
  const around = {
    pending,
    failure,
    all,
    underWay: others,
    said,
    accounts,
    untried: gateHold(trials, policy)?.detail ?? whyUntried(trials, policy),
  };
  const { why, until } = explain(task, around, policy, clock.now());
  const last = await store.events({ task: task.id, last: LAST_EVENTS });
  return [
    `Task \`${task.id}\`, attempt ${task.attempt}: ${why}${until === null ? '' : ` (until ${time(until)})`}`,
    '',
    ...last.map((one) => `- ${time(one.at)} ${eventText(one)}`),
  ].join('\n');
}

const LAST_EVENTS = 8;
/** Remarks may become visible in another order than they were made in. */
const OVERLAP_MS = 300_000;
/** How far the mark moves at least: writing it for each comment would cost more than a second look at the last ones. */
const STEP_MS = 60_000;
const time = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ');
