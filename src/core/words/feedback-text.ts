/** What critic, people and CI say about a change, as the next prompt tells it. */

import type { Finding } from '../change/findings.ts';
import type { Check, Remark } from '../change/remark.ts';
import type { Feedback } from '../event.ts';
import { fence, oneLine, tail } from './fence.ts';

/** Feedback of all kinds becomes one message; the same text twice is said once. */
export function feedbackText(feedback: readonly Feedback[], left = 0): string {
  const distinct = feedback.filter(
    (item, index) =>
      feedback.findIndex(({ kind, text }) => kind === item.kind && text === item.text) === index,
  );
  const titled = distinct.map((item, index) => {
    const isFirst = distinct[index - 1]?.kind !== item.kind;
    return `${isFirst ? `${FEEDBACK_TITLES[item.kind]}\n` : ''}${within(item)}`;
  });
  const more =
    left > 0 ? [`${left} more ${left === 1 ? 'point follows' : 'points follow'} when this is done.`] : [];
  return [...titled, ...more].join('\n\n');
}

/** What quotes nobody can be long and has no fence to lose: it ends with a whole line, and says so. */
function within({ kind, text }: Feedback): string {
  if (text.length <= LIST_CHARS || (kind !== 'critic' && kind !== 'conflict')) return text;
  const kept = text.slice(0, text.lastIndexOf('\n', LIST_CHARS));
  const left = text.slice(kept.length).trim().split('\n').length;
  return `${kept}\n(${left} more lines were cut: these come first.)`;
}

const LIST_CHARS = 16_000;

const FEEDBACK_TITLES: Record<Feedback['kind'], string> = {
  critic: 'The critic asks for changes:',
  rule: 'Your change touches its own checks or protected files:',
  conflict: 'It conflicts with changes that landed on trunk:',
  landed: 'Merged into your work tree meanwhile, newest first:',
  gate: 'Verification failed on the merged tree:',
  ci: 'CI failed:',
  review: 'People with write access say:',
  contract: 'The issue was edited and marked ready again:',
};

export function findingText(
  finding: Pick<Finding, 'severity' | 'file' | 'line' | 'message' | 'scenario' | 'suggestion'>,
  id: string | null = null,
): string {
  const place = finding.file ? ` ${finding.file}${finding.line ? `:${finding.line}` : ''}` : '';
  const scenario = finding.scenario ? `\n  When: ${oneLine(finding.scenario)}` : '';
  const suggestion = finding.suggestion ? `\n  Suggestion: ${oneLine(finding.suggestion)}` : '';
  return `- ${id === null ? '' : `${id} `}[${finding.severity}]${place} ${oneLine(finding.message)}${scenario}${suggestion}`;
}

/** What a person with write access said. It is for the coder to do, and still nothing that widens what it may do. */
export function remarkText({
  author,
  verdict,
  file,
  line,
  body,
}: Pick<Remark, 'author' | 'verdict' | 'file' | 'line' | 'body'>): string {
  const where = file === null ? '' : ` at ${oneLine(file)}${line === null ? '' : `:${line}`}`;
  const asks = verdict === 'request_changes' ? 'asks for changes' : 'says';
  const who = `${oneLine(author).slice(0, 100)} ${asks}${where}`;
  if (body.trim() === '') return `${who}.`;
  const left = body.length - REMARK_CHARS;
  const cut = left > 0 ? `\n(${left} more characters were cut.)` : '';
  return `${who}:\n${fence('remark', body.slice(0, REMARK_CHARS), 'a wish about this change, nothing else')}${cut}`;
}

/** A person's finding, as the coder is told it: their words as they are, so that code in them stays code. */
export function commentText({ id, file, line, message, scenario }: Finding, by: string): string {
  const body = scenario ? `${message}\n\nWhen: ${scenario}` : message;
  return `Finding ${id}: ${remarkText({ author: by, verdict: 'request_changes', file, line, body })}`;
}

/** What a person told the task as a whole. */
export const toldText = (by: string, body: string): string =>
  remarkText({ author: by, verdict: 'comment', file: null, line: null, body });

/** For the critic, the newest last; of a long conversation the beginning is left out, and that is said. */
export function remarksText(remarks: readonly Remark[]): string {
  const shown = remarks.slice(-MAX_REMARKS).map(remarkText);
  const left = remarks.length - shown.length;
  return [...(left > 0 ? [`(${left} earlier remarks are left out.)`] : []), ...shown].join('\n\n');
}

const MAX_REMARKS = 30;
const REMARK_CHARS = 6000;

/** A red check: which, where it failed, the end of its output, where to read all of it. */
export function checkText({ name, job, step, link, logTail }: Check): string {
  const where = [job && `job ${oneLine(job)}`, step && `step ${oneLine(step)}`].filter(Boolean).join(', ');
  const lines = [
    `- \`${oneLine(name)}\` failed${where ? ` (${where})` : ''}${link ? `: ${oneLine(link)}` : ''}`,
  ];
  if (logTail) lines.push(fence('output', tail(logTail)));
  return lines.join('\n');
}
