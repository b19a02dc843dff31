import { describe, expect, test } from 'vitest';
import { protectedAmong, secretsOf } from './danger.ts';

describe('protected paths', () => {
  test.each([
    ['WORKFLOW.md', true],
    ['docs/WORKFLOW.md', false],
    ['.forge/issues/1.md', true],
    ['.forgery/x', false],
    ['.github/workflows/ci.yml', true],
    ['.github', true],
    ['.github/workflows', true],
    ['.github/work', false],
    ['src/a.ts', false],
  ])('%s: %s', (file, isProtected) => {
    const paths = ['WORKFLOW.md', '.forge/', '.github/workflows/'];
    expect(protectedAmong([file], paths)).toEqual(isProtected ? [file] : []);
  });
});

describe('secrets', () => {
  const patch = (...lines: string[]) =>
    ['diff --git a/k.ts b/k.ts', '--- a/k.ts', '+++ b/k.ts', '@@ -1,1 +1,9 @@', ...lines].join('\n');
  const secretsIn = (text: string) => secretsOf({ patch: text, commits: [], hidden: [] });
  // Put together here, so that no text of this shape is in the repository.
  const key = ['AKIA', 'ABCDEFGHIJKLMNOP'].join('');

  test.each([
    ['an AWS access key', key],
    ['a private key', ['-----BEGIN RSA', 'PRIVATE KEY-----'].join(' ')],
    ['a GitHub token', `ghp_${'a1'.repeat(18)}`],
    ['an Anthropic key', `sk-ant-${'a1'.repeat(12)}`],
    ['a Slack token', `xoxb-${'1'.repeat(12)}`],
    ['a Google API key', `AIza${'a'.repeat(35)}`],
  ])('%s is found where it is added, and is not repeated', (what, text) => {
    const found = secretsIn(patch(`+const k = "${text}";`));
    expect(found).toContain(`k.ts: ${what}`);
    expect(found.join()).not.toContain(text);
  });

  test('what was there before or is taken away is not the change’s', () => {
    expect(secretsIn(patch(` const k = "${key}";`, `-const k = "${key}";`))).toEqual([]);
  });

  test('an added line that looks like the name of a file is an added line', () => {
    expect(secretsIn(patch(`+++ ${key}`))).toEqual(['k.ts: an AWS access key']);
  });

  test('each is said once per file', () => {
    expect(secretsIn(patch(`+${key}`, `+${key}`))).toHaveLength(1);
  });

  test('what a later commit took away is in the history; what is still there is said once', () => {
    const commits = [
      { sha: 'c1'.repeat(20), message: 'one', patch: patch(`+${key}`) },
      { sha: 'c2'.repeat(20), message: 'two', patch: patch(`-${key}`) },
    ];
    const merge = ['diff --cc k.ts', '--- a/k.ts', '+++ b/k.ts', '@@@ -1,1 -1,1 +1,1 @@@', `++${key}`].join(
      '\n',
    );
    expect(secretsOf({ patch: '', commits, hidden: [] })).toEqual([
      'k.ts: an AWS access key, in the history at c1c1c1c1c1',
    ]);
    expect(secretsOf({ patch: patch(`+${key}`), commits, hidden: [] })).toEqual(['k.ts: an AWS access key']);
    expect(
      secretsOf({ patch: '', commits: [{ sha: 'm', message: '', patch: merge }], hidden: [] }),
    ).toHaveLength(1);
  });

  test('another one of a kind that a binary file had before is the change’s', () => {
    const hidden = [
      { path: 'a', commit: null, before: `\0${key}`, after: `\0${key} ${key.replace(/.$/, 'Z')}` },
    ];
    expect(secretsOf({ patch: '', commits: [], hidden })).toEqual(['a: an AWS access key']);
  });

  test.each([
    ['UTF-16, little end first', 'utf16le' as const],
    ['UTF-16, big end first', 'utf16be' as const],
  ])('%s hides none', (_what, how) => {
    const bytes = Buffer.from(`\uFEFFconst größe = "${key}";\n`, 'utf16le');
    const after = (how === 'utf16le' ? bytes : bytes.swap16()).toString('utf8');
    const hidden = [{ path: 'a.reg', commit: null, before: null, after }];
    expect(secretsOf({ patch: '', commits: [], hidden })).toEqual(['a.reg: an AWS access key']);
    expect(secretsOf({ patch: '', commits: [], hidden: [{ ...hidden[0]!, before: after }] })).toEqual([]);
  });

  test('a NUL byte hides none, at the head or in the history, and what was there before is not the change’s', () => {
    const commits = [{ sha: 'c1'.repeat(20), message: 'one', patch: '' }];
    const file = (path: string, commit: string | null, before: string | null) => ({
      path,
      commit,
      before,
      after: `\0${key}`,
    });
    const hidden = [file('a', null, 'text'), file('b', 'c1'.repeat(20), null), file('c', null, key)];
    expect(secretsOf({ patch: '', commits, hidden })).toEqual([
      'a: an AWS access key',
      'b: an AWS access key, in the history at c1c1c1c1c1',
    ]);
  });
});
