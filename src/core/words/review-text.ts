/** What the loop's reviews and approvals say on a pull request. */
import { shortSha } from './short-sha.ts';

export interface ReviewComment {
  file: string | null;
  line: number | null;
  body: string;
}

/** A review, with those of its comments that have no line of the pull request to stand at. */
export function reviewText(
  { headSha, verdict, body }: { headSha: string; verdict: string; body: string },
  rest: readonly ReviewComment[],
): string {
  const remarks = rest.map(({ file, line, body }) => {
    const where = file === null ? 'general' : line === null ? `\`${file}\`` : `\`${file}:${line}\``;
    return `- ${where}: ${body.trim().replaceAll('\n', '\n  ')}`;
  });
  const about = body.includes(verdict) ? 'Review of' : `**${verdict}** at`;
  const parts = [`${about} \`${shortSha(headSha)}\``, body.trim(), remarks.join('\n')];
  return parts.filter((part) => part !== '').join('\n\n');
}

export const approvalText = (headSha: string): string => `Approved at \`${shortSha(headSha)}\`.`;

export const NEW_ATTEMPT_CLOSES = 'Closed: a new attempt at this issue has started.';
