/** A place where a process of the loop waits until the test lets it go: no test has to guess when something happens. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from './until.ts';

export interface Halt {
  /** For a hook, a gate command or a step of the scripted agent. */
  readonly shell: string;
  /** The pids that came here so far, the last one newest; awaited until there are so many. */
  arrived(times?: number): Promise<number[]>;
  arrivals(): number;
  /** From now on everybody passes. */
  lift(): void;
}

export function haltAt(folder: string, name: string): Halt {
  mkdirSync(folder, { recursive: true });
  const seen = join(folder, `${name} seen`);
  const open = join(folder, `${name} open`);
  const pids = (): number[] =>
    existsSync(seen) ? readFileSync(seen, 'utf8').trim().split('\n').filter(Boolean).map(Number) : [];
  return {
    shell: `echo $$ >> ${quoted(seen)}; while ! [ -e ${quoted(open)} ]; do sleep 0.02; done`,
    arrived: (times = 1) =>
      until(`${times} to arrive at ${name}`, () => (pids().length >= times ? pids() : null)),
    arrivals: () => pids().length,
    lift: () => writeFileSync(open, ''),
  };
}

/** Safe in a shell, whatever the folder is called. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** For a gate command: only where the coder works, not on trunk or what is to become trunk. */
export const onWork = ({ shell }: Halt): string =>
  `if git symbolic-ref -q HEAD >/dev/null; then ${shell}; fi`;

/** For a gate command: only where what is to become trunk is tested, once the coder has done its work. */
export const onCandidate = ({ shell }: Halt, work = 'done-*.txt'): string =>
  `if { ! git symbolic-ref -q HEAD && ls ${work}; } >/dev/null 2>&1; then ${shell}; fi`;
