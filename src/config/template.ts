/** The WORKFLOW.md that `forge-loop init` writes: the few keys people change first, each with a comment. */

import type { AgentKind } from '../core/policy.ts';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';

export interface TemplateChoices {
  gateCommands: readonly string[];
  gateSetup?: readonly string[];
  /** Commands that did not pass on trunk: they are shown, and do not count. */
  gateLeftOut?: readonly { command: string; why: string; output: readonly string[] }[];
  agentKind: AgentKind;
  agentCommand?: string | null;
  agentScript?: string | null;
  tracker?: 'local' | 'github';
  /** Null leaves it to be named later. */
  trunk?: string | null;
}

export function workflowTemplate(choices: TemplateChoices): string {
  return `---
# How forge-loop works on this repository. "forge-loop config" lists all keys; docs/configuration.md of forge-loop explains
# them. Changes take effect while the loop runs.
${trackerText(choices)}
agent:
  kind: ${choices.agentKind}
${agentLine(choices)}
  # Tasks worked on at the same time.
  max_concurrent: 3
  # Turns one task may take.
  max_turns: 20

# The commands that must pass before anything is merged: list what your CI runs.
${gateText(choices)}

# What one task may cost. By default: 50 million tokens or 8 hours of work, whatever the price.
# budget:
#   usd: 5

# The critic reviews every head. "enabled: false": a person approves instead.
critic:
  enabled: true
  max_rounds: 3

# "enabled: false": a person merges.
merge:
  enabled: true
  method: squash
---
${DEFAULT_PROMPTS.task}`;
}

function trackerText({ tracker = 'local', trunk = null }: TemplateChoices): string {
  const where =
    tracker === 'github'
      ? `# Issues and pull requests live on GitHub, in the repository "origin" points at. The token is GITHUB_TOKEN or that of
# "gh auth login"; what it needs is in docs/github.md.`
      : '# Issues and pull requests are Markdown files under .forge/.';
  const trust = '# Whose "loop:ready" counts: triage, write, maintain or admin.\ntrust:\n  ready_by: write\n';
  return `
${where}
tracker:
  kind: ${tracker}
  # The branch that work starts from and lands on. After a change the loop waits for "forge-loop resume".
  ${trunk === null ? '# trunk: main' : `trunk: ${isPlain(trunk) ? trunk : JSON.stringify(trunk)}`}
${tracker === 'github' ? trust : ''}`;
}

/** A name that YAML takes for nothing else. */
const isPlain = (name: string): boolean =>
  /^[A-Za-z][A-Za-z0-9._/-]*$/.test(name) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(name);

const MODELS: Partial<Record<TemplateChoices['agentKind'], string>> = {
  claude: '# model: sonnet',
  codex: '# model: gpt-5.2-codex',
  opencode: 'model: anthropic/claude-sonnet-5',
  acp: '# A program that speaks ACP: a preset, or a command of yours.\n  preset: claude-agent-acp',
};

function agentLine({ agentKind, agentCommand, agentScript }: TemplateChoices): string {
  const model = MODELS[agentKind];
  if (model) return `  # Sign-in, models and limits: docs/agents.md.\n  ${model}`;
  if (agentKind === 'scripted') {
    return agentScript
      ? `  script: ${JSON.stringify(agentScript)}`
      : '  # The file with its answers.\n  # script: agent-script.yaml';
  }
  const comment = '  # A shell command. It gets the prompt on stdin and works in the current directory.';
  return `${comment}\n  ${agentCommand ? `command: ${JSON.stringify(agentCommand)}` : '# command: my-agent --headless'}`;
}

function gateText({ gateSetup = [], gateCommands, gateLeftOut = [] }: TemplateChoices): string {
  if (gateCommands.length === 0 && gateLeftOut.length > 0) {
    return `# No command that was found passed. Nothing starts until you write some.
gate:
  commands: []
${leftOutText(gateLeftOut)}`.trimEnd();
  }
  if (gateCommands.length === 0) {
    return `# No command was found. Nothing starts until you write some, or "gate: none" if there is nothing to run.
gate:
  # setup: ["npm ci"]
  commands: []`;
  }
  const setup = gateSetup.length === 0 ? '' : `  # Run before the commands.\n  setup:\n${list(gateSetup)}`;
  return `gate:\n${setup}  commands:\n${list(gateCommands)}${leftOutText(gateLeftOut)}`.trimEnd();
}

const leftOutText = (leftOut: NonNullable<TemplateChoices['gateLeftOut']>): string =>
  leftOut
    .flatMap(({ command, why, output }) => [
      `# Commented out after a trial on trunk: ${why.replace(/\s+/g, ' ')}`,
      `# - ${JSON.stringify(command)}`,
      ...output.map((line) => `#   | ${line}`),
    ])
    .map((line) => `    ${line}\n`)
    .join('');

const list = (commands: readonly string[]): string =>
  commands.map((command) => `    - ${JSON.stringify(command)}\n`).join('');
