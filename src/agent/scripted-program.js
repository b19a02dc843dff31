// @ts-check
/**
 * The program behind the scripted agent. It keeps the contract of program-turn.ts like any other program, and uses
 * nothing but node.
 *
 * Its session is `transcript.jsonl`: one line for each prompt, written before anything is done, and one for each
 * answer. A resumed turn without a transcript has lost its session; a fresh turn with one would forget it: both fail.
 */
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** @import { Script, Rule, Step } from './script.ts' */
/** @typedef {{ prompt: string, role: string, turn: number } | { answer: string, structured: unknown, did: unknown[] }} Line */
/** @typedef {NonNullable<Step['usage']>} Used */

const SESSION_LOST = 66;
/** Simulated prices in USD per million tokens; a token is four characters. They stand for no provider's. */
const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const CHARS_PER_TOKEN = 4;

const env = /** @type {Record<string, string>} */ (process.env);
const transcriptPath = path.join(env.FORGE_SESSION_DIR ?? '', 'transcript.jsonl');
/** Sessions come and go; the task's home stays, and so does the count of its rounds. */
const roundsPath = path.join(env.HOME ?? '', 'scripted-rounds.jsonl');
const role = env.FORGE_ROLE ?? '';
const turn = Number(env.FORGE_TURN);
const issue = env.FORGE_ISSUE === undefined ? null : Number(env.FORGE_ISSUE);

class TurnFailed extends Error {
  /** @param {string} message @param {number} exit */
  constructor(message, exit = 1) {
    super(message);
    this.exit = exit;
  }
}

const prompt = fs.readFileSync(0, 'utf8');
const remembered = recall();
/** What came of the turn so far. */
const said = /** @type {string[]} */ ([]);
const did = /** @type {Step[]} */ ([]);
let structured = /** @type {unknown} */ (null);
let used = /** @type {Used | null} */ (null);

process.exitCode = await play();

/** @returns {Promise<number>} */
async function play() {
  try {
    checkSession();
    append(transcriptPath, { prompt, role, turn });
    for (const step of stepsFor(readScript())) {
      await perform(step);
      did.push(step);
    }
    finish();
    return 0;
  } catch (error) {
    if (!(error instanceof TurnFailed)) throw error;
    process.stderr.write(`${error.message}\n`);
    if (error.exit !== SESSION_LOST) finish();
    return error.exit;
  }
}

function checkSession() {
  const resume = env.FORGE_RESUME === '1';
  const name = `session ${env.FORGE_SESSION_ID}`;
  if (resume && remembered.length === 0)
    throw new TurnFailed(`${name} is lost: it has no transcript`, SESSION_LOST);
  if (!resume && remembered.length > 0)
    throw new TurnFailed(`${name} has a transcript already: it must be resumed`);
}

/** @returns {Script} */
function readScript() {
  return JSON.parse(fs.readFileSync(env.FORGE_SCRIPT ?? '', 'utf8'));
}

/** The first rule that matches, else the default. @param {Script} script @returns {readonly Step[]} */
function stepsFor(script) {
  const answers = remembered.filter((line) => 'answer' in line).length;
  const rounds = linesOf(roundsPath).filter((line) => line.role === role).length;
  const round = 1 + Math.max(answers, rounds);
  const first = remembered.find((line) => 'prompt' in line);
  const firstPrompt = first && 'prompt' in first ? first.prompt : prompt;
  /** @param {Rule} rule */
  const matches = ({ when }) =>
    (when.issue === undefined || when.issue === issue) &&
    (when.title === undefined || firstPrompt.includes(when.title)) &&
    (when.role === undefined || when.role === role) &&
    (when.turn === undefined || when.turn === turn) &&
    (when.round === undefined || when.round === round);
  const steps = script.rules.find(matches)?.steps ?? script.default;
  if (steps) return steps;
  throw new TurnFailed(`the script has no rule for issue ${issue}, ${role}, turn ${turn}, round ${round}`);
}

