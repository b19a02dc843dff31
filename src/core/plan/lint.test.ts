import { describe, expect, test } from 'vitest';
import { filledPlan } from '../../../test/support/plan-play.ts';
import { lintPlan } from './lint.ts';
import { planSkeleton } from './skeleton.ts';

const GOOD = `Some words.
<!-- forge-plan:start -->
# Tokens
Loop Name: tokens
## Objective
Tokens expire.

<!-- forge-section -->
## Store
### Files
- \`src/store.ts\`
### Edits
- add \`expiresAt\`
### Acceptance Criteria
- [ ] a token has an end
### Verification
\`\`\`sh
npm test
\`\`\`

## Verification
\`npm run check\` is green.
<!-- forge-plan:end -->
`;

/** `line severity: problem`, one a line, of the good plan after some words of it were replaced. */
function lint(...replaced: [string, string][]): string[] {
  const text = replaced.reduce((before, [from, to]) => {
    expect(before).toContain(from);
    return before.replace(from, to);
  }, GOOD);
  return lintPlan(text).map(({ line, severity, problem }) => `${line} ${severity}: ${problem}`);
}

describe('plan lint (loops 27)', () => {
  test.each<[string, [string, string][], string[]]>([
    ['nothing', [], []],
    [
      'no markers',
      [['<!-- forge-plan:start -->', '']],
      ['23 error: there is no plan: the start marker is missing'],
    ],
    ['no end', [['<!-- forge-plan:end -->', '']], ['2 error: the plan has no end']],
    ['no objective', [['Tokens expire.', '']], ['2 error: the plan has no objective']],
    [
      'an objective that is only a comment',
      [['Tokens expire.', '<!-- why -->']],
      ['2 error: the plan has no objective'],
    ],
    ['an objective without a heading', [['## Objective\n', '']], []],
    ['no Loop Name', [['Loop Name: tokens', '']], ['2 warning: the plan has no Loop Name']],
    [
      'no plan-level Verification',
      [['\n## Verification\n', '\n']],
      ['22 error: the plan has no `## Verification`, or nothing below it'],
    ],
    [
      'one with nothing below it',
      [['`npm run check` is green.', '## Decisions\nNone.']],
      ['24 error: the plan has no `## Verification`, or nothing below it'],
    ],
    [
      'one of another level',
      [
        ['\n## Verification\n', '\n'],
        ['Tokens expire.', 'Why.\n# Verification\nrun'],
      ],
      ['24 error: the plan has no `## Verification`, or nothing below it'],
    ],
    [
      'one before the milestones',
      [
        ['\n## Verification\n', '\n'],
        ['Tokens expire.', 'Why.\n## verification\nrun'],
      ],
      [],
    ],
    [
      'no Files',
      [['### Files', 'Files:']],
      ['8 warning: milestone 1 has no `### Files`, or nothing below it'],
    ],
    [
      'Edits with nothing below them',
      [['- add `expiresAt`', '']],
      ['8 warning: milestone 1 has no `### Edits`, or nothing below it'],
    ],
    [
      'no Acceptance Criteria',
      [['### Acceptance Criteria', '#### Acceptance Criteria']],
      ['8 error: milestone 1 has no `### Acceptance Criteria`, or nothing below it'],
    ],
    [
      'no Verification of a milestone',
      [['### Verification', '```\n### Verification\nx\n```']],
      ['8 error: milestone 1 has no `### Verification`, or nothing below it'],
    ],
    [
      'a milestone that has none of them',
      [['\n## Verification\n', '\n<!-- forge-section -->\n## Clock\ntext\n\n## Verification\n']],
      [
        '21 error: milestone 2 has no `### Acceptance Criteria`, no `### Verification`, or nothing below it',
        '21 warning: milestone 2 has no `### Files`, no `### Edits`, or nothing below it',
      ],
    ],
    [
      'a marker before a subsection',
      [['### Verification\n', '<!-- forge-section -->\n\n### Verification\n']],
      [
        '8 error: milestone 1 has no `### Verification`, or nothing below it',
        '16 error: this marker stands before a subsection (`### Verification`) and cuts its milestone in two',
      ],
    ],
    [
      'an empty milestone',
      [['<!-- forge-section -->', '<!-- forge-section -->\n\n<!-- forge-section -->']],
      ['8 warning: this milestone is empty, and is skipped'],
    ],
    [
      'several, by line',
      [
        ['### Files', ''],
        ['\n## Verification\n', '\n'],
      ],
      [
        '8 warning: milestone 1 has no `### Files`, or nothing below it',
        '22 error: the plan has no `## Verification`, or nothing below it',
      ],
    ],
    [
      'no milestones at all',
      [[GOOD.slice(GOOD.indexOf('<!-- forge-section'), GOOD.indexOf('\n## Verification')), '']],
      [],
    ],
  ])('%s', (_what, replaced, expected) => {
    expect(lint(...replaced)).toEqual(expected);
  });

  test.each<[string, string | null]>([
    ['- `/home/ann/code/src/a.ts`', '/home/ann/code/src/a.ts'],
    ['- /Users/ann/a.ts, and more', '/Users/ann/a.ts'],
    [`cd /${'ro'}ot/app`, `/${'ro'}ot/app`],
    ['(/mnt/c/code/a.ts)', '/mnt/c/code/a.ts'],
    ['/Volumes/Work/a.ts', '/Volumes/Work/a.ts'],
    ['file:///home/ann/a.ts', '/home/ann/a.ts'],
    ['[a](/home/ann/a.ts)', '/home/ann/a.ts'],
    ['`C:\\code\\a.ts`', 'C:\\code\\a.ts'],
    ['c:\\My Code\\a.ts', 'c:\\My Code\\a.ts'],
    ['D:/code/a.ts', 'D:/code/a.ts'],
    ['```sh\ncd /home/ann/x\n```', '/home/ann/x'],
    ['src/home/ann/a.ts and ./home/ann/a.ts', null],
    ['https://example.com/home/ann/a.ts', null],
    ['https://home/ann/a.ts', null],
    ['GET /api/users/7, /home, /home/settings, /users/7/edit', null],
    ['/media/uploads/logo.png', null],
    ['#!/usr/bin/env node > /tmp/out; cat /etc/hosts', null],
    ['"a:\\nb" and http://x', null],
    ['std::C://x', null],
  ])('absolute paths: %s', (line, path) => {
    const text = GOOD.replace('- add `expiresAt`', line);
    const found = lintPlan(text).filter(({ problem }) => problem.endsWith('is a path of one machine'));
    const at = line.startsWith('```') ? 14 : 13;
    expect(found.map(({ line, severity, problem }) => ({ line, severity, problem }))).toEqual(
      path === null
        ? []
        : [{ line: at, severity: 'warning', problem: `\`${path}\` is a path of one machine` }],
    );
  });

  test('paths outside the plan are nobody’s business', () => {
    expect(lint(['Some words.', 'Written in /home/ann/code.'])).toEqual([]);
  });
});

