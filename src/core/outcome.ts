/** What came of an action. `record` turns an outcome into events; nothing else looks at it. */
import type { Candidate, Checkpoint, CoderSummary, PromptKind, TurnStatus } from './event.ts';
import type { NewFinding } from './findings.ts';
import type { BaseRun, Evidence } from './gate.ts';

/** Codes of a failed turn after which its conversation can't be gone on with: it is gone, too long, or refused as it is. */
const SESSION_ENDING = ['session_lost', 'context_overflow', 'invalid_request'];

export const endsSession = (code: string | null): boolean => SESSION_ENDING.includes(code ?? '');

/** With a time at which it is over: then it is the account's matter and not this turn's. */
export const isAccountUsedUp = ({
  code,
  retryAt,
}: {
  code: string | null;
  retryAt: number | null;
}): boolean => code === 'usage_limit' && retryAt !== null;

export type Outcome =
  | { kind: 'done' }
  | { kind: 'workspace'; path: string; baseSha: string }
  | { kind: 'workspace_failed'; problem: string }
  | { kind: 'checkpoint'; head: Checkpoint; baseSha: string; empty: boolean }
  | { kind: 'refused'; problem: string }
  | { kind: 'pushed' }
  | { kind: 'moved'; sha: string }
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
      /** The session it was to open never had a message: there is nothing to go on with. */
      sessionEmpty?: boolean;
      /** What its coder said of the work when it called it finished; nothing rests on it. */
      summary?: CoderSummary;
      /** The code around the places that a critic's findings name, as its head has it. */
      contexts?: { file: string; line: number; text: string }[];
    }
  /** The turn never began: its prompt could not be rendered from the template with this digest. */
  | { kind: 'prompt_broken'; prompt: PromptKind; problem: string; digest: string }
  /** `bases` are the runs on the base commit that were made for it. */
  | { kind: 'gate'; evidence: Evidence; bases: BaseRun[] }
  | { kind: 'hook'; problem: string | null }
  | { kind: 'inspected'; findings: NewFinding[] }
  | { kind: 'candidate'; candidate: Candidate }
  | { kind: 'conflict'; files: string[]; trunk: string }
  | { kind: 'empty'; trunk: string }
  | { kind: 'rewritten'; baseSha: string; trunk: string }
  /** `untested`: the tree that landed is another one than was tested. */
  | { kind: 'landed'; sha: string; untested?: { tree: string; why: string } }
  | { kind: 'merge_queued'; tree: string; detail: string }
  | { kind: 'trunk_moved' }
  | { kind: 'dirty_checkout'; detail: string }
  | { kind: 'merge_refused'; detail: string }
  | { kind: 'reaped'; path: string }
  | { kind: 'preserved'; path: string };
