/**
 * One turn of an agent that is a program: the contract of `command`, which `scripted` keeps too.
 *
 *   cwd                 the workspace
 *   stdin               the prompt
 *   FORGE_ROLE FORGE_TASK FORGE_ISSUE FORGE_TURN
 *   FORGE_SESSION_ID    FORGE_SESSION_DIR (the same directory on resume)    FORGE_RESUME (0 or 1)
 *   FORGE_RESULT        where it may write { text, structured, summary, usage, costUsd }, once or again and again,
 *                       or { error: { code, message, retry_at } }, which fails the turn
 *   FORGE_MCP           a file with the MCP servers it was granted, where there are some, as `claude --mcp-config` takes it
 *   FORGE_OUTPUT_SCHEMA a file with the JSON Schema of `structured`, where one is wanted
 *   exit 0              the turn is finished; 75 (EX_TEMPFAIL) means try later; anything else is a failure
 *
 * The result file is looked at while the program runs, so that usage is known early: a budget can stop a turn in
 * flight, and a kill loses little of the account.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setInterval } from 'node:timers/promises';
import { costOf, pricesFor } from '../core/money/prices.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { LaunchResult } from '../process/process.ts';
import {
  type FailureCode,
  failed,
  notStarted,
  type TurnHooks,
  type TurnRequest,
  type TurnResult,
  type UnheardEnd,
  type UnheardTurn,
} from './agent.ts';
import { credentialIn, heldIn } from './held-keys.ts';
import { serversFileOf, withServers } from './mcp-servers.ts';
import { through } from './passage.ts';
import type { Programs } from './programs.ts';
import { type ResultReading, readResult } from './result-file.ts';
import { preparePlaces, turnEnvironment } from './turn-place.ts';
import { keptRecord, newRecord, statOrNull, type TurnRecord } from './turn-record.ts';
import { type UsageMeter, usageMeter } from './usage-meter.ts';

export interface Program {
  argv: readonly string[];
  env?: Record<string, string>;
  /** What else it has to read to be started. */
  reads?: readonly string[];
  /** Exit codes with a meaning of their own. */
  exitCodes?: Record<number, FailureCode>;
}

/** EX_TEMPFAIL of sysexits.h. */
const EXIT_CODES: Record<number, FailureCode> = { 75: 'overload' };

const LOOK_EVERY_MS = 500;

export async function runProgram(
  { programs, gateway }: { programs: Programs; gateway: Gateway },
  program: Program,
  given: TurnRequest,
  told: TurnHooks,
): Promise<TurnResult> {
  const environment = turnEnvironment(given);
  try {
    return await through(gateway, given, told, credentialIn(environment), ({ turn, hooks, route }) =>
      withServers(turn, hooks, (place, servers) => {
        const told = servers.length > 0 ? { FORGE_MCP: serversFileOf(turn) } : {};
        const env = { ...program.env, ...heldIn(environment, route), ...told };
        return runOnce(programs, { ...program, env }, place, hooks);
      }),
    );
  } catch (error) {
    return notStarted(error);
  }
}

async function runOnce(
  programs: Programs,
  program: Program,
  turn: TurnRequest,
  hooks: TurnHooks,
): Promise<TurnResult> {
  try {
    await preparePlaces(turn);
    const record = newRecord(turn);
    const { resultPath, exitPath } = record;
    const schemaPath = turn.outputSchema ? join(dirname(resultPath), 'output-schema.json') : null;
    if (schemaPath) writeFileSync(schemaPath, JSON.stringify(turn.outputSchema));
    const meter = meterOf(turn, record, hooks.onUsage);
    const env = turnEnvironment(turn, {
      ...program.env,
      ...(schemaPath ? { FORGE_OUTPUT_SCHEMA: schemaPath } : {}),
      FORGE_RESULT: resultPath,
    });
    const writeRoots = [...turn.access.writeRoots, dirname(resultPath)];
    const place = { ...turn, access: { ...turn.access, writeRoots } };
    const stopLooking = lookAt(resultPath, meter, hooks.onProgress);
    const ended = await programs
      .run({ argv: program.argv, reads: program.reads ?? [], env, exitPath }, place, hooks)
      .finally(stopLooking);
    const reading = readResult(resultPath);
    if (reading.status === 'read') meter(reading.result);
    return judge(ended, reading, program, turn, resultPath);
  } catch (error) {
    return notStarted(error);
  }
}

