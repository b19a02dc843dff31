import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exampleWorkflow } from './example.ts';
import { configJsonSchema, configKeys } from './keys.ts';
import { loadSettings } from './load.ts';
import { configReference } from './reference.ts';

const PAGE = new URL('../../docs/configuration.md', import.meta.url);
const SCHEMA = new URL('../../schema/workflow.schema.json', import.meta.url);
const schemaText = (): string => `${JSON.stringify(configJsonSchema(), null, 2)}\n`;

if (process.env.UPDATE_DOCS) {
  writeFileSync(PAGE, configReference());
  writeFileSync(SCHEMA, schemaText());
}

test('docs/configuration.md is what the schema says (UPDATE_DOCS=1 rewrites it)', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(configReference());
});

test('schema/workflow.schema.json is what the schema says (UPDATE_DOCS=1 rewrites it)', () => {
  expect(readFileSync(SCHEMA, 'utf8')).toBe(schemaText());
});

test('every key has a description', () => {
  expect(configKeys().filter(({ description }) => description === '')).toEqual([]);
});

function load(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'example-'));
  const file = join(folder, 'WORKFLOW.md');
  writeFileSync(file, text);
  try {
    return loadSettings(file, {
      HOME: '/home/ada',
      TRACKER_TOKEN: 't',
      WEBHOOK_SECRET: 's',
      NTFY_URL: 'u',
      FORGE_LOOP_TOKEN: 't',
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the example names every key, and says the defaults', () => {
  const example = exampleWorkflow();
  const { policy, warnings } = load(example);
  expect(warnings).toEqual([]);
  expect(policy).toEqual(load('Hello').policy);
  for (const { key } of configKeys().filter((row) => !row.key.startsWith('roles.'))) {
    const inOneLine = /(max_concurrent_by_state|queue|mcp|post_action)\.\w+$/.exec(key)?.[1];
    const name = inOneLine ?? key.split('.').at(-1);
    expect(example).toMatch(new RegExp(`^ *(# )?${name}:`, 'm'));
  }
});

test('what the example comments out can be written as it stands', () => {
  const { warnings, policy, workflow } = load(
    exampleWorkflow().replaceAll(/^( *)# (( {2})?[a-z_]+:)( |$)/gm, '$1$2$4'),
  );
  // It shows the keys of every kind of agent and tracker, and one kind of each is chosen.
  expect(warnings.map(({ key }) => key)).toEqual([
    ...['agent.script', 'agent.preset'],
    ...['tracker.provider', 'webhook.port', 'webhook.secret'],
  ]);
  expect(policy).toMatchObject({
    perState: { running: 2 },
    budget: { usd: 5, day: { usd: 20, tokens: 100_000_000 }, loop: { usd: 500 } },
    hooks: { afterCreate: 'npm ci' },
  });
  expect(policy.agents.critic.model).toBe('opus');
  expect(Object.values(workflow.prompts)).not.toContain(null);
});
