/** The exit codes, as docs/cli.md explains them. */
import type { RunSummary } from '../operations/run-summary.ts';

export const EXIT = { done: 0, failed: 1, usage: 2, needsPerson: 3, notMerged: 4 } as const;

/** Work that failed weighs more than work that waits: a script that asks for both sees the first. */
export function exitOfRun({ notMerged, needsPerson }: Pick<RunSummary, 'notMerged' | 'needsPerson'>): number {
  if (notMerged.some(({ outcome }) => outcome === 'failure')) return EXIT.notMerged;
  return needsPerson.length > 0 ? EXIT.needsPerson : EXIT.done;
}
