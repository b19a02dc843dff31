/** What a coder is told of the direction: background beside its contract, within a fixed size. */
import { changedBy, filesIn } from '../line/apart.ts';
import { isEnded, nameOfTask, type Task } from '../task.ts';
import { fence, oneLine } from '../words/fence.ts';
import { type Frontier, hotFileOf } from './frontier.ts';

const MOST_CHARS = 2000;

/** Empty where there is nothing to say. `others`: every task but the coder's own. */
export function adviceText(frontier: Frontier, others: readonly Task[]): string {
  const lines = [
    ...(frontier.goal ? [`Goal: ${oneLine(frontier.goal)}`] : []),
    ...(frontier.currentProblem ? [`Current problem: ${oneLine(frontier.currentProblem)}`] : []),
    ...frontier.nextExpansion.map((one) => `Comes next: ${oneLine(one)}`),
    ...frontier.rejected.map(
      ({ approach, why }) =>
        `Rejected, do not try it again: ${oneLine(why ? `${approach} (${why})` : approach)}`,
    ),
    ...frontier.hotFiles.map(
      (hot) => `Many changes touch ${oneLine(hot)}${beingChanged(hot, frontier, others)}`,
    ),
  ];
  if (lines.length === 0) return '';
  const said = fence('direction', within(lines).join('\n'), 'advice, not part of the contract');
  return `Background from the maintainers on where the project is heading. Where it and the contract differ, follow the contract:
${said}`;
}

function beingChanged(hot: string, frontier: Frontier, others: readonly Task[]): string {
  const by = others.filter(
    (task) =>
      !isEnded(task) &&
      [...changedBy(task), ...filesIn(task.contract.body)].some((file) => hotFileOf(file, frontier) === hot),
  );
  return by.length === 0 ? '' : `; at work on it now: ${by.map(nameOfTask).join(', ')}`;
}

function within(lines: readonly string[]): readonly string[] {
  let room = MOST_CHARS;
  const kept = lines.filter((line) => {
    room -= line.length + 1;
    return room >= 0;
  });
  const left = lines.length - kept.length;
  return left === 0 ? kept : [...kept, `(${left} more in .forge/frontier.yaml)`];
}
