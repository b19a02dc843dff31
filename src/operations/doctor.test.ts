import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';
import { notReady } from './doctor.ts';

test('what several roles lack alike is said once, with its advice', () => {
  const lacks = { what: 'agent.command is not set', fix: 'Edit WORKFLOW.md.' };
  const { message, hint } = notReady([lacks, { what: 'git is missing.', fix: null }, lacks]);
  expect(message).toBe('Not ready to run: agent.command is not set; git is missing.');
  expect(hint).toBe('Edit WORKFLOW.md.');
});

const here = openedRepository();

test('each warning about the settings has a fix of its own', async () => {
  here.configure(
    'agent: { kind: opencode, model: a/b, max_turn: 3 }\ngate: none\ndeploy: { timeout_ms: 1000 }\nserver: { host: 127.0.0.1 }',
  );
  const { checks } = await perform(here.context, 'doctor', {});
  const said = checks.filter(({ name, level }) => name === 'config' && level === 'warn');
  expect(said.map(({ what, fix }) => [what.replace(/^.*?WORKFLOW\.md:\d+: /, ''), fix])).toEqual([
    ['"server.host" is read as "server.bind"', 'Rename it to server.bind.'],
    [
      'unknown key "agent.max_turn" is ignored; did you mean "agent.max_turns"?',
      'Rename it to agent.max_turns, or remove it.',
    ],
    ['"deploy.timeout_ms" is not used: it needs `deploy.command`', 'Remove it.'],
  ]);
});

test('what to do about an agent that is not there stands by itself', async () => {
  here.configure('agent: { kind: acp, command: "no-such-program --acp" }\ngate: none');
  const { checks } = await perform(here.context, 'doctor', {});
  const coder = checks.find(({ name }) => name === 'coder');
  expect(coder).toMatchObject({
    level: 'fail',
    fix: `Install or fix it, or set another agent.kind in ${here.context.configPath}.`,
  });
});
