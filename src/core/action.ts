/**
 * The outbox. A decision writes its actions in the same transaction as the state they follow from; then they are
 * performed in order, one at a time per task.
 *
 * Effects are idempotent and replayed until their outcome is recorded. Runs start processes: each is started at most
 * once per row, and after a crash the recovery table decides what follows.
 */

import type { RemarkRef } from './change/remark.ts';
import type { Candidate, PromptKind } from './event.ts';
import type { Ahead } from './line/line.ts';
import type { WrittenLoopHold } from './loop/loop-hold.ts';
import type { Role } from './role.ts';
import type { Message } from './tell/notify.ts';
import type { Verdict } from './verdict.ts';

/** Proof that every condition of the merge gate held for exactly this candidate; only `mergeGate` makes one. */
export interface MergePermit {
  readonly permit: 'merge';
  pull: number;
  headSha: string;
  candidate: Candidate;
}

export type Effect =
  | { kind: 'label'; issue: number; add: string[]; remove: string[] }
  | { kind: 'comment'; issue: number; marker: string; body: string }
  /** Tells the issue's living comment anew, from the row as it is when this is performed. */
  | { kind: 'tell_status'; issue: number }
  | { kind: 'reply'; to: RemarkRef; marker: string; body: string }
  | { kind: 'close_issue'; issue: number }
  | { kind: 'prepare_workspace' }
  | { kind: 'checkpoint' }
  | { kind: 'push'; sha: string; expected: string | null }
  | { kind: 'ensure_pull'; headSha: string }
  | { kind: 'update_pull'; pull: number; title: string; body: string }
  | {
      kind: 'post_review';
      pull: number;
      headSha: string;
      marker: string;
      verdict: Verdict;
      body: string;
      comments: { file: string | null; line: number | null; body: string }[];
    }
  /** Looks at the change by rule; writes nothing outside. */
  | { kind: 'inspect'; headSha: string; baseSha: string }
  /** On trunk, or on top of those that are ahead in line. */
  | { kind: 'build_candidate'; headSha: string; onto?: { sha: string; ahead: Ahead[] } }
  | { kind: 'land'; permit: MergePermit }
  /** Nothing new starts anywhere, until what has this key is released. */
  | { kind: 'hold_loop'; hold: WrittenLoopHold }
  | { kind: 'release_loop'; key: string; why: string }
  | { kind: 'close_pull'; pull: number; comment: string }
  /** Takes it out of the forge's merge queue, where it may be merged any moment. */
  | { kind: 'leave_queue'; pull: number }
  | { kind: 'adopt_head'; sha: string }
  | { kind: 'merge_in'; sha: string }
  /** Brings what was done since `from` into one commit with this message. */
  | { kind: 'seal'; from: string; message: string }
  /** Shows the work in the operator's checkout, if that is clean. */
  | { kind: 'switch_checkout' }
  | { kind: 'delete_branch' }
  | { kind: 'reap_workspace' }
  | { kind: 'preserve_workspace' }
  /** The loop's own: no task ever waits for it. Whom to reach and how is looked up in the settings when it is sent. */
  | { kind: 'notify'; channel: string; message: Message };

export type Run =
  | {
      kind: 'turn';
      role: Role;
      turn: number;
      sessionId: string;
      prompt: PromptKind;
      priorFailure: string | null;
      /** Which of the role's fallback models is asked, from 1; absent for its own model. */
      fallback?: number;
      /** In place of the role's own model. */
      model?: string;
    }
  | {
      kind: 'gate';
      scope: 'work' | 'candidate' | 'trunk';
      tree: string;
      commit: string;
      /** What a red command is compared with; absent in rows of older versions, which compare with nothing. */
      base?: string;
      /** Those that are tested together with it, by their own commands, too. */
      with?: Ahead[];
    }
  /** `sha` is null when it is not known what a person's merge became; then it is trunk as it is. */
  | { kind: 'hook'; name: 'after_merge'; sha: string | null };

export type Action = Effect | Run;

/** The one run that a held loop waits for. */
export const verifiesTrunk = (action: Action): boolean => action.kind === 'gate' && action.scope === 'trunk';

export const isRun = (action: Action): action is Run =>
  action.kind === 'turn' || action.kind === 'gate' || action.kind === 'hook';

/** An action as stored. `startedAt` is set in the transaction that precedes performing it. */
export interface PendingAction {
  id: number;
  task: string | null;
  action: Action;
  startedAt: number | null;
  attempts: number;
  /** Not before this time: an effect that failed is repeated with backoff. */
  notBefore: number;
}
