/** Reads the facts a decision about one task rests on. Reads only; what can't be read is thrown, never guessed. */
import type { Run } from '../core/action.ts';
import { secretsOf } from '../core/danger.ts';
import type { Facts } from '../core/decision.ts';
import type { Candidate, Contract } from '../core/event.ts';
import { grants } from '../core/schedule.ts';
import { isEnded, type Task } from '../core/task.ts';
import type { Issue } from '../forge/forge.ts';
import type { LoopRow } from '../store/store.ts';
import { whyUnconfined } from './command.ts';
import { guardedIn } from './inspect.ts';
import { readLoopLimit } from './loop-limit.ts';
import type { Ports } from './ports.ts';
import { digestOf } from './turn.ts';

export interface Surroundings {
  /** Eligible issues at the last poll. */
  eligible: number;
  paused: string | null;
  loop: LoopRow;
  inFlight: { action: Run; startedAt: number; lastProgressAt: number } | null;
  stuck: string | null;
  /** The issue as it was read a moment ago; absent when it has to be read. */
  issue?: Issue;
}

export async function observe(ports: Ports, task: Task, around: Surroundings): Promise<Facts> {
  const { store, forge } = ports;
  const policy = ports.settings.policy();
  // A merge rests on what is so now, not on what was so a moment ago.
  if (task.state === 'merging' && task.candidateGate) forge.forget?.();
  const issue = around.issue ?? (task.issue === null ? null : await forge.issue(task.issue));
  const pull = task.pull === null ? null : await forge.pull(task.pull);
  const branch = task.pull === null ? null : await forge.branchHead(task.branch);
  const feedback = isAsked(task, around) ? await forge.feedback(task.pull!) : null;
  const findings = await store.findings(task.id);
  const live = (await store.tasks({ live: true }))
    .map((stored) => stored.task)
    .filter((other) => !isEnded(other));
  const granted = grants(live, around.eligible, policy, ports.clock.now());
  const mergeFree = !live.some((other) => other.id !== task.id && other.state === 'merging');
  return {
    issue,
    pull,
    branch,
    feedback,
    spend: await store.spend(task.id),
    openFindings: findings.filter((finding) => finding.status === 'open'),
    ledger: findings,
    requests: await store.requests(task.id),
    slot: granted.slots.includes(task.id),
    criticSlot: granted.critics.includes(task.id),
    mergeFree,
    change:
      task.candidate && task.candidateGate
        ? await changeOf(ports, task.contract, task.candidate)
        : { files: [], secrets: [], guarded: [] },
    mergeBlocker: aboutToMerge(task, mergeFree) ? await forge.mergeBlocker(task.head?.sha) : null,
    unconfined: whyUnconfined(ports),
    promptChanged: isMended(ports, task),
    loopLimit: await readLoopLimit(ports),
    accountLimits: around.loop.accountLimits,
    paused: around.paused,
    stuck: around.stuck,
    inFlight: around.inFlight,
    newSessionId: ports.newId(),
    jitter: ports.random(),
  };
}

/** Another template than the one that could not be rendered. */
function isMended({ settings }: Ports, { brokenPrompt }: Task): boolean {
  return Boolean(brokenPrompt) && digestOf(settings.template(brokenPrompt!.prompt)) !== brokenPrompt!.digest;
}

/** While an agent works nothing that people say changes its course; it is heard when the head is published. */
function isAsked(task: Task, { inFlight }: Surroundings): boolean {
  return (
    task.pull !== null && inFlight === null && (task.state === 'awaiting_critic' || task.state === 'merging')
  );
}

/**
 * Looking at the operator's checkout is not free: it is asked before a merge begins, and when a landing was blocked.
 * Landing itself looks once more, while it keeps others from changing what it sees.
 */
function aboutToMerge(task: Task, mergeFree: boolean): boolean {
  if (task.hold?.reason === 'dirty_checkout') return true;
  if (task.state === 'merging') return Boolean(task.landProblem);
  return (
    mergeFree &&
    task.state === 'awaiting_critic' &&
    task.verdict?.verdict === 'APPROVE' &&
    task.verdict.headSha === task.head?.sha
  );
}

async function changeOf(ports: Ports, contract: Contract, candidate: Candidate): Promise<Facts['change']> {
  const change = await ports.forge.diff(candidate.trunk, candidate.sha);
  const guarded = await guardedIn(ports, contract, candidate.trunk, candidate.sha);
  return { files: change.files, secrets: secretsOf(change), guarded };
}
