/** What stands in examples/ loads and does what it says. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadSettings } from '../src/config/load.ts';
import { readiness } from '../src/core/issue/readiness.ts';

const examples = fileURLToPath(new URL('../examples/', import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'forge-examples-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each(readdirSync(join(examples, 'workflows')))('workflows/%s loads without a warning', (name) => {
  const { warnings, policy } = loadSettings(join(examples, 'workflows', name), {});
  expect(warnings).toEqual([]);
  expect(policy.gate.commands.length).toBeGreaterThan(0);
});

test('the issue form yields an issue that is ready', () => {
  const form = parse(readFileSync(join(examples, 'issue-form.yml'), 'utf8')) as {
    body: { attributes: { label: string; placeholder?: string } }[];
  };
  // As GitHub writes the answers of a form.
  const body = form.body
    .map(({ attributes: { label, placeholder } }) => `### ${label}\n\n${placeholder ?? '_No response_'}`)
    .join('\n\n');
  expect(readiness('Reject empty names in greet()', body)).toMatchObject({
    decision: 'ready',
    checkable: true,
  });
});

describe('the GitHub Action', () => {
  interface Step {
    uses?: string;
    run?: string;
    shell?: string;
    with?: Record<string, string>;
    env?: Record<string, string>;
  }
  interface Action {
    inputs: Record<string, { description: string; default: string }>;
    runs: { using: string; steps: Step[] };
  }
  const text = readFileSync(join(examples, 'action.yml'), 'utf8');
  const { inputs, runs } = parse(text) as Action;
  const workflow = parse(readFileSync(join(examples, 'github-actions.yml'), 'utf8')) as {
    jobs: { run: { steps: Step[] } };
  };

  /** What its scripts start, with programs that only say how they were called. */
  function started(given: Record<string, string> = {}): string[] {
    const calls = join(folder, 'calls');
    writeFileSync(calls, '');
    for (const program of ['git', 'npm', 'forge-loop']) {
      const line = `printf '%s' ${program} >> ${calls}; printf ' <%s>' "$@" >> ${calls}; echo >> ${calls}`;
      writeFileSync(join(folder, program), `#!/bin/sh\n${line}\n`);
      chmodSync(join(folder, program), 0o755);
    }
    const filled = (value: string): string =>
      value.replace(
        /\$\{\{ inputs\.([\w-]+) \}\}/g,
        (_all, name: string) => given[name] ?? inputs[name]!.default,
      );
    for (const { run, env = {} } of runs.steps) {
      if (run === undefined) continue;
      const set = Object.entries(env).map(([name, value]) => [name, filled(value)]);
      const { status } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', run], {
        env: { PATH: `${folder}:${process.env.PATH}`, ...Object.fromEntries(set) },
      });
      expect(status, run).toBe(0);
    }
    return readFileSync(calls, 'utf8').trimEnd().split('\n');
  }

  test('says what each input is, uses it, and gives none of them to a shell as text', () => {
    expect(runs.using).toBe('composite');
    for (const [name, input] of Object.entries(inputs)) {
      expect(input.description, name).toMatch(/^[A-Z].*\.$/);
      expect(input.default, name).toBeDefined();
      expect(text, name).toContain(`\${{ inputs.${name} }}`);
    }
    for (const [, name] of text.matchAll(/inputs\.([\w-]+)/g)) expect(Object.keys(inputs)).toContain(name);
    for (const { run, uses, shell } of runs.steps) {
      expect(run === undefined ? uses : shell).toMatch(/^(bash|actions\/[\w-]+@v\d+)$/);
      expect(run ?? '').not.toContain('${{');
    }
  });

  test('installs the loop and its agent, and runs until nothing is left to do', () => {
    expect(started().slice(2)).toEqual([
      'npm <install> <--global> <forge-loop@latest> <@anthropic-ai/claude-agent-sdk>',
      'forge-loop <run> <--until-idle>',
    ]);
    expect(started({ version: '1.2.3; echo', agent: '', until: 'once' }).slice(2)).toEqual([
      'npm <install> <--global> <forge-loop@1.2.3; echo>',
      'forge-loop <run> <--once>',
    ]);
  });

  test('does what the workflow does', () => {
    const uses = (steps: Step[]) => steps.flatMap(({ uses }) => uses ?? []);
    const [checkout, ...others] = uses(workflow.jobs.run.steps);
    expect(checkout).toMatch(/^actions\/checkout@/);
    expect(uses(runs.steps)).toEqual(others);
    const cache = (steps: Step[]) => steps.find(({ uses }) => uses?.startsWith('actions/cache'))?.with;
    expect(cache(runs.steps)).toEqual(cache(workflow.jobs.run.steps));
    const scripts = workflow.jobs.run.steps.map(({ run }) => run?.trim());
    expect(scripts).toContain('forge-loop run --until-idle');
    expect(scripts).toContain(runs.steps.find(({ run }) => run?.startsWith('git'))?.run?.trim());
  });
});

describe('the wrapper of an agent', () => {
  function wrapped(env: Record<string, string>, agent: string): { status: number | null; result: string } {
    writeFileSync(join(folder, 'my-agent'), `#!/bin/sh\n${agent}\n`);
    chmodSync(join(folder, 'my-agent'), 0o755);
    const result = join(folder, 'result.json');
    writeFileSync(result, '');
    const { status } = spawnSync(join(examples, 'agent-wrapper.sh'), {
      input: 'the prompt',
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        FORGE_SESSION_DIR: folder,
        FORGE_RESUME: '0',
        FORGE_RESULT: result,
        ...env,
      },
    });
    return { status, result: readFileSync(result, 'utf8') };
  }

  test('hands the prompt over, and continues a session it has', () => {
    const agent = `cat > ${folder}/prompt; echo "$@" > ${folder}/args; touch ${folder}/history.json`;
    expect(wrapped({}, agent).status).toBe(0);
    expect(readFileSync(join(folder, 'prompt'), 'utf8')).toBe('the prompt');
    expect(readFileSync(join(folder, 'args'), 'utf8')).not.toContain('--continue');
    wrapped({ FORGE_RESUME: '1' }, agent);
    expect(readFileSync(join(folder, 'args'), 'utf8')).toContain('--continue');
  });

  test('returns an answer in the schema, and fails with its agent', () => {
    const schema = { FORGE_OUTPUT_SCHEMA: join(folder, 'schema.json') };
    expect(JSON.parse(wrapped(schema, `echo '{"verdict": "APPROVE"}'`).result)).toEqual({
      structured: { verdict: 'APPROVE' },
    });
    expect(wrapped(schema, 'exit 3').status).toBe(3);
  });
});
