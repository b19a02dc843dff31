/**
 * What Claude's adapter used: each message from Claude's transcript, which has it before its tools have returned; and at
 * the end what the adapter counted beyond it, such as the title it asks for.
 */
import { randomBytes } from 'node:crypto';
import type { TurnRequest, Usage, UsageReport } from '../agent.ts';
import { type TranscriptUsage, transcriptUsage } from '../claude/transcript.ts';
import { costOf, pricesFor } from '../prices.ts';
import { toldLedger } from '../told-ledger.ts';
import type { Recorder } from './presets.ts';

/** `records` is the folder that has Claude's configuration directory. */
export async function claudeRecorder(
  turn: TurnRequest,
  records: string,
  report: (delta: UsageReport) => void,
): Promise<Recorder> {
  const ledger = await toldLedger(turn.sessionDir, turn.turn);
  const prices = pricesFor(turn.policy);
  const told = new Set<string>();
  const recorded: UsageReport[] = [];
  const heard: UsageReport[] = [];

  const untold = async (): Promise<TranscriptUsage[]> =>
    (await transcriptUsage(records)).filter(({ id }) => !told.has(id) && !ledger.isSettled(id));
  const tell = ({ id, model, usage }: TranscriptUsage): UsageReport => {
    told.add(id);
    const delta = { key: id, model, ...usage, costUsd: costOf(prices, model, usage) };
    report(delta);
    return delta;
  };

  // What a turn that died did not get to tell is no part of what this one's program counts.
  for (const message of await untold()) tell(message);
  return {
    async read() {
      for (const message of await untold()) if (message.final) recorded.push(tell(message));
    },
    hear: (delta) => void heard.push(delta),
    async close() {
      for (const message of await untold()) recorded.push(tell(message));
      const rest = beyond(heard, recorded);
      if (rest) report({ key: `rest:${randomBytes(6).toString('hex')}`, ...rest });
      await ledger.settle([...told]);
    },
  };
}

/** Null when there is nothing, or when a program that was cut off did not get to tell. */
export function beyond(
  heard: readonly UsageReport[],
  recorded: readonly UsageReport[],
): Omit<UsageReport, 'key'> | null {
  if (heard.every((one) => tokensIn(one) === 0)) return null;
  const more = (kind: keyof Usage): number => Math.max(0, sum(heard, kind) - sum(recorded, kind));
  // It does not tell thoughts from other output.
  const written = sum(heard, 'output') + sum(heard, 'reasoning');
  const output = Math.max(0, written - sum(recorded, 'output') - sum(recorded, 'reasoning'));
  const usage = {
    input: more('input'),
    output,
    reasoning: 0,
    cacheRead: more('cacheRead'),
    cacheWrite: more('cacheWrite'),
  };
  const costUsd = rounded(sum(heard, 'costUsd') - sum(recorded, 'costUsd'));
  if (tokensIn(usage) === 0 && costUsd === 0) return null;
  return { model: modelOf(heard, recorded), ...usage, costUsd };
}

/** Names of models may differ between the two, so a sum of all is compared, and named after the model that lacks most. */
function modelOf(heard: readonly UsageReport[], recorded: readonly UsageReport[]): string {
  const tokensOf = (reports: readonly UsageReport[], model: string): number =>
    reports.filter((one) => one.model === model).reduce((total, one) => total + tokensIn(one), 0);
  const [most] = [...new Set(heard.filter((one) => tokensIn(one) > 0).map(({ model }) => model))]
    .map((model) => ({ model, lacking: tokensOf(heard, model) - tokensOf(recorded, model) }))
    .sort((one, other) => other.lacking - one.lacking);
  return most?.model ?? 'unknown';
}

const KINDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const;
const tokensIn = (usage: Usage): number => KINDS.reduce((total, kind) => total + usage[kind], 0);
const sum = (reports: readonly UsageReport[], kind: keyof Usage | 'costUsd'): number =>
  reports.reduce((total, one) => total + (one[kind] ?? 0), 0);
/** Without the dust of binary fractions. */
const rounded = (usd: number): number => Math.round(usd * 1e9) / 1e9;
