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
  policy: { mcp: [{ name: 'docs', command: ['docs'], env: {}, tools: null }] },
});
const asked = (role: 'coder' | 'critic', toolCall: object, options: object[] = OPTIONS) =>
  answerPermission({ sessionId: 's', toolCall, options }, turnOf(role));

test.each([
  ['coder', { kind: 'execute', rawInput: { command: 'npm test' } }, null],
  ['coder', { kind: 'execute', rawInput: { command: ['bash', '-lc', 'ls'] } }, null],
  // What must not run finds a stand-in instead, whatever its words are.
  ['coder', { kind: 'execute', rawInput: { command: 'git push origin main' } }, null],
  ['coder', { kind: 'execute', title: 'npm test' }, null],
  ['coder', { kind: 'edit', locations: [{ path: '/srv/space/a.ts' }] }, null],
  ['coder', { kind: 'edit', rawInput: { file_path: '/srv/space/a.ts' } }, null],
  ['coder', { kind: 'edit', content: [{ type: 'diff', path: '/etc/passwd' }] }, 'path'],
  ['coder', { kind: 'delete', locations: [{ path: '/srv/space/a.ts' }, { path: '/srv/other' }] }, 'path'],
  ['coder', { kind: 'edit' }, 'permission'],
  ['coder', { kind: 'fetch' }, null],
  ['coder', { kind: 'switch_mode' }, 'input_requested'],
  ['critic', { kind: 'read' }, null],
  ['critic', { kind: 'search' }, null],
  ['critic', { kind: 'execute', rawInput: { command: 'ls' } }, 'permission'],
  ['critic', { kind: 'edit', locations: [{ path: '/srv/space/a.ts' }] }, 'permission'],
  ['critic', {}, 'permission'],
  ['critic', { kind: 'other', title: 'mcp__forge__findings_read' }, null],
  ['critic', { kind: 'other', title: 'mcp__docs__search' }, null],
  ['critic', { kind: 'other', title: 'mcp__other__write' }, 'permission'],
  ['critic', { kind: 'execute', title: 'mcp__forge__findings_read' }, 'permission'],
] as const)('a %s asks for %j: %s', (role, call, code) => {
  const { answer, refusal } = asked(role, call);
  expect(answer.outcome).toEqual({ outcome: 'selected', optionId: code === null ? 'yes' : 'no' });
  expect(refusal?.code ?? null).toBe(code);
});

test('who only reads may call a server where the agent has no other than ours', () => {
  const given = { sessionId: 's', toolCall: { kind: 'execute' }, options: OPTIONS };
  const { refusal } = answerPermission({ ...given, _meta: { is_mcp_tool_approval: true } }, turnOf('critic'));
  expect(refusal).toBe(null);
});

test('what a turn may change is below its write roots, wherever it works', () => {
  const { access, policy } = turnOf('coder');
  const edit = { kind: 'edit', locations: [{ path: '/srv/space/a.ts' }] };
  const given = { sessionId: 's', toolCall: edit, options: OPTIONS };
  const { refusal } = answerPermission(given, {
    cwd,
    access: { ...access, writeRoots: ['/srv/space/docs'] },
    policy,
  });
  expect(refusal?.why).toContain('outside your workspace');
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
    refusal: { code: 'permission', why: 'the request could not be read' },
    answer: { outcome: { outcome: 'cancelled' } },
  });
});
