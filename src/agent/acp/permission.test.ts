import { expect, test } from 'vitest';
import { answerPermission } from './permission.ts';

const OPTIONS = [
  { optionId: 'yes', kind: 'allow_once', name: 'Yes' },
  { optionId: 'ever', kind: 'allow_always', name: 'Always' },
  { optionId: 'no', kind: 'reject_once', name: 'No' },
];
const asked = (role: 'coder' | 'critic', toolCall: object, options: object[] = OPTIONS) =>
  answerPermission({ sessionId: 's', toolCall, options }, { role, cwd: '/srv/space', home: '/srv/home' });

test.each([
  ['coder', { kind: 'execute', rawInput: { command: 'npm test' } }, true],
  ['coder', { kind: 'execute', rawInput: { command: ['bash', '-lc', 'ls'] } }, true],
  ['coder', { kind: 'execute', rawInput: { command: 'git push origin main' } }, false],
  ['coder', { kind: 'execute', title: 'npm test' }, false],
  ['coder', { kind: 'edit', locations: [{ path: '/srv/space/a.ts' }] }, true],
  ['coder', { kind: 'edit', rawInput: { file_path: '/srv/space/a.ts' } }, true],
  ['coder', { kind: 'edit', content: [{ type: 'diff', path: '/etc/passwd' }] }, false],
  ['coder', { kind: 'delete', locations: [{ path: '/srv/space/a.ts' }, { path: '/srv/other' }] }, false],
  ['coder', { kind: 'edit' }, false],
  ['coder', { kind: 'fetch' }, true],
  ['coder', { kind: 'switch_mode' }, false],
  ['critic', { kind: 'read' }, true],
  ['critic', { kind: 'search' }, true],
  ['critic', { kind: 'execute', rawInput: { command: 'ls' } }, false],
  ['critic', { kind: 'edit', locations: [{ path: '/srv/space/a.ts' }] }, false],
  ['critic', {}, false],
] as const)('a %s asks for %j: %s', (role, call, allowed) => {
  const { answer, why } = asked(role, call);
  expect(answer.outcome).toEqual({ outcome: 'selected', optionId: allowed ? 'yes' : 'no' });
  expect(why === null).toBe(allowed);
});

test.each([
  ['npm test', true],
  ['git push origin main', false],
  ['', false],
])('an agent that names a command in the title alone asks for `%s`: %s', (title, allowed) => {
  const { why, detail } = answerPermission(
    { sessionId: 's', toolCall: { kind: 'execute', title }, options: OPTIONS },
    { role: 'coder', cwd: '/srv/space', home: '/srv/home' },
    true,
  );
  expect([why === null, detail]).toEqual([allowed, title]);
});

test('what offers no refusal is cancelled, and so is what can not be read', () => {
  const push = { kind: 'execute', rawInput: { command: 'git push' } };
  expect(asked('coder', push, [OPTIONS[0] as object]).answer).toEqual({ outcome: { outcome: 'cancelled' } });
  const unreadable = answerPermission({ options: 'all' }, { role: 'coder', cwd: '/srv/w', home: '/srv/h' });
  expect(unreadable).toMatchObject({
    why: 'the request could not be read',
    answer: { outcome: { outcome: 'cancelled' } },
  });
});
