/**
 * A provider's account that is used up holds every task that would ask it, until the time the provider named; turns of
 * other providers go on. It is the loop's own durable state, folded from events like a task's row, so that a restart
 * asks nobody in vain and no task has to find out by itself.
 *
 * An agent that fails at once, for more than one task, holds its account in the same way: after a few such failures in a row
 * no turn asks it but one, now and then; the first that does some work lets all go on. What fails for one task alone stays
 * that task's own, unless it is the provider that says so.
 */

import { redactCommand } from '../access/redact.ts';
import type { NewEvent } from '../event.ts';
import { type Blocking, isAccountUsedUp, isBlocking, REQUEST_REFUSED } from '../outcome.ts';
import type { AgentPolicy, Policy } from '../policy.ts';
import { digestOf, digestOfValue } from '../text/digest.ts';
import { isWaiting } from '../waiting.ts';

export interface AccountLimit {
  account: string;
  /** What the provider said. */
  why: string;
  until: number;
  /** Not the provider's word but our own: turns failed at once, so many in a row, since then. */
  outage?: {
    since: number;
    failures: number;
    /** Whose turns: two tell that it is not one task's own doing. Absent in rows of older versions. */
    tasks?: string[];
    /** All its waits together; absent in rows of older versions. */
    waitMs?: number;
    /** The task whose turn tries it now. */
    triedBy?: string;
  };
  /** Nobody can be asked with these settings, until a person does something: pays, signs in, or writes others. */
  blocked?: { code: Blocking; settings: string };
  /** When a person let go what was blocked: turns that began before it say nothing. */
  releasedAt?: number;
  /** When it became known, as its event says. */
  since?: number;
}

/** Until a person says so. */
const NEVER = 8_640_000_000_000_000;

/** So many failures in a row without any work, of more than one task, and the account is held. */
const OUT_AFTER = 3;
const LONGEST_WAIT_MS = 1_800_000;
const LASTING_MS = 6 * 3_600_000;

/** The provider's, by what they are: no task brings them about. */
export const PROVIDERS_OWN: readonly string[] = ['overload', 'rate_limit', 'network', 'usage_limit'];

const NOT_THE_TASKS = [
  ...PROVIDERS_OWN,
  'auth',
  REQUEST_REFUSED,
  'exit_nonzero',
  'could_not_start',
  'unanswered',
  'model_unavailable',
];

/**
 * A turn that came to nothing before any work, and says nothing about its task: as likely its account fails for everybody.
 * A provider that takes a request and never answers is heard of only as silence.
 */
export function failedAtOnce({
  status,
  workless,
  code,
}: Pick<Ended, 'status' | 'workless' | 'code'>): boolean {
  if (!workless) return false;
  return status === 'stalled' ? code === null : status === 'failed' && NOT_THE_TASKS.includes(code ?? '');
}

/** Failures of which the agent knows nothing: it was never asked. */
export const NEVER_ASKED: readonly string[] = [
  'could_not_start',
  'hook_failed',
  'workspace_refused',
  'forge_unavailable',
  'sandbox_failed',
];

/** The agent did something, whatever came of it: its account can be used. */
function hasWorked({ status, workless, code }: Ended): boolean {
  if (status === 'finished') return true;
  return (
    ['failed', 'timed_out', 'stalled'].includes(status) && !workless && !NEVER_ASKED.includes(code ?? '')
  );
}

/** It fails for everybody; once its time has come, one turn tries. */
export function outageOf(limits: readonly AccountLimit[], account: string): AccountLimit | null {
  return limits.find((one) => one.account === account && isOut(one)) ?? null;
}

const isOut = ({ outage }: AccountLimit): boolean => (outage?.failures ?? 0) >= OUT_AFTER;

/** It has been tried for so long, whatever clocks say, that only a person is likely to end it. */
export const isLasting = ({ outage }: AccountLimit): boolean => (outage?.waitMs ?? 0) >= LASTING_MS;

const waitMs = (failures: number): number => Math.min(10_000 * 2 ** (failures - OUT_AFTER), LONGEST_WAIT_MS);

/**
 * Who pays for this agent's turns. A program that speaks ACP is signed in as the agent it drives, so both have one account;
 * opencode has one with each provider; programs of the operator's own are accounts of their own.
 */
export function accountOf({ kind, preset, command, model }: AgentPolicy): string {
  const program = kind === 'acp' && preset !== null ? (DRIVEN[preset] ?? `acp ${preset}`) : kind;
  if (program === 'opencode') return `opencode ${model?.split('/', 1)[0] ?? ''}`.trimEnd();
  return command !== null && (program === 'command' || program === 'acp')
    ? `${program} ${nameOfCommand(command)}`
    : program;
}

/** It is told and stored, so it has no key in it; but two keys are two accounts. */
function nameOfCommand(command: string): string {
  const shown = redactCommand(command);
  return shown === command ? command : `${shown} (${digestOf(command, 6)})`;
}

const DRIVEN: Readonly<Record<string, string>> = {
  'claude-agent-acp': 'claude',
  'codex-acp': 'codex',
  opencode: 'opencode',
};

export function limitOf(limits: readonly AccountLimit[], account: string, now: number): AccountLimit | null {
  return limits.find((one) => one.account === account && isKept(one, now)) ?? null;
}

/** What waits for a person waits whatever the clock says. */
const isKept = (limit: AccountLimit, now: number): boolean =>
  limit.blocked !== undefined || isWaiting(limit, now);

