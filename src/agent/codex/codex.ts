/**
 * Codex, through `codex app-server`.
 *
 * One turn is one process of the server, born held and killed with all it started. The thread is Codex's own; its id is
 * written down before the first token, its record lives in the session's directory, and the same thread is resumed.
 */
import { join } from 'node:path';
import { pricesFor } from '../../core/prices.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import {
  type Agent,
  failed,
  notStarted,
  type TurnHooks,
  type TurnRequest,
  type TurnResult,
} from '../agent.ts';
import { type HeardOut, hearOut } from '../dialogue-turn.ts';
import { type GrantedServer, withServers } from '../mcp-servers.ts';
import { type Passage, through } from '../passage.ts';
import { type Environment, versionOf } from '../program-path.ts';
import type { Programs } from '../programs.ts';
import { ownFolder, removePlanted, replaceFile } from '../replace-file.ts';
import { unlessStrange } from '../stranger-files.ts';
import { preparePlaces, turnEnvironment } from '../turn-place.ts';
import { type CodexAccount, codexAccount } from './account.ts';
import { type Ending, talk } from './conversation.ts';
import {
  type CodexCredential,
  failureOfLogin,
  findCredential,
  putCredential,
  removeLogin,
  shown,
  signInOf,
} from './credential.ts';
import { recordedEnd } from './ending.ts';
import { failureOf } from './failure.ts';
import { findCodex, notInstalled, withoutWrapper } from './program.ts';
import { whyBlindHere } from './sandbox.ts';
import { configFile, PLANTED } from './settings.ts';
import { codexHome, probeThread, recordedTotals } from './thread.ts';

interface CodexParts {
  programs: Programs;
  gateway: Gateway;
  /** The operator's environment, where program and credential are looked for. */
  operator: Environment;
  now(): number;
  /** Its argv; found by itself when not given. */
  program?: readonly string[];
}

export function codexAgent({ programs, gateway, operator, now, program }: CodexParts): Agent {
  const find = async () => program ?? (await findCodex(operator));
  return {
    kind: 'codex',

    async run(turn, hooks) {
      try {
        if (hooks.signal.aborted) return { status: 'cancelled', usageKnown: true };
        await preparePlaces(turn);
        if (turn.resume && (await probeThread(turn)) !== 'resumable')
          return failed(
            'session_lost',
            `session ${turn.sessionId} can't be resumed: ${turn.sessionDir} holds no thread of it that can be read`,
          );
        const argv = await find();
        if (!argv) return failed('could_not_start', notInstalled());
        const credential = await findCredential(operator, now());
        if (typeof credential === 'string') return failed('auth', credential, true);
        const home = codexHome(turn.sessionDir);
        ownFolder(home);
        const kind = 'key' in credential ? 'key' : 'login';
        const ask = async (passage: Passage, servers: readonly GrantedServer[]) => {
          const { credential: given, baseUrl } = shown(credential, operator, passage.route);
          removePlanted(home, PLANTED);
          replaceFile(join(home, 'config.toml'), await configFile(baseUrl, given, turn, servers));
          const env = turnEnvironment(turn, {
            ...(await putCredential(given, home, now())),
            CODEX_HOME: home,
          });
          const program = { argv: [...(await withoutWrapper(argv)), 'app-server'], env };
          const result = await take(passage.turn, passage.hooks, programs, program).finally(() =>
            removeLogin(home),
          );
          return withLogin(result, credential, now());
        };
        return await through(gateway, turn, hooks, kind, (passage) =>
          withServers(passage.turn, passage.hooks, (turn, servers) => ask({ ...passage, turn }, servers)),
        );
      } catch (error) {
        return notStarted(error);
      }
    },

    probeSession: probeThread,

    async finished(turn, onUsage) {
      const end = await unlessStrange(recordedEnd(turn));
      if (!end) return null;
      const model = end.model ?? turn.policy.model ?? 'unknown';
      const account = await codexAccount(turn, pricesFor(turn.policy), () => model, onUsage);
      await seeRecorded(account, turn);
      await account.settle();
      // Whether an answer broke off on the way is in no record.
      return { result: answerOf(end.text, turn, false), endedAt: end.endedAt };
    },

    about: async (configured) => {
      const argv = await find();
      const blind = argv && configured.length > 0 ? await whyBlindHere(await withoutWrapper(argv)) : null;
      return [
        {
          name: 'codex',
          installed: argv !== null,
          version: argv && (await versionOf(argv)),
          signIn: await signInOf(operator, now()),
          ...(blind !== null && { problem: blind }),
        },
      ];
    },

    async credential() {
      const found = await findCredential(operator, now());
      if (typeof found === 'string') return null;
      return 'key' in found ? 'key' : 'login';
    },

    async unavailable() {
      if ((await find()) === null) return notInstalled();
      const credential = await findCredential(operator, now());
      return typeof credential === 'string' ? credential : null;
    },
  };
}

async function take(
  turn: TurnRequest,
  hooks: TurnHooks,
  programs: Programs,
  program: Parameters<Programs['open']>[0],
): Promise<TurnResult> {
  let model = turn.policy.model ?? 'unknown';
  const account = await codexAccount(turn, pricesFor(turn.policy), () => model, hooks.onUsage);
  const wasRead = await seeRecorded(account, turn);
  const child = await programs.open(program, turn, hooks);
  const talking = talk(child, turn, hooks, account, (used) => {
    model = used;
  });
  const heard = await hearOut(child, talking, turn, hooks);
  const isRead = await seeRecorded(account, turn);
  await account.settle();
  const result = heard.settled ?? resultOf(heard, turn);
  return { ...result, usageKnown: result.usageKnown && wasRead && isRead };
}

/** False when a record can't be read: what else was used is not known. */
async function seeRecorded(account: CodexAccount, { sessionDir }: Pick<TurnRequest, 'sessionDir'>) {
  const totals = await unlessStrange(recordedTotals(sessionDir));
  for (const { thread, total } of totals ?? []) account.see(thread, total);
  return totals !== null;
}

function resultOf({ ending, crashed }: HeardOut<Ending>, turn: TurnRequest): TurnResult {
  if (ending?.unasked) return { status: 'failed', ...ending.unasked, usageKnown: ending.usageKnown };
  if (ending === null || ending.status === null) return crashed("Codex's program", ending?.problem);
  if (ending.status !== 'completed')
    return {
      status: 'failed',
      ...failureOf(ending.error, ending.retried, ending.limitResetsAt),
      usageKnown: ending.usageKnown,
    };
  return answerOf(ending.text, turn, ending.usageKnown);
}

const withLogin = (result: TurnResult, credential: CodexCredential, now: number): TurnResult =>
  result.status === 'failed' ? { ...result, ...failureOfLogin(result, credential, now) } : result;

function answerOf(
  text: string,
  turn: Pick<TurnRequest, 'outputSchema' | 'role'>,
  usageKnown: boolean,
): TurnResult {
  if (turn.outputSchema === undefined) return { status: 'finished', text, structured: null, usageKnown };
  const structured = structureIn(text);
  if (structured !== null) return { status: 'finished', text, structured, usageKnown };
  const message = `the ${turn.role} ended its turn without the structured answer it was asked for`;
  return failed('invalid_result', message, usageKnown);
}

function structureIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
