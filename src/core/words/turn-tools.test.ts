/** What an agent is answered when it talks to the loop, and what is noted of it. */
import { describe, expect, test } from 'vitest';
import { awaiting, changes, judgedBy } from '../../../test/support/play.ts';
import type { ForgeAllowance } from '../access/forge-reading.ts';
import type { Finding } from '../change/findings.ts';
import { type AuditNotes, NO_NOTES } from '../plan/audit.ts';
import { bornPlan } from '../plan/progress.ts';
import { ROLES, type Role } from '../role.ts';
import { answerCall, inputSchemaOf, NOBODY, toolsOf } from './turn-tools.ts';

const play = awaiting().critic(changes('the dialog has no role'));
const ENOUGH: ForgeAllowance = { asked: 0, most: 20, left: null };
const call = (name: string, input: unknown, calls = 0, forge = ENOUGH) => ({
  name,
  input,
  calls,
  most: 20,
  forge,
});
/** Of tools that need nobody else. */
const answered = (...parts: Parameters<typeof answerCall>) => {
  const said = answerCall(...parts);
  if ('asks' in said) throw new Error('it asks the forge');
  return said;
};
const asking = { task: play.task, role: 'coder', turn: 3, sessionId: 's', findings: play.findings } as const;
const ask = (name: string, input: unknown, calls = 0) =>
  answered({ ...asking, notes: NO_NOTES, told: [] }, call(name, input, calls));

describe('a call', () => {
  test.each([
    ['report_progress', { message: 'half way' }, 'coder_reported', { turn: 3, message: 'half way' }],
    [
      'ask_operator',
      { question: 'Red or blue?' },
      'coder_asked',
      { turn: 3, question: 'Red or blue?', answer: NOBODY },
    ],
    [
      'finish',
      { summary: 'done', choices: ['blue: it is the brand'] },
      'coder_finished',
      { turn: 3, summary: 'done', tests: '', open: [], choices: ['blue: it is the brand'] },
    ],
  ])('of %s is noted as it was said, and answered at once (loops 67, 70)', (name, input, type, data) => {
    const { answer, events } = ask(name, input);
    expect(answer).toMatchObject({ isError: false, text: expect.stringMatching(/./) });
    expect(events).toEqual([{ type, data }]);
  });

  test('of list_findings tells criteria and what is open, and notes nothing', () => {
    expect(ask('list_findings', {})).toMatchObject({ answer: { isError: false }, events: [] });
    expect(ask('list_findings', undefined).answer.text).toContain('the dialog has no role');
    const { task } = judgedBy('- [ ] answers 42');
    const { text } = answered(
      { ...asking, task, findings: [], notes: NO_NOTES, told: [] },
      call('list_findings', {}),
    ).answer;
    expect(text).toContain('answers 42');
    expect(text).toContain('No finding is open.');
  });

  test('of a tool that is not there fails at once, and is noted as such', () => {
    const why = 'there is no tool toString';
    expect(ask('toString', {})).toEqual({
      answer: { text: why, isError: true },
      events: [
        {
          type: 'tool_refused',
          data: { role: 'coder', turn: 3, code: 'tool_missing', tool: 'toString', detail: '', why },
        },
      ],
    });
  });

  test.each([
    ['input that can’t be used', 'report_progress', { message: 7 }, 0],
    ['nothing to say', 'finish', { summary: '' }, 0],
    ['the twenty-first of its kind', 'report_progress', { message: 'again' }, 20],
  ])('with %s is an error and noted nowhere', (_, name, input, calls) => {
    expect(ask(name, input, calls)).toMatchObject({ answer: { isError: true }, events: [] });
  });
});

