import { describe, expect, test } from 'vitest';
import {
  holdsPlan,
  MOST_MILESTONES,
  type ParsedPlan,
  type Plan,
  type PlanProblem,
  parsePlan,
} from './plan.ts';

const START = '<!-- forge-plan:start -->';
const END = '<!-- forge-plan:end -->';
const SECTION = '<!-- forge-section -->';

const plan = (...lines: string[]): string => [START, ...lines, END].join('\n');

function parsed(
  text: string,
  markers: 'required' | 'optional' = 'required',
): Plan & { warnings: PlanProblem[] } {
  const answer: ParsedPlan = parsePlan(text, { markers });
  if (!answer.ok) throw new Error(answer.problem.problem);
  return { ...answer.plan, warnings: answer.warnings };
}

function refused(text: string, markers: 'required' | 'optional' = 'required'): PlanProblem {
  const answer = parsePlan(text, { markers });
  if (answer.ok) throw new Error(`taken as ${answer.plan.title}`);
  return answer.problem;
}

const titles = (text: string): string[] => parsed(text).milestones.map(({ title }) => title);

test('a plan, all of it', () => {
  const text = [
    'Here is the plan.',
    START,
    '# Refactor auth',
    '',
    'Loop Name: auth-refactor',
    '',
    '## Objective',
    'Tokens expire.',
    '',
    SECTION,
    '## Phase 1: store',
    '### Files',
    '- `src/store.ts`',
    '',
    SECTION,
    '## Phase 2: clock',
    '### Verification',
    '```',
    'npm test',
    '```',
    '',
    '## Verification',
    'All is green.',
    '## Decisions',
    'None.',
    END,
    'Shall I begin?',
  ];
  expect(parsePlan(text.join('\n'))).toEqual({
    ok: true,
    plan: {
      name: 'auth-refactor',
      title: 'Refactor auth',
      objective: '# Refactor auth\n\n\n## Objective\nTokens expire.',
      milestones: [
        { title: 'Phase 1: store', text: '## Phase 1: store\n### Files\n- `src/store.ts`', line: 10 },
        {
          title: 'Phase 2: clock',
          text: '## Phase 2: clock\n### Verification\n```\nnpm test\n```',
          line: 15,
        },
      ],
      shared: '## Verification\nAll is green.\n## Decisions\nNone.',
      text: text.slice(2, -2).join('\n'),
    },
    warnings: [],
  });
  expect(parsePlan(text.join('\r\n')), 'with line ends as on Windows').toEqual(parsePlan(text.join('\n')));
});

describe('markers count only on a line of their own and outside code (loops 21)', () => {
  test.each<[string, string[], string[]]>([
    ['on a line of their own', [SECTION, '## a', SECTION, '## b'], ['a', 'b']],
    ['with other blanks', [`  ${SECTION}  `, '## a', '<!--forge-section-->', '## b'], ['a', 'b']],
    [
      'not beside other text',
      [SECTION, '## a', `see ${SECTION}`, `${SECTION} here`, `\`${SECTION}\``],
      ['a'],
    ],
    ['not quoted', [SECTION, '## a', `> ${SECTION}`], ['a']],
    ['not between backticks', [SECTION, '## a', '```', SECTION, '```', SECTION, '## b'], ['a', 'b']],
    ['not between tildes', [SECTION, '## a', '~~~md', SECTION, '```', '~~~', SECTION, '## b'], ['a', 'b']],
    ['not in a longer fence', [SECTION, '## a', '````', '```', SECTION, '```', SECTION, '````'], ['a']],
    [
      'not the bounds of a plan in code',
      [SECTION, '## a', '```', END, START, '```', SECTION, '## b'],
      ['a', 'b'],
    ],
  ])('%s', (_what, lines, expected) => {
    expect(titles(plan(...lines))).toEqual(expected);
  });

  test.each<[string, string, boolean]>([
    ['a plan', plan('text'), true],
    ['a plan without an end', START, true],
    ['milestones alone', `text\n${SECTION}\n`, true],
    ['markers in code', `~~~\n${plan(SECTION)}\n~~~`, false],
    ['a marker that is spoken of', `put ${SECTION} above it`, false],
    ['another comment', '<!-- forge-plans -->', false],
    ['nothing', '', false],
  ])('holdsPlan: %s', (_what, text, expected) => {
    expect(holdsPlan(text)).toBe(expected);
  });
});

