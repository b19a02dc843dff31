/**
 * OpenCode, through `opencode serve`.
 *
 * One turn is one server, born held and killed with all it started: a server that several tasks shared would have one
 * home, one credential and one process group for all of them. The session is opencode's own; its id is written down
 * before the first token, its database lives in the session's directory, and the next server goes on with it.
 */
import { randomBytes } from 'node:crypto';
import type { OpenDialogue } from '../../process/dialogue.ts';
import { type Agent, failed, type TurnHooks, type TurnRequest, type TurnResult } from '../agent.ts';
import { type HeardOut, hearOut } from '../dialogue-turn.ts';
import { pricesFor } from '../prices.ts';
import { type Environment, versionOf } from '../program-path.ts';
import { toldLedger } from '../told-ledger.ts';
import { openToolDialogue, type ToolDialogue } from '../tool-dialogue.ts';
import { preparePlaces, turnEnvironment } from '../turn-place.ts';
import { opencodeAccount } from './account.ts';
import { type Ending, talk } from './conversation.ts';
import { failureOf } from './failure.ts';
import { refusedWorkspace } from './plugins.ts';
import { findProvider, modelParts, notSignedIn, type Provider, signInOf } from './provider.ts';
import { databaseOf, prepareSession, probeSession, recordOf } from './session.ts';
import { findOpencode, NO_MODEL, NOT_INSTALLED, OFFLINE, opencodeConfig } from './settings.ts';

export interface OpencodeParts {
  open: OpenDialogue;
  /** The operator's environment, where program, provider and key are looked for. */
  operator: Environment;
  now(): number;
  /** Its argv; found by itself when not given. */
  program?: readonly string[];
}

export function opencodeAgent({ open, operator, now, program }: OpencodeParts): Agent {
  const find = async () => program ?? (await findOpencode(operator));
  /** Program, model and provider, or what is missing. */
  const equip = async (model: string | null): Promise<Equipment | string> => {
    const argv = await find();
    if (!argv) return NOT_INSTALLED;
    const parts = model === null ? null : modelParts(model);
    if (model === null || !parts) return NO_MODEL;
    const provider = await findProvider(parts.providerID, operator);
    return provider ? { argv, model, provider } : notSignedIn(parts.providerID);
  };
  return {
    kind: 'opencode',

    async run(turn, hooks) {
      try {
        if (hooks.signal.aborted) return { status: 'cancelled', usageKnown: true };
        await preparePlaces(turn);
        if (turn.resume && (await probeSession(turn)) !== 'resumable') return lost(turn);
        const equipment = await equip(turn.policy.model);
        if (typeof equipment === 'string') return failed('could_not_start', equipment);
        const refused = await refusedWorkspace(turn.cwd);
        if (refused !== null) return failed('could_not_start', refused);
        await prepareSession(turn.sessionDir);
        const tools = hooks.tools ? await openToolDialogue(turn.sessionDir, hooks.tools) : null;
        try {
          return await take(turn, hooks, open, { ...equipment, tools }, now);
        } finally {
          await tools?.close();
        }
      } catch (error) {
        return failed('could_not_start', (error as Error).message);
      }
    },

    probeSession,

    async about(configured) {
      const argv = await find();
      const models = configured.flatMap(({ model }) => model ?? []);
      return [
        {
          name: 'opencode',
          installed: argv !== null,
          version: argv && (await versionOf(argv)),
          signIn: await signInOf(models, operator),
        },
      ];
    },

    async unavailable({ model }) {
      const equipment = await equip(model);
      return typeof equipment === 'string' ? equipment : null;
    },
  };
}

interface Equipment {
  argv: readonly string[];
  model: string;
  provider: Provider;
}

async function take(
  turn: TurnRequest,
  hooks: TurnHooks,
  open: OpenDialogue,
  { argv, model, provider, tools }: Equipment & { tools: ToolDialogue | null },
  now: () => number,
): Promise<TurnResult> {
  const ledger = await toldLedger(turn.sessionDir, turn.turn);
  const account = opencodeAccount(pricesFor(turn.policy), ledger, hooks.onUsage);
  // What a turn that died did not get to tell.
  account.seeAll(await recordOf(turn.sessionDir));
  const password = randomBytes(24).toString('hex');
  const child = open({
    argv: [...argv, 'serve', '--hostname=127.0.0.1', '--port=0'],
    cwd: turn.cwd,
    env: turnEnvironment(turn, {
      ...provider.env,
      ...OFFLINE,
      OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(turn.role, model, provider, tools)),
      OPENCODE_DB: databaseOf(turn.sessionDir),
      OPENCODE_SERVER_PASSWORD: password,
    }),
    logPath: turn.logPath,
    onHeld: hooks.onHeld,
    onOutput: () => hooks.onProgress(),
  });
  const talking = talk(child, turn, hooks, account, { password, model, now });
  const heard = await hearOut(child, talking, turn, hooks);
  account.seeAll(await recordOf(turn.sessionDir).catch(() => []));
  await ledger.settle(account.told());
  return heard.settled ?? resultOf(heard, turn, now());
}

function resultOf({ ending, crashed }: HeardOut<Ending>, turn: TurnRequest, now: number): TurnResult {
  if (ending?.kind === 'lost') return lost(turn);
  if (ending?.kind === 'failed') return { status: 'failed', ...ending.failure, usageKnown: true };
  if (ending?.kind === 'answered') return answerOf(ending, turn, now);
  return crashed("opencode's server", ending?.problem);
}

function answerOf(
  { info, text }: Extract<Ending, { kind: 'answered' }>,
  turn: TurnRequest,
  now: number,
): TurnResult {
  if (info.error) return { status: 'failed', ...failureOf(info.error, now), usageKnown: true };
  if (info.finish === 'content-filter') return failed('refusal', 'the model refused to go on', true);
  const structured = info.structured ?? null;
  if (structured !== null || turn.outputSchema === undefined)
    return { status: 'finished', text, structured, usageKnown: true };
  const message = `the ${turn.role} ended its turn without the structured answer it was asked for`;
  return failed('invalid_result', message, true);
}

const lost = (turn: TurnRequest): TurnResult =>
  failed(
    'session_lost',
    `session ${turn.sessionId} can't be resumed: ${turn.sessionDir} holds no conversation of it`,
  );
