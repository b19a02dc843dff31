import { expect, test } from 'vitest';
import { accessOf } from '../../core/role.ts';
import { answerPermission } from './permission.ts';

const OPTIONS = [
  { optionId: 'yes', kind: 'allow_once', name: 'Yes' },
  { optionId: 'ever', kind: 'allow_always', name: 'Always' },
  { optionId: 'no', kind: 'reject_once', name: 'No' },
];
const cwd = '/srv/space';
const turnOf = (role: 'coder' | 'critic') => ({
  cwd,
  access: accessOf(role, { cwd, home: '/srv/home', session: '/srv/session' }),
});
const asked = (role: 'coder' | 'critic', toolCall: object, options: object[] = OPTIONS) =>
  answerPermission({ sessionId: 's', toolCall, options }, turnOf(role));

test.each([
  ['coder', { kind: 'execute', rawInput: { command: 'npm test' } }, true],
  ['coder', { kind: 'execute', rawInput: { command: ['bash', '-lc', 'ls'] } }, true],
  // What must not run finds a stand-in instead, whatever its words are.
  ['coder', { kind: 'execute', rawInput: { command: 'git push origin main' } }, true],
  ['coder', { kind: 'execute', title: 'npm test' }, true],
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

test('what a turn may change is below its write roots, wherever it works', () => {
  const { access } = turnOf('coder');
  const edit = { kind: 'edit', locations: [{ path: '/srv/space/a.ts' }] };
  const given = { sessionId: 's', toolCall: edit, options: OPTIONS };
  const { why } = answerPermission(given, { cwd, access: { ...access, writeRoots: ['/srv/space/docs'] } });
  expect(why).toContain('outside your workspace');
});

test.each([
  [{ title: 'npm test' }, 'npm test'],
  [{ title: 'Run the tests', rawInput: { command: 'npm test' } }, 'npm test'],
  [{ title: 'Run the tests', rawInput: { command: ['npm', 'test'] } }, 'npm test'],
])('of a command is shown what runs, or its title: %j', (call, shown) => {
  expect(asked('coder', { kind: 'execute', ...call }).detail).toBe(shown);
});

test('what offers no refusal is cancelled, and so is what can not be read', () => {
  const outside = { kind: 'edit', locations: [{ path: '/etc/passwd' }] };
  expect(asked('coder', outside, [OPTIONS[0] as object]).answer).toEqual({
    outcome: { outcome: 'cancelled' },
  });
  const unreadable = answerPermission({ options: 'all' }, turnOf('coder'));
  expect(unreadable).toMatchObject({
    why: 'the request could not be read',
    answer: { outcome: { outcome: 'cancelled' } },
  });
});