describe('exactly one plan: missing, several, unterminated and empty are different errors (loops 22)', () => {
  test.each<[string, string, number | null, string]>([
    ['missing', '# A\ntext', null, 'there is no plan: the start marker is missing'],
    ['nothing at all', '', null, 'there is no plan: the start marker is missing'],
    ['missing but for its end', `text\n${END}`, 2, 'there is no plan: the start marker is missing'],
    ['milestones alone', `${SECTION}\n## a`, null, 'there is no plan: the start marker is missing'],
    [
      'all in a fence',
      `\`\`\`\n${plan('x')}\n\`\`\``,
      2,
      'there is no plan: the start marker is inside a code fence',
    ],
    ['several', `${plan('a')}\n${plan('b')}`, 4, 'there are several plans: the first one starts at line 1'],
    [
      'one within another',
      plan('a', START, 'b', END),
      3,
      'there are several plans: the first one starts at line 1',
    ],
    ['unterminated', `a\n${START}\ntext`, 2, 'the plan has no end'],
    ['the end first', `${END}\n${START}\ntext`, 2, 'the plan has no end'],
    ['two ends', `${plan('a')}\nb\n${END}`, 5, 'this end marker belongs to no plan'],
    ['empty', `\n${plan('', '  ')}`, 2, 'the plan is empty'],
    ['empty but for comments', plan('<!-- later -->', SECTION, '<!--', 'x', '-->'), 1, 'the plan is empty'],
    ['empty but for its name', plan('Loop Name: x'), 1, 'the plan is empty'],
  ])('%s', (_what, text, line, problem) => {
    expect(refused(text)).toMatchObject({ line, problem });
  });

  test('a fence that is never closed is named where it hides the end', () => {
    const problem = refused(plan('a', '```', 'b', '```', '~~~', 'c'));
    expect(problem).toMatchObject({ line: 1, problem: 'the plan has no end' });
    expect(problem.advice).toContain('Close the code fence of line 6');
  });

  test('in an issue, milestones alone make a plan of all its text', () => {
    const text = `Why.\n${SECTION}\n## a\n${SECTION}\n## b\n## Verification\nrun it`;
    expect(parsed(text, 'optional')).toMatchObject({
      title: 'Why.',
      objective: 'Why.',
      milestones: [
        { title: 'a', line: 2 },
        { title: 'b', line: 4 },
      ],
      shared: '## Verification\nrun it',
      text,
      warnings: [],
    });
    expect(parsed(`a\n${plan('b')}\nc`, 'optional').text, 'a plan with markers').toBe('b');
    expect(refused('text', 'optional').problem).toContain('missing');
    expect(refused(`${SECTION}\n## a\n${END}`, 'optional')).toMatchObject({ line: 3 });
    expect(refused(`${SECTION}\n`, 'optional')).toMatchObject({ line: null, problem: 'the plan is empty' });
    expect(parsed(`${SECTION}\n## a\n~~~\n${SECTION}\n## b`, 'optional').warnings).toMatchObject([
      { line: 3 },
    ]);
  });

  test('a milestone outside the plan is told of', () => {
    const { milestones, warnings } = parsed(`${SECTION}\n${plan(SECTION, '## a')}\n${SECTION}\n## b`);
    expect(milestones).toMatchObject([{ title: 'a' }]);
    expect(warnings.map(({ line }) => line)).toEqual([1, 6]);
    expect(warnings[0]!.problem).toContain('outside the plan');
  });
});

describe('a milestone ends at the next marker or at a shared heading (loops 23)', () => {
  test.each<[string, string[], string[], string]>([
    ['Verification', ['## a', '## Verification', 'v'], ['## a'], '## Verification\nv'],
    ['Decisions', ['## a', '## Decisions', 'v'], ['## a'], '## Decisions\nv'],
    ['Conventions', ['## a', '## Conventions', 'v'], ['## a'], '## Conventions\nv'],
    ['Key Context', ['## a', '## Key Context', 'v'], ['## a'], '## Key Context\nv'],
    ['in any case', ['## a', '## KEY context', 'v'], ['## a'], '## KEY context\nv'],
    [
      'what follows it',
      ['## a', '## Decisions', 'v', '## Risks', 'w'],
      ['## a'],
      '## Decisions\nv\n## Risks\nw',
    ],
    ['not a subsection', ['## a', '### Verification', 'v'], ['## a\n### Verification\nv'], ''],
    ['not in code', ['## a', '```', '## Verification', '```'], ['## a\n```\n## Verification\n```'], ''],
    ['not a longer title', ['## a', '## Verification of x', 'v'], ['## a\n## Verification of x\nv'], ''],
    [
      'in the middle',
      ['## a', '## Verification', 'v', SECTION, '## b', '## Decisions', 'd'],
      ['## a', '## b'],
      '## Verification\nv\n## Decisions\nd',
    ],
  ])('%s', (_what, lines, texts, shared) => {
    const found = parsed(plan(SECTION, ...lines));
    expect(found.milestones.map(({ text }) => text)).toEqual(texts);
    expect(found.shared).toBe(shared);
  });

  test('before the first milestone it belongs to the objective', () => {
    expect(parsed(plan('Why.', '## Decisions', 'd', SECTION, '## a'))).toMatchObject({
      objective: 'Why.\n## Decisions\nd',
      shared: '',
    });
  });

  test('without milestones all of it is the objective', () => {
    expect(parsed(plan('Why.', '## Verification', 'v'))).toMatchObject({
      objective: 'Why.\n## Verification\nv',
      milestones: [],
    });
  });
});