/**
 * A program that failed while nobody listened can't be told from one that was ended with its runner's machine: it is run
 * again, and only one that finished is taken at its word. What either used is told.
 */
export async function finishedProgram(
  turn: UnheardTurn,
  onUsage: TurnHooks['onUsage'],
): Promise<UnheardEnd | null> {
  const kept = keptRecord(turn);
  if (!kept || kept.endedAt < turn.startedAt) return null;
  const { code, tail, endedAt, resultPath } = kept;
  for (const report of kept.reported) onUsage(report);
  const reading = readResult(resultPath);
  if (reading.status === 'read') meterOf(turn, kept, onUsage)(reading.result);
  if (code !== 0) return null;
  const heard = { code, signal: null, timedOut: false, cancelled: false, spawnError: null, durationMs: 0 };
  return { result: judge({ ...heard, tail }, reading, {}, turn, resultPath), endedAt };
}

function meterOf(
  { policy }: Pick<TurnRequest, 'policy'>,
  { launch, reported, report }: TurnRecord,
  onUsage: TurnHooks['onUsage'],
): UsageMeter {
  const model = policy.model ?? 'unknown';
  const prices = pricesFor(policy);
  return usageMeter({ launch, reported: [...reported], model }, (delta) => {
    const priced = { ...delta, costUsd: delta.costUsd ?? costOf(prices, model, delta) };
    report(priced);
    onUsage(priced);
  });
}

function judge(
  ended: LaunchResult,
  reading: ResultReading,
  program: Pick<Program, 'exitCodes'>,
  turn: Pick<TurnRequest, 'policy'>,
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
  if (reading.status === 'read' && reading.result.error)
    return { status: 'failed', ...reading.result.error, usageKnown };
  if (ended.code !== 0) {
    const [code, said] = failureOf(ended, program);
    const unread = reading.status === 'invalid' ? ` (its result can't be used: ${reading.problem})` : '';
    return failed(code, `${said}${unread}`, usageKnown);
  }
  if (reading.status === 'invalid') {
    return failed('invalid_result', `its result ${resultPath} can't be used: ${reading.problem}`, false);
  }
  const result = reading.status === 'read' ? reading.result : null;
  return {
    status: 'finished',
    text: result?.text ?? ended.tail,
    structured: result?.structured ?? null,
    usageKnown,
    ...(result?.summary && { summary: result.summary }),
  };
}

function failureOf(ended: LaunchResult, program: Pick<Program, 'exitCodes'>): [FailureCode, string] {
  const said = lastWords(ended.tail) || 'it said nothing';
  if (ended.code === null) return ['crashed', `the agent's program was killed by ${ended.signal}: ${said}`];
  const known = program.exitCodes?.[ended.code] ?? EXIT_CODES[ended.code];
  if (known) return [known, said];
  if (ended.code === 126 || ended.code === 127) {
    return ['could_not_start', `the agent's program could not be started (exit ${ended.code}): ${said}`];
  }
  return ['exit_nonzero', `the agent's program exited with ${ended.code}: ${said}`];
}

/** Its last lines, and first of all the one that names the failure: a stack trace may come after that. */
function lastWords(output: string): string {
  const lines = output
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(0, 300));
  const last = lines.slice(-5);
  const failure = lines.findLast((line) => NAMES_FAILURE.test(line)) ?? last[0];
  return [failure, ...last.filter((line) => line !== failure)].join('\n').trim().slice(0, 1000);
}

/** `TypeError: …`, `fatal: …`, `java.io.IOException: …` */
const NAMES_FAILURE = /^\s*(?:(?:Uncaught\s+)?[\w.]*(?:Error|Exception)|error|fatal|panic)\b[^:]{0,40}:\s*\S/;

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
