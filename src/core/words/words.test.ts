import { describe, expect, test } from 'vitest';
import { started, TWO } from '../../../test/support/plan-play.ts';
import {
  awaiting,
  changes,
  evidence,
  judgedBy,
  landing,
  problem,
  running,
} from '../../../test/support/play.ts';
import { testPolicy } from '../../../test/support/policy.ts';
import type { Finding } from '../change/findings.ts';
import type { CoderSummary, HoldReason } from '../event.ts';
import { holdText } from '../hold.ts';
import { REASONS, type Reason } from '../machine.ts';
import type { RecordedVerdict } from '../task.ts';
import { criticReport, judgementsOf, type Verdict } from '../verdict.ts';
import {
  checkpointMessage,
  couldNotRunComment,
  declinedComment,
  endedComment,
  evidenceTable,
  mergeMessage,
  pullBody,
  pullTitle,
  reviewBody,
  statusComment,
} from './comments.ts';
import { fence } from './fence.ts';
import {
  accountText,
  changesText,
  conflictText,
  copiedAdvice,
  copiedText,
  couldNotRunText,
  count,
  openText,
} from './words.ts';

test('a gate that could not run says why by the words of its command', () => {
  const broken = evidence('t', 'could_not_run', testPolicy(), undefined, 'setup failed: exit 1');
  const tail = 'resolving\nnpm error @acme/parser: fixes #7\n';
  const gate = { ...broken, results: broken.results.map((one) => ({ ...one, tail })) };
  expect(couldNotRunText(gate)).toBe('`npm test` setup failed: exit 1: npm error @acme/parser: fixes #7');
  expect(couldNotRunComment(7, gate)).toContain('exit 1:\n\n    npm error @acme/parser: fixes #7\n\n');
  expect(couldNotRunComment(7, broken), 'without output').toContain('exit 1.\n\nThis is not');
  const held = { reason: 'gate_could_not_run', detail: couldNotRunText(gate), until: null } as const;
  const { task } = running();
  const said = statusComment(
    { ...task, hold: { ...task.hold, ...held } } as never,
    { spend: { costUsd: 0, tokens: 0 }, ledger: [] },
    testPolicy(),
  );
  expect(said, 'it calls nobody and closes nothing').not.toMatch(/@acme|#7/);
  expect(said).toContain('setup failed: exit 1: npm error');
});

/** A map, so that the compiler misses a hold that is missing here. */
const HOLDS: Record<HoldReason, true> = {
  retry_backoff: true,
  waits_for_loops: true,
  interrupted: true,
  fetch_failed: true,
  spend_unknown: true,
  provider_limit: true,
  gate_could_not_run: true,
  gate_empty: true,
  trunk_red: true,
  secret_found: true,
  critic_unusable: true,
  needs_approval: true,
  needs_merge: true,
  dirty_checkout: true,
  prompt_broken: true,
  sandbox_unavailable: true,
  filter_unsupported: true,
  body_edited: true,
  operator_pause: true,
  publish_refused: true,
  merge_refused: true,
  rules_unmet: true,
  merge_queued: true,
  protected_paths: true,
  verification_changed: true,
  trunk_rewritten: true,
  checks_pending: true,
  checks_red: true,
  changes_requested: true,
  spec_proposed: true,
  attached: true,
};

const SPENT = { spend: { costUsd: 0, tokens: 0 }, ledger: [] };

test.each<[string, [string, Finding['severity']][], string | null]>([
  ['nothing', [], null],
  ['advice only', [['Rename it', 'sev3']], null],
  [
    'the gravest first',
    [
      ['Two', 'sev2'],
      ['One.', 'sev1'],
    ],
    'Still open: One (finding f2); Two (finding f1).',
  ],
  [
    'no more than three',
    [
      ['A', 'sev2'],
      ['B', 'sev2'],
      ['C', 'sev2'],
      ['D', 'sev2'],
      ['E', 'sev2'],
    ],
    'Still open: A (finding f1); B (finding f2); C (finding f3); and 2 more.',
  ],
])('what stood open when a task ended: %s', (_, open, said) => {
  const findings = open.map(
    ([message, severity], at) => ({ id: `f${at + 1}`, message, severity }) as Finding,
  );
  expect(openText(findings)).toBe(said);
});

describe('an ended task', () => {
  const { policy } = landing();

  test('merged: the commit, the effort, who approved', () => {
    const { task } = landing().landed('abcdef0123456789');
    const text = statusComment(
      task,
      { spend: { costUsd: 0.5, tokens: 1200, complete: true }, ledger: [] },
      policy,
    );
    expect(text).toMatch(
      /^\*\*Merged as `abcdef0123`\*\* after 1 turn and 1 critic round, approved by critic\.\n/,
    );
    expect(text).toContain('Verified on the commit that landed:');
    expect(text).toContain('| `npm test` | passed |');
    expect(text).toContain('| verdict | APPROVE at `c1` by critic |');
    expect(text).toContain('| cost | $0.50, 1200 tokens |');
    expect(text).toContain('Task `t1`, attempt 1, pull request #1.');
  });

  test('merged: what was found and left, by whom and why', () => {
    const { task } = landing().landed('m2');
    const left = (id: string, by: string, why: string | null): Finding => ({
      id,
      task: 't1',
      source: 'critic',
      severity: 'sev2',
      category: 'naming',
      file: 'a.ts',
      line: 3,
      message: 'The name is too long',
      scenario: null,
      suggestion: null,
      status: 'wontfix',
      rounds: [1],
      history: [{ status: 'wontfix', by, at: 1, sha: 'c1', why }],
    });
    const told = (...ledger: Finding[]) => statusComment(task, { ...SPENT, ledger }, policy);
    expect(told(left('t1.1', 'ann', 'The API keeps it'))).toContain(
      'approved by critic; 1 finding left as it is by ann.',
    );
    expect(told(left('t1.1', 'ann', 'The API keeps it'))).toContain(
      'Found and left as is:\n\n- t1.1 [sev2] a.ts:3 The name is too long\n  Decided by ann: The API keeps it',
    );
    expect(told(left('t1.1', 'ann', null), left('t1.2', 'bob', null))).toContain(
      '2 findings left as they are by ann, bob.',
    );
    expect(told({ ...left('t1.1', 'ann', null), status: 'resolved' })).not.toContain('left');
  });

  test('merged by a person against the critic: nobody is said to have approved', () => {
    const { task } = landing().landed('m2');
    const verdict = { ...task.verdict!, verdict: 'REQUEST_CHANGES' as const };
    const text = statusComment({ ...task, verdict }, SPENT, policy);
    expect(text).not.toContain('approved');
    expect(text).toContain('| verdict | REQUEST_CHANGES at `c1` by critic |');
  });

  test('merged: each criterion with what was found about it and what its command said', () => {
    const { task } = landing().landed('m2');
    const criteria = [{ id: 'c1', text: 'It revokes', verify: 'npm test' }];
    const verdict = {
      ...task.verdict!,
      criteria: [{ id: 'c1', criterion: 'x', met: 'met' as const, evidence: 'a.test.ts' }],
    };
    const text = statusComment({ ...task, verdict, contract: { ...task.contract, criteria } }, SPENT, policy);
    expect(text).toContain('| c1 | It revokes | met | a.test.ts | `npm test`: passed |');
  });

  test('merged: cost that is not known in full says so', () => {
    const { task } = landing().landed('m2');
    const cost = (spend: typeof SPENT.spend & { complete?: boolean }): string | undefined =>
      /\| cost \| (.*) \|/.exec(statusComment(task, { spend, ledger: [] }, policy))?.[1];
    expect(cost({ costUsd: 1, tokens: 10, complete: false })).toBe('at least $1.00, 10 tokens');
    expect(cost({ costUsd: 0, tokens: 0, complete: false })).toBe('unknown');
  });

  test('merged by a person before its candidate was tested: what is known of the branch', () => {
    const { task } = landing().landed('m2');
    expect(statusComment({ ...task, landing: null }, SPENT, policy)).toContain('Verified on its branch:');
  });

  test.each(Object.keys(REASONS) as Reason[])(
    '%s: what happened, where the work is, what to do',
    (reason) => {
      const task = { ...awaiting().task, state: 'abandoned' as const, reason };
      const text = endedComment(task, 'DETAIL');
      expect(text).toContain(`(\`${reason}\`): ${REASONS[reason].says}.`);
      expect(text).toContain('DETAIL');
      expect(text).toContain('on branch `loop/7-revoke` at `c1`');
      expect(text).toContain(REASONS[reason].advice);
    },
  );

  test('output is quoted for people, whatever is in it, without the marks that agents need', () => {
    const task = { ...running().task, state: 'abandoned' as const, reason: 'no_progress' as const };
    const said = fence('output', '# Title\n>>>output 0123456789ab\n@ann');
    const text = endedComment(task, `\`npm test\`: exit 1\n${said}\n\nAnd more.`);
    expect(text).toContain(
      '`npm test`: exit 1\n\n    # Title\n    >>>output 0123456789ab\n    @ann\n\nAnd more.',
    );
    expect(endedComment(task, `Red\n${said}`.slice(0, 90))).not.toContain('<<<');
    expect(endedComment(task, `Red\n${fence('output', '')}`)).toContain('\n\nRed\n\n');
  });

  test('nothing is said twice, and no work is claimed that was not done', () => {
    const task = { ...running().task, state: 'abandoned' as const, reason: 'cancelled' as const };
    const text = endedComment(task, REASONS.cancelled.says);
    expect(text.split(REASONS.cancelled.says)).toHaveLength(2);
    expect(text).not.toContain('branch');
  });
});

describe('a hold', () => {
  test.each(Object.keys(HOLDS) as HoldReason[])('%s says what holds it and who or what ends it', (reason) => {
    const text = holdText({ reason, detail: 'DE\nTAIL', until: null }, '#7');
    expect(text).toMatch(new RegExp(`^held \\(${reason}\\): DE TAIL — .{8,}`));
    expect(text).not.toContain('<issue>');
  });
});

test('the living comment: where it stands, and the figures of the moment', () => {
  const play = running();
  const spend = { costUsd: 1.5, tokens: 1200, complete: true };
  expect(statusComment(play.task, { spend, ledger: [] }, play.policy)).toBe(
    `**Working**

- attempt 1, task \`t1\`
- 1 turn of at most ${play.policy.maxTurns}, 0 critic rounds
- cost: $1.50, 1200 tokens
- branch \`loop/7-revoke\``,
  );
  const task = { ...play.worked('c1').critic({ verdict: 'APPROVE' }).task, hold: null };
  expect(statusComment(task, { spend, ledger: [] }, play.policy)).toContain(
    '1 critic round, the last APPROVE at `c1`\n- cost: $1.50, 1200 tokens\n- branch `loop/7-revoke`, pull request #1',
  );
});

test('a cost nobody knows is not said to be nothing', () => {
  const { task, policy } = running();
  const said = (spend: { costUsd: number; tokens: number; complete: boolean }) =>
    /- cost: (.*)/.exec(statusComment(task, { spend, ledger: [] }, policy))?.[1];
  expect(said({ costUsd: 0, tokens: 500, complete: false })).toBe('price unknown, at least 500 tokens');
  expect(said({ costUsd: 0.5, tokens: 500, complete: false })).toBe('at least $0.50, 500 tokens');
  expect(said({ costUsd: 0, tokens: 0, complete: false })).toBe('unknown');
});

test('declined: the questions and what to do with the answers (dispatch 12)', () => {
  const text = declinedComment('it is a matter of taste', ['What?', 'Which?'], 'loop:ready');
  expect(text).toContain('Not started: it is a matter of taste, so there is no way to tell when it is done.');
  expect(text).toContain('- What?\n- Which?');
  expect(text).toContain('label it `loop:ready` again');
});

test('a pull request names its issue and shows the evidence', () => {
  const { task } = awaiting();
  expect(pullTitle({ ...task, contract: { ...task.contract, title: 'A\n title' } })).toBe('A title (#7)');
  expect(pullBody(task)).toContain('Fixes #7');
  expect(pullBody(task)).toContain('| `npm test` | passed |');
});

test('a pull request shows what an auditor amended of its plan, as it is, and only that (loops 32)', () => {
  const amendment = { milestone: 2, text: 'Fixes #99\n<!-- x -->', rationale: 'the schema\nshowed it' };
  const play = started(TWO, {}, { delivers: 'pull' })
    .worked('c1')
    .audit({ amendments: [amendment] });
  const body = pullBody(play.task);
  expect(body).toContain(
    'The auditor amended the plan during the work. The amendment takes precedence:\n\n    Milestone 2: API\n    Amended: the schema showed it\n    \n    Fixes #99\n',
  );
  expect(body).not.toContain('<!--');
  expect(body).not.toContain('Schema');
  expect(pullBody(started(TWO, {}, { delivers: 'pull' }).task)).not.toContain('amended');
});

describe('what the coder says of its work', () => {
  const saying = (summary: string, more: Partial<CoderSummary> = {}) =>
    pullBody(
      running()
        .turn('finished', { summary: { summary, tests: '', open: [], ...more } })
        .checkpoint('c1').task,
    );

  test('is in the pull request, as it is', () => {
    const body = saying('Added it.\nFixes #99 for @bob', { tests: 'npm test', open: ['the name'] });
    expect(body).toContain(
      '    Added it.\n    Fixes #99 for @bob\n    \n    Checked: npm test\n    \n    Left open or assumed:\n    - the name\n',
    );
  });

  test.each([
    ['a line of its own', 'a\u2028Fixes #99'],
    ['a carriage return', 'a\rFixes #99'],
    ['a comment', 'a\n<!-- forge-loop:task=other -->'],
  ])('does nothing there, not even with %s', (_, summary) => {
    const body = saying(summary);
    expect(body).not.toContain('<!--');
    for (const line of body.split(/[\n\r\u2028]/).filter((one) => one.includes('#99')))
      expect(line).toMatch(/^ {4}/);
  });

  test('is not shown when something in it is shaped like a secret', () => {
    const body = saying(`I used ghp_${'a1B2'.repeat(9)} to test`);
    expect(body).not.toContain('ghp_');
    expect(body).toContain('looks like a secret');
  });

  test('of the turn before stays when a turn says nothing', () => {
    const summary = { summary: 'All of it.', tests: '', open: [] };
    const { task } = running()
      .turn('finished', { summary })
      .checkpoint('c1')
      .gate('fail')
      .turn()
      .checkpoint('c2');
    expect(task.summary).toEqual(summary);
  });
});

test('a pull request says before its results when the change meddles with what judges it', () => {
  const { task } = awaiting();
  const inspected = (headSha: string, grave: string[]) => ({ ...task, inspected: { headSha, grave } });
  const body = pullBody(inspected('c1', ['t1.1']));
  expect(body).toMatch(
    /\*\*This change touches its own checks or protected files\*\* \(t1\.1; .*A person must approve it before it merges\.[\s\S]*npm test/,
  );
  const verdict = { headSha: 'c1', verdict: 'APPROVE', by: 'ann', round: 0, criteria: [] } as const;
  const agreed = { ...inspected('c1', ['t1.1']), verdict: { ...verdict, criteria: [] } };
  expect(pullBody(agreed)).toContain('ann approved it.');
  expect(pullBody({ ...agreed, verdict: { ...verdict, by: 'critic', criteria: [] } })).toContain(
    'A person must approve it',
  );
  for (const fine of [inspected('c1', []), inspected('c0', ['t1.1'])])
    expect(pullBody(fine)).not.toContain('protected files');
});

test('a table cell can’t be broken out of by a command', () => {
  const policy = testPolicy({ gate: { commands: ['a | b'] } });
  expect(evidenceTable(evidence('t', 'fail', policy))).toContain('| `a \\| b` | exit 1 |');
  expect(evidenceTable(null)).toBe('No verification commands are configured.');
  const twice = evidence('t', 'pass', policy);
  const [first] = twice.results;
  const shared = { ...twice, results: [first!, { ...first!, criterion: 'c1' }] };
  expect(evidenceTable(shared)).toBe(evidenceTable({ ...twice, results: [first!] }));
});

test('the title of an issue does nothing on trunk but name the work', () => {
  const { task } = awaiting();
  const hostile = { ...task, contract: { ...task.contract, title: 'A [skip ci], fixes #99 for @bob' } };
  for (const said of [mergeMessage(hostile, testPolicy(), 'github'), pullTitle(hostile)])
    expect(said).toContain('A (skip ci), fixes #\u200b99 for @\u200bbob');
});

test('a merge message has the title, the issue, the task, and a co-author only if one is wanted', () => {
  const { task } = awaiting();
  expect(mergeMessage(task, testPolicy(), 'github')).toBe('Add a revoke button\n\nIssue: #7\nTask: t1\n');
  expect(mergeMessage(task, testPolicy(), 'local'), 'it would link another one on GitHub').toBe(
    'Add a revoke button\n\nIssue: 7 (.forge/issues)\nTask: t1\n',
  );
  expect(mergeMessage(task, testPolicy({ coAuthor: 'A <a@b.c>' }), 'github')).toContain(
    '\n\nCo-authored-by: A <a@b.c>\n',
  );
  expect(checkpointMessage(task)).toBe('Save work on issue 7, turn 1');
  const long = {
    ...task,
    contract: {
      ...task.contract,
      title: 'Explain which of the words that a reader meets first are not yet in the list of words',
    },
  };
  expect(mergeMessage(long, testPolicy(), 'github')).toBe(
    'Explain which of the words that a reader meets first are not yet in the…\n\n…list of words\n\nIssue: #7\nTask: t1\n',
  );
});

describe('the table of criteria', () => {
  const BODY = '- [ ] Opens a|b, @ann (fixes #7)\n- [ ] Closes\n  verify: npm test';
  const play = () => judgedBy(BODY);

  test('is part of the pull request, before anybody judged them', () => {
    const body = pullBody(judgedBy(BODY, { critic: { enabled: false } }).task);
    expect(body).toContain('Not judged yet.');
    expect(body).toContain('| c2 | Closes | – |  | `npm test`: passed |');
  });

  test('tells what was found, on what evidence, and what the command said', () => {
    const { task } = play().critic({
      verdict: 'APPROVE',
      criteria: [
        { id: 'c1', met: 'met', evidence: 'open.test.ts\n"opens"' },
        { id: 'c2', met: 'unclear' },
      ],
    });
    const body = pullBody(task);
    expect(body).toContain('Judged by critic at `c1`, round 1:');
    expect(body).toContain('| met | open.test.ts "opens" |  |');
    expect(body).toContain('| c2 | Closes | unclear |  | `npm test`: passed |');
  });

  test('a person approved all of them', () => {
    const { task } = judgedBy(BODY, { critic: { enabled: false } }).ask('approve');
    expect(pullBody(task)).toContain('| c2 | Closes | approved by ann |');
    expect(pullBody(task)).toContain('\nApproved by ann at `c1`:\n');
  });

  test('the words of strangers break no cell, mention nobody and close nothing', () => {
    const row = pullBody(play().task)
      .split('\n')
      .find((line) => line.startsWith('| c1'))!;
    expect(row).toContain('a\\|b');
    expect(row).not.toMatch(/@ann|fixes #7/);
    expect(row.replaceAll('\\|', '').split('|')).toHaveLength(7);
  });

  test('an issue that lists none has no table', () => {
    expect(pullBody(awaiting().task)).not.toContain('criterion');
  });
});

describe('a review', () => {
  const report = criticReport.parse({
    ...changes(),
    criteria: [
      { criterion: 'opens', met: 'met', evidence: 'a.test.ts' },
      { criterion: 'closes', met: 'unclear' },
    ],
    minimalPathToGreen: ['add a role'],
    specDefects: ['says A and not A'],
    summary: 'Nearly.',
  });

  const judged = (verdict: Verdict): RecordedVerdict => ({
    headSha: 'c1',
    verdict,
    by: 'critic',
    round: 2,
    criteria: judgementsOf(report, []),
  });

  test('has everything the critic said', () => {
    const text = reviewBody(report, judged('REQUEST_CHANGES'), awaiting().task, []);
    for (const part of [
      '**REQUEST_CHANGES** (round 2)',
      'Nearly.',
      '[sev2] a.ts:3',
      '- [criterion met] opens: a.test.ts',
      '- [criterion unclear] closes',
      '- says A and not A',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('contradicts');
  });

  test('says when the verdict that counts is not the one that was given', () => {
    expect(
      reviewBody({ ...report, verdict: 'APPROVE' }, judged('REQUEST_CHANGES'), awaiting().task, []),
    ).toContain('The critic said APPROVE, but its own findings');
  });

  test('says what is still open from earlier rounds, and what a person decided to leave', () => {
    const again = awaiting().critic(changes()).worked('c2').critic({ verdict: 'APPROVE', earlier: [] });
    const [, review] = again.actionsOf('post_review');
    expect(review?.body).toContain(
      'Still open from earlier rounds:\n- t1.1 [sev2] a.ts:3 the dialog has no role',
    );
    expect(review?.body).toContain('Open since round 1');
    const repeated = awaiting().critic(changes()).worked('c2').critic(changes());
    expect(repeated.actionsOf('post_review')[1]?.body.match(/the dialog has no role/g)).toHaveLength(1);
    const left = awaiting().critic(changes()).ask('wontfix', 'ann', { finding: 't1.1' });
    expect(reviewBody(report, judged('APPROVE'), left.task, [])).toContain(
      'everything it asks for is marked wontfix',
    );
  });

  test('the coder gets findings, criteria not met and the shortest way', () => {
    const open = awaiting().critic(changes()).findings;
    const text = changesText(report, judged('REQUEST_CHANGES').criteria, open);
    expect(text).toContain('- [sev2] a.ts:3 the dialog has no role');
    expect(text).toContain('- [criterion unclear] closes');
    expect(text).not.toContain('opens');
    expect(text).toContain('To get this approved:\n- add a role');
  });

  test('a request for changes that names nothing still tells the coder what to do', () => {
    expect(changesText(criticReport.parse({ verdict: 'REQUEST_CHANGES' }), [], [])).toContain(
      'every point of the issue',
    );
  });

  test('inline comments name their severity', () => {
    const [review] = awaiting()
      .critic({ verdict: 'APPROVE', findings: [problem('sev3', 'naming')] })
      .actionsOf('post_review');
    expect(review?.comments).toEqual([{ file: 'a.ts', line: 3, body: '[sev3] naming' }]);
  });
});

test('a conflict lists its files', () => {
  expect(conflictText(['a.ts', 'b.ts'])).toMatch(/- a\.ts\n- b\.ts$/);
});

test('an account that is used up is named with what ends it', () => {
  const at = new Date(2026, 10, 17, 2, 10).getTime();
  const limit = { account: 'claude', why: 'five-hour limit', until: at + 60_000 };
  expect(accountText({ ...limit, since: at }, at)).toBe(
    'claude is used up until 02:11:00 (five-hour limit). Its tasks continue then',
  );
});

test.each([
  [1, 'This is a copy of /a, which still exists. Its 1 open task belongs to the original.'],
  [2, 'This is a copy of /a, which still exists. Its 2 open tasks belong to the original.'],
])('a copy says whose tasks it has, and how to continue (%d)', (tasks, text) => {
  expect(copiedText({ gitDir: '/a/.git', tasks })).toBe(text);
  expect(copiedAdvice({ gitDir: '/a/.git' })).toBe(
    'To use both: `forge-loop restore --empty` here. To continue here instead: delete /a.',
  );
});

test('counts are words people say', () => {
  expect([count(0, 'turn'), count(1, 'turn'), count(2, 'turn')]).toEqual(['0 turns', '1 turn', '2 turns']);
});
