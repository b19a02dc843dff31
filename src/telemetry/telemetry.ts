/** Where spans and figures go, for those who have a collector. Nothing of the loop waits for it or rests on it. */
import type { Span } from '../core/tell/spans.ts';

export interface Telemetry {
  /** Also what was written and said, not only who, how long and how much. */
  readonly withContents: boolean;
  /** Resolves when the collector has them; rejects when it has not: with `SpansRefused` if it never will. Else the same are sent again. */
  send(spans: readonly Span[]): Promise<void>;
  /** Reports these figures now and then, and for a last time when the answer is called. */
  report(read: () => Promise<readonly Metric[]>): Promise<() => Promise<void>>;
}

/** A figure by its labels. A counter only ever grows. */
export interface Metric {
  name: string;
  help: string;
  kind: 'gauge' | 'counter';
  values: readonly { labels: Record<string, string>; value: number }[];
}

/** `problem`: it was asked for and can't be had; what is wrong, and what to do. */
export interface OpenedTelemetry {
  telemetry: Telemetry | null;
  endpoint: string | null;
  problem: { what: string; fix: string } | null;
}