test('empty milestones are skipped with a warning (loops 24)', () => {
  const text = plan(
    SECTION,
    '',
    SECTION,
    '## a',
    SECTION,
    '<!-- later -->',
    SECTION,
    'b',
    SECTION,
    '## Decisions',
    'd',
  );
  const { milestones, shared, warnings } = parsed(text);
  expect(milestones).toEqual([
    { title: 'a', text: '## a', line: 4 },
    { title: 'Milestone 2', text: 'b', line: 8 },
  ]);
  expect(shared).toBe('## Decisions\nd');
  expect(warnings.map(({ line }) => line)).toEqual([2, 6, 10]);
  expect(warnings[0]!.problem).toBe('this milestone is empty, and is skipped');
});

test('more milestones than the cap is an error, never a cut (loops 25)', () => {
  const some = (count: number) => Array.from({ length: count }, (_, n) => [SECTION, `## ${n}`]).flat();
  expect(parsed(plan(SECTION, ...some(MOST_MILESTONES))).milestones).toHaveLength(24);
  expect(refused(plan(...some(MOST_MILESTONES + 2)))).toMatchObject({
    line: 50,
    problem: 'the plan has 26 milestones, and this is the first above the limit of 24',
  });
});

describe('titles and the Loop Name (loops 26)', () => {
  test.each<[string, string[], string]>([
    ['the first ## heading', ['text', '### no', '## yes', '## later'], 'yes'],
    ['no heading', ['text', '### no', '# no'], 'Milestone 1'],
    ['60 characters', [`## ${'a'.repeat(60)}`], 'a'.repeat(60)],
    ['61 characters', [`## ${'a'.repeat(61)}`], `${'a'.repeat(59)}…`],
    ['61 characters beyond the basic plane', [`## ${'😀'.repeat(61)}`], `${'😀'.repeat(59)}…`],
    ['a blank before the cut', [`## ${'a'.repeat(58)} ${'b'.repeat(9)}`], `${'a'.repeat(58)}…`],
    ['its number, which its place tells', ['## Milestone 12: a'], 'a'],
    ['a number that is all there is', ['## Milestone 1:'], 'Milestone 1:'],
    ['odd blanks', ['## a \r \u2028  b'], 'a b'],
  ])('of a milestone: %s', (_what, lines, title) => {
    expect(titles(plan(SECTION, ...lines))).toEqual([title]);
  });

  test.each<[string, string[], string]>([
    ['its # heading', ['Loop Name: x', '# A plan', '# b'], 'A plan'],
    ['its name', ['Loop Name: Some Thing', '## Objective', 'Do it.'], 'some-thing'],
    ['the first words', ['## Objective', '', '- **Objective**: make `x` fast', 'and'], 'make x fast'],
    ['its first milestone', ['```', '# code', '```', SECTION, '# no', '## a'], 'a'],
    ['nothing to name it by', ['```', 'code', '```'], 'Plan'],
    ['too long', [`# ${'a'.repeat(70)}`], `${'a'.repeat(59)}…`],
  ])('of the plan: %s', (_what, lines, title) => {
    expect(parsed(plan(...lines)).title).toBe(title);
  });

  test.each<[string, string | null]>([
    ['Loop Name: auth-refactor', 'auth-refactor'],
    ['**Loop Name**: auth-refactor', 'auth-refactor'],
    ['**Loop Name:** auth-refactor', 'auth-refactor'],
    ['- **Loop Name**: auth-refactor', 'auth-refactor'],
    ['## Loop Name: auth-refactor', 'auth-refactor'],
    ['loop name: `auth-refactor`', 'auth-refactor'],
    ['Loop Name: Auth Refactor!', 'auth-refactor'],
    ['Loop Name: ../../etc', 'etc'],
    ['Loop Name:', null],
    ['The Loop Name: x', null],
    ['<!-- Loop Name: x -->', null],
    ['    ```\nLoop Name: x', 'x'],
    ['```\nLoop Name: x\n```', null],
  ])('%j → %j', (line, name) => {
    const found = parsed(plan('Why.', line));
    expect(found.name).toBe(name);
    expect(found.objective.includes(': x') || found.objective.includes('auth')).toBe(
      name === null && line !== 'Loop Name:',
    );
  });

  test('the first name counts, and only before the milestones', () => {
    expect(parsed(plan('Loop Name: a', 'Loop Name: b', SECTION, 'c'))).toMatchObject({
      name: 'a',
      objective: 'Loop Name: b',
    });
    expect(parsed(plan('Why.', SECTION, 'Loop Name: a')).name).toBe(null);
  });
});

test.each<[string, string]>([
  ['milestones', `${SECTION}\n`.repeat(100_000)],
  ['starts', `${START}\n`.repeat(100_000)],
  ['fences', '```\n~~~~\n'.repeat(50_000)],
  ['a fence that is never closed', `\`\`\`\n${`${SECTION}\n`.repeat(100_000)}`],
  ['comments that are never closed', '<!-- \n'.repeat(100_000)],
  ['shared headings', `${SECTION}\n## a\n${'## Verification\n'.repeat(100_000)}`],
  ['names', '**Loop Name** : \n'.repeat(100_000)],
  ['blanks in a marker', `<!-- ${' '.repeat(200_000)}x -->`],
])('a hostile text is read in one pass: %s', (_what, text) => {
  expect(() => parsePlan(plan(text))).not.toThrow();
});
