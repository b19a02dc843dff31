/**
 * The gate that `init` proposes: read from trunk's files, and run there once before it is written down. It runs in a
 * tree of its own, confined as the loop's gates are, and never longer than some minutes.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { detectGate, type GateProposal, isManifest, LOCKFILES } from '../config/detect-gate.ts';
import { workflowTemplate } from '../config/template.ts';
import type { Context } from '../context.ts';
import { ANSI } from '../core/change/signature.ts';
import type { CommandRun } from '../core/gate.ts';
import { LOGS_OF_NO_TASK } from '../core/keep.ts';
import { UserError } from '../errors.ts';
import { currentBranch } from '../git/git.ts';
import { lastLineIn } from '../last-line.ts';
import { type Circumstances, runIn } from '../loop/gate-command.ts';
import { prepareTree } from '../loop/gate-tree.ts';
import { stopChildren } from '../loop/leftovers.ts';

/** What was found, and on which commit; null without one. */
export interface FoundGate {
  sha: string | null;
  proposals: GateProposal[];
}

export interface LeftOut {
  command: string;
  why: string;
  /** Its last lines. */
  output: string[];
}

/** One command of a proposal as it went. */
export interface TriedCommand {
  command: string;
  outcome: CommandRun['outcome'];
  /** Null when it passed. */
  why: string | null;
  output: string[];
  durationMs: number;
}

/** What is to be written. */
interface GateChoice {
  setup: string[];
  gate: string[];
  leftOut: LeftOut[];
  from: string[];
}

interface TrialWatch {
  /** For all commands together. */
  minutes: number;
  signal: AbortSignal;
  /** `lastLine` is what it printed last, at any time. */
  onStart(command: string, lastLine: () => Promise<string | null>): void;
  onEnd(tried: TriedCommand): void;
}

