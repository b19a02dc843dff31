/**
 * Holds as one table: why a task waits, what a person reads about it, and which changed fact ends it. A hold without
 * such a fact is ended by its time, or by `resume`.
 */

import { hear, isNews } from './change/feedback.ts';
import {
  approvalFor,
  approvedAtHead,
  type Facts,
  givenBack,
  graveOf,
  hasNewContract,
  isEdited,
  isGateEmpty,
  newerTrunk,
  personPushed,
  saidOf,
  secretsIn,
} from './decision.ts';
import { event, type Hold, type HoldReason, type NewEvent } from './event.ts';
import { gateDigest, holdsFor } from './gate.ts';
import { limitOf } from './money/account.ts';
import type { Policy } from './policy.ts';
import { isBeforeWork, isByPerson, type Task } from './task.ts';
import { digestOfValue } from './text/digest.ts';
import { oneLine } from './words/fence.ts';

interface Look {
  task: Task;
  held: Hold;
  facts: Facts;
  policy: Policy;
  now: number;
}

interface HoldRow {
  advice: string;
  /** A person's `resume` is enough: nothing else has to be decided or done first. */
  resumes?: true;
  ends?(look: Look): boolean;
  /** The settings its cause may be in: with others it is worth another try. */
  restsOn?(policy: Policy): unknown;
}

export const HOLDS: Readonly<Record<HoldReason, HoldRow>> = {
  retry_backoff: { advice: 'retries by itself', resumes: true },
  interrupted: {
    resumes: true,
    advice: 'find out why the runner dies (memory, disk, its commands), then `forge-loop resume <issue>`',
  },
  fetch_failed: {
    resumes: true,
    advice: 'fetch what is missing (see the detail), then `forge-loop resume <issue>`',
  },
  spend_unknown: {
    resumes: true,
    advice:
      "set the model's price under `prices` in WORKFLOW.md or raise the budget; `forge-loop resume <issue>` continues anyway",
    restsOn: ({ agents, budget }) => [
      Object.values(agents).map(({ prices, model }) => [prices, model]),
      budget,
    ],
  },
  provider_limit: {
    resumes: true,
    advice: 'continues when the account can be used again; `forge-loop resume <issue>` tries now',
    ends: ({ held, facts, now }) =>
      held.account !== undefined && limitOf(facts.accountLimits, held.account, now) === null,
    restsOn: ({ agents }) => agents,
  },
  gate_could_not_run: {
    resumes: true,
    advice:
      'fix the command or its environment, then `forge-loop resume <issue>`; changing `gate` or `env` in WORKFLOW.md also releases it',
    // What of `env` its commands get is part of the gate.
    restsOn: ({ gate, sandbox }) => [gate, sandbox],
  },
  gate_empty: {
    advice: 'set gate.commands in WORKFLOW.md, or write `gate: none`',
    ends: ({ policy }) => !isGateEmpty(policy),
  },
  trunk_red: {
    advice: 'fix trunk; the task then continues on the new trunk',
    ends: ({ task, facts, policy }) =>
      newerTrunk(task, facts) !== null ||
      !holdsFor(task.gate, task.head?.tree ?? '', gateDigest(policy.gate, task.contract)),
  },
  critic_unusable: {
    resumes: true,
    advice: 'check roles.critic (changing it releases the task), or `forge-loop resume <issue>`',
    ends: ({ task }) => approvedAtHead(task),
    restsOn: ({ agents, critic }) => [agents.critic, critic],
  },
  needs_approval: {
    advice: '`forge-loop task approve <issue>` (critic.enabled is false)',
    ends: ({ task, facts, policy }) =>
      approvedAtHead(task) || policy.critic.enabled || approvalFor(task, facts) !== null,
  },
  needs_merge: {
    advice: 'merge its branch yourself',
    ends: ({ policy }) => policy.merge.enabled,
  },
  dirty_checkout: {
    advice: 'commit or stash your changes on trunk; it then continues',
    ends: ({ held, facts }) => held.until === null && facts.mergeBlocker === null,
  },
  body_edited: {
    advice: '`forge-loop issue ready <issue>` accepts the new text',
    ends: ({ task, facts }) =>
      (facts.issue !== null && !isEdited(task, facts)) || hasNewContract(task, facts),
  },
  operator_pause: { advice: '`forge-loop resume <issue>`', resumes: true },
  protected_paths: {
    advice: 'read the change, then `forge-loop task approve <issue>` to allow it',
    ends: ({ task, facts }) => isProtectionMoot(task, facts),
  },
  verification_changed: {
    advice:
      'read the change; to allow it, `forge-loop findings wontfix <finding> --why …`; otherwise `forge-loop task abandon <issue>`',
    ends: ({ task, facts }) => graveOf(task, facts).length === 0,
  },
  secret_found: {
    advice:
      'nothing was pushed; if it is not a secret, `forge-loop findings wontfix <finding> --why …`; otherwise `forge-loop task abandon <issue>`',
    ends: ({ task, facts }) => secretsIn(task, facts).length === 0,
  },
  trunk_rewritten: {
    advice:
      "`forge-loop task abandon <issue>`, then `forge-loop issue ready <issue>` for a new attempt on today's trunk",
  },
  prompt_broken: {
    resumes: true,
    advice: 'fix the template in WORKFLOW.md (changing it releases the task), or `forge-loop resume <issue>`',
    ends: ({ facts }) => facts.promptChanged,
  },
  sandbox_unavailable: {
    advice: 'install what its detail names, or set `sandbox: auto` in WORKFLOW.md; the task then continues',
    ends: ({ facts }) => facts.unconfined === null,
  },
  filter_unsupported: {
    advice: 'remove the attribute on trunk; for filter=lfs run `git lfs install` and restart the runner',
    ends: ({ facts }) => facts.unfiltered === null,
  },
  spec_proposed: {
    advice:
      'read the specification in the comments, then `forge-loop task approve <issue>`, or edit the issue and mark it ready again',
    ends: ({ task, facts }) => hasNewContract(task, facts),
  },
  waits_for_loops: {
    advice: 'starts by itself when they are done; `forge-loop task abandon <issue>` abandons it',
    ends: ({ facts }) => facts.awaits === null,
  },
  merge_refused: {
    resumes: true,
    advice: 'see the detail, then `forge-loop resume <issue>`',
    restsOn: ({ merge, critic, protectedPaths }) => [merge, critic, protectedPaths],
  },
  publish_refused: {
    resumes: true,
    advice: 'do what the forge asks for, then `forge-loop resume <issue>`',
  },
  rules_unmet: {
    advice: 'do what the pull request asks for; the task then continues',
    ends: ({ task, facts, policy }) => saidOf(task, facts, policy)?.wants.length === 0,
  },
  merge_queued: {
    advice: 'continues when the forge merges it or removes it from the queue',
    ends: ({ task, held, facts }) =>
      facts.pull?.state === 'open' &&
      (isEdited(task, facts) ||
        givenBack(task, facts) !== null ||
        (facts.pull.inMergeQueue === false && held.until === null)),
  },
  checks_pending: {
    advice: 'find out why CI does not report; the task continues when it does',
    ends: ({ task, facts, policy }) => saidOf(task, facts, policy)?.pending === null,
  },
  checks_red: {
    advice:
      'the coder was told and did not change the head: rerun the check, or push a fix; the task continues when it is green',
    ends: ({ task, facts, policy }) => saidOf(task, facts, policy)?.red === null,
  },
  attached: {
    advice: 'the loop continues when they exit',
    // Whoever decides has the task's lease, so nobody is attached any more.
    ends: () => true,
  },
  changes_requested: {
    advice: 'the reviewer approves, or somebody pushes or comments; the task then continues',
    ends: ({ task, facts, policy }) => saidOf(task, facts, policy)?.objections.length === 0,
  },
};

