/** A person's approval as a verdict, and the text of the pull request that tells of every verdict. */
import type { Action } from './action.ts';
import { approvedWith } from './change/findings.ts';
import { type Act, act, type Facts } from './decision.ts';
import { type Checkpoint, event, type NewEvent } from './event.ts';
import type { Task } from './task.ts';
import { pullBody, pullTitle } from './words/comments.ts';

const approval = (task: Task, headSha: string, by: string): NewEvent =>
  event('verdict_recorded', {
    headSha,
    verdict: 'APPROVE',
    by,
    round: task.criticRounds,
    blocking: [],
    criteria: [],
  });

/** A person's approval of the head, what it decides in the ledger, and the pull request's text that tells of it. */
export function approve(task: Task, head: Checkpoint, facts: Facts, by: string, now: number): Act {
  const { sha: headSha } = head;
  const verdict = { headSha, verdict: 'APPROVE' as const, by, round: task.criticRounds, criteria: [] };
  return {
    ...act([approval(task, headSha, by)], updatePull({ ...task, verdict })),
    findings: approvedWith(facts.openFindings, { by, at: now, sha: headSha }),
  };
}

/** The text of the pull request as this row tells it; said again after every verdict. */
export function updatePull(task: Task): Action[] {
  if (task.pull === null) return [];
  return [{ kind: 'update_pull', pull: task.pull, title: pullTitle(task), body: pullBody(task) }];
}
