/** Of a long output, what says why it failed: the lines where failing is first spoken of, and the last ones. */
import { ANSI, SPEAKS_OF_FAILURE } from '../change/signature.ts';

const FIRST = 4;
const LAST = 4;
const LINE_CHARS = 160;

export function tellingLines(output: string): string {
  const lines = output
    .replace(ANSI, '')
    .split('\n')
    .map((line) => line.replace(/\s+/g, ' ').trim().slice(0, LINE_CHARS))
    // A line that only begins the next one ("npm error") says nothing of its own.
    .filter((line, at, all) => line !== '' && !all[at + 1]?.startsWith(line));
  const first = lines.findIndex((line) => SPEAKS_OF_FAILURE.test(line));
  const rest = first < 0 ? lines.slice(-(FIRST + LAST)) : lines.slice(first);
  const shown = rest.length <= FIRST + LAST ? rest : [...rest.slice(0, FIRST), '…', ...rest.slice(-LAST)];
  return shown.join(' · ');
}