const plan = bornPlan({
  name: 'tidy',
  mode: 'loop',
  delivers: 'branch',
  recovery: 'manual',
  startedBy: 'ada',
  models: {},
  objective: '',
  shared: '',
  milestones: [
    { title: 'First', text: 'make the first' },
    { title: 'Second', text: 'make the second' },
  ],
});
const planned = { ...play.task, plan };
const finding = (id: number, more: Partial<Finding> = {}): Finding => ({
  id: `t.${id}`,
  task: 't',
  severity: 'sev2',
  category: 'audit',
  file: 'src/a.ts',
  line: 3,
  message: `defect ${id}`,
  scenario: null,
  suggestion: null,
  source: 'auditor',
  status: 'open',
  rounds: [1],
  history: [],
  ...more,
});
const findings = [
  finding(1),
  finding(2, { file: 'src/deep/b.ts', message: 'Null pointer' }),
  finding(3, { status: 'resolved' }),
  finding(4, { source: 'rule', file: 'package.json' }),
];
const said = (role: Role, name: string, input: unknown, notes: AuditNotes = NO_NOTES) =>
  answered({ task: planned, role, turn: 2, sessionId: 's', findings, notes, told: [] }, call(name, input));

describe('in a plan', () => {
  test('each role has its own tools, and without a plan none of the plan’s', () => {
    const names = (role: Role, hasPlan = true) =>
      toolsOf(role, { hasPlan, asksForge: false }).map(({ name }) => name);
    expect(names('coder', false)).toEqual(['report_progress', 'list_findings', 'ask_operator', 'finish']);
    expect(names('coder')).toEqual([...names('coder', false), 'milestone_read']);
    expect(names('auditor')).toEqual([
      'findings_read',
      'findings_write',
      'findings_resolve',
      'milestone_read',
    ]);
    expect([...names('critic'), ...names('specifier')]).toEqual([]);
  });

  test.each(['findings_write', 'findings_resolve'])('the coder has no %s (loops 35)', (name) => {
    const input = { id: 't.1', severity: 'bug', description: 'x' };
    expect(said('coder', name, input)).toMatchObject({
      answer: { isError: true },
      events: [{ type: 'tool_refused', data: { role: 'coder', code: 'tool_missing', tool: name } }],
    });
  });

  test('a milestone is read by its number, or the one at hand', () => {
    expect(said('auditor', 'milestone_read', {}).answer.text).toContain('make the first');
    expect(said('coder', 'milestone_read', { n: 2 }).answer.text).toContain('make the second');
    expect(said('coder', 'milestone_read', { n: 2 }).answer.text).toContain('to come');
    expect(said('coder', 'milestone_read', { n: 3 }).answer).toEqual({
      isError: true,
      text: 'there is no milestone 3; the plan has 2',
    });
  });

  test.each([
    ['what is open', {}, ['t.1', 't.2', 't.4']],
    ['all', { all: true }, ['t.1', 't.2', 't.3', 't.4']],
    ['one file', { file: './src/a.ts' }, ['t.1']],
    ['a folder', { file: 'src/' }, ['t.1', 't.2']],
    ['a pattern', { pattern: 'null.*er$' }, ['t.2']],
    ['a pattern in the file', { pattern: '^package\\.' }, ['t.4']],
    ['nothing', { file: 'src/a' }, []],
  ])('findings are read: %s', (_, input, ids) => {
    const { answer, events } = said('auditor', 'findings_read', input);
    expect(answer.text.match(/t\.\d/g) ?? []).toEqual(ids);
    expect(events).toEqual([]);
  });

  test('a pattern that can’t be used is told so', () => {
    const { answer } = said('auditor', 'findings_read', { pattern: '(a' });
    expect(answer).toEqual({ isError: true, text: 'the pattern opens a group and does not close it' });
  });

  test('what an auditor finds is noted under a name by which it can be taken back', () => {
    const wrote = said('auditor', 'findings_write', {
      severity: 'bug',
      description: 'crashes',
      file: 'a.ts',
    });
    const noted = {
      severity: 'bug',
      description: 'crashes',
      file: 'a.ts',
      line: null,
      scenario: null,
    } as const;
    expect(wrote).toEqual({
      answer: { isError: false, text: 'Noted as new-1.' },
      events: [{ type: 'auditor_found', data: { turn: 2, sessionId: 's', finding: noted } }],
    });
    const notes = { findings: [noted], resolved: [] };
    expect(said('auditor', 'findings_read', {}, notes).answer.text).toContain('new-1 crashes');
    expect(said('auditor', 'findings_resolve', { id: 'new-1' }, notes).events).toMatchObject([
      { type: 'auditor_resolved', data: { id: 'new-1' } },
    ]);
  });

  test.each([
    ['one that is open', 't.1', false],
    ['one by its number', '2', false],
    ['one that is resolved', 't.3', true],
    ['one of the rules', 't.4', true],
    ['one that is not there', 'new-1', true],
  ])('%s is resolved, or an error', (_, id, isError) => {
    const { answer, events } = said('auditor', 'findings_resolve', { id, why: 'seen' });
    expect([answer.isError, events.length]).toEqual([isError, isError ? 0 : 1]);
  });
});

