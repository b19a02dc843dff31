/**
 * Look and decide, for one task. One read of the issue serves a turn: saving and verifying what it left rests on what
 * was seen while it ran, and whatever follows then, on what is read then.
 */
import type { Run } from '../core/action.ts';
import { spent } from '../core/budget.ts';
import { decide } from '../core/decide.ts';
import type { Decision, Facts } from '../core/decision.ts';
import type { Task } from '../core/task.ts';
import type { Issue } from '../forge/forge.ts';
import type { LoopRow } from '../store/store.ts';
import { warnOfTaskBudget } from './budget-warning.ts';
import { readLoopLimit } from './loop-limit.ts';
import { observe } from './observe.ts';
import type { Ports } from './ports.ts';

export interface Around {
  eligible(): number;
  paused(loop: LoopRow): string | null;
}

export interface InFlight {
  action: Run;
  startedAt: number;
  lastProgressAt: number;
}

export interface Look {
  /** What follows for a task of which nothing runs. */
  atRest(task: Task, stuck: string | null): Promise<{ facts: Facts; decision: Decision }>;
  /** May the run go on? With `known` only the spending is in question: the forge's last answers stand. */
  atRun(task: Task, inFlight: InFlight, known: Facts | null): Promise<{ facts: Facts; decision: Decision }>;
  /** The issue is read anew for the next decision. */
  forgetIssue(): void;
}

export function createLook(ports: Ports, around: Around): Look {
  const { store, clock } = ports;
  let issueSeen: { issue: Issue; at: number } | null = null;
  const warned = new Set<string>();

  return {
    atRest,
    atRun,
    forgetIssue: () => {
      issueSeen = null;
    },
  };

  async function atRest(task: Task, stuck: string | null): Promise<{ facts: Facts; decision: Decision }> {
    const known = rememberedIssue();
    const loop = await store.loop();
    const beside = { eligible: around.eligible(), paused: around.paused(loop), loop, inFlight: null, stuck };
    let facts = await observe(ports, task, { ...beside, ...known });
    let decision = decide(task, facts, ports.settings.policy(), clock.now());
    if (known.issue && !onlySaves(decision)) {
      facts = { ...facts, issue: await ports.forge.issue(known.issue.number) };
      decision = decide(task, facts, ports.settings.policy(), clock.now());
      remember(facts);
    } else if (!known.issue) remember(facts);
    await warnOfTaskBudget(ports, task, spent(task, facts.spend, 0), warned);
    return { facts, decision };
  }

  async function atRun(
    task: Task,
    inFlight: InFlight,
    known: Facts | null,
  ): Promise<{ facts: Facts; decision: Decision }> {
    const eligible = around.eligible();
    const facts = known
      ? {
          ...known,
          inFlight,
          spend: await store.spend(task.id),
          loopLimit: await readLoopLimit(ports),
          requests: await store.requests(task.id),
        }
      : await observe(ports, task, {
          eligible,
          paused: null,
          loop: await store.loop(),
          inFlight,
          stuck: null,
        });
    if (!known) remember(facts);
    const inFlightMs = inFlight.action.kind === 'turn' ? clock.now() - inFlight.startedAt : 0;
    await warnOfTaskBudget(ports, task, spent(task, facts.spend, inFlightMs), warned);
    return { facts, decision: decide(task, facts, ports.settings.policy(), clock.now()) };
  }

  function rememberedIssue(): { issue?: Issue } {
    const isYoung =
      issueSeen !== null && clock.now() - issueSeen.at <= ports.settings.policy().pollIntervalMs;
    return isYoung ? { issue: issueSeen!.issue } : {};
  }

  function remember({ issue }: Pick<Facts, 'issue'>): void {
    issueSeen = issue ? { issue: issue as Issue, at: clock.now() } : null;
  }
}

/** Nothing of it begins or ends anything: the work is kept safe and looked at. */
const onlySaves = (decision: Decision): boolean =>
  decision.kind === 'act' &&
  decision.actions.length > 0 &&
  decision.actions.every(({ kind }) => kind === 'checkpoint' || kind === 'merge_in' || kind === 'gate');
