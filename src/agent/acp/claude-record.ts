/**
 * What Claude's adapter used: each message from Claude's transcript, which has it before its tools have returned; and at
 * the end what the adapter counted beyond it, such as the title it asks for.
 */
import { randomBytes } from 'node:crypto';
import type { TurnRequest, UsageReport } from '../agent.ts';
import { type TranscriptUsage, transcriptUsage } from '../claude/transcript.ts';
import { costOf, pricesFor } from '../prices.ts';
import { toldLedger } from '../told-ledger.ts';
import { beyond } from './beyond-record.ts';
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
