/** Makes a repository ready: WORKFLOW.md and .forge/. It never overwrites. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectGate, type GateProposal, LOCKFILES } from '../config/detect-gate.ts';
import { workflowTemplate } from '../config/template.ts';
import type { Context } from '../context.ts';
import type { AgentKind } from '../core/policy.ts';
import { filteredText } from '../core/words/words.ts';
import { ForgeUnavailable, UserError } from '../errors.ts';
import type { ForgeProblem } from '../forge/forge.ts';
import { currentBranch, remoteDefault } from '../git/git.ts';
import { filterAdvice, filtersOnTrunk } from './doctor-repository.ts';

interface InitChoices {
  agent: AgentKind;
  command?: string | undefined;
  script?: string | undefined;
  gate?: string[] | undefined;
  tracker?: 'local' | 'github' | undefined;
  trunk?: string | undefined;
  createLabels?: boolean | undefined;
}

interface Initialised {
  workflow: string;
  written: boolean;
  gate: { commands: string[]; from: string[] };
  tracker: 'local' | 'github';
  /** The branch that work lands on; null when nothing names one. */
  trunk: string | null;
  /** Labels that were made on the tracker. */
  labels: string[];
  /** What the tracker will not let the loop do yet, or what it can't do in this repository. */
  problems: ForgeProblem[];
  next: string[];
}

export async function init(context: Context, input: InitChoices): Promise<Initialised> {
  const proposal = await proposedGate(context);
  const commands = input.gate ?? proposal.commands;
  // Settings are read once: where there are none yet, not before they are written.
  const given = existsSync(context.configPath) ? await context.settings() : null;
  const tracker =
    given?.problem === null
      ? given.settings.tracker.kind
      : (input.tracker ?? (await proposedTracker(context)));
  if (input.trunk !== undefined) await requireBranch(context, input.trunk);
  const trunk =
    given?.problem === null ? given.settings.tracker.trunk : (input.trunk ?? (await proposedTrunk(context)));
  const written = writeWorkflow(context, { ...input, tracker, trunk }, proposal, commands);
  await context.excludeForge();
  const { labels, problems } = await lookAtTracker(context, input.createLabels ?? false);
  problems.push(...(await filterProblems(context)));
  mkdirSync(join(context.forgeDir, 'issues'), { recursive: true });
  return {
    workflow: context.configPath,
    written,
    gate: { commands, from: input.gate ? [] : proposal.from },
    tracker,
    trunk,
    labels,
    problems,
    next: nextSteps(context, { ...input, tracker }, written, commands),
  };
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
async function requireBranch({ git }: Context, branch: string): Promise<void> {
  const refs = [`refs/heads/${branch}`, `refs/remotes/origin/${branch}`];
  const { stdout } = await git(['for-each-ref', '--count=1', '--format=%(refname)', ...refs]);
  if (stdout.trim() !== '') return;
  if ((await currentBranch(git)) === branch) return;
  throw new UserError(`There is no branch ${branch}.`, `Make it (git branch ${branch}), or name another.`);
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
      return { labels: [], problems: [{ what: error.message, fix: '' }] };
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
  fix: 'If they are on GitHub (on an Enterprise Server that can not be told from origin), set tracker.kind: github in WORKFLOW.md and run this again.',
};

/** What the repository's own files suggest, for a person to see before it is written. */
export async function proposedGate({ git, root }: Context): Promise<GateProposal> {
  const { stdout } = await git([
    'ls-files',
    '-z',
    '--full-name',
    '--',
    ...LOCKFILES.map((file) => `:(top)${file}`),
  ]);
  return detectGate(root, new Set(stdout.split('\0')));
}

function writeWorkflow(
  context: Context,
  input: Omit<InitChoices, 'trunk'> & { trunk: string | null },
  proposal: GateProposal,
  commands: string[],
): boolean {
  if (existsSync(context.configPath)) return false;
  const text = workflowTemplate({
    agentKind: input.agent,
    agentCommand: input.command ?? null,
    agentScript: input.script ?? null,
    gateCommands: commands,
    gateSetup: input.gate ? [] : proposal.setup,
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
