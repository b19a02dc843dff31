/**
 * Any agent that speaks the Agent Client Protocol.
 *
 * One turn is one process of the agent, born held and killed with all it started: a cancelled prompt may leave its shell
 * running. What the protocol lacks is made up for where it can be (a schema of the answer, by one more prompt), and
 * said where it can't (tokens of a turn that was cut off).
 */

import { join } from 'node:path';
import { pricesFor } from '../../core/money/prices.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import {
  type Agent,
  failed,
  notStarted,
  type TurnHooks,
  type TurnRequest,
  type TurnResult,
  type UsageReport,
} from '../agent.ts';
import { isBlind } from '../codex/sandbox.ts';
import { readsByItself } from '../codex/settings.ts';
import { type HeardOut, hearOut } from '../dialogue-turn.ts';
import { withServers } from '../mcp-servers.ts';
import { type Passage, through } from '../passage.ts';
import type { Environment } from '../program-path.ts';
import type { Programs } from '../programs.ts';
import { openToolDialogue } from '../tool-dialogue.ts';
import { preparePlaces, turnEnvironment } from '../turn-place.ts';
import { aboutAcp } from './about.ts';
import { acpAccount } from './account.ts';
import { carefulRecorder } from './careful-recorder.ts';
import { type Ending, type Offered, talk } from './conversation.ts';
import { type Equipment, equip, type Recorder } from './presets.ts';
import { type AcpSdk, loadAcp } from './sdk.ts';
import { probeSession, readEnd, readSession, writeEnd } from './session.ts';

interface AcpParts {
  programs: Programs;
  gateway: Gateway;
  /** The operator's environment, where programs and credentials are looked for. */
  operator: Environment;
  now(): number;
  load?(): Promise<AcpSdk>;
}

export function acpAgent({ programs, gateway, operator, now, load = loadAcp }: AcpParts): Agent {
  return {
    kind: 'acp',

    async run(turn, hooks) {
      try {
        if (hooks.signal.aborted) return { status: 'cancelled', usageKnown: true };
        await preparePlaces(turn);
        if (turn.resume && (await probeSession(turn)) !== 'resumable')
          return lost(turn, `${turn.sessionDir} holds no conversation of it`);
        const equipment = await equip(turn.policy, operator, now());
        if (typeof equipment === 'string') return failed('could_not_start', equipment);
        if ('unsigned' in equipment) return failed('auth', equipment.unsigned, true);
        const sdk = await load();
        const tools = hooks.tools ? await openToolDialogue(turn.sessionDir, hooks.tools) : null;
        try {
          const place = tools?.within(turn) ?? turn;
          const used: UsageReport[] = [];
          const onUsage = (report: UsageReport) => {
            used.push(report);
            hooks.onUsage(report);
          };
          const noting = { ...hooks, onUsage };
          const result = await through(gateway, place, noting, equipment.credential, (passage) =>
            withServers(passage.turn, passage.hooks, (turn, servers) =>
              take({ ...passage, turn }, programs, sdk, { ...equipment, tools, servers }).then((taken) =>
                taken.status === 'failed' ? { ...taken, ...equipment.failureOfLogin?.(taken, now()) } : taken,
              ),
            ),
          );
          if (result.status === 'finished')
            await writeEnd(turn.sessionDir, { ...result, number: turn.number, endedAt: now(), used });
          return result;
        } finally {
          await tools?.close();
        }
      } catch (error) {
        return notStarted(error);
      }
    },

    probeSession,

    // The protocol has no record that tells how a turn ended: only one whose end was heard and not yet recorded is found.
    async finished(turn, onUsage) {
      const end = await readEnd(turn.sessionDir);
      if (!end || end.number !== turn.number || end.endedAt < turn.startedAt) return null;
      for (const report of end.used) onUsage(report);
      const { text, structured, usageKnown, endedAt } = end;
      return { result: { status: 'finished', text, structured, usageKnown }, endedAt };
    },

    about: (configured) => aboutAcp(configured, operator, now()),

    async credential(policy) {
      const equipment = await equip(policy, operator, now());
      return typeof equipment === 'string' || 'unsigned' in equipment ? null : equipment.credential;
    },

    async unavailable(policy) {
      const equipment = await equip(policy, operator, now());
      if (typeof equipment === 'string') return equipment;
      if ('unsigned' in equipment) return equipment.unsigned;
      return load().then(
        () => null,
        (error: Error) => error.message,
      );
    },
  };
}