/** What goes on by itself, a person's own word, and what is said of the whole loop at once. */
const CALLS_NOBODY: readonly HoldReason[] = [
  'retry_backoff',
  'operator_pause',
  'merge_queued',
  'waits_for_loops',
  'provider_limit',
  'gate_empty',
  'attached',
];

/** Somebody has to be told of it: it lasts until a person does something. */
export const needsPerson = ({ reason, until }: Hold): boolean =>
  until === null && !CALLS_NOBODY.includes(reason);

/** Only a look at the machine, at other tasks or at the time tells whether these are over. */
const TAKES_A_LOOK: readonly HoldReason[] = [
  'provider_limit',
  'trunk_red',
  'dirty_checkout',
  'secret_found',
  'sandbox_unavailable',
  'filter_unsupported',
  'waits_for_loops',
];

/** Nothing ends it but what somebody does on the forge, sets in the configuration or asks the loop for. */
export const endsWithNews = ({ reason, until }: Hold): boolean =>
  until === null && !TAKES_A_LOOK.includes(reason);

/** A fact it rests on has changed. A person's new head or word ends whatever has no end of its own. */
export function isOver(look: Look): boolean {
  const { task, held, facts, policy } = look;
  if (held.reason === 'operator_pause') return false;
  if (isEndedByWord(task, held) && (personPushed(task, facts) || isNews(hear(task, facts.feedback, policy))))
    return true;
  const row = HOLDS[held.reason];
  if (held.settings !== undefined && held.settings !== settingsOf(held.reason, policy)) return true;
  return row.ends?.(look) ?? false;
}

/** Whatever a person says about the work is worth another turn. Nothing begins on a text that nobody agreed to. */
export const isEndedByWord = (task: Task, { reason, until }: Hold): boolean =>
  until === null && reason !== 'operator_pause' && !(reason === 'body_edited' && isBeforeWork(task));

/** A hold as it is written down: with the settings it rests on. One that is only put off keeps those it began with. */
export function withSettings(one: NewEvent, policy: Policy): NewEvent {
  if (one.type !== 'hold_set' || one.data.settings !== undefined) return one;
  const settings = settingsOf(one.data.reason, policy);
  return settings === undefined ? one : event('hold_set', { ...one.data, settings });
}

function settingsOf(reason: HoldReason, policy: Policy): string | undefined {
  const { restsOn } = HOLDS[reason];
  return restsOn && digestOfValue(restsOn(policy));
}

/** A person approved this very head; or, before any critic judged it, decided to leave what the rules had found. */
function isProtectionMoot(task: Task, facts: Facts): boolean {
  if (approvalFor(task, facts) !== null) return true;
  if (approvedAtHead(task)) return isByPerson(task.verdict);
  return (task.inspected?.grave.length ?? 0) > 0 && graveOf(task, facts).length === 0;
}

/** `name`: `#7`, a plan's name; null where it is not known. */
export function holdText(held: Hold, name: string | null): string {
  const advice = HOLDS[held.reason].advice.replaceAll('<issue>', (name ?? '').replace(/^#/, ''));
  return `held (${held.reason}): ${oneLine(held.detail)} — ${advice}`;
}
