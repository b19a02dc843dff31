/**
 * Any agent that speaks the Agent Client Protocol.
 *
 * One turn is one process of the agent, born held and killed with all it started: a cancelled prompt may leave its shell
 * running. What the protocol lacks is made up for where it can be (a schema of the answer, by one more prompt), and
 * said where it can't (tokens of a turn that was cut off).
 */
import type { OpenDialogue } from '../../process/dialogue.ts';
import { type Agent, failed, type TurnHooks, type TurnRequest, type TurnResult } from '../agent.ts';
import { type HeardOut, hearOut } from '../dialogue-turn.ts';
import { pricesFor } from '../prices.ts';
import type { Environment } from '../program-path.ts';
import { openToolDialogue, type ToolDialogue } from '../tool-dialogue.ts';
import { preparePlaces, turnEnvironment } from '../turn-place.ts';
import { aboutAcp } from './about.ts';
import { acpAccount } from './account.ts';
import { type Ending, talk } from './conversation.ts';
import type { Failure } from './failure.ts';
import { type Equipment, equip } from './presets.ts';
import { type AcpSdk, loadAcp } from './sdk.ts';
import { probeSession, readSession } from './session.ts';

export interface AcpParts {
  open: OpenDialogue;
  /** The operator's environment, where programs and credentials are looked for. */
  operator: Environment;
  now(): number;
  load?(): Promise<AcpSdk>;
}

export function acpAgent({ open, operator, now, load = loadAcp }: AcpParts): Agent {
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
        const sdk = await load();
        const tools = hooks.tools ? await openToolDialogue(turn.sessionDir, hooks.tools) : null;
        try {
          return await take(turn, hooks, open, sdk, { ...equipment, tools });
        } finally {
          await tools?.close();
        }
      } catch (error) {
        return failed('could_not_start', (error as Error).message);
      }
    },

    probeSession,

    about: (configured) => aboutAcp(configured, operator, now()),

    async unavailable(policy) {
      const equipment = await equip(policy, operator, now());
      if (typeof equipment === 'string') return equipment;
      return load().then(
        () => null,
        (error: Error) => error.message,
      );
    },
  };
}

async function take(
  turn: TurnRequest,
  hooks: TurnHooks,
  open: OpenDialogue,
  sdk: AcpSdk,
  equipment: Equipment & { tools: ToolDialogue | null },
): Promise<TurnResult> {
  const known = turn.resume ? await readSession(turn.sessionDir) : null;
  const before = equipment.costRestarts ? 0 : (known?.costUsd ?? 0);
  const model = turn.policy.model ?? 'unknown';
  const recorder = await equipment.recorder?.(turn, hooks.onUsage);
  const record = recorder && repeatable(recorder.read);
  // What a turn that died did not get to tell.
  await record?.();
  const account = acpAccount(
    { prices: pricesFor(turn.policy), model: recorder ? 'unknown' : model, before },
    recorder ? (delta) => recorder.hear?.(delta) : hooks.onUsage,
  );
  const onUsed = () => void record?.().catch(() => {});
  const child = open({
    argv: equipment.argv,
    cwd: turn.cwd,
    env: turnEnvironment(turn, await equipment.furnish(turn, equipment.tools)),
    logPath: turn.logPath,
    onHeld: hooks.onHeld,
    onOutput: () => hooks.onProgress(),
  });
  const talking = talk(sdk, child, turn, hooks, account, { ...equipment, onUsed });
  const heard = await hearOut(child, talking, turn, hooks);
  await record?.();
  await recorder?.close?.();
  await talking.keep(account.costUsd());
  return heard.settled ?? resultOf(heard, turn, recorder?.failure?.() ?? null);
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
  recorded: Failure | null,
): TurnResult {
  if (ending?.kind === 'lost') return lost(turn, ending.why);
  const unsaid =
    ending?.kind === 'answered' || (ending?.kind === 'failed' && ending.failure.code === 'crashed');
  if (recorded && unsaid) return { status: 'failed', ...recorded, usageKnown: true };
  if (ending?.kind === 'failed') return { status: 'failed', ...ending.failure, usageKnown: false };
  if (ending?.kind === 'answered') return answerOf(ending, turn);
  return crashed("the agent's program", ending?.problem);
}

function answerOf(ending: Extract<Ending, { kind: 'answered' }>, turn: TurnRequest): TurnResult {
  const { stopReason, text, structured, usageKnown } = ending;
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
