/** Plan files, for people. */
import { count } from '../core/words/words.ts';
import type { Result } from '../operations.ts';
import type { Terminal } from './terminal.ts';

export const newPlanText = ({ path }: Result<'plan.new'>): string =>
  `Wrote ${path}. Fill it in, then check it with \`forge-loop plan lint\`.`;

/** Each problem begins as compilers have it, so that editors find the place. */
export function lintedPlanText(
  { file, title, milestones, problems }: Result<'plan.lint'>,
  { paint }: Terminal,
): string {
  const colour = { error: paint.red, warning: paint.yellow };
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const holds = title === null ? '' : `${paint.bold(title)}: ${count(milestones.length, 'milestone')}, `;
  const sum =
    problems.length === 0
      ? paint.green('nothing is missing')
      : `${count(errors, 'error')}, ${count(problems.length - errors, 'warning')}`;
  return [
    ...problems.flatMap(({ severity, line, problem, advice }) => [
      `${file}${line === null ? '' : `:${line}`}: ${colour[severity](severity)}: ${problem}`,
      `  ${paint.cyan('→')} ${advice}`,
    ]),
    `${holds}${sum}`,
  ].join('\n');
}
