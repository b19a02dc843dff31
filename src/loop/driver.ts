/** A task at work and the runner that drives it: what each knows of the other. Nothing here is missed after a crash. */
import type { Order } from '../core/line/schedule.ts';
import type { Task } from '../core/task.ts';
import type { Ports } from './ports.ts';
import type { Turnstile } from './turnstile.ts';

/** What a task at work knows of the runner that drives it, and what it tells it. */
export interface Driver {
  readonly ports: Ports;
  /** Why it starts nothing new; null while it does. */
  readonly draining: string | null;
  /** Everything stops at once: children are killed, their turns end interrupted. */
  readonly closing: boolean;
  /** Issues that were only waiting for a slot at the last poll. */
  readonly eligible: number;
  /** Whose turn comes first. */
  readonly order: Order;
  /** This task waits for its place in line. */
  waitsForPlace(task: string): boolean;
  /** The tree of trunk, as last seen; null before the first look. */
  readonly trunkTree: string | null;
  /** When the runner began, somebody who carries the mark of this task was alive. */
  isMarked(task: string): boolean;
  /** What gates pass one by one. */
  readonly gates: Turnstile;
  /** What looks pass, some at a time: each reads the rows of all others. Those that take up a task rank lowest. */
  readonly looks: Turnstile;
  /** Others may have been waiting for just that. */
  changed(before: Task, after: Task): void;
  /** The task has spent something: a limit of the loop concerns every other turn at work. */
  spent(task: string): void;
}

export interface Work {
  readonly id: string;
  readonly driver: Driver;
  /** Warnings of its budget that were said. */
  readonly warned: Set<string>;
  /** What a stop has to end, while there is something: a run, or an effect with a hook. */
  run: RunInFlight | null;
  /** Wakes it at this time instead of an earlier wish; null takes that back. */
  wakeAt(at: number | null): void;
}

export interface RunInFlight {
  /** Looks whether it may go on. When only the spending is in question, the forge's last answers stand. */
  review(about: 'spend' | 'everything'): Promise<void>;
  abort(): void;
}

/** Why nothing is done now, and what ends that. */
export interface Rest {
  why: string;
  until: number | null;
  for: 'grant' | 'time' | 'budget' | 'gate' | 'fact' | 'person' | 'elsewhere' | 'ended';
  /** Of what, where that is known. */
  grant?: 'slot' | 'critic' | 'merge';
}
