import { expect, test } from 'vitest';
import { workflowSchema } from './schema.ts';
import { unusedKeys } from './unused.ts';

const unused = (given: object): string[] =>
  unusedKeys(workflowSchema.parse(given)).map(({ path }) => path.join('.'));

test.each([
  [{ agent: { command: 'x' } }, []],
  [
    { agent: { kind: 'codex', command: 'x', script: 's', preset: 'codex-acp' } },
    ['agent.command', 'agent.script', 'agent.preset'],
  ],
  [{ agent: { kind: 'acp', preset: 'codex-acp', command: 'x' } }, ['agent.command']],
  [{ agent: { kind: 'acp', command: 'x' } }, []],
  [{ agent: { kind: 'claude', command: 'x' }, roles: { critic: { kind: 'command' } } }, []],
  [
    { agent: { kind: 'claude', command: 'x' }, roles: { critic: { kind: 'command', command: 'y' } } },
    ['agent.command'],
  ],
  [{ agent: { kind: 'claude' }, roles: { critic: { script: 's' } } }, ['roles.critic.script']],
])('of %j nobody reads %j', (given, keys) => {
  expect(unused(given)).toEqual(keys);
});

test('says what the key is for', () => {
  const [one] = unusedKeys(workflowSchema.parse({ agent: { kind: 'codex', script: 's' } }));
  expect(one?.text).toBe(
    '"agent.script" is not used: it is for agents of kind `scripted`, and here the kind is `codex`',
  );
});
