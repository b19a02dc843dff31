import type { LoopWait } from '../core/loop/loop-waits.ts';
import type { Lease } from '../store/store.ts';

/** Something the runner does beside its tasks, once at a time, under the intake lease. */
export interface Errand {
  readonly name: string;
  /** It is not considered while something stops these. */
  readonly waitsFor: readonly LoopWait['stops'][];
  /** Begins it if it is due and the lease is ours; returns when it has begun. */
  consider(lease: Lease | null): Promise<void>;
  busy(): boolean;
  settled(): Promise<void>;
  /** Kills it: the lease is lost, or everything stops now. */
  abort(): void;
}