describe('the skeleton of a plan (loops 27)', () => {
  const skeleton = planSkeleton('auth-refactor');

  test('has everything but the words, and each line that is still to be filled in is named', () => {
    const problems = lintPlan(skeleton);
    expect([...new Set(problems.map(({ problem }) => problem))]).toEqual([
      'this line is unchanged from `plan new`',
    ]);
    const lines = skeleton.split('\n');
    expect(problems.map(({ line }) => lines[line! - 1])).toEqual(
      lines.filter((line) => /\w/.test(line) && !/^(<!--|# |Loop Name|###|## (?!Milestone))/.test(line)),
    );
    expect(
      problems.filter(({ severity }) => severity === 'warning').map(({ line }) => lines[line! - 1]),
    ).toEqual([
      '- What was decided, and why.',
      '- What the code here keeps to.',
      '- What a newcomer must know: files, functions, constraints.',
    ]);
  });

  test('filled in, nothing is missing', () => {
    expect(lintPlan(filledPlan('auth-refactor'))).toEqual([]);
  });
});

test.each([
  ['paths', ' /home/a/b'.repeat(50_000)],
  ['a path that never ends', `/home/${'a'.repeat(200_000)}`],
  ['drives', 'C:\\a b '.repeat(50_000)],
  ['headings', '### Files\n'.repeat(100_000)],
])('a hostile text is read in one pass: %s', (_what, text) => {
  expect(() => lintPlan(GOOD.replace('- add `expiresAt`', text))).not.toThrow();
});
