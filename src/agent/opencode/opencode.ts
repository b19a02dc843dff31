/**
 * OpenCode, through `opencode serve`.
 *
 * One turn is one server, born held and killed with all it started: a server that several tasks shared would have one
 * home, one credential and one process group for all of them. The session is opencode's own; its id is written down
 * before the first token, its database lives in the session's directory, and the next server goes on with it.
 */
import { randomBytes } from 'node:crypto';
import { pricesFor } from '../../core/money/prices.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import {
  type Agent,
  failed,
  notStarted,
  type TurnHooks,
  type TurnRequest,
  type TurnResult,
} from '../agent.ts';
import { left } from '../attach-program.ts';
import { type HeardOut, hearOut } from '../dialogue-turn.ts';
import { type GrantedServer, withServers } from '../mcp-servers.ts';
import { type Passage, through } from '../passage.ts';
import { type Environment, versionOf } from '../program-path.ts';
import type { Programs } from '../programs.ts';
import { withSkill } from '../skills.ts';
import { unlessStrange } from '../stranger-files.ts';
import { toldLedger } from '../told-ledger.ts';
import { openToolDialogue, ownServer } from '../tool-dialogue.ts';
import { preparePlaces, turnEnvironment } from '../turn-place.ts';
import { opencodeAccount } from './account.ts';
import { type Ending, talk } from './conversation.ts';
import { endsBroken, failureOf } from './failure.ts';
import { textOf } from './message.ts';
import { refusedWorkspace } from './plugins.ts';
import { findProvider, kindOf, modelParts, notSignedIn, type Provider, shown, signInOf } from './provider.ts';
import { recordOf } from './record.ts';
import { databaseOf, prepareSession, probeSession, readSession, recordedEnd } from './session.ts';
import {
  findOpencode,
  NO_MODEL,
  notInstalled,
  OFFLINE,
  opencodeConfig,
  removeUserSettings,
} from './settings.ts';

interface OpencodeParts {
  programs: Programs;
  gateway: Gateway;
  /** The operator's environment, where program, provider and key are looked for. */
  operator: Environment;
  now(): number;
  /** Its argv; found by itself when not given. */
  program?: readonly string[];
}

export function opencodeAgent({ programs, gateway, operator, now, program }: OpencodeParts): Agent {
  const find = async () => program ?? (await findOpencode(operator));
  /** Program, model and provider, or what is missing: one of them, or somebody who pays. */
  const equip = async (model: string | null): Promise<Equipment | string | { unsigned: string }> => {
    const argv = await find();
    if (!argv) return notInstalled();
    const parts = model === null ? null : modelParts(model);
    if (model === null || !parts) return NO_MODEL;
    const provider = await findProvider(parts.providerID, operator);
    return provider
      ? { argv, model, modelID: parts.modelID, provider }
      : { unsigned: notSignedIn(parts.providerID) };
  };
  const within = async (
    turn: TurnRequest,
    hooks: TurnHooks,
    work: (passage: Passage, equipment: Equipped) => Promise<TurnResult>,
  ): Promise<TurnResult> => {
    try {
      if (hooks.signal.aborted) return { status: 'cancelled', usageKnown: true };
      await preparePlaces(turn);
      if (turn.resume && (await probeSession(turn)) !== 'resumable') return lost(turn);
      const equipment = await equip(turn.policy.model);
      if (typeof equipment === 'string') return failed('could_not_start', equipment);
      if ('unsigned' in equipment) return failed('auth', equipment.unsigned, true);
      const refused = await refusedWorkspace(turn.cwd);
      if (refused !== null) return failed('could_not_start', refused);
      prepareSession(turn.sessionDir);
      removeUserSettings(turn);
      const tools = hooks.tools ? await openToolDialogue(turn.sessionDir, hooks.tools) : null;
      try {
        const own = tools ? [ownServer(tools)] : [];
        return await through(
          gateway,
          tools?.within(turn) ?? turn,
          hooks,
          kindOf(equipment.provider, equipment.modelID),
          (passage) =>
            withServers(passage.turn, passage.hooks, (turn, granted) =>
              withSkill(turn, (turn) =>
                work({ ...passage, turn }, { ...equipment, servers: [...own, ...granted] }),
              ),
            ),
        );
      } finally {
        await tools?.close();
      }
    } catch (error) {
      return notStarted(error);
    }
  };
  return {
    kind: 'opencode',
    looksForSkills: true,
    tellsTools: true,

    run: (turn, hooks) =>
      within(turn, hooks, (passage, equipment) => take(passage, programs, equipment, now)),

    attach: (turn, hooks) =>
      within(turn, hooks, (passage, equipment) => handOver(passage, programs, equipment)),

    probeSession,

    async finished(turn, onUsage) {
      const end = await unlessStrange(recordedEnd(turn));
      if (!end) return null;
      const ledger = await toldLedger(turn.sessionDir, turn.number);
      const account = opencodeAccount(pricesFor(turn.policy), ledger, onUsage);
      account.seeAll((await unlessStrange(recordOf(turn.sessionDir))) ?? []);
      await ledger.settle(account.told());
      const answered = { kind: 'answered', info: end.info, text: textOf(end.parts) } as const;
      // Whether an answer broke off on the way is in no record.
      const result = answerOf(answered, turn, now(), false);
      return { result, endedAt: end.info.time?.completed ?? turn.startedAt };
    },

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

    async credential({ model }) {
      const equipment = await equip(model);
      return typeof equipment === 'string' || 'unsigned' in equipment
        ? null
        : kindOf(equipment.provider, equipment.modelID);
    },

    async unavailable({ model }) {
      const equipment = await equip(model);
      if (typeof equipment === 'string') return equipment;
      return 'unsigned' in equipment ? equipment.unsigned : null;
    },
  };
}

