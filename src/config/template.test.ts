import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';
import { loadSettings } from './load.ts';
import { type TemplateChoices, workflowTemplate } from './template.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'template-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('workflowTemplate', () => {
  function load(choices: TemplateChoices) {
    const file = join(folder, 'WORKFLOW.md');
    writeFileSync(file, workflowTemplate(choices));
    return loadSettings(file, {});
  }

  test('loads without a warning and says what was chosen', () => {
    const command = `my-agent --say "it's: #1"`;
    const settings = load({
      gateSetup: ['npm ci'],
      gateCommands: ['npm test', 'npm run lint -- "a: b"'],
      agentKind: 'command',
      agentCommand: command,
    });
    expect(settings.warnings).toEqual([]);
    expect(settings.policy.agents.coder).toMatchObject({ kind: 'command', command });
    expect(settings.policy.gate).toMatchObject({
      setup: ['npm ci'],
      commands: ['npm test', 'npm run lint -- "a: b"'],
    });
    expect(settings.prompts.task).toBe(DEFAULT_PROMPTS.task.trimEnd());
  });

  test.each([[['npm test']], [[]]])('shows what was left out as comments, beside %j', (gateCommands) => {
    const gateLeftOut = [
      { command: 'npm run "lint"', why: 'failed:\nexit 3', output: ['- x: [', '# y', '---'] },
      { command: 'dotnet test', why: 'could not run: dotnet is not installed', output: [] },
    ];
    const choices = { gateCommands, gateLeftOut, agentKind: 'claude' } as const;
    const settings = load(choices);
    expect(settings.warnings).toEqual([]);
    expect(settings.policy.gate.commands).toEqual(gateCommands);
    expect(workflowTemplate(choices)).toContain(`    # Commented out after a trial on trunk: failed: exit 3
    # - "npm run \\"lint\\""
    #   | - x: [
    #   | # y
    #   | ---
    # Commented out after a trial on trunk: could not run: dotnet is not installed
    # - "dotnet test"
`);
  });

  test('loads without a warning when nothing is known, and does not pretend to have a gate', () => {
    const settings = load({ gateCommands: [], agentKind: 'command', agentCommand: null });
    expect(settings.warnings).toEqual([]);
    expect(settings.policy.gate.commands).toEqual([]);
    expect(settings.policy.agents.coder.command).toBeNull();
  });

  test.each(['main', 'release/1.x', 'on', '#1: "x"'])('says that work lands on %s', (trunk) => {
    for (const tracker of ['local', 'github'] as const) {
      const settings = load({ gateCommands: ['true'], agentKind: 'claude', tracker, trunk });
      expect(settings.warnings).toEqual([]);
      expect(settings.tracker).toMatchObject({ kind: tracker, trunk });
    }
  });

  test('names the script of a scripted agent', () => {
    const settings = load({ gateCommands: ['true'], agentKind: 'scripted', agentScript: 'agent.yaml' });
    expect(settings.warnings).toEqual([]);
    expect(settings.policy.agents.coder).toMatchObject({
      kind: 'scripted',
      script: join(folder, 'agent.yaml'),
    });
    expect(load({ gateCommands: [], agentKind: 'scripted' }).warnings).toEqual([]);
  });
});
