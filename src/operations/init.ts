/** Makes a repository ready: WORKFLOW.md and .forge/. It never overwrites. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectGate, type GateProposal } from '../config/detect-gate.ts';
import { workflowTemplate } from '../config/template.ts';
import type { Context } from '../context.ts';
import type { AgentKind } from '../core/policy.ts';
import { ForgeUnavailable, UserError } from '../errors.ts';
import type { ForgeProblem } from '../forge/forge.ts';

export interface InitChoices {
  agent: AgentKind;
  command?: string | undefined;
  script?: string | undefined;
  gate?: string[] | undefined;
  tracker?: 'local' | 'github' | undefined;
  createLabels?: boolean | undefined;
}

export interface Initialised {
  workflow: string;
  written: boolean;
  gate: { commands: string[]; from: string[] };
  tracker: 'local' | 'github';
  /** Labels that were made on the tracker. */
  labels: string[];
  /** What the tracker will not let the loop do yet. */
  problems: ForgeProblem[];
  next: string[];
}

export async function init(context: Context, input: InitChoices): Promise<Initialised> {
  const proposal = detectGate(context.root);
  const commands = input.gate ?? proposal.commands;
  // Settings are read once: where there are none yet, not before they are written.
  const given = existsSync(context.configPath) ? await context.settings() : null;
  const tracker =
    given?.problem === null
      ? given.settings.tracker.kind
      : (input.tracker ?? (await proposedTracker(context)));
  const written = writeWorkflow(context, { ...input, tracker }, proposal, commands);
  await context.excludeForge();
  const { labels, problems } = await lookAtTracker(context, input.createLabels ?? false);
  mkdirSync(join(context.forgeDir, 'issues'), { recursive: true });
  return {
    workflow: context.configPath,
    written,
    gate: { commands, from: input.gate ? [] : proposal.from },
    tracker,
    labels,
    problems,
    next: nextSteps(context, { ...input, tracker }, written, commands),
  };
}

/** GitHub where `origin` is there; the embedded forge otherwise. */
export async function proposedTracker(context: Context): Promise<'local' | 'github'> {
  const { stdout } = await context.git(['config', '--get', 'remote.origin.url'], { allow: [1] });
  return /(^|[/@.])github\.com[:/]/.test(stdout.trim()) ? 'github' : 'local';
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

const NO_LABELS: ForgeProblem = {
  what: 'No labels were made: issues and pull requests are in this repository, not on GitHub.',
  fix: 'If they are on GitHub (on an Enterprise Server that can not be told from origin), set tracker.kind: github in WORKFLOW.md and run this again.',
};

/** What the repository's own files suggest, for a person to see before it is written. */
export const proposedGate = (context: Context): string[] => detectGate(context.root).commands;

function writeWorkflow(
  context: Context,
  input: InitChoices,
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
