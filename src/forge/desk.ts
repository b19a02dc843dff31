/** What people do with a forge from the command line: every forge has an IssueDesk, one without pages of its own a PullDesk. */
import type { Check, Remark } from '../core/change/remark.ts';
import type { Issue, Pull } from './forge.ts';

export interface NewIssue {
  title: string;
  body: string;
  labels?: readonly string[];
  priority?: number | null;
  blockedBy?: readonly number[];
}

/** What people do with issues, beyond what the loop does. */
export interface IssueDesk {
  newIssue(issue: NewIssue & { ready?: boolean; by?: string }): Promise<Issue>;
  /** Labels it, pins its text as it is now, and takes away what an earlier attempt left. A closed one is reopened. */
  markReady(number: number, by: string): Promise<Issue>;
  setState(number: number, state: 'open' | 'closed'): Promise<void>;
  addComment(number: number, by: string, text: string): Promise<void>;
  comments(number: number): Promise<{ by: string; at: string; text: string }[]>;
  listIssues(all: boolean): Promise<Issue[]>;
  /** A person's approval of the head as it is now. */
  approvePull(number: number, by: string): Promise<{ headSha: string }>;
  /** Makes the labels of the loop that do not exist yet, where labels have to exist; says which. */
  createLabels?(): Promise<string[]>;
}

/** What people and CI do with pull requests. */
export interface PullDesk {
  listPulls(all: boolean): Promise<(Pull & { title: string; body: string })[]>;
  /** Somebody's word on the head as it is now; an approval counts for that head only. */
  remark(
    pull: number,
    remark: Pick<Remark, 'verdict' | 'body' | 'file' | 'line'> & { by: string },
  ): Promise<{ headSha: string }>;
  reportCheck(
    pull: number,
    check: Pick<Check, 'name' | 'state' | 'job' | 'step' | 'link'> & { by: string; log: string | null },
  ): Promise<{ headSha: string }>;
}
