/** Makes a repository ready: WORKFLOW.md and .forge/. It never overwrites. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FRONTIER_SCAFFOLD } from '../config/frontier.ts';
import { workflowTemplate } from '../config/template.ts';
import type { Context } from '../context.ts';
import type { AgentKind } from '../core/policy.ts';
import { filteredText } from '../core/words/words.ts';
import { ForgeUnavailable, UserError } from '../errors.ts';
import type { ForgeProblem } from '../forge/forge.ts';
import { currentBranch, remoteDefault } from '../git/git.ts';
import { filterAdvice, filtersOnTrunk } from './doctor-repository.ts';
import type { LeftOut } from './init-gate.ts';
import { type RegisteredClient, registerMcp } from './mcp-clients.ts';

interface InitChoices {
  agent: AgentKind;
  command?: string | undefined;
  script?: string | undefined;
  gate?: string[] | undefined;
  setup?: string[] | undefined;
  /** Found, and not written as commands. */
  leftOut?: LeftOut[] | undefined;
  /** The files that the gate was read from. */
  from?: string[] | undefined;
  tracker?: 'local' | 'github' | undefined;
  trunk?: string | undefined;
  createLabels?: boolean | undefined;
  /** Registers the MCP server with the clients that are installed. */
  mcp?: boolean | undefined;
}

interface Initialised {
  workflow: string;
  written: boolean;
  gate: { setup: string[]; commands: string[]; from: string[]; leftOut: LeftOut[] };
  tracker: 'local' | 'github';
  /** The branch that work lands on; null when nothing names one. */
  trunk: string | null;
  /** Labels that were made on the tracker. */
  labels: string[];
  /** What the tracker will not let the loop do yet, or what it can't do in this repository. */
  problems: ForgeProblem[];
  /** Clients that were looked for with `mcp`, and are installed. */
  mcp: RegisteredClient[];
  next: string[];
}

export async function init(context: Context, input: InitChoices): Promise<Initialised> {
  const { gate: commands = [], setup = [], leftOut = [], from = [] } = input;
  // What it registers is the operator's, not the repository's.
  if (input.mcp) await context.refuseInTurn('init --mcp');
  // Settings are read once: where there are none yet, not before they are written.
  const given = existsSync(context.configPath) ? await context.settings() : null;
  const tracker =
    given?.problem === null
      ? given.settings.tracker.kind
      : (input.tracker ?? (await proposedTracker(context)));
  if (input.trunk !== undefined) await requireBranch(context, input.trunk);
  const trunk =
    given?.problem === null ? given.settings.tracker.trunk : (input.trunk ?? (await proposedTrunk(context)));
  const written = writeWorkflow(context, { ...input, tracker, trunk });
  await context.excludeForge();
  const { labels, problems } = await lookAtTracker(context, input.createLabels ?? false);
  problems.push(...(await filterProblems(context)));
  mkdirSync(join(context.forgeDir, 'issues'), { recursive: true });
  scaffoldFrontier(join(context.forgeDir, 'frontier.yaml'));
  return {
    workflow: context.configPath,
    written,
    gate: { setup, commands, from, leftOut },
    tracker,
    trunk,
    labels,
    problems,
    mcp: input.mcp ? await registerMcp(context) : [],
    next: nextSteps(context, { ...input, tracker }, written, commands),
  };
}

/** It states nothing yet. */
function scaffoldFrontier(path: string): void {
  if (!existsSync(path)) writeFileSync(path, FRONTIER_SCAFFOLD);
}

/** GitHub where `origin` is there; the embedded forge otherwise. */
export async function proposedTracker(context: Context): Promise<'local' | 'github'> {
  const { stdout } = await context.git(['ls-remote', '--get-url', 'origin']);
  return /(^|[/@.])(github|[^./@]+\.ghe)\.com[:/]/.test(stdout.trim()) ? 'github' : 'local';
}

/** The default branch of `origin`, else the one that is checked out; null when HEAD is detached. */
export async function proposedTrunk({ git }: Context): Promise<string | null> {
  return (await remoteDefault(git)) ?? (await currentBranch(git));
}

/** Here or at `origin`; of a repository without a commit, the branch it will begin with. */
export async function branchesOf({ git }: Context): Promise<Set<string>> {
  const { stdout } = await git(['for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/remotes/origin']);
  const names = stdout.split('\n').map((ref) => ref.replace(/^refs\/(heads|remotes\/origin)\//, ''));
  return new Set(
    [...names, (await currentBranch(git)) ?? ''].filter((name) => name !== '' && name !== 'HEAD'),
  );
}

export const noBranch = (branch: string): string => `There is no branch ${branch}.`;

export async function requireBranch(context: Context, branch: string): Promise<void> {
  if ((await branchesOf(context)).has(branch)) return;
  throw new UserError(noBranch(branch), `Make it (git branch ${branch}), or name another.`);
}

/** Rights are looked at now, while somebody is there to mend them; without them `init` is still done. */
async function lookAtTracker(
  context: Context,
  createLabels: boolean,
): Promise<{ labels: string[]; problems: ForgeProblem[] }> {
  const { settings, problem } = await context.settings();
  if (problem) return { labels: [], problems: [] };
  if (settings.tracker.kind === 'local') return { labels: [], problems: createLabels ? [NO_LABELS] : [] };
  try {
    const forge = await context.forge();
    const labels = createLabels ? ((await forge.createLabels?.()) ?? []) : [];
    return { labels, problems: await forge.check() };
  } catch (error) {
    if (error instanceof UserError)
      return { labels: [], problems: [{ what: error.message, fix: error.hint ?? '' }] };
    if (error instanceof ForgeUnavailable)
      return { labels: [], problems: [{ what: error.message, fix: error.hint ?? '' }] };
    throw error;
  }
}

/** Every issue would be held for it, so it is said now. */
async function filterProblems(context: Context): Promise<ForgeProblem[]> {
  const found = await filtersOnTrunk(context);
  return found.length === 0 ? [] : [{ what: filteredText(found), fix: filterAdvice(found) }];
}

const NO_LABELS: ForgeProblem = {
  what: 'No labels were made: issues and pull requests are in this repository, not on GitHub.',
  fix: 'If they are on GitHub Enterprise Server, which `origin` does not reveal, set tracker.kind: github in WORKFLOW.md and run this again.',
};

function writeWorkflow(
  context: Context,
  input: Omit<InitChoices, 'trunk'> & { trunk: string | null },
): boolean {
  if (existsSync(context.configPath)) return false;
  const text = workflowTemplate({
    agentKind: input.agent,
    agentCommand: input.command ?? null,
    agentScript: input.script ?? null,
    gateCommands: input.gate ?? [],
    gateSetup: input.setup ?? [],
    gateLeftOut: input.leftOut ?? [],
    tracker: input.tracker ?? 'local',
    trunk: input.trunk,
  });
  writeFileSync(context.configPath, text, { flag: 'wx' });
  return true;
}

function nextSteps(context: Context, input: InitChoices, written: boolean, commands: string[]): string[] {
  const steps: string[] = [];
  if (written && input.agent === 'command' && !input.command)
    steps.push(`Set agent.command in ${context.configPath}: the shell command that runs your agent.`);
  if (written && commands.length === 0)
    steps.push('Set gate.commands: what must pass before anything is merged.');
  return [
    ...steps,
    'forge-loop doctor',
    input.tracker === 'github'
      ? 'Label an issue `loop:ready`.'
      : 'forge-loop issue new --title "…" --body-file issue.md --ready',
    'forge-loop run',
  ];
}
