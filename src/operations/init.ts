/** Makes a repository ready: WORKFLOW.md and .forge/. It never overwrites. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectGate, type GateProposal } from '../config/detect-gate.ts';
import { workflowTemplate } from '../config/template.ts';
import type { Context } from '../context.ts';

export interface InitChoices {
  agent: 'claude' | 'command' | 'scripted';
  command?: string | undefined;
  script?: string | undefined;
  gate?: string[] | undefined;
}

export interface Initialised {
  workflow: string;
  written: boolean;
  gate: { commands: string[]; from: string[] };
  next: string[];
}

export async function init(context: Context, input: InitChoices): Promise<Initialised> {
  const proposal = detectGate(context.root);
  const commands = input.gate ?? proposal.commands;
  const written = writeWorkflow(context, input, proposal, commands);
  await context.excludeForge();
  mkdirSync(join(context.forgeDir, 'issues'), { recursive: true });
  return {
    workflow: context.configPath,
    written,
    gate: { commands, from: input.gate ? [] : proposal.from },
    next: nextSteps(context, input, written, commands),
  };
}

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
    'forge-loop issue new --title "…" --body-file issue.md --ready',
    'forge-loop run',
  ];
}
