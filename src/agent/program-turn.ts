/**
 * One turn of an agent that is a program: the contract of `command`, which `scripted` keeps too.
 *
 *   cwd                 the workspace
 *   stdin               the prompt
 *   FORGE_ROLE FORGE_TASK FORGE_ISSUE FORGE_TURN
 *   FORGE_SESSION_ID    FORGE_SESSION_DIR (the same directory on resume)    FORGE_RESUME (0 or 1)
 *   FORGE_RESULT        where it may write { text, structured, usage, costUsd }, once or again and again
 *   FORGE_OUTPUT_SCHEMA a file with the JSON Schema of `structured`, where one is wanted
 *   exit 0              the turn is finished; anything else is a failure, whatever the result says
 *
 * The result file is looked at while the program runs, so that usage is known early: a budget can stop a turn in
 * flight, and a kill loses little of the account.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, realpathSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setInterval } from 'node:timers/promises';
import type { LaunchResult, Processes } from '../process/process.ts';
import { type FailureCode, failed, type TurnHooks, type TurnRequest, type TurnResult } from './agent.ts';
import { type ResultReading, readResult } from './result-file.ts';
import { preparePlaces, turnEnvironment } from './turn-place.ts';
import { type UsageMeter, usageMeter } from './usage-meter.ts';

export interface Program {
  argv: readonly string[];
  env?: Record<string, string>;
  /** Exit codes with a meaning of their own. */
  exitCodes?: Record<number, FailureCode>;
}

const LOOK_EVERY_MS = 500;

export async function runProgram(
  processes: Processes,
  program: Program,
  turn: TurnRequest,
  hooks: TurnHooks,
): Promise<TurnResult> {
  try {
    // The program works from its first moment on, so it starts when there is something to work on.
    const stdin = await turn.prompt;
    await preparePlaces(turn);
    const resultPath = freshResultPath(turn);
    const schemaPath = turn.outputSchema ? join(dirname(resultPath), 'output-schema.json') : null;
    if (schemaPath) writeFileSync(schemaPath, JSON.stringify(turn.outputSchema));
    const meter = usageMeter(turn.policy.model ?? 'unknown', hooks.onUsage);
    const stopLooking = lookAt(resultPath, meter, hooks.onProgress);
    const ended = await processes.launch({
      argv: program.argv,
      cwd: turn.cwd,
      env: turnEnvironment(turn, {
        ...program.env,
        ...(schemaPath ? { FORGE_OUTPUT_SCHEMA: schemaPath } : {}),
        FORGE_RESULT: resultPath,
      }),
      stdin,
      logPath: turn.logPath,
      timeoutMs: turn.policy.turnTimeoutMs,
      signal: hooks.signal,
      onHeld: hooks.onHeld,
      onOutput: hooks.onProgress,
    });
    await stopLooking();
    const reading = readResult(resultPath);
    if (reading.status === 'read') meter(reading.result);
    const result = judge(ended, reading, program, turn, resultPath);
    // A result nobody could read stays for whoever wants to see what was wrong with it.
    if (reading.status !== 'invalid') rmSync(dirname(resultPath), { recursive: true, force: true });
    return result;
  } catch (error) {
    return failed('could_not_start', (error as Error).message, false);
  }
}

function judge(
  ended: LaunchResult,
  reading: ResultReading,
  program: Program,
  turn: TurnRequest,
  resultPath: string,
): TurnResult {
  const usageKnown = reading.status === 'read' && reading.result.usage !== null;
  if (ended.spawnError !== null) return failed('could_not_start', ended.spawnError, false);
  // A program that was stopped did not get to say what its last call cost.
  if (ended.cancelled) return { status: 'cancelled', usageKnown: false };
  if (ended.timedOut) {
    const message = `the turn took longer than agent.turn_timeout_ms (${turn.policy.turnTimeoutMs} ms)`;
    return { status: 'timed_out', message, usageKnown: false };
  }
  if (ended.code !== 0) return failed(...failureOf(ended, program), usageKnown);
  if (reading.status === 'invalid') {
    return failed('invalid_result', `its result ${resultPath} can't be used: ${reading.problem}`, false);
  }
  const result = reading.status === 'read' ? reading.result : null;
  return {
    status: 'finished',
    text: result?.text ?? ended.tail,
    structured: result?.structured ?? null,
    usageKnown,
  };
}

function failureOf(ended: LaunchResult, program: Program): [FailureCode, string] {
  const last = ended.tail.trimEnd().split('\n').slice(-5).join('\n').slice(-1000);
  const said = last === '' ? 'it said nothing' : last;
  if (ended.code === null) return ['crashed', `the agent's program was killed by ${ended.signal}: ${said}`];
  const known = program.exitCodes?.[ended.code];
  if (known) return [known, said];
  if (ended.code === 126 || ended.code === 127) {
    return ['could_not_start', `the agent's program could not be started (exit ${ended.code}): ${said}`];
  }
  return ['exit_nonzero', `the agent's program exited with ${ended.code}: ${said}`];
}

/** A directory of its own beside the session's, so that a program may write aside and rename. */
function freshResultPath(turn: TurnRequest): string {
  const results = join(dirname(turn.sessionDir), `${basename(turn.sessionDir)}-results`);
  const dir = join(results, `${turn.turn}-${randomUUID()}`);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return join(realpathSync.native(dir), 'result.json');
}

/** What lies there is the program's: a loop of links, or a folder nobody may enter, is no result either. */
function statOrNull(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

/** Returns a function that stops looking, after the look in progress. */
function lookAt(resultPath: string, meter: UsageMeter, onProgress: () => void): () => Promise<void> {
  const stop = new AbortController();
  let seen = '';
  const look = () => {
    const stats = statOrNull(resultPath);
    const version = stats ? `${stats.ino}:${stats.mtimeMs}:${stats.size}` : seen;
    if (version === seen) return;
    seen = version;
    onProgress();
    const reading = readResult(resultPath);
    // Half a file is no news; the next look or the end of the turn will see all of it.
    if (reading.status === 'read') meter(reading.result);
  };
  const looking = (async () => {
    for await (const _ of setInterval(LOOK_EVERY_MS, null, { signal: stop.signal })) look();
  })().catch((error) => {
    if (!stop.signal.aborted) throw error;
  });
  // Whoever stops it hears of its failure; until then nobody listens, which must not count as unhandled.
  looking.catch(() => {});
  return () => {
    stop.abort();
    return looking;
  };
}
