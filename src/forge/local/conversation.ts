/** What is said on pull requests and issues: people's remarks, results of CI, and the loop's answers. */
import { join } from 'node:path';
import type { PullFeedback, RemarkRef } from '../../core/change/remark.ts';
import { firstLine } from '../../core/text/shortened.ts';
import { UserError } from '../../errors.ts';
import type { Git } from '../../git/git.ts';
import { resolve } from '../../git/objects.ts';
import type { PullDesk } from '../desk.ts';
import type { Forge } from '../forge.ts';
import { readReports, writeReport } from './checks.ts';
import { appendComment, isMarked, SELF } from './comments.ts';
import type { Issues } from './issues.ts';
import type { Exclusively } from './lock.ts';
import { editMarkdown } from './markdown.ts';
import { type PullFile, pullFileName } from './pull-file.ts';
import type { Pulls } from './pulls.ts';
import { hasCommand, newest, remarksOf } from './remarks.ts';

type Conversation = Pick<Forge, 'feedback' | 'commands' | 'reply'> & Pick<PullDesk, 'remark' | 'reportCheck'>;

export function openConversation(options: {
  git: Git;
  forgeDir: string;
  now: () => number;
  exclusively: Exclusively;
  pulls: Pulls;
  issues: Issues;
}): Conversation {
  const { git, forgeDir, pulls, issues } = options;
  const iso = () => new Date(options.now()).toISOString();
  const checksPath = (number: number) =>
    join(forgeDir, 'pulls', pullFileName(number).replace('.md', '.checks.json'));
  const headOf = (pull: PullFile): Promise<string | null> => resolve(git, `refs/heads/${pull.branch}`);

  /** An open pull request and its head, or the reason why nothing can be said about it. */
  const open = async (number: number): Promise<{ pull: PullFile; head: string }> => {
    const pull = pulls.find(number);
    if (!pull)
      throw new UserError(
        `There is no pull request #${number}.`,
        '`forge-loop pull list` shows the open ones.',
      );
    const head = await headOf(pull);
    if (head === null) throw new UserError(`The branch ${pull.branch} of pull request #${number} is gone.`);
    if (pull.state !== 'open') throw new UserError(`Pull request #${number} is ${pull.state}.`);
    return { pull, head };
  };

  const feedback = async (number: number): Promise<PullFeedback | null> => {
    const pull = pulls.find(number);
    if (!pull) return null;
    const head = await headOf(pull);
    const reports = readReports(checksPath(number)).filter(({ headSha }) => headSha === head);
    return {
      checks: reports.map(({ by: _by, at: _at, ...check }) => ({ ...check, required: false })),
      remarks: remarksOf({ kind: 'pull', number }, pull.comments),
    };
  };

  return {
    feedback,

    commands: async (since) => {
      const all = [
        ...pulls
          .all()
          .map(({ number, comments }) => ({ where: { kind: 'pull' as const, number }, comments })),
        ...issues
          .conversations()
          .map(({ number, comments }) => ({ where: { kind: 'issue' as const, number }, comments })),
      ];
      const remarks = all
        .filter(({ comments }) => newest(comments, 0) >= since)
        .flatMap(({ where, comments }) => remarksOf(where, comments))
        .filter(({ at, body }) => at >= since && hasCommand(body))
        .sort((a, b) => a.at - b.at);
      return { remarks, seen: all.reduce((latest, one) => newest(one.comments, latest), since) };
    },

    reply: async (to, marker, body) => {
      if (to.where.kind === 'issue') return issues.ensureComment(to.where.number, marker, body);
      const { number } = to.where;
      await pulls.rewrite(number, (text, pull) => {
        if (isMarked(text, marker)) return text;
        const said = `${quoted(pull, to)}${body}`;
        return appendComment(text, { by: SELF, at: iso(), marker, text: said });
      });
    },

    remark: async (number, { by, verdict, body, file, line }) => {
      const { head } = await open(number);
      const about = {
        verdict,
        head,
        ...(file === null ? {} : { file }),
        ...(line === null ? {} : { line: String(line) }),
      };
      await pulls.rewrite(number, (text, { approvals }) => {
        const known = approvals.some((one) => one.headSha === head && one.by === by);
        if (verdict === 'approve' && known && body === '') return text;
        const said = appendComment(text, { by, at: iso(), marker: null, about, text: body || 'Approved.' });
        if (verdict !== 'approve' || known) return said;
        const given = [...approvals.map((one) => ({ head: one.headSha, by: one.by })), { head, by }];
        return editMarkdown(said, (front) => front.set('approvals', front.createNode(given)));
      });
      return { headSha: head };
    },

    reportCheck: async (number, { log, ...check }) => {
      const { head } = await open(number);
      await options.exclusively('pulls', () =>
        writeReport(checksPath(number), {
          ...check,
          headSha: head,
          logTail: log === null ? null : log.slice(-LOG_CHARS),
          at: iso(),
        }),
      );
      return { headSha: head };
    },
  };
}

const LOG_CHARS = 20_000;

/** There are no threads in a file: what an answer is about is said in its first line. */
function quoted(pull: PullFile, to: RemarkRef): string {
  const remark = remarksOf(to.where, pull.comments).find(({ id }) => id === to.id);
  if (!remark) return '';
  const where =
    remark.file === null ? '' : ` on ${remark.file}${remark.line === null ? '' : `:${remark.line}`}`;
  return `> ${remark.author}${where}: ${firstLine(remark.body, 120)}\n\n`;
}
