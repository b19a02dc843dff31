/** What came of an action. `record` turns an outcome into events; nothing else looks at it. */

import type { NewFinding } from './change/findings.ts';
import type { Candidate, Checkpoint, CoderSummary, PromptKind, TurnStatus } from './event.ts';
import type { BaseRun, Evidence } from './gate.ts';
import type { AuditNotes } from './plan/audit.ts';

/** Codes of a failed turn after which its conversation can't be gone on with: it is gone, too long, or refused as it is. */
const SESSION_ENDING = ['session_lost', 'context_overflow', 'invalid_request'];

export const endsSession = (code: string | null): boolean => SESSION_ENDING.includes(code ?? '');

/** The code of a turn whose workspace is gone and is made anew from its branch. */
export const WORKSPACE_LOST = 'workspace_lost';

/** A turn of a role that only reads, during which something changed: its answer is as good as none. */
export const TAMPERED = 'critic_wrote';

/** A turn that was stopped because it made the same call again and again. */
export const REPEATING = 'repeated_calls';

const USED_UP = ['usage_limit', 'billing'];

/** With a time at which it is over: then it is the account's matter and not this turn's. */
export const isAccountUsedUp = <T extends { code: string | null; retryAt: number | null }>(
  turn: T,
): turn is T & { retryAt: number } => USED_UP.includes(turn.code ?? '') && turn.retryAt !== null;

/** What is refused to one task is refused to every task of its account, until a person does something. */
const BLOCKING = ['auth', 'billing', 'model_unavailable', 'setting_refused'] as const;
export type Blocking = (typeof BLOCKING)[number];

export const isBlocking = (code: string | null): code is Blocking =>
  (BLOCKING as readonly (string | null)[]).includes(code);

/** The first request of a conversation was refused, so that it is not what the conversation has come to. */
export const REQUEST_REFUSED = 'request_refused';

/** A turn that did not begin since the forge could not be asked. */
export const FORGE_SILENT = 'forge_unavailable';

/** It broke for reasons that lie outside the agent and its work: nothing of it is for the agent to address. */
export const isNotItsDoing = (code: string | null): boolean =>
  isBlocking(code) ||
  ['overload', 'rate_limit', 'network', 'usage_limit', REQUEST_REFUSED, FORGE_SILENT].includes(code ?? '');

/** It failed because its account is used up until a time that is still to come. */
export const waitsForAccount = (
  last: { status: TurnStatus; code: string | null; retryAt: number | null },
  now: number,
): boolean => last.status === 'failed' && isAccountUsedUp(last) && (last.retryAt ?? 0) > now;

export type Outcome =
  | { kind: 'done' }
  /** A gate that nobody needs any more: what it was to prove has changed. */
  | { kind: 'void'; why: string }
  | { kind: 'workspace'; path: string; baseSha: string }
  /** `unfetched`: what it needs could not be fetched. */
  | { kind: 'workspace_failed'; problem: string; unfetched?: true }
  /** Its directory is gone, and this commit has its work as far as it was saved. */
  | { kind: 'workspace_lost'; saved: string }
  | { kind: 'checkpoint'; head: Checkpoint; baseSha: string; empty: boolean }
  /** One commit has what was done; null when nothing was. */
  | { kind: 'sealed'; head: Checkpoint; commit: string | null }
  | { kind: 'refused'; problem: string }
  | { kind: 'pushed' }
  | { kind: 'moved'; sha: string }
  /** The forge will not take the work as it is, in its own words. */
  | { kind: 'publish_refused'; detail: string }
  | { kind: 'pull'; pull: number }
  /** `landed`: what the merge brought in, one line a commit, newest first. */
  | { kind: 'merged_in'; conflicts: string[]; landed: string[] }
  | {
      kind: 'turn';
      status: TurnStatus;
      code: string | null;
      message: string;
      text: string;
      structured: unknown;
      retryAt: number | null;
      durationMs: number;
      usageKnown: boolean;
      /** It came to nothing with no sign of work. */
      workless?: true;
      /** It went silent after it had called tools. */
      worked?: true;
      /** Its agent replaced what was said by a summary of it. */
      shortened?: true;
      /** The session it was to open never had a message: there is nothing to go on with. */
      sessionEmpty?: boolean;
      /** What its coder said of the work when it called it finished; nothing rests on it. */
      summary?: CoderSummary;
      /** What its auditor noted through its tools, in this audit. */
      notes?: AuditNotes;
      /** The code around the places that a critic's findings name, as its head has it. */
      contexts?: { file: string; line: number; text: string }[];
    }
  /** The turn never began: its prompt could not be rendered from the template with this digest. */
  | { kind: 'prompt_broken'; prompt: PromptKind; problem: string; digest: string }
  /** `bases` are the runs on the base commit that were made for it. */
  | { kind: 'gate'; evidence: Evidence; bases: BaseRun[] }
  | { kind: 'hook'; problem: string | null }
  /** `chars`: the length of the whole change, as a patch. */
  | { kind: 'inspected'; findings: NewFinding[]; chars: number; files: readonly string[] }
  | { kind: 'candidate'; candidate: Candidate }
  | { kind: 'conflict'; files: string[]; trunk: string }
  | { kind: 'empty'; trunk: string }
  | { kind: 'rewritten'; baseSha: string; trunk: string }
  /** `untested`: the tree that landed is another one than was tested. */
  | { kind: 'landed'; sha: string; untested?: { tree: string; why: string } }
  | { kind: 'merge_queued'; tree: string; detail: string }
  | { kind: 'trunk_moved' }
  | { kind: 'dirty_checkout'; detail: string }
  /** It may be taken when it is tried again: the forge is still looking at it, or at what is around it. */
  | { kind: 'landing_refused'; detail: string }
  | { kind: 'merge_refused'; detail: string }
  | { kind: 'switched'; problem: string | null }
  | { kind: 'reaped'; path: string }
  | { kind: 'preserved'; path: string };
