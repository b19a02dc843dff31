import { expect, test } from 'vitest';
import { workflowSchema } from './schema.ts';
import { unusedKeys } from './unused.ts';

const unused = (given: object): string[] =>
  unusedKeys(workflowSchema.parse(given), given).map(({ path }) => path.join('.'));

test.each([
  [{ agent: { command: 'x' } }, []],
  [
    { agent: { kind: 'codex', command: 'x', script: 's', preset: 'codex-acp' } },
    ['agent.script', 'agent.preset'],
  ],
  [{ agent: { kind: 'opencode', command: 'x' } }, ['agent.command']],
  [{ agent: { kind: 'acp', preset: 'codex-acp', command: 'x' } }, ['agent.command']],
  [{ agent: { kind: 'acp', command: 'x' } }, []],
  [{ agent: { kind: 'codex', attach_command: 'x' } }, ['agent.attach_command']],
  [
    { agent: { kind: 'codex', attach_command: 'x' }, roles: { coder: { kind: 'command', command: 'y' } } },
    [],
  ],
  [{ agent: { kind: 'claude', command: 'x' }, roles: { critic: { kind: 'command' } } }, []],
  [
    { agent: { kind: 'claude', command: 'x' }, roles: { critic: { kind: 'command', command: 'y' } } },
    ['agent.command'],
  ],
  [{ agent: { kind: 'claude' }, roles: { critic: { script: 's' } } }, ['roles.critic.script']],
  [{ critic: { enabled: false, max_rounds: 2, block_on: ['sev1'] } }, ['critic.max_rounds']],
  [
    { critic: { enabled: false }, roles: { critic: { model: 'opus' } }, prompts: { critic: 'Judge.' } },
    ['roles.critic', 'prompts.critic'],
  ],
  [{ critic: { enabled: false, max_rounds: 3 } }, []],
  [{ critic: { max_rounds: 2, parallel: 1 } }, []],
  [
    { merge: { enabled: false, method: 'rebase', queue: { batch: true }, required_checks: ['ci'] } },
    ['merge.method', 'merge.queue.batch'],
  ],
  [{ merge: { method: 'rebase' } }, []],
  [
    { tracker: { provider: { repository: 'a/b' } }, trust: { ready_by: 'admin' } },
    ['tracker.provider', 'trust.ready_by'],
  ],
  [{ webhook: { port: 1, secret: '$S' } }, ['webhook.port', 'webhook.secret']],
  [{ tracker: { kind: 'github' }, webhook: { secret: '$S', poll_interval_ms: 1 } }, []],
  [{ tracker: { kind: 'github' }, webhook: { poll_interval_ms: 1 } }, ['webhook.poll_interval_ms']],
  [
    {
      tracker: { kind: 'github', provider: { repository: 'a/b' } },
      webhook: { bind: '0.0.0.0', secret: '$S' },
    },
    ['webhook.bind'],
  ],
  [{ tracker: { kind: 'github' }, webhook: { port: 1, secret: '$S', bind: '0.0.0.0' } }, []],
  [{ deploy: { timeout_ms: 1000, halt_on_failure: true } }, ['deploy.timeout_ms', 'deploy.halt_on_failure']],
  [{ deploy: { command: 'x', timeout_ms: 1000 } }, []],
  [{ gate: { commands: ['x'], setup_cache: false } }, ['gate.setup_cache']],
  [{ gate: { setup: ['y'], commands: ['x'], setup_cache: false } }, []],
  [{ notify: { quiet_hours: '22:00-07:00' } }, ['notify.quiet_hours']],
  [{ notify: { quiet_hours: '22:00-07:00', channels: { d: { kind: 'desktop' } } } }, []],
  [{ loop: { post_action: { prompt: 'x' } } }, ['loop.post_action.prompt']],
])('of %j nobody reads %j', (given, keys) => {
  expect(unused(given)).toEqual(keys);
});

test('says what the key is for', () => {
  const of = (given: object) => unusedKeys(workflowSchema.parse(given), given);
  expect(of({ agent: { kind: 'codex', script: 's' } })).toMatchObject([
    {
      text: '"agent.script" is not used: it is for agents of kind `scripted`, and here the kind is `codex`',
      fix: 'Remove it.',
    },
  ]);
  expect(of({ deploy: { timeout_ms: 1000 } })).toMatchObject([
    { text: '"deploy.timeout_ms" is not used: it needs `deploy.command`' },
  ]);
});