describe('reading the forge', () => {
  const asked = (role: Role, name: string, input: unknown, forge = ENOUGH) =>
    answerCall({ ...asking, role, notes: NO_NOTES, told: [] }, call(name, input, 0, forge));

  test('is for those whose work is judged by others, and for nobody where the forge may not be asked', () => {
    const readers = (asksForge: boolean) =>
      ROLES.filter((role) =>
        toolsOf(role, { hasPlan: true, asksForge }).some(({ name }) => name === 'issue_read'),
      );
    expect(readers(true)).toEqual(['coder', 'planner']);
    expect(readers(false)).toEqual([]);
    expect(asked('coder', 'issue_read', { number: 1 }, { ...ENOUGH, most: 0 })).toMatchObject({
      events: [{ data: { code: 'tool_missing' } }],
    });
  });

  test.each([
    ['issue_read', { number: 12 }, { kind: 'issue', number: 12 }],
    ['pull_request_read', { number: 12 }, { kind: 'pull', number: 12 }],
    ['issues_search', { words: 'Dark  mode' }, { kind: 'search', words: 'dark mode' }],
    [
      'issues_search',
      { words: 'repo:acme/secret OR (user:acme) -"NOT" v1.2 co-op' },
      { kind: 'search', words: 'repo acme secret or user not v1.2 co-op' },
    ],
  ])('%s %j is a question to the forge', (name, input, asks) => {
    expect(asked('coder', name, input)).toEqual({ asks });
  });

  test.each([
    ['a number that is none', 'issue_read', { number: '../other' }],
    ['another repository', 'issue_read', { number: 'acme/secret#1' }],
    ['no number', 'pull_request_read', { number: 0 }],
    ['no word', 'issues_search', { words: ' -:" ' }],
  ])('%s is not asked', (_, name, input) => {
    expect(asked('coder', name, input)).toMatchObject({ answer: { isError: true }, events: [] });
  });

  test.each([
    ['the turn has asked enough', { asked: 20, most: 20, left: null }, 'asked 20 times in this turn'],
    [
      'few requests are left',
      { asked: 0, most: 20, left: { left: 1000, of: 5000, until: Date.UTC(2030, 0) } },
      'the loop keeps its last 1000 of 5000 requests to the forge for its own work until 2030-01-01',
    ],
  ])('when %s is refused and noted, with what to do', (_, forge, why) => {
    const refused = asked('coder', 'issue_read', { number: 1 }, forge);
    expect(refused).toMatchObject({
      answer: { isError: true, text: expect.stringContaining(why) },
      events: [{ type: 'tool_refused', data: { code: 'forge_budget', tool: 'issue_read' } }],
    });
    expect(refused).toMatchObject({ answer: { text: expect.stringContaining('go on without') } });
  });

  test('goes on while more than the loop’s own share is left', () => {
    const left = { left: 1001, of: 5000, until: 0 };
    expect(asked('coder', 'issue_read', { number: 1 }, { ...ENOUGH, left })).toHaveProperty('asks');
  });
});

test('every tool has a schema that needs no dialect', () => {
  for (const tool of ROLES.flatMap((role) => toolsOf(role, { hasPlan: true, asksForge: true }))) {
    expect(inputSchemaOf(tool)).toMatchObject({ type: 'object' });
    expect(inputSchemaOf(tool)).not.toHaveProperty('$schema');
  }
});