interface Equipment {
  argv: readonly string[];
  model: string;
  /** Without its provider. */
  modelID: string;
  provider: Provider;
}

interface Equipped extends Equipment {
  servers: readonly GrantedServer[];
}

async function take(
  { turn, hooks, route, reach }: Passage,
  programs: Programs,
  equipment: Equipped,
  now: () => number,
): Promise<TurnResult> {
  const { argv, model } = equipment;
  const ledger = await toldLedger(turn.sessionDir, turn.number);
  const account = opencodeAccount(pricesFor(turn.policy), ledger, hooks.onUsage);
  // What a turn that died did not get to tell.
  const before = await unlessStrange(recordOf(turn.sessionDir));
  account.seeAll(before ?? []);
  const password = randomBytes(24).toString('hex');
  const server = {
    argv: [...argv, 'serve', '--hostname=127.0.0.1', '--port=0'],
    env: { ...environmentOf(turn, equipment, route), OPENCODE_SERVER_PASSWORD: password },
  };
  const child = await programs.open(server, turn, hooks);
  const talking = talk(child, turn, hooks, account, { password, model, now, reach });
  const heard = await hearOut(child, talking, turn, hooks);
  const after = await unlessStrange(recordOf(turn.sessionDir));
  account.seeAll(after ?? []);
  await ledger.settle(account.told());
  const isTold = before !== null && after !== null && !talking.asksAgain();
  return heard.settled ?? resultOf(heard, turn, now(), isTold);
}

/** To a person, in opencode's own program, which asks them before it edits. */
async function handOver(
  { turn, hooks, route }: Passage,
  programs: Programs,
  equipment: Equipped,
): Promise<TurnResult> {
  const session = await readSession(turn.sessionDir);
  if (session === null) return lost(turn);
  const ledger = await toldLedger(turn.sessionDir, turn.number);
  const account = opencodeAccount(pricesFor(turn.policy), ledger, hooks.onUsage);
  account.seeAll((await unlessStrange(recordOf(turn.sessionDir))) ?? []);
  const env = environmentOf(turn, equipment, route);
  const exit = await programs.attach({ argv: [...equipment.argv, '--session', session], env }, turn, hooks);
  account.seeAll((await unlessStrange(recordOf(turn.sessionDir))) ?? []);
  await ledger.settle(account.told());
  return left(exit, route !== null);
}

function environmentOf(
  turn: TurnRequest,
  { model, modelID, servers, provider: found }: Equipped,
  route: Passage['route'],
): Record<string, string> {
  const provider = shown(found, modelID, route);
  return turnEnvironment(turn, {
    ...provider.env,
    ...OFFLINE,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(opencodeConfig(turn, model, provider, servers)),
    OPENCODE_DB: databaseOf(turn.sessionDir),
  });
}

function resultOf(
  { ending, crashed }: HeardOut<Ending>,
  turn: TurnRequest,
  now: number,
  usageKnown: boolean,
): TurnResult {
  if (ending?.kind === 'lost') return lost(turn);
  if (ending?.kind === 'failed') return { status: 'failed', ...ending.failure, usageKnown };
  if (ending?.kind === 'answered') return answerOf(ending, turn, now, usageKnown);
  return crashed("opencode's server", ending?.problem);
}

function answerOf(
  { info, text }: Extract<Ending, { kind: 'answered' }>,
  turn: Pick<TurnRequest, 'outputSchema' | 'role'>,
  now: number,
  usageKnown: boolean,
): TurnResult {
  if (info.error)
    return {
      status: 'failed',
      ...failureOf(info.error, now),
      usageKnown: usageKnown && !endsBroken(info.error),
    };
  if (info.finish === 'content-filter') return failed('refusal', 'the model refused to go on', usageKnown);
  const structured = info.structured ?? null;
  if (structured !== null || turn.outputSchema === undefined)
    return { status: 'finished', text, structured, usageKnown };
  const message = `the ${turn.role} ended its turn without the structured answer it was asked for`;
  return failed('invalid_result', message, usageKnown);
}

const lost = (turn: TurnRequest): TurnResult =>
  failed(
    'session_lost',
    `session ${turn.sessionId} can't be resumed: ${turn.sessionDir} holds no conversation of it that can be read`,
  );
