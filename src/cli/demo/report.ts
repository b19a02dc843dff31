/** How the demo ended: one document for programs, one page for people. */

import type { Paint } from '../../core/words/paint.ts';
import { count } from '../../core/words/words.ts';
import { table } from '../layout.ts';
import type { Terminal } from '../terminal.ts';
import type { Course } from './course.ts';
import type { Scratch } from './scratch.ts';
import { type Played, whereToLook } from './story.ts';

export interface DemoReport extends Played {
  /** Every story ended as expected. */
  ok: boolean;
  issues: IssueReport[];
}

export interface IssueReport {
  issue: number;
  title: string;
  story: string;
  outcome: Course['outcome'];
  turns: number;
  rounds: number;
  sessionId: string | null;
  sessions: number;
  costUsd: number | null;
  mergedSha: string | null;
  course: Course;
  /** In which points it differs from what was told. */
  differed: string[];
}

export function reportText(report: DemoReport, scratch: Scratch, { paint, columns }: Terminal): string {
  const { ok, issues, durationMs } = report;
  const header = ['ISSUE', 'OUTCOME', 'TURNS', 'ROUNDS', 'SESSION', 'COST'].map(paint.dim);
  const rows = table([header, ...issues.map((issue) => cells(issue, paint))], columns).split('\n');
  const below = issues.map((issue) => [
    `   ${paint.dim(issue.story)}`,
    ...issue.differed.map((point) => `   ${paint.red(`not as told: ${point}`)}`),
  ]);
  const took = `${(durationMs / 1000).toFixed(1)} s`;
  return [
    ...rows.flatMap((row, at) => [row, ...(below[at - 1] ?? [])]),
    '',
    ...(ok
      ? [
          `${paint.green('Every story ended as expected')}, in ${took}.`,
          'Only the model was a script, so the costs are made up.',
        ]
      : [
          paint.red(`Not every story ended as expected (${report.late ? `cut short after ${took}` : took}).`),
        ]),
    '',
    ...whereToLook(report, scratch, paint, ['task show 3', 'issue show 5', 'events']),
  ].join('\n');
}

function cells(issue: IssueReport, paint: Paint): string[] {
  const name = `${paint.bold(`#${issue.issue}`)} ${issue.title}`;
  const outcome = { merged: paint.green, declined: paint.yellow }[issue.outcome as string] ?? paint.red;
  if (issue.sessions === 0) return [name, outcome(issue.outcome), '–', '–', '–', '–'];
  const same = issue.turns > 1 ? ' (same)' : '';
  return [
    name,
    outcome(issue.outcome),
    String(issue.turns),
    String(issue.rounds),
    `${issue.sessionId?.slice(0, 8) ?? '?'}${issue.sessions > 1 ? ` (${count(issue.sessions, 'session')})` : same}`,
    issue.costUsd === null ? '?' : `$${issue.costUsd.toFixed(3)}`,
  ];
}
