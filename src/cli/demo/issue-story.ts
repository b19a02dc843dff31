/** The story of five issues, each of which takes another course. */
import type { Context } from '../../context.ts';
import { readBoard } from './board.ts';
import { courseOf, differences } from './course.ts';
import { ISSUES } from './issues.ts';
import { type DemoReport, type IssueReport, reportText } from './report.ts';
import { scriptFor } from './script.ts';
import type { Story } from './story.ts';

export const ISSUE_STORY: Story<DemoReport> = {
  title: `forge-loop demo: ${ISSUES.length} issues of a small project`,
  column: 'ISSUE',
  scriptFor,
  // Its critic of #4 waits there for #1 to land.
  settings: '\nroles:\n  critic:\n    access:\n      read: [test]\n',
  async begin(context) {
    const forge = await context.forge();
    const by = await context.operator();
    for (const { title, body } of ISSUES) await forge.newIssue({ title, body, ready: true, by });
  },
  board: (store, before, now) => readBoard(store, ISSUES, before, now),
  async report(context, played) {
    const issues = await Promise.all(ISSUES.map((_, at) => reportOn(context, at)));
    return {
      ok: !played.late && issues.every((issue) => issue.differed.length === 0),
      ...played,
      issues,
    };
  },
  text: reportText,
};

async function reportOn(context: Context, at: number): Promise<IssueReport> {
  const issue = at + 1;
  const { title, story, told } = ISSUES[at]!;
  const { task, course } = await courseOf(context, issue);
  return {
    issue,
    title,
    story,
    outcome: course.outcome,
    turns: task?.turns ?? 0,
    rounds: task?.criticRounds ?? 0,
    sessionId: task?.sessionId ?? null,
    sessions: course.sessions,
    costUsd: task?.costUsd ?? null,
    mergedSha: task?.mergedSha ?? null,
    course,
    differed: differences(told, course),
  };
}
