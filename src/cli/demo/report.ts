/** How the demo ended: one document for programs, one page for people. */
import { count } from '../../core/words/words.ts';
import { type Paint, type Terminal, table } from '../terminal.ts';
import type { Course } from './course.ts';
import type { Scratch } from './scratch.ts';
import { quoted } from './shell.ts';

export interface DemoReport {
  /** Every story ended as told. */
  ok: boolean;
  durationMs: number;
  /** Where it can be looked at; null when nothing was kept. */
  folder: string | null;
  project: string | null;
  /** It was not done in time and was cut short. */
  late: boolean;
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
          `${paint.green('Every story ended as told')}, in ${took}.`,
          'Only the model was a script, so the costs are made up.',
        ]
      : [paint.red(`Not every story ended as told (${report.late ? `cut short after ${took}` : took}).`)]),
    '',
    ...whereToLook(report, scratch, paint),
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

function whereToLook(report: DemoReport, scratch: Scratch, paint: Paint): string[] {
  const own = process.env.npm_command === 'exec' ? 'npx forge-loop' : 'forge-loop';
  if (report.folder === null) {
    return [
      `The project is gone again; ${paint.cyan(`${own} demo --keep`)} keeps it to look at.`,
      `On a repository of yours: ${paint.cyan(`${own} init`)}`,
    ];
  }
  const project = quoted(scratch.project);
  return [
    `Kept in ${scratch.folder}. Where to look:`,
    ...[
      `git -C ${project} log --stat`,
      `export XDG_STATE_HOME=${quoted(scratch.state)}`,
      `${own} -C ${project} task show 3`,
      `${own} -C ${project} issue show 5`,
      `${own} -C ${project} events`,
    ].map((command) => `  ${paint.cyan(command)}`),
  ];
}
