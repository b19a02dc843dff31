/** A key in `agent.command`, one that the gate prints and one that an agent says: none of them is told to anybody. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { test } from '../support/e2e/world.ts';

const IN_COMMAND = `sk-ant-api03-${'aB3dE5gH7j'.repeat(9)}AA`;
const SHORT = 'hunter2';
const IN_GATE = `ghp_${'K9mN1pQ2rS4t'.repeat(3)}`;
const IN_ENVIRONMENT = 'correct-horse-battery-staple';
const SECRETS = [IN_COMMAND, SHORT, IN_GATE, IN_ENVIRONMENT];

const files = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

test('a secret in the gate and in agent.command reaches no log, event, comment, report or doctor line', async ({
  world,
}) => {
  world.env.REGISTRY_TOKEN = IN_ENVIRONMENT;
  const command = `PASSWORD=${SHORT} AGENT=x sh -c 'echo done > done-$FORGE_ISSUE.txt; echo $0 >&2' ${IN_COMMAND}`;
  world.settings({
    agent: { kind: 'command', command, max_turns: 2 },
    critic: { enabled: false },
    env: { pass: ['REGISTRY_TOKEN'] },
    gate: {
      commands: [
        `echo deploying with ${IN_GATE.slice(0, 4)}""${IN_GATE.slice(4)}; echo "$REGISTRY_TOKEN"; false`,
      ],
    },
  });
  const issue = await world.issue({});
  const ended = await world.run('--until-idle').ended;
  const { id } = await world.task(issue);
  const said = [
    ended.stdout,
    ended.stderr,
    world.comments(issue),
    JSON.stringify(await world.events()),
    ...(await Promise.all(
      [
        ['doctor'],
        ['doctor', '--json'],
        ['config'],
        ['status', '--json'],
        ['why', `${issue}`],
        ['task', 'show', id],
        ['task', 'show', id, '--json'],
        ['events', '--json'],
        ['cost'],
      ].map(async (args) => {
        const { stdout, stderr } = await world.cli(...args);
        return stdout + stderr;
      }),
    )),
  ].join('\n');
  expect(said).toContain('deploying with [redacted]');
  for (const secret of SECRETS) expect(said).not.toContain(secret);

  await world.lookAway();
  // The operator's own file, which they committed, is in every checkout.
  const kept = [...files(world.stateHome), ...files(join(world.root, '.forge'))].filter(
    (path) => !path.endsWith('WORKFLOW.md'),
  );
  expect(kept.some((path) => path.endsWith('.log'))).toBe(true);
  const holding = kept.filter((path) => SECRETS.some((secret) => readFileSync(path).includes(secret)));
  expect(holding).toEqual([]);
});
