/**
 * Where issues and pull requests live.
 *
 * Verbs are idempotent: `ensure…` finds what an earlier call made, by deterministic name or marker and own author.
 * A forge that can't answer throws ForgeUnavailable; it never invents an answer.
 */

import type {
  FoundRow,
  IssueReading,
  Part,
  PullReading,
  RequestsLeft,
} from '../core/access/forge-reading.ts';
import type { PullFeedback, Remark, RemarkRef } from '../core/change/remark.ts';
import type { Candidate, Checkpoint, Related } from '../core/event.ts';
import type { ReviewComment } from '../core/words/review-text.ts';

export interface Issue {
  number: number;
  title: string;
  body: string;
  /** Of title and body together, as `textHash` of the core makes it. */
  textHash: string;
  state: 'open' | 'closed';
  labels: string[];
  /** 1 (first) to 4; null when none was given. */
  priority: number | null;
  blockedBy: number[];
  /** What blocks it in other repositories, as `owner/name#12`: open, or not to be seen. Absent where nothing does. */
  blockedElsewhere?: { name: string; isSeen: boolean }[];
  /**
   * The hash of the text when it was made ready, or a value no text has where it was edited since and nobody knows what it
   * was; null when that moment was not recorded.
   */
  readyHash: string | null;
  /** When it was made ready last; null when unknown. A later time than an attempt's end is a person's new request. */
  readyAt: number | null;
  /** Why being made ready does not count: who did it may not start work. */
  readyProblem?: string;
  /** Whether its text is what was agreed to can't be told before `until`; nothing may rest on it yet. */
  unproved?: { why: string; until: number };
  /** Issues it is a part of, or that are parts of it; absent where nobody knows. */
  related?: Related;
  /** Where people read it; absent where it has no page. */
  url?: string;
  createdAt: number;
  updatedAt: number;
}

export interface Pull {
  number: number;
  issue: number | null;
  branch: string;
  state: 'open' | 'closed' | 'merged';
  /** Computed from the branch now; null when the branch is gone. */
  headSha: string | null;
  mergedSha: string | null;
  /** The tree of that commit; absent where the loop's own commits land. */
  mergedTree?: string | null;
  /** It waits in a merge queue of the forge's own; absent where there is none. */
  inMergeQueue?: boolean;
  /** When and why that queue gave it back last, in the forge's words; null when it did not. */
  queueLeft?: { at: number; why: string } | null;
  /** Approvals of people with write access, each for one head. */
  approvals: { headSha: string; by: string }[];
}

export type LandResult =
  /** `note`: what a person should know about their checkout; the merge itself is done. */
  | {
      kind: 'landed';
      sha: string;
      note?: string;
      /** The tree that landed, where it is not the one that was tested. */
      untested?: { tree: string };
    }
  /** The branch merges by a queue of the forge's own, which has it now. */
  | { kind: 'merge_queued'; detail: string }
  | { kind: 'trunk_moved' }
  /** The forge takes only heads that contain today's trunk. */
  | { kind: 'behind'; trunk: string }
  | { kind: 'dirty_checkout'; detail: string }
  /** In the forge's own words. `passing`: tried again, it may well be taken. */
  | { kind: 'refused'; detail: string; passing?: true };

/** `refused`: the forge will not take it, in its own words; another try changes nothing unless a person does. */
export type PushResult = 'pushed' | 'moved' | { refused: string };

export interface ForgeProblem {
  what: string;
  fix: string;
  /** Nothing can be done before it is mended. */
  blocks?: true;
  /** The forge gives no answer now; it may by itself later. */
  isSilence?: boolean;
}

/** Where the forge reports what happens, and how the last report was answered; 0 when it was not. */
export interface ForgeHook {
  url: string;
  active: boolean;
  events: readonly string[];
  last: { status: number; message: string } | null;
}

/** Where something may change for a task that waits. */
export interface Watched {
  issue: number | null;
  pull: number | null;
  branch: string;
}

export interface Forge {
  readonly kind: string;
  /** What would keep it from working, found at start-up. */
  check(): Promise<ForgeProblem[]>;
  /** Which rights are missing and what that costs: each is tried, which takes a while. Absent where there are none. */
  checkRights?(): Promise<ForgeProblem[]>;

  /** Where it reports what happens there; null when that may not be seen, absent where it reports nothing. */
  hooks?(): Promise<readonly ForgeHook[] | null>;

  /** Something happened there: whatever was read before is out of date, however short ago that was. */
  forget?(): void;
  /** A merge rests on what is read next: nothing that was read before counts, not even what seems unchanged. */
  doubt?(): void;

