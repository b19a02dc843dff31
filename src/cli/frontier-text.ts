/** The stated direction, for people. */
import type { Result } from '../operations.ts';
import type { Terminal } from './terminal.ts';

type Shown = Result<'frontier.show'>;

export function frontierText(shown: Shown, { paint }: Terminal): string {
  if (!shown.isWritten)
    return 'There is no .forge/frontier.yaml. `forge-loop frontier edit` opens a new one.';
  const rows: [string, readonly string[]][] = [
    ['goal', shown.goal ? [shown.goal] : []],
    ['current problem', shown.currentProblem ? [shown.currentProblem] : []],
    ['next expansion', shown.nextExpansion],
    ['rejected', shown.rejected.map(({ approach, why }) => (why ? `${approach} (${why})` : approach))],
    ['hot files', shown.hotFiles],
  ];
  const said = rows.filter(([, values]) => values.length > 0);
  const lines = said.flatMap(([name, values]) =>
    values.map((value, at) => `${paint.dim((at === 0 ? name : '').padEnd(17))}${value}`),
  );
  return [
    ...(lines.length > 0 ? lines : ['.forge/frontier.yaml states no direction yet.']),
    ...problemLines(shown, paint.yellow),
    ...(lines.length > 0 ? [paint.dim('`forge-loop why` says which issues it moves.')] : []),
  ].join('\n');
}

export function checkedText(shown: Shown, terminal: Terminal): string {
  if (!shown.isWritten) return frontierText(shown, terminal);
  const lines = problemLines(shown, terminal.paint.yellow);
  return lines.length > 0 ? lines.join('\n') : '.forge/frontier.yaml: nothing is wrong';
}

const problemLines = ({ problems }: Shown, paint: (text: string) => string): string[] =>
  problems.map(
    ({ line, level, text, hint }) =>
      `.forge/frontier.yaml:${line}: ${paint(level)}: ${text}${hint ? `\n  → ${hint}` : ''}`,
  );
