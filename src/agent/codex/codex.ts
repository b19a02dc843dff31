/**
 * Codex, through `codex app-server`.
 *
 * One turn is one process of the server, born held and killed with all it started. The thread is Codex's own; its id is
 * written down before the first token, its record lives in the session's directory, and the same thread is resumed.
 */
import { symlinkSync } from 'node:fs';
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
} from '../agent.ts';
import { left } from '../attach-program.ts';
import { missingProgram, pathsIn } from '../command.ts';
import { type HeardOut, hearOut } from '../dialogue-turn.ts';
import { type GrantedServer, withServers } from '../mcp-servers.ts';
import { type Passage, through } from '../passage.ts';
import { type Environment, versionOf } from '../program-path.ts';
import type { Programs } from '../programs.ts';
import { ownFolder, removePlanted, replaceFile } from '../replace-file.ts';
import { skillsFolder, withSkill } from '../skills.ts';
import { unlessStrange } from '../stranger-files.ts';
import { preparePlaces, turnEnvironment } from '../turn-place.ts';
import { type CodexAccount, codexAccount } from './account.ts';
import { interactiveCodex } from './attach.ts';
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
import { findCodex, notInstalled, ownLine, withoutWrapper } from './program.ts';
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
  /** `work` gets the environment of its program, and how that is started but for its command: null by a line of the operator's own. */
  const within = async (
    turn: TurnRequest,
    hooks: TurnHooks,
    work: (
      passage: Passage,
      env: Record<string, string>,
      codex: readonly string[] | null,
    ) => Promise<TurnResult>,
  ): Promise<TurnResult> => {
    try {
      if (hooks.signal.aborted) return { status: 'cancelled', usageKnown: true };
      await preparePlaces(turn);
      if (turn.resume && (await probeThread(turn)) !== 'resumable')
        return failed(
          'session_lost',
          `session ${turn.sessionId} can't be resumed: ${turn.sessionDir} holds no thread of it that can be read`,
        );
      const isOwn = ownLine(turn.policy) !== null;
      const argv = isOwn ? null : await find();
      if (!isOwn && !argv) return failed('could_not_start', notInstalled());
      const credential = await findCredential(operator, now());
      if (typeof credential === 'string') return failed('auth', credential, true);
      const home = codexHome(turn.sessionDir);
      ownFolder(home);
      const kind = 'key' in credential ? 'key' : 'login';
      const ask = async (passage: Passage, servers: readonly GrantedServer[]) => {
        const { credential: given, baseUrl } = shown(credential, operator, passage.route);
        removePlanted(home, PLANTED);
        if (passage.turn.skill) symlinkSync(skillsFolder(passage.turn.skill), join(home, 'skills'));
        replaceFile(join(home, 'config.toml'), await configFile(baseUrl, given, turn, servers));
        const env = turnEnvironment(turn, {
          ...(await putCredential(given, home, now())),
          CODEX_HOME: home,
        });
        const codex = argv && (await withoutWrapper(argv));
        const result = await work(passage, env, codex).finally(() => removeLogin(home));
        return withLogin(result, credential, now());
      };
      return await through(gateway, turn, hooks, kind, (passage) =>
        withServers(passage.turn, passage.hooks, (turn, servers) =>
          withSkill(turn, (turn) => ask({ ...passage, turn }, servers)),
        ),
      );
    } catch (error) {
      return notStarted(error);
    }
  };
  return {
    kind: 'codex',
    looksForSkills: true,
    tellsTools: true,

    run: (turn, hooks) =>
      within(turn, hooks, (passage, env, codex) => {
        const line = ownLine(turn.policy) ?? '';
        const program = codex
          ? { argv: [...codex, 'app-server'], env }
          : { argv: [...SHELL, line], env, reads: pathsIn(line) };
        return take(passage.turn, passage.hooks, programs, program);
      }),

    attach: (turn, hooks) =>
      within(turn, hooks, async (passage, env, codex) => {
        if (codex === null) return failed('could_not_start', OWN_LINE, true);
        return handOver(passage, programs, { argv: [...codex, ...(await interactiveCodex(turn))], env });
      }),

    unattachable: async (policy) => (ownLine(policy) === null ? null : OWN_LINE),

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

    async unavailable(policy) {
      const line = ownLine(policy);
      const missing = line === null ? (await find()) === null && notInstalled() : await missingProgram(line);
      if (missing) return missing;
      const credential = await findCredential(operator, now());
      return typeof credential === 'string' ? credential : null;
    },
  };
}

const SHELL = ['/bin/sh', '-c'];
const OWN_LINE =
  'agent.command is a line of your own, and nobody knows how it is started for a person: leave it out to attach';

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

/** To a person, in Codex's own program. */
async function handOver(
  { turn, hooks, route }: Passage,
  programs: Programs,
  program: { argv: readonly string[]; env: Record<string, string> },
): Promise<TurnResult> {
  const model = turn.policy.model ?? 'unknown';
  const account = await codexAccount(turn, pricesFor(turn.policy), () => model, hooks.onUsage);
  await seeRecorded(account, turn);
  const exit = await programs.attach(program, turn, hooks);
  await seeRecorded(account, turn);
  await account.settle();
  return left(exit, route !== null);
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