  /** Every open issue. */
  openIssues(): Promise<Issue[]>;
  /** Issues and reviews that are left out because they can't be read. */
  unreadable?(): Promise<ForgeProblem[]>;
  /** `lately`: what the last look of the loop's own showed will do. */
  issue(number: number, when?: 'lately'): Promise<Issue | null>;
  relabel(issue: number, change: { add: string[]; remove: string[] }): Promise<void>;
  /** One comment for each marker; said again with another text, it is edited in place. */
  ensureComment(issue: number, marker: string, body: string): Promise<void>;
  closeIssue(issue: number): Promise<void>;

  /**
   * What is known of the issue, the pull request and the branch of each: the very same values while nothing about them has
   * changed, null where it can't be told. Asked about all at once. Absent where to ask costs as much as to look.
   */
  seen?(of: readonly Watched[]): Promise<(readonly unknown[] | null)[]>;

  trunk(): Promise<{ branch: string; sha: string }>;
  /** Publishes `sha` as the branch's head, only if the branch is still at `expected` (null: does not exist). */
  push(branch: string, sha: string, expected: string | null): Promise<PushResult>;
  /** Shows people that the gate passed for this commit, where the forge has a place for it. */
  showVerified?(sha: string): Promise<void>;
  branchHead(branch: string): Promise<Checkpoint | null>;
  deleteBranch(branch: string): Promise<void>;
  ensurePull(pull: {
    issue: number | null;
    branch: string;
    title: string;
    body: string;
    marker: string;
  }): Promise<Pull>;
  pull(number: number): Promise<Pull | null>;
  /** Replaces title and text; what was said on it stays. Nothing to do when it is gone. */
  updatePull(pull: number, text: { title: string; body: string }): Promise<void>;
  postReview(
    pull: number,
    review: { marker: string; headSha: string; verdict: string; body: string; comments: ReviewComment[] },
  ): Promise<void>;
  closePull(pull: number, comment: string): Promise<void>;
  /** Where the forge has a merge queue: takes it out again. Nothing to do when it is not in it. */
  leaveQueue?(pull: number): Promise<void>;

  /**
   * What CI says about the pull request's head as it is now, and what people said on it so far. The loop's own words
   * (its author and its marker) are left out. Null when there is no such pull request.
   */
  feedback(pull: number): Promise<PullFeedback | null>;
  /**
   * People's remarks with a line that begins with `/loop`, on any issue or pull request, made at `since` or later,
   * oldest first. `seen` is the time of the newest remark of any kind, and never before `since`: where to go on.
   */
  commands(since: number): Promise<{ remarks: Remark[]; seen: number }>;
  /** Answers a remark where it was made, in its thread if it has one; once per marker. */
  reply(to: RemarkRef, marker: string, body: string): Promise<void>;

  /** Only a head on today's trunk can be tested, because the forge wants it so or merges by a queue of its own. */
  mergesAlone?(): Promise<boolean>;
  /**
   * The commit that would land: `headSha` on today's trunk, or on `onto`, by `method`. `rewritten` when trunk no longer contains
   * `baseSha`, which the head builds on: a merge would bring back what somebody took out of trunk.
   */
  buildCandidate(input: {
    headSha: string;
    baseSha: string;
    method: 'squash' | 'merge' | 'rebase';
    message: string;
    task: string;
    onto?: string;
  }): Promise<
    | { kind: 'clean'; candidate: Candidate }
    | { kind: 'conflict'; files: string[]; trunk: string }
    /** It would merge, but the forge takes only heads that contain today's trunk. */
    | { kind: 'behind'; trunk: string }
    | { kind: 'empty'; trunk: string }
    | { kind: 'rewritten'; trunk: string }
    /** It would merge, and the commit can't be made as the operator wants it. */
    | { kind: 'refused'; detail: string }
  >;
  /** Why a merge (of this head, when it is known) could not land now, before anything is built; null when it could. */
  mergeBlocker(headSha?: string): Promise<string | null>;
  /**
   * Makes this candidate trunk, only while trunk is what it was built on; asked again, says `landed` when it is there.
   * The commit is the candidate itself, or, where the forge makes its own, one with the candidate's tree.
   */
  land(pull: number, candidate: Candidate): Promise<LandResult>;
  /** Is this commit, or a commit with the same effect for the pull request, on trunk? */
  onTrunk(sha: string): Promise<boolean>;

  /**
   * What people wrote, for agents to read: of this repository alone, at most `SHOWN` of each list, as of now. Where requests
   * are counted, each of these is one, or one more where the repository's own name has to be asked for.
   */
  readIssue(number: number): Promise<IssueReading | null>;
  readPull(number: number): Promise<PullReading | null>;
  /** What has all of these words; the words are as `searchWords` makes them. */
  search(words: string): Promise<Part<FoundRow>>;
  /** Known without asking; absent where requests are not counted. */
  requestsLeft?(): RequestsLeft;
}
