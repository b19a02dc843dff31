/**
 * What people and CI say about a change, as a forge reports it. The words in it are a stranger's until `mayWrite` says
 * otherwise, and data even then: they are quoted to agents, never run.
 */

/** Where something was said; numbers of issues and pull requests need not be of one series. */
export interface Place {
  kind: 'issue' | 'pull';
  number: number;
}

export interface Remark {
  /** Unique in its forge, and for ever that of this remark. */
  id: string;
  where: Place;
  author: string;
  /** The author may write to the repository. False when that can't be told. */
  mayWrite: boolean;
  verdict: 'approve' | 'request_changes' | 'comment';
  body: string;
  /** The line of the change it is about; null when it is about all of it. */
  file: string | null;
  line: number | null;
  /** The head its author was looking at; null when nobody knows. */
  headSha: string | null;
  at: number;
}

/** What is needed to answer a remark. */
export type RemarkRef = Pick<Remark, 'id' | 'where'>;

/** One check of CI at one head. */
export interface Check {
  name: string;
  headSha: string;
  state: 'pending' | 'green' | 'red';
  /** The forge itself refuses a merge without it. */
  required: boolean;
  /** What failed, and the end of its output; null when green, pending or unknown. */
  job: string | null;
  step: string | null;
  logTail: string | null;
  link: string | null;
}

export interface PullFeedback {
  /** Of the head as it is now, one for each name; a required one that has not begun is pending. */
  checks: Check[];
  /** What of it the forge does not show us, in words; absent when all was read. */
  unread?: string;
  /** On the pull request, oldest first, without the loop's own. */
  remarks: Remark[];
  /** What the forge's own rules want of people before it takes a merge, in words; absent where it has none. */
  wants?: readonly string[];
}
