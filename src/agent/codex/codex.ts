/**
 * Codex, through `codex app-server`.
 *
 * One turn is one process of the server, born held and killed with all it started. The thread is Codex's own; its id is
 * written down before the first token, its record lives in the session's directory, and the same thread is resumed.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenDialogue } from '../../process/dialogue.ts';
import { type Agent, failed, type TurnHooks, type TurnRequest, type TurnResult } from '../agent.ts';
import { type HeardOut, hearOut } from '../dialogue-turn.ts';
import { pricesFor } from '../prices.ts';
import { type Environment, versionOf } from '../program-path.ts';
import { preparePlaces, turnEnvironment } from '../turn-place.ts';
import { codexAccount } from './account.ts';
import { type BegunHomes, begunHomes } from './begun-home.ts';
import { type Ending, talk } from './conversation.ts';
import { failureOf } from './failure.ts';
import { findCodex, NOT_INSTALLED, withoutWrapper } from './program.ts';
import { configFile, findKey, NOT_SIGNED_IN, signInOf } from './settings.ts';
import { codexHome, probeThread, recordedTotals } from './thread.ts';

export interface CodexParts {
  open: OpenDialogue;
  /** The operator's environment, where program and credential are looked for. */
  operator: Environment;
  /** Its argv; found by itself when not given. */
  program?: readonly string[];
}

export function codexAgent({ open, operator, program }: CodexParts): Agent {
  const find = async () => program ?? (await findCodex(operator));
  const homes = begunHomes();
  return {
    kind: 'codex',

    async run(turn, hooks) {
      try {
        if (hooks.signal.aborted) return { status: 'cancelled', usageKnown: true };
        await preparePlaces(turn);
        if (turn.resume && (await probeThread(turn)) !== 'resumable')
          return failed(
            'session_lost',
            `session ${turn.sessionId} can't be resumed: ${turn.sessionDir} holds no thread of it`,
          );
        const argv = await find();
        if (!argv) return failed('could_not_start', NOT_INSTALLED);
        const key = await findKey(operator);
        if (!key) return failed('could_not_start', NOT_SIGNED_IN);
        await mkdir(codexHome(turn.sessionDir), { recursive: true, mode: 0o700 });
        const config = await configFile(operator, turn);
        await writeFile(join(codexHome(turn.sessionDir), 'config.toml'), config);
        return await take(turn, hooks, open, [...(await withoutWrapper(argv)), 'app-server'], key, homes);
      } catch (error) {
        return failed('could_not_start', (error as Error).message);
      }
    },

    probeSession: probeThread,

    about: async () => {
      const argv = await find();
      return [
        {
          name: 'codex',
          installed: argv !== null,
          version: argv && (await versionOf(argv)),
          signIn: await signInOf(operator),
        },
      ];
    },

    unavailable: async () =>
      (await find()) === null ? NOT_INSTALLED : (await findKey(operator)) === null ? NOT_SIGNED_IN : null,
  };
}

async function take(
  turn: TurnRequest,
  hooks: TurnHooks,
  open: OpenDialogue,
  argv: readonly string[],
  key: string,
  homes: BegunHomes,
): Promise<TurnResult> {
  let model = turn.policy.model ?? 'unknown';
  const account = await codexAccount(turn, pricesFor(turn.policy), () => model, hooks.onUsage);
  for (const { thread, total } of await recordedTotals(turn.sessionDir)) account.see(thread, total);
  const home = codexHome(turn.sessionDir);
  const start = () =>
    open({
      argv,
      cwd: turn.cwd,
      env: turnEnvironment(turn, { OPENAI_API_KEY: key, CODEX_HOME: home }),
      logPath: turn.logPath,
      onHeld: hooks.onHeld,
      onOutput: () => hooks.onProgress(),
    });
  if (!turn.resume) await homes.prepare(home, start, hooks.signal);
  const child = start();
  const talking = talk(child, turn, hooks, account, (used) => {
    model = used;
  });
  const heard = await hearOut(child, talking, turn, hooks);
  for (const { thread, total } of await recordedTotals(turn.sessionDir)) account.see(thread, total);
  await account.settle();
  return heard.settled ?? resultOf(heard, turn);
}

function resultOf({ ending, crashed }: HeardOut<Ending>, turn: TurnRequest): TurnResult {
  if (ending === null || ending.status === null) return crashed("Codex's program", ending?.problem);
  if (ending.status !== 'completed')
    return {
      status: 'failed',
      ...failureOf(ending.error, ending.retried, ending.limitResetsAt),
      usageKnown: true,
    };
  if (turn.outputSchema === undefined)
    return { status: 'finished', text: ending.text, structured: null, usageKnown: true };
  const structured = structureIn(ending.text);
  if (structured !== null) return { status: 'finished', text: ending.text, structured, usageKnown: true };
  const message = `the ${turn.role} ended its turn without the structured answer it was asked for`;
  return failed('invalid_result', message, true);
}

function structureIn(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}
