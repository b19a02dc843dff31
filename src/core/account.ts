/**
 * A provider's account that is used up holds every task that would ask it, until the time the provider named; turns of
 * other providers go on. It is the loop's own durable state, folded from events like a task's row, so that a restart
 * asks nobody in vain and no task has to find out by itself.
 */
import type { NewEvent } from './event.ts';
import { isAccountUsedUp } from './outcome.ts';
import type { AgentPolicy } from './policy.ts';

export interface AccountLimit {
  account: string;
  /** What the provider said. */
  why: string;
  until: number;
}

/**
 * Who pays for this agent's turns. A program that speaks ACP is signed in as the agent it drives, so both have one account;
 * opencode has one with each provider; programs of the operator's own are accounts of their own.
 */
export function accountOf({ kind, preset, command, model }: AgentPolicy): string {
  const program = kind === 'acp' && preset !== null ? (DRIVEN[preset] ?? `acp ${preset}`) : kind;
  if (program === 'opencode') return `opencode ${model?.split('/', 1)[0] ?? ''}`.trimEnd();
  return command !== null && (program === 'command' || program === 'acp') ? `${program} ${command}` : program;
}

const DRIVEN: Readonly<Record<string, string>> = {
  'claude-agent-acp': 'claude',
  'codex-acp': 'codex',
  opencode: 'opencode',
};

export function limitOf(limits: readonly AccountLimit[], account: string, now: number): AccountLimit | null {
  return limits.find((one) => one.account === account && one.until > now) ?? null;
}

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

export const usedUp = (limits: readonly AccountLimit[], now: number): AccountLimit[] =>
  limits.filter(({ until }) => until > now);

/** The limits after these events; the same list when none of them is about an account. */
export function afterAccounts(
  limits: readonly AccountLimit[],
  events: readonly NewEvent[],
): readonly AccountLimit[] {
  return events.reduce(afterEvent, limits);
}

function afterEvent(limits: readonly AccountLimit[], happened: NewEvent): readonly AccountLimit[] {
  if (happened.type !== 'account_limited' && happened.type !== 'account_released') return limits;
  const others = limits.filter(({ account }) => account !== happened.data.account);
  if (happened.type === 'account_released') return others;
  const { account, why, until } = happened.data;
  return [...others, { account, why, until }];
}
