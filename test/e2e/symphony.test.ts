/** A WORKFLOW.md written for Symphony, with its one edit, and programs of the same names as those it starts. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makeWorld, test } from '../support/e2e/world.ts';

const SYMPHONYS = readFileSync(new URL('../fixtures/symphony-workflow.md', import.meta.url), 'utf8');

/** The app-server of Codex, which does as it is asked in one turn. */
const CODEX = `#!${process.execPath}
const { appendFileSync, writeFileSync } = require('node:fs');
const { createInterface } = require('node:readline');
const send = (line) => process.stdout.write(JSON.stringify(line) + '\\n');
const total = { totalTokens: 15, inputTokens: 10, cachedInputTokens: 0, outputTokens: 5, reasoningOutputTokens: 0 };
const ANSWERS = {
  'thread/start': { thread: { id: 'th1' }, model: 'gpt-x' },
  'turn/start': { turn: { id: 'tu1' } },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  send({ id, result: ANSWERS[method] ?? {} });
  if (method !== 'turn/start') return;
  writeFileSync('prompt.txt', params.input[0].text);
  send({ method: 'thread/tokenUsage/updated', params: { threadId: 'th1', tokenUsage: { total } } });
  send({ method: 'turn/completed', params: { threadId: 'th1', turn: { status: 'completed', error: null } } });
});
`;

test('symphony 16: its file starts with one edit; finished work then waits for a gate', async () => {
  const world = makeWorld({ env: { OPENAI_API_KEY: 'sk-test' } });
  try {
    const bin = join(world.folder, 'bin');
    mkdirSync(bin);
    for (const [name, text] of Object.entries({ codex: CODEX, npm: '#!/bin/sh\n', docker: '#!/bin/sh\n' })) {
      writeFileSync(join(bin, name), text);
      chmodSync(join(bin, name), 0o755);
    }
    world.env.PATH = `${bin}:${world.env.PATH}`;
    world.write('WORKFLOW.md', SYMPHONYS.replace('kind: linear', 'kind: local'));
    world.commit('Take over from Symphony');
    const body = 'Write a file.\n\n## Acceptance criteria\n\n- [ ] `prompt.txt` exists and is not empty';
    const issue = await world.issue({ title: 'Add the file', body });
    const { stderr } = await world.settle(3);
    expect(stderr).toContain('"gate" is not set: finished work waits until gate.commands says');
    const task = await world.task(issue);
    expect(task).toMatchObject({ state: 'running', turns: 1, hold: { reason: 'gate_empty' } });
    const prompt = world.git('show', `${task.branch}:prompt.txt`);
    expect(prompt).toContain(`You are working on ticket \`#${issue}\` of the billing service.`);
    expect(prompt).toContain('State: open\nLabels: loop:running');
    const { loop, issues } = await world.json<{ loop: string[]; issues: { why: string }[] }>('why');
    expect(loop).toEqual([expect.stringContaining('no runner is running')]);
    expect(issues[0]?.why).toContain('set gate.commands in WORKFLOW.md');
  } finally {
    await world.dispose();
  }
});