/** @param {Step} step */
async function perform(step) {
  if (step.write)
    for (const [file, content] of Object.entries(step.write)) fs.writeFileSync(placeFor(file), content);
  if (step.append)
    for (const [file, content] of Object.entries(step.append)) fs.appendFileSync(placeFor(file), content);
  if (step.delete) for (const file of [step.delete].flat()) fs.rmSync(file, { recursive: true, force: true });
  if (step.shell) run('/bin/sh', '-c', step.shell);
  if (step.commit) {
    run('git', 'add', '--all');
    run('git', 'commit', '--quiet', '--message', step.commit);
  }
  if (step.say !== undefined) {
    said.push(step.say);
    process.stdout.write(`${step.say}\n`);
  }
  if ('answer' in step) structured = step.answer;
  if (step.usage) used = step.usage;
  if (step.usageNow) {
    used = step.usageNow;
    writeResult();
  }
  if (step.sleepMs) await delay(step.sleepMs);
  if (step.hang) await new Promise(() => setInterval(() => {}, 60_000));
  if (step.flood) await flood(step.flood);
  if (step.spawnDetached) {
    spawn('/bin/sh', ['-c', step.spawnDetached], { detached: true, stdio: 'ignore' }).unref();
  }
  if (step.expectPrompt) {
    const missing = step.expectPrompt.contains.filter((text) => !prompt.includes(text));
    const present = step.expectPrompt.excludes.filter((text) => prompt.includes(text));
    if (missing.length > 0) throw new TurnFailed(`the prompt lacks ${JSON.stringify(missing)}`);
    if (present.length > 0) throw new TurnFailed(`the prompt must not contain ${JSON.stringify(present)}`);
  }
  if (step.fail) throw new TurnFailed(step.fail.message, step.fail.exit);
}

/** @param {string} file */
function placeFor(file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  return file;
}

/** @param {string} program @param {string[]} args */
function run(program, ...args) {
  const { status, signal, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) throw new TurnFailed(`${program} could not be run: ${error.message}`);
  if (status !== 0)
    throw new TurnFailed(`${[program, ...args].join(' ')} ended with ${status ?? signal}`, status ?? 1);
}

/** @param {number} bytes */
async function flood(bytes) {
  const line = `${'x'.repeat(1023)}\n`.repeat(64);
  for (let left = bytes; left > 0; left -= line.length) {
    if (!process.stdout.write(line.slice(0, left)))
      await new Promise((go) => process.stdout.once('drain', go));
  }
}

function finish() {
  append(transcriptPath, { answer: said.join('\n'), structured, did });
  append(roundsPath, { role });
  used ??= simulated();
  writeResult();
}

/** What a provider with a prompt cache would count: the past is read from the cache, a first prompt is written to it. @returns {Used} */
function simulated() {
  const tokens = (/** @type {unknown} */ value) => Math.ceil(JSON.stringify(value).length / CHARS_PER_TOKEN);
  const asked = tokens(prompt);
  const resumed = remembered.length > 0;
  const usage = {
    input: resumed ? asked : 0,
    output: tokens({ answer: said, structured, did }),
    cacheRead: resumed ? tokens(remembered) : 0,
    cacheWrite: resumed ? 0 : asked,
  };
  const kinds = /** @type {(keyof typeof usage)[]} */ (Object.keys(usage));
  const costUsd = kinds.reduce((sum, kind) => sum + (usage[kind] * PRICES[kind]) / 1e6, 0);
  return { ...usage, costUsd };
}

/** Written aside and renamed, so that nobody ever reads half of it. */
function writeResult() {
  const { costUsd = null, ...usage } = used ?? {};
  const aside = `${env.FORGE_RESULT}.new`;
  fs.writeFileSync(aside, JSON.stringify({ text: said.join('\n'), structured, usage, costUsd }));
  fs.renameSync(aside, env.FORGE_RESULT ?? '');
}

/** @returns {Line[]} */
function recall() {
  return linesOf(transcriptPath);
}

/** The complete lines: a turn that was killed while it wrote leaves half of one. @param {string} file @returns {any[]} */
function linesOf(file) {
  if (!fs.existsSync(file)) return [];
  const whole = fs.readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return whole.flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

/** @param {string} file @param {unknown} line */
function append(file, line) {
  const handle = fs.openSync(file, 'a+');
  // After half a line of an earlier turn, a new one must not be glued to it.
  const { size } = fs.fstatSync(handle);
  const last = Buffer.alloc(1);
  if (size > 0) fs.readSync(handle, last, 0, 1, size - 1);
  const glue = size > 0 && last.toString() !== '\n' ? '\n' : '';
  fs.writeSync(handle, `${glue}${JSON.stringify(line)}\n`);
  fs.fsyncSync(handle);
  fs.closeSync(handle);
}
