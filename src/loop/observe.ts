/** Reads the facts a decision about one task rests on. Reads only; what can't be read is thrown, never guessed. */

import { secretsOf } from '../core/change/danger.ts';
import { approvedAtHead, type Facts } from '../core/decision.ts';
import type { Candidate, Contract } from '../core/event.ts';
import { isTrunksRed } from '../core/gate.ts';
import { grantedTo } from '../core/line/granted.ts';
import { commitOf, type Misfit, type Partners, partnersIn, partnersOf } from '../core/line/line.ts';
import { isGivenUp, whyAwaits } from '../core/plan/each.ts';
import { isBeforeWork, needsSlot, type Task } from '../core/task.ts';
import { whyUntried } from '../core/trial.ts';
import { filteredText } from '../core/words/words.ts';
import type { LoopRow } from '../store/store.ts';
import { chosenSandbox } from './command.ts';
import type { Driver } from './driver.ts';
import { guardedIn } from './inspect.ts';
import { underWay } from './interrupted.ts';
import { placesInLine } from './landing-facts.ts';
import { readLoopLimit } from './loop-limit.ts';
import { withOwnSettings } from './own-settings.ts';
import type { Ports } from './ports.ts';
import { templateDigest } from './prompt.ts';

interface Around
  extends Pick<Facts, 'paused' | 'inFlight' | 'stuck'>,
    Pick<Driver, 'order' | 'waitsForPlace'> {
  /** As last seen. */
  trunkTree: string | null;
  /** Eligible issues at the last poll. */
  eligible: number;
  loop: LoopRow;
}

/** Its issue as it is, or as the loop saw it last. */
type When = 'now' | 'lately';

export async function observe(ports: Ports, task: Task, around: Around, when: When): Promise<Facts> {
  const { store, forge } = ports;
  const policy = ports.settings.policy();
  const issue = await issueOf(ports, task, when);
  const pull = task.pull === null ? null : await forge.pull(task.pull);
  const branch = task.pull === null ? null : await forge.branchHead(task.branch);
  const feedback = task.pull !== null && isHeard(task, around) ? await forge.feedback(task.pull) : null;
  const findings = await store.findings(task.id);
  const among = await amongOthers(ports, task, around);
  const asksTrunk = task.state === 'merging' || isKeptByTrunk(task, around);
  const trunk = asksTrunk ? (await forge.trunk()).sha : null;
  const unconfined = await chosenSandbox(withOwnSettings(ports, task));
  return {
    issue,
    pull,
    branch,
    feedback,
    spend: await store.spend(task.id),
    openFindings: findings.filter((finding) => finding.status === 'open'),
    ledger: findings,
    requests: await store.requests(task.id),
    ...among,
    partners: task.misfit ? await partnersFor(ports, task.misfit) : null,
    onto: await testedOnto(ports, task),
    trunk,
    trunkTree: trunk === null || task.state !== 'merging' ? null : await ports.repository.treeOf(trunk),
    change: task.landing?.gate
      ? await changeOf(ports, task.contract, task.landing.candidate)
      : { files: [], secrets: [], guarded: [] },
    mergeBlocker: aboutToMerge(task, among.mergeFree) ? await forge.mergeBlocker(task.head?.sha) : null,
    unconfined: unconfined.kind === null ? unconfined.why : null,
    unfiltered: isBeforeWork(task) ? await unfilteredOn(ports) : null,
    promptChanged: isMended(ports, task),
    loopLimit: await readLoopLimit(ports),
    accountLimits: around.loop.accountLimits,
    untried: whyUntried(around.loop.trials, policy, task.turns === 0 ? around.trunkTree : null),
    paused: around.paused,
    stuck: around.stuck,
    inFlight: around.inFlight,
    newSessionId: ports.newId(),
    jitter: ports.random(),
  };
}

export const issueOf = async ({ forge }: Ports, { issue }: Task, when: When): Promise<Facts['issue']> =>
  issue === null ? null : forge.issue(issue, when === 'lately' ? when : undefined);