/** Whose limit a turn that broke waits for, if it is one that the loop knows of; its hold then ends with that. */
export function waitsFor(
  broke: { code: string | null; retryAt: number | null },
  agent: AgentPolicy,
  limits: readonly AccountLimit[],
  now: number,
): { account?: string } {
  const account = accountOf(agent);
  return isAccountUsedUp(broke) && limitOf(limits, account, now) !== null ? { account } : {};
}

/** What an account that is blocked rests on: the settings of everybody who asks it. */
export const accountSettings = ({ agents }: Policy, account: string): string =>
  digestOfValue(Object.values(agents).filter((agent) => accountOf(agent) === account));

/** Blocked with settings that are others now. */
export const withOtherSettings = (limits: readonly AccountLimit[], policy: Policy): string[] =>
  limits.flatMap(({ account, blocked }) =>
    blocked && blocked.settings !== accountSettings(policy, account) ? [account] : [],
  );

export const blockOf = (limits: readonly AccountLimit[], account: string): AccountLimit | null =>
  limits.find((one) => one.account === account && one.blocked) ?? null;

export const usedUp = (limits: readonly AccountLimit[], now: number): AccountLimit[] =>
  limits.filter((one) => isKept(one, now));

type Happened = NewEvent & { task?: string | null };

/** The limits after these events; the same list when none of them is about an account. */
export function afterAccounts(
  limits: readonly AccountLimit[],
  events: readonly Happened[],
  at: number,
): readonly AccountLimit[] {
  return events.reduce((before, happened) => afterEvent(before, happened, at), limits);
}

function afterEvent(
  limits: readonly AccountLimit[],
  happened: Happened,
  at: number,
): readonly AccountLimit[] {
  const task = happened.task ?? '';
  if (happened.type === 'turn_started') return afterStart(limits, triedAccount(happened.data), task, at);
  if (happened.type === 'turn_completed') return afterTurn(limits, happened.data, task, at);
  if (happened.type !== 'account_limited' && happened.type !== 'account_released') return limits;
  const others = limits.filter(({ account }) => account !== happened.data.account);
  const { account } = happened.data;
  if (happened.type === 'account_released') {
    const blocked = limits.find((one) => one.account === account)?.blocked;
    return blocked ? [...others, { account, why: '', until: 0, releasedAt: at }] : others;
  }
  const { why, until } = happened.data;
  return [...others, { account, why, until, since: at }];
}

/** The account that a turn tries again, if that is what it is for. */
export const triedAccount = ({
  triesAccount,
  probe,
}: Extract<NewEvent, { type: 'turn_started' }>['data']): string | null => triesAccount ?? probe ?? null;

/** While one turn tries, others wait; should its runner die, another tries later. */
function afterStart(
  limits: readonly AccountLimit[],
  account: string | null,
  task: string,
  at: number,
): readonly AccountLimit[] {
  if (account === null) return limits;
  return limits.map((one) =>
    one.account === account && one.outage && isOut(one)
      ? { ...one, until: at + LONGEST_WAIT_MS, since: at, outage: { ...one.outage, triedBy: task } }
      : one,
  );
}

/** A credential may be refused by mistake; whoever has no money has none. */
const BLOCKED_AFTER: Readonly<Record<Blocking, number>> = {
  auth: 3,
  billing: 1,
  model_unavailable: 1,
  setting_refused: 1,
};

type Ended = Extract<NewEvent, { type: 'turn_completed' }>['data'];

function afterTurn(
  limits: readonly AccountLimit[],
  ended: Ended,
  task: string,
  at: number,
): readonly AccountLimit[] {
  const { account, message, retryAt } = ended;
  if (account === undefined) return limits;
  const known = limits.find((one) => one.account === account);
  // Before its release by the clock alone means that the clock was set back.
  const { releasedAt } = known ?? {};
  if (releasedAt !== undefined && at >= releasedAt && at - ended.durationMs < releasedAt) return limits;
  const others = limits.filter((one) => one !== known);
  const refused = (known?.outage?.failures ?? 0) + 1;
  if (ended.blocks !== undefined && isBlocking(ended.code) && refused >= BLOCKED_AFTER[ended.code]) {
    const blocked = { code: ended.code, settings: ended.blocks };
    return [...others, { account, why: message, until: NEVER, since: at, blocked }];
  }
  // What the provider itself named stays until then.
  if (known && !known.outage && known.releasedAt === undefined) return limits;
  if (hasWorked(ended)) return known ? others : limits;
  const { triedBy, ...before } = known?.outage ?? { since: at, failures: 0 };
  if (!failedAtOnce(ended)) {
    if (!known || triedBy !== task) return limits;
    // The one that was to try it never asked: another tries.
    return [...others, { ...known, until: at + waitMs(before.failures), since: at, outage: before }];
  }
  const tasks = [...new Set([...(before.tasks ?? []), task])].slice(0, 2);
  const isOnesOwn =
    tasks.length < 2 &&
    before.failures < OUT_AFTER &&
    !PROVIDERS_OWN.includes(ended.code ?? '') &&
    !isBlocking(ended.code);
  const failures = isOnesOwn ? Math.min(before.failures + 1, OUT_AFTER - 1) : before.failures + 1;
  const untilNext = failures < OUT_AFTER ? 0 : Math.max(waitMs(failures), (retryAt ?? 0) - at);
  const outage = { since: before.since, failures, tasks, waitMs: (before.waitMs ?? 0) + untilNext };
  const until = untilNext === 0 ? 0 : at + untilNext;
  return [...others, { account, why: message, until, since: at, outage }];
}