async function take(
  { turn, hooks, route }: Passage,
  programs: Programs,
  sdk: AcpSdk,
  equipment: Equipment & Offered,
): Promise<TurnResult> {
  const known = turn.resume ? await readSession(turn.sessionDir) : null;
  const model = turn.policy.model ?? 'unknown';
  const recorder = equipment.recorder && (await carefulRecorder(equipment.recorder(turn, hooks.onUsage)));
  const record = recorder && repeatable(recorder.read);
  // What a turn that died did not get to tell.
  await record?.();
  // A program whose own record is read tells nothing besides.
  const account = acpAccount(
    { prices: pricesFor(turn.policy), model, before: known?.costUsd ?? 0 },
    recorder ? () => {} : hooks.onUsage,
  );
  const listening = {
    onUsed: () => void record?.().catch(() => {}),
    onUpdate: (update: unknown) => recorder?.hear?.(update),
    onOver: async () => recorder?.lastWords?.(),
  };
  const env = turnEnvironment(turn, await equipment.setUp(turn, equipment.tools, route));
  const blind = await whyBlind(turn, hooks, programs, { env, reading: equipment.reading });
  if (blind !== null) {
    await recorder?.close?.();
    return blind;
  }
  const child = await programs.open({ argv: equipment.argv, env }, turn, hooks);
  const talking = talk(sdk, child, turn, hooks, account, { ...equipment, ...listening });
  const heard = await hearOut(child, talking, turn, hooks);
  await record?.();
  await recorder?.close?.();
  await talking.keep(account.costUsd());
  return heard.settled ?? resultOf(heard, turn, recorder ?? null);
}

/** Asked before the program is: one whose own sandbox would not let it read answers all the same. */
async function whyBlind(
  turn: TurnRequest,
  hooks: TurnHooks,
  programs: Programs,
  { env, reading }: { env: Record<string, string>; reading: Equipment['reading'] },
): Promise<TurnResult | null> {
  if (!reading || !readsByItself(turn.access)) return null;
  const command = { argv: reading.argv, env, exitPath: join(turn.sessionDir, 'reading-exit.json') };
  const { code, tail, cancelled } = await programs.run(command, { ...turn, prompt: '' }, hooks);
  if (cancelled) return { status: 'cancelled', usageKnown: true };
  return isBlind(code) ? failed('invalid_result', reading.blind(tail), true) : null;
}

/** One at a time, and once more for whoever asked meanwhile: a record is read while its program writes it. */
function repeatable(record: () => Promise<void>): () => Promise<void> {
  let reading: Promise<void> | null = null;
  let again = false;
  return function read() {
    if (reading) {
      again = true;
      return reading;
    }
    reading = record().finally(() => {
      reading = null;
      if (!again) return;
      again = false;
      return read();
    });
    return reading;
  };
}

function resultOf(
  { ending, crashed }: HeardOut<Ending>,
  turn: TurnRequest,
  recorder: Recorder | null,
): TurnResult {
  if (ending?.kind === 'lost') return lost(turn, ending.why);
  if (recorder && (ending?.kind === 'answered' || ending?.kind === 'failed')) {
    const recorded = recorder.failure?.(ending.kind === 'failed' ? ending.failure : null);
    if (recorded) return { status: 'failed', ...recorded, usageKnown: recorder.isComplete() };
  }
  if (ending?.kind === 'failed') return { status: 'failed', ...ending.failure, usageKnown: false };
  if (ending?.kind === 'answered')
    return answerOf(ending, turn, recorder ? recorder.isComplete() : ending.usageTold);
  return crashed("the agent's program", ending?.problem);
}

function answerOf(
  { stopReason, text, structured }: Extract<Ending, { kind: 'answered' }>,
  turn: TurnRequest,
  usageKnown: boolean,
): TurnResult {
  if (stopReason === 'refusal') return failed('refusal', 'the model refused to go on', usageKnown);
  if (stopReason !== 'end_turn')
    return failed('invalid_result', `the agent stopped before it was done: ${stopReason}`, usageKnown);
  if (structured !== null || turn.outputSchema === undefined)
    return { status: 'finished', text, structured, usageKnown };
  const message = `the ${turn.role} ended its turn without the structured answer it was asked for, twice`;
  return failed('invalid_result', message, usageKnown);
}

const lost = (turn: TurnRequest, why: string): TurnResult =>
  failed('session_lost', `session ${turn.sessionId} can't be resumed: ${why}`);