/** What the others that are under way leave to this one. Hundreds may wait, so that they are let go of at once. */
async function amongOthers(
  ports: Ports,
  task: Task,
  { eligible, loop, order, waitsForPlace }: Around,
): Promise<ReturnType<typeof grantedTo> & Pick<Facts, 'awaits'>> {
  const { store, forge, clock, settings } = ports;
  const policy = settings.policy();
  const isLanding = task.state === 'merging' || approvedAtHead(task);
  const lineLength = isLanding ? await placesInLine(forge, policy) : policy.merge.queue.ahead;
  const { notEnded, live } = await underWay(ports);
  const others = { live, eligible, order, lineLength, waitsForPlace: ({ id }: Task) => waitsForPlace(id) };
  return {
    ...grantedTo(task, others, loop.accountLimits, policy, clock.now()),
    awaits: whyAwaits(task, live, await awaited(store, task, notEnded)),
  };
}

async function partnersFor({ store }: Ports, misfit: Misfit): Promise<Partners> {
  const others = await Promise.all(partnersIn(misfit).map(({ task }) => store.task(task)));
  return partnersOf(others.map((stored) => stored?.task ?? null));
}

async function testedOnto({ store }: Ports, { misfit }: Task): Promise<string | null> {
  const last = misfit?.on?.at(-1);
  const stored = last && (await store.task(last.task));
  return stored ? commitOf(stored.task) : null;
}

/** What it and those it was started with wait for. */
async function awaited(
  store: Ports['store'],
  { plan, state }: Task,
  live: readonly Task[],
): Promise<Map<string, Task>> {
  const group = state === 'queued' ? plan?.group : undefined;
  if (!group) return new Map();
  const members = live.filter((other) => other.plan?.group?.id === group.id);
  const after = new Set(members.flatMap((other) => other.plan?.group?.after ?? []));
  const found = await Promise.all([...after].map((id) => store.task(id)));
  // The same may have been started again, whenever that was.
  const known = found.some((one) => one && isGivenUp(one.task)) ? await store.tasks() : found;
  return new Map(known.flatMap((one) => (one ? [[one.task.id, one.task] as const] : [])));
}

async function unfilteredOn({ forge, repository }: Ports): Promise<string | null> {
  const found = await repository.unsupportedFilters((await forge.trunk()).sha);
  return found.length === 0 ? null : filteredText(found);
}

/** Another template than the one that could not be rendered. */
function isMended({ settings }: Ports, { brokenPrompt }: Task): boolean {
  if (!brokenPrompt) return false;
  return templateDigest(settings.template(brokenPrompt.prompt)) !== brokenPrompt.digest;
}

/** Whether a newer trunk would help it. */
function isKeptByTrunk(task: Task, { inFlight }: Around): boolean {
  return inFlight === null && needsSlot(task) && task.gate !== null && isTrunksRed(task.gate);
}

/** While an agent works nothing that people say changes its course; it is heard when the head is published. */
const isHeard = ({ state }: Task, { inFlight }: Around): boolean =>
  inFlight === null && (state === 'awaiting_critic' || state === 'merging');

/**
 * Looking at the operator's checkout is not free: it is asked before a merge begins, and when a landing was blocked.
 * Landing itself looks once more, while it keeps others from changing what it sees.
 */
function aboutToMerge(task: Task, mergeFree: boolean): boolean {
  if (task.hold?.reason === 'dirty_checkout') return true;
  if (task.state === 'merging') return task.landProblem?.by === 'checkout';
  return mergeFree && task.state === 'awaiting_critic' && approvedAtHead(task);
}

async function changeOf(ports: Ports, contract: Contract, candidate: Candidate): Promise<Facts['change']> {
  const change = await ports.repository.diff(candidate.trunk, candidate.sha);
  const guarded = await guardedIn(ports, contract, candidate.trunk, candidate.sha);
  return { files: change.files, secrets: secretsOf(change), guarded };
}