export async function findGate(context: Context, trunk: string | null): Promise<FoundGate> {
  const { git, root } = context;
  const sha = await commitOf(context, trunk);
  const listed = sha
    ? await git(['ls-tree', '-r', '-z', '--name-only', '--full-tree', sha])
    : await git(['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  const files = listed.stdout.split('\0').filter((path) => path !== '');
  const contents = new Map<string, string>();
  for (const path of files.filter(isManifest).slice(0, MOST_MANIFESTS)) {
    const text = sha ? await git.text(`${sha}:${path}`) : read(join(root, path));
    if (text !== null) contents.set(path, text);
  }
  const unlocked = new Set(LOCKFILES.filter((file) => !files.includes(file) && existsSync(join(root, file))));
  return { sha, proposals: detectGate({ files, contents, unlocked }) };
}

const MOST_MANIFESTS = 500;

/** Of the branch here, else of `origin`'s; of what is checked out where no branch is named. */
async function commitOf({ git }: Context, trunk: string | null): Promise<string | null> {
  if (trunk === null) return git.resolve('HEAD');
  return (
    (await git.resolve(`refs/heads/${trunk}`)) ?? (await git.resolve(`refs/remotes/origin/${trunk}`)) ?? null
  );
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Takes these commands, with the setups they need; the others are left out, each with why. */
export function chooseGate(
  { proposals }: FoundGate,
  tried: readonly TriedCommand[],
  isChosen: (command: string) => boolean = (command) => !isRejected(tried, command),
): GateChoice {
  const taken = proposals.filter(({ commands }) => commands.some(isChosen));
  const setup = taken.flatMap((one) => one.setup);
  const gate = taken.flatMap(({ commands }) => commands.filter(isChosen));
  const written = new Set([...setup, ...gate]);
  const leftOut = tried.flatMap(({ command, why, output }) =>
    why === null || written.has(command) ? [] : [{ command, why, output }],
  );
  return { setup, gate, leftOut, from: taken.flatMap(({ from }) => from) };
}

const isRejected = (tried: readonly TriedCommand[], command: string): boolean =>
  tried.some((one) => one.command === command && one.outcome !== 'pass');

/** Runs every proposal once. Throws what a person can mend when nothing can be run at all; cut short, it answers what there was. */
export async function tryGateOnce(
  context: Context,
  { sha, proposals }: { sha: string; proposals: readonly GateProposal[] },
  watch: TrialWatch,
): Promise<TriedCommand[]> {
  // Under settings of its own: those of the repository are not written yet.
  const folder = mkdtempSync(join(tmpdir(), 'forge-init-'));
  const config = join(folder, 'WORKFLOW.md');
  const trunk = await currentBranch(context.git);
  writeFileSync(
    config,
    workflowTemplate({ agentKind: 'command', agentCommand: 'true', gateCommands: [], trunk }),
  );
  const beside = await context.under(config);
  try {
    return await holdingLease(
      beside,
      (circumstances) => tryAll(beside, circumstances, sha, proposals, watch),
      watch,
    );
  } finally {
    await beside.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const LEASE = 'init-gate';

async function holdingLease<T>(
  context: Context,
  work: (circumstances: Circumstances) => Promise<T>,
  { signal }: TrialWatch,
): Promise<T> {
  const ports = await context.ports();
  const { store, owner, clock, timing } = ports;
  const lease = await store.acquireLease(LEASE, owner, clock.now(), timing.leaseTtlMs, ports.isOwnerDead);
  if (!lease) throw new UserError('Another `init` is trying the gate.', 'Wait for it to end.');
  const renewal = setInterval(
    () => void store.renewLeases(owner, clock.now(), timing.leaseTtlMs).catch(() => {}),
    timing.renewMs,
  );
  try {
    await stopChildren(ports, lease.key);
    const task = `${LEASE}-${ports.newId().slice(0, 8)}`;
    const { gate } = ports.settings.policy();
    return await work({ ports, task, lease, signal, gate, logs: LOGS_OF_NO_TASK.trial });
  } finally {
    clearInterval(renewal);
    await store.releaseLease(lease);
  }
}

async function tryAll(
  context: Context,
  circumstances: Circumstances,
  sha: string,
  proposals: readonly GateProposal[],
  { minutes, signal, onStart, onEnd }: TrialWatch,
): Promise<TriedCommand[]> {
  const { ports, logs, task } = circumstances;
  const endsAt = ports.clock.monotonic() + minutes * 60_000;
  const { stage, broken } = await prepareTree(circumstances, sha, null, task);
  const tried: TriedCommand[] = [];
  try {
    if (broken) throw new UserError(`Trunk can't be checked out: ${broken.problem}`, broken.tail);
    for (const proposal of proposals) await tryOne(proposal);
    return tried;
  } finally {
    await stage.dispose();
  }

  async function tryOne({ tool, setup, commands }: GateProposal): Promise<void> {
    const all = [...setup, ...commands];
    const missing = (await isThere(tool)) ? null : await missingText(context, tool);
    if (missing !== null) return skip(all, missing);
    for (const [at, command] of all.entries()) {
      if (signal.aborted) return;
      const made = await run(command);
      if (made.outcome !== 'pass' && at < setup.length)
        return skip(all.slice(at + 1), `not run, since \`${command}\` did not pass`);
    }
  }

  async function run(command: string): Promise<TriedCommand> {
    const leftMs = endsAt - ports.clock.monotonic();
    if (leftMs <= 0) return end(couldNotRun(command, `not run: ${minutes} minutes were over`));
    const since = ports.clock.now();
    onStart(command, () => lastLineIn(ports.places.log(logs ?? task, ''), /\.log$/, since));
    const made = await runOnce(command, leftMs);
    if (made.problem === 'timed out')
      return end({
        ...couldNotRun(command, `stopped after ${minutes} minutes in all`),
        ...tailOf(made),
      });
    const how = made.outcome === 'fail' ? 'failed' : 'could not run';
    const why = made.outcome === 'pass' ? null : `${how}: ${made.problem}`;
    return end({ command, outcome: made.outcome, why, durationMs: made.durationMs, ...tailOf(made) });
  }

  function end(one: TriedCommand): TriedCommand {
    if (signal.aborted) return one;
    tried.push(one);
    onEnd(one);
    return one;
  }

  function skip(commands: readonly string[], why: string): void {
    for (const command of commands) end(couldNotRun(command, why));
  }

  async function isThere(tool: string): Promise<boolean> {
    return (await runOnce(`command -v ${tool}`, PROBE_MS)).outcome === 'pass';
  }

  async function runOnce(command: string, timeoutMs: number): Promise<CommandRun> {
    const limited = { ...circumstances, gate: { ...circumstances.gate, timeoutMs } };
    return (await runIn(limited, stage, command, `${task}-${++runs}`)).run;
  }
}

let runs = 0;
const PROBE_MS = 30_000;

const missingText = async (context: Context, tool: string): Promise<string> =>
  (await context.isInstalled(tool))
    ? `could not run: ${tool} is not visible in the sandbox`
    : `could not run: ${tool} is not installed`;

/** All of them, where nothing could be tried. */
export const untried = (proposals: readonly GateProposal[], why: string): TriedCommand[] =>
  proposals
    .flatMap(({ setup, commands }) => [...setup, ...commands])
    .map((command) => couldNotRun(command, `could not run: ${why}`));

const couldNotRun = (command: string, why: string): TriedCommand => ({
  command,
  outcome: 'could_not_run',
  why,
  output: [],
  durationMs: 0,
});

const LINES = 5;
const LINE_CHARS = 100;

const tailOf = ({ tail }: CommandRun): { output: string[] } => ({
  output: tail
    .replace(ANSI, '')
    .split(/[\n\r]/)
    .map((line) =>
      line
        .replace(/\p{Cc}/gu, ' ')
        .trimEnd()
        .slice(0, LINE_CHARS),
    )
    .filter((line) => line.trim() !== '')
    .slice(-LINES),
});
