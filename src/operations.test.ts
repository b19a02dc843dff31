/** Operations on a real repository and database; what needs a runner is played end to end in test/e2e/cli.test.ts. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Context } from './context.ts';
import type { Action } from './core/action.ts';
import { contractOf } from './core/criteria.ts';
import { event, type NewEvent } from './core/event.ts';
import { afterRound } from './core/findings.ts';
import type { Reason, State } from './core/machine.ts';
import type { StoredTask } from './core/task.ts';
import { UsageError, UserError } from './errors.ts';
import { openContext } from './main.ts';
import { OPERATIONS, perform } from './operations.ts';
import { INTAKE_LEASE, type Store, taskLease } from './store/store.ts';

const MINUTE = 60_000;
let root: string;
let context: Context;
let state: string | undefined;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'forge-operations-'));
  state = process.env.XDG_STATE_HOME;
  process.env.XDG_STATE_HOME = join(root, '.state');
  const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Eva');
  git('config', 'user.email', 'eva@example.com');
  git('commit', '-q', '--allow-empty', '-m', 'start');
  writeFileSync(
    join(root, 'WORKFLOW.md'),
    '---\nagent: { command: "true" }\ngate: none\n---\n{{ issue.body }}\n',
  );
  context = await openContext(root);
});

afterEach(async () => {
  await context.close();
  rmSync(root, { recursive: true, force: true });
  if (state === undefined) delete process.env.XDG_STATE_HOME;
  else process.env.XDG_STATE_HOME = state;
});

async function ready(title: string): Promise<number> {
  return (await perform(context, 'issue.new', { title, body: 'prints "ok"', ready: true })).number;
}

/** A task of the issue as some runner left it: its lease is free. */
async function taskOf(issue: number, id: string, attempt = 1): Promise<StoredTask> {
  const store = await context.writing();
  const at = context.now();
  const lease = await store.acquireLease(INTAKE_LEASE, 'test', at, MINUTE, () => true);
  const contract = contractOf((await (await context.forge()).issue(issue))!);
  const created = event('task_created', {
    kind: 'issue',
    issue,
    attempt,
    slug: 's',
    branch: `loop/${issue}-s`,
    contract,
  });
  const stored = await store.claim({ lease: lease!, taskId: id, issue, events: [created], actions: [], at });
  await store.releaseLease(lease!);
  return stored!;
}

async function commit(stored: StoredTask, ...events: NewEvent[]): Promise<StoredTask> {
  const store = await context.writing();
  const { id } = stored.task;
  const at = context.now();
  const lease = await store.acquireLease(taskLease(id), 'test', at, MINUTE, () => true);
  const after = await store.commit({
    lease: lease!,
    taskId: id,
    expectedVersion: stored.version,
    events,
    at,
  });
  await store.releaseLease(lease!);
  return after;
}

const moved = (from: State, to: State, reason: Reason | null = null): NewEvent =>
  event('worker_state_transition', {
    from,
    to,
    reason,
    why: 'so it was',
    sessionId: null,
    turn: 0,
    headSha: null,
  });

describe('why', () => {
  const lines = async () =>
    Object.fromEntries((await perform(context, 'why')).issues.map((one) => [one.issue, one.why]));

  test('every open issue has its line (dispatch 11)', async () => {
    await ready('Eligible');
    await perform(context, 'issue.new', { title: 'Not ready', body: 'x' });
    await ready('In hand');
    await perform(context, 'issue.new', {
      title: 'Blocked',
      body: 'prints "ok"',
      blockedBy: [1],
      ready: true,
    });
    await perform(context, 'issue.new', { title: 'Make it nicer', body: 'and prettier', ready: true });
    await taskOf(3, 'aaaa0001');
    expect(await lines()).toEqual({
      1: 'ready: taken up when a slot is free',
      2: 'not labelled loop:ready — `forge-loop issue ready 2`',
      3: expect.stringMatching(/^queued: /),
      4: 'blocked by the open issue #1',
      5: 'it asks for a judgement of taste: it will be declined with 3 questions',
    });
  });

  test('a hold, a slot that is taken, and an ending are each named', async () => {
    writeFileSync(
      join(root, 'WORKFLOW.md'),
      '---\nagent: { command: "true", max_concurrent: 1 }\ngate: none\n---\n{{ issue.body }}\n',
    );
    for (const title of ['Held', 'Working', 'Waiting', 'Ended']) await ready(title);
    await commit(
      await taskOf(1, 'aaaa0001'),
      event('hold_set', { reason: 'provider_limit', detail: 'limit reached', until: context.now() + MINUTE }),
    );
    await commit(await taskOf(2, 'aaaa0002'), moved('queued', 'dispatched'));
    await taskOf(3, 'aaaa0003');
    await commit(await taskOf(4, 'aaaa0004'), moved('queued', 'abandoned', 'no_progress'));
    await (await context.forge()).relabel(4, { add: [], remove: ['loop:ready'] });
    const { issues } = await perform(context, 'why');
    expect(issues.map(({ why, until }) => [why, until])).toEqual([
      [expect.stringMatching(/^held \(provider_limit\): limit reached/), expect.stringMatching(/Z$/)],
      [expect.stringMatching(/^dispatched: /), null],
      ['queued: waiting for a slot (1 of 1 in use)', null],
      [expect.stringMatching(/^attempt 1 ended \(no_progress\): so it was — The agent is stuck/), null],
    ]);
  });

  test('a run whose runner died is not said to be at work', async () => {
    await ready('Cut');
    const stored = await taskOf(1, 'aaaa0001');
    const store = await context.writing();
    const at = context.now();
    const lease = (await store.acquireLease(taskLease('aaaa0001'), 'test', at, MINUTE, () => true))!;
    const gate: Action = { kind: 'gate', scope: 'work', tree: 't', commit: 'c' };
    await store.commit({
      ...{ lease, taskId: 'aaaa0001', expectedVersion: stored.version, at },
      ...{ events: [moved('queued', 'dispatched'), moved('dispatched', 'running')], addActions: [gate] },
    });
    const [pending] = await store.pendingActions('aaaa0001');
    await store.startAction(lease, pending!.id, at);
    await store.releaseLease(lease);
    expect(await lines()).toEqual({ 1: 'running: interrupted in the gate; the next run takes it up' });
  });

  test('what holds the whole loop comes first: no runner, a pause, a broken file', async () => {
    await perform(context, 'pause');
    writeFileSync(join(root, 'WORKFLOW.md'), '---\nagent: [\n---\n');
    const { loop } = await perform(context, 'why');
    expect(loop).toEqual([
      expect.stringMatching(/^WORKFLOW.md can't be used: .*WORKFLOW.md:\d+:/),
      'the loop is paused by Eva — `forge-loop resume`',
      'no runner is running — `forge-loop run`',
      expect.stringContaining('no open issue'),
    ]);
  });
});

describe('naming a task', () => {
  test('by id, by the beginning of it, by issue number for the latest attempt', async () => {
    await ready('One');
    await commit(await taskOf(1, 'abcd0001'), moved('queued', 'abandoned', 'cancelled'));
    await taskOf(1, 'abce0002', 2);
    const named = async (task: string | number) => (await perform(context, 'task.show', { task })).id;
    expect(await named('abcd0001')).toBe('abcd0001');
    expect(await named('ABCD')).toBe('abcd0001');
    expect(await named('1')).toBe('abce0002');
    expect(await named('#1')).toBe('abce0002');
    expect(await named(1)).toBe('abce0002');
    await expect(named('abc')).rejects.toThrow(
      /begins the ids of 2 tasks: abcd0001 \(#1, abandoned\), abce0002/,
    );
    await expect(named('zzz')).rejects.toMatchObject({
      hint: expect.stringContaining('abce0002 (#1, queued)'),
    });
  });
});

describe('requests', () => {
  test('are recorded with the name of the operator, and say whether anybody is there to apply them', async () => {
    await ready('One');
    await taskOf(1, 'abcd0001');
    expect(await perform(context, 'pause', { task: '1' })).toEqual({
      task: 'abcd0001',
      issue: 1,
      asked: 'pause',
      runnerAlive: false,
    });
    const store = await context.writing();
    expect(await store.requests('abcd0001')).toMatchObject([{ kind: 'pause', by: 'Eva' }]);
    await store.acquireLease(INTAKE_LEASE, 'somebody alive', context.now(), MINUTE, () => false);
    expect(await perform(context, 'task.cancel', { task: '1' })).toMatchObject({ runnerAlive: true });
  });

  test('that make no sense are refused: of an ended task, a release of what is not held, an approval too early', async () => {
    await ready('One');
    const stored = await taskOf(1, 'abcd0001');
    await expect(perform(context, 'resume', { task: '1' })).rejects.toThrow('is not held: it is queued');
    await expect(perform(context, 'task.approve', { task: '1' })).rejects.toThrow(
      'nothing to approve: it is queued',
    );
    await expect(perform(context, 'task.retry', { task: '1' })).rejects.toThrow('is being worked on');
    await commit(stored, moved('queued', 'abandoned', 'cancelled'));
    await expect(perform(context, 'task.cancel', { task: '1' })).rejects.toThrow('has ended: abandoned');
    expect(await (await context.writing()).requests('abcd0001')).toEqual([]);
  });

  test('retry makes the issue ready and skips the cooldown', async () => {
    const number = await ready('One');
    await commit(await taskOf(number, 'abcd0001'), moved('queued', 'abandoned', 'no_progress'));
    await (await context.forge()).relabel(number, { add: ['loop:needs-review'], remove: ['loop:ready'] });
    await perform(context, 'issue.ready', { issue: 1 });
    expect((await perform(context, 'why', { issue: 1 })).issues).toMatchObject([
      { why: expect.stringContaining('cooling down'), until: expect.stringMatching(/Z$/) },
    ]);
    expect(await perform(context, 'task.retry', { task: '1' })).toMatchObject({ issue: 1, attempt: 2 });
    expect((await perform(context, 'issue.show', { issue: 1 })).labels).toEqual(['loop:ready']);
    expect((await perform(context, 'why', { issue: 1 })).issues).toMatchObject([
      { why: 'ready: taken up when a slot is free' },
    ]);
  });
});

describe('restart', () => {
  const restart = (task: string, force = false) => perform(context, 'task.restart', { task, force });

  test('queues the same task again, with its label, and wakes a runner', async () => {
    await ready('One');
    const ended = await commit(await taskOf(1, 'abcd0001'), moved('queued', 'abandoned', 'cancelled'));
    expect(await restart('1')).toEqual({ task: 'abcd0001', issue: 1, from: 'cancelled', runnerAlive: false });
    const store = await context.writing();
    expect(await store.task('abcd0001')).toMatchObject({
      version: ended.version + 1,
      task: { state: 'queued', endedAt: null },
    });
    expect((await store.pendingActions('abcd0001')).map(({ action }) => action)).toMatchObject([
      { kind: 'label', add: ['loop:running'] },
    ]);
    expect(await store.events({ task: 'abcd0001', last: 1 })).toMatchObject([{ type: 'request_made' }]);
    expect((await store.leases()).filter(({ key }) => key === taskLease('abcd0001'))).toEqual([]);
  });

  test('of a live task needs force, which cancels it first', async () => {
    await ready('One');
    await commit(await taskOf(1, 'abcd0001'), moved('queued', 'dispatched'));
    await expect(restart('1')).rejects.toThrow('is dispatched, not ended');
    expect(await restart('1', true)).toMatchObject({ from: 'dispatched' });
    const store: Store = await context.writing();
    const states = (await store.events({ task: 'abcd0001', type: 'worker_state_transition' })).map(
      ({ data }) => data,
    );
    expect(states).toMatchObject([
      { to: 'dispatched' },
      { to: 'abandoned', reason: 'cancelled' },
      { to: 'queued' },
    ]);
  });

  test('waits for a runner that still tells people of the end', async () => {
    await ready('One');
    await commit(await taskOf(1, 'abcd0001'), moved('queued', 'abandoned', 'cancelled'));
    const store = await context.writing();
    await store.acquireLease(taskLease('abcd0001'), 'a runner', context.now(), 1000, () => true);
    expect(await restart('1')).toMatchObject({ task: 'abcd0001', from: 'cancelled' });
    expect(await store.task('abcd0001')).toMatchObject({ task: { state: 'queued' } });
  });

  test('is refused beside another live task of the issue, and for a closed issue', async () => {
    await ready('One');
    await commit(await taskOf(1, 'abcd0001'), moved('queued', 'abandoned', 'cancelled'));
    const second = await taskOf(1, 'abcd0002', 2);
    await expect(restart('abcd0001')).rejects.toThrow('Issue #1 already has the task abcd0002');
    await commit(second, moved('queued', 'abandoned', 'cancelled'));
    await perform(context, 'issue.close', { issue: 1 });
    await expect(restart('abcd0001')).rejects.toThrow('Issue #1 is closed');
  });
});

describe('issue lint', () => {
  test('says of an issue or a draft what readiness says, and reads nothing else', async () => {
    await perform(context, 'issue.new', { title: 'Make the revoke flow nicer', body: '' });
    expect(await perform(context, 'issue.lint', { issue: 1 })).toMatchObject({
      issue: 1,
      title: 'Make the revoke flow nicer',
      decision: 'declined',
      score: -3,
      rules: [{ rule: 'taste', points: -3, because: '"nicer"' }],
    });
    expect(await perform(context, 'issue.lint', { text: '# Add\nadd(2, 3) returns 5' })).toMatchObject({
      issue: null,
      title: 'Add',
      decision: 'ready',
      questions: [],
    });
    expect(existsSync(context.databasePath)).toBe(false);
  });

  test('needs exactly one thing to look at, and it must be there', async () => {
    await expect(perform(context, 'issue.lint', {})).rejects.toThrow('needs one thing to look at');
    await expect(perform(context, 'issue.lint', { issue: 1, text: 'x' })).rejects.toThrow('needs one thing');
    await expect(perform(context, 'issue.lint', { issue: 9 })).rejects.toThrow('There is no issue #9');
  });
});

describe('init', () => {
  test('never overwrites', async () => {
    const before = readFileSync(join(root, 'WORKFLOW.md'), 'utf8');
    expect(await perform(context, 'init', { command: 'other' })).toMatchObject({ written: false });
    expect(readFileSync(join(root, 'WORKFLOW.md'), 'utf8')).toBe(before);
  });
});

test('looking makes no database', async () => {
  for (const name of [
    'status',
    'why',
    'task.list',
    'events',
    'boot',
    'doctor',
    'config',
    'issue.list',
  ] as const)
    await perform(context, name);
  expect(existsSync(context.databasePath)).toBe(false);
});

test.each([
  ['command: exit 3', "exit_nonzero: the agent's program exited with 3"],
  ['command: exec no-such-program', 'could_not_start'],
  ['command: no-such-program', null],
  ['command: sleep 600, turn_timeout_ms: 1000', 'it was not done after 1 s'],
  ['kind: acp, command: exit 3', null],
])('doctor asks who is there for a word, and says what came of it: { %s }', async (agent, says) => {
  writeFileSync(join(root, 'WORKFLOW.md'), `---\nagent: { ${agent} }\ngate: none\n---\n{{ issue.body }}\n`);
  const { checks } = await perform(context, 'doctor', { agents: true });
  const turns = checks.filter(({ name }) => name.endsWith(' turn'));
  // What could not be started for want of its program or package is said once, by the role.
  if (says === null) expect(checks).toContainEqual(expect.objectContaining({ name: 'coder', level: 'fail' }));
  expect(turns.map(({ name, level }) => ({ name, level }))).toEqual(
    says === null
      ? []
      : ['specifier turn', 'coder turn', 'critic turn'].map((name) => ({ name, level: 'fail' })),
  );
  for (const { what } of turns) expect(what).toContain(says);
});

test('an issue can only wait for one that is there', async () => {
  const waits = { title: 'Two', body: 'x must be y', blockedBy: [1] };
  await expect(perform(context, 'issue.new', waits)).rejects.toThrow(
    'There is no issue #1 that it could wait for',
  );
  expect(await perform(context, 'issue.list', { all: true })).toEqual([]);
  await ready('One');
  expect(await perform(context, 'issue.new', waits)).toMatchObject({ number: 2, blockedBy: [1] });
});

test('an input that does not fit is refused with the name of the field', async () => {
  await expect(perform(context, 'issue.new', { title: 'T', priority: 9 })).rejects.toThrow(UsageError);
});

test.each([
  ['issue.new', { title: 'T', priority: 9 }, 'issue new: priority must be at most 4.'],
  ['issue.new', { title: ' ' }, 'issue new: title is empty.'],
  ['issue.new', { title: 'T', priority: 0 }, 'issue new: priority must be at least 1.'],
  ['cost', { by: 'week' }, 'cost: by must be one of issue, role, model, day.'],
  ['pull.comment', { pull: 1, body: 'x', file: 'a', line: 0 }, 'pull comment: line must be more than 0.'],
] as const)('%s %j: %s', async (name, input, says) => {
  await expect(perform(context, name, { ...input })).rejects.toThrow(says);
});

test('every operation says what it does', () => {
  for (const [name, { description, access }] of Object.entries(OPERATIONS)) {
    expect(description, name).toMatch(/^[A-Z].*\.$/);
    expect(['read', 'write']).toContain(access);
  }
});

describe('pull', () => {
  /** A pull request as a runner opens it, for a branch with one commit. */
  async function opened(): Promise<{ head: string }> {
    const git = (...args: string[]) =>
      execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' }).trim();
    const head = git('commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'work');
    const forge = await context.forge();
    await forge.push('loop/1-s', head, null);
    await forge.ensurePull({
      issue: 1,
      branch: 'loop/1-s',
      title: 'Add it (#1)',
      body: 'Fixes #1\n\n### By hand',
      marker: 't',
    });
    return { head };
  }

  test('people’s words and CI’s results are kept under the operator’s name, at the head as it is', async () => {
    const { head } = await opened();
    await perform(context, 'pull.comment', { pull: 1, body: 'Use a map.', file: 'a b.ts', line: 3 });
    await perform(context, 'pull.review', { pull: 1, verdict: 'request_changes', body: 'ESC too.' });
    await perform(context, 'pull.check', { pull: 1, name: 'build', state: 'red', log: 'boom', step: 'test' });
    expect(await perform(context, 'pull.show', { pull: 1 })).toMatchObject({
      title: 'Add it (#1)',
      body: 'Fixes #1\n\n### By hand',
      headSha: head,
      checks: [{ name: 'build', state: 'red', logTail: 'boom', step: 'test', headSha: head }],
      remarks: [
        { author: 'Eva', verdict: 'comment', body: 'Use a map.', file: 'a b.ts', line: 3 },
        { author: 'Eva', verdict: 'request_changes', body: 'ESC too.', headSha: head },
      ],
    });
    const approved = await perform(context, 'pull.review', { pull: 1, verdict: 'approve' });
    expect(approved.approvals).toEqual([{ headSha: head, by: 'Eva' }]);
    expect(await perform(context, 'pull.list')).toMatchObject([{ number: 1, issue: 1, state: 'open' }]);
  });

  test.each([
    ['pull.show', { pull: 7 }, 'There is no pull request #7.'],
    ['pull.comment', { pull: 1, body: ' ' }, 'What should be different?'],
    ['pull.comment', { pull: 1, body: 'x', line: 3 }, 'A line is a line of a file.'],
    ['pull.comment', { pull: 7, body: 'x' }, 'There is no pull request #7.'],
    ['pull.review', { pull: 1, verdict: 'request_changes' }, 'What should be different?'],
    ['pull.review', { pull: 1, verdict: 'maybe' }, 'verdict'],
    ['pull.check', { pull: 1, name: 'build', state: 'purple' }, 'state'],
    ['pull.check', { pull: 7, name: 'build', state: 'red' }, 'There is no pull request #7.'],
  ] as const)('%s %j: %s', async (name, input, says) => {
    await opened();
    const failed = perform(context, name, { ...input });
    await expect(failed).rejects.toThrow(UserError);
    await expect(failed).rejects.toThrow(says);
  });
});

describe('findings', () => {
  const problem = { category: 'x', line: 3, scenario: null, suggestion: null };
  /** A task of issue 1 with two findings, one of them resolved. */
  async function judged(): Promise<StoredTask> {
    await ready('Judged');
    const stored = await taskOf(1, 'aaaa0001');
    const round = { task: 'aaaa0001', source: 'critic', by: 'critic', at: 1000, answers: null } as const;
    const first = ['open', 'gone'].map((message) => ({
      ...problem,
      severity: 'sev2' as const,
      file: 'a.ts',
      message,
    }));
    const ledger = afterRound([], first, { ...round, round: 1, headSha: 'c1' });
    const findings = afterRound(ledger, first.slice(0, 1), { ...round, round: 2, headSha: 'c2' });
    const store = await context.writing();
    const lease = await store.acquireLease(taskLease('aaaa0001'), 'test', context.now(), MINUTE, () => true);
    const written = {
      lease: lease!,
      taskId: 'aaaa0001',
      expectedVersion: stored.version,
      events: [],
      findings,
    };
    const after = await store.commit({ ...written, at: context.now() });
    await store.releaseLease(lease!);
    return after;
  }
  const names = async (input = {}) =>
    (await perform(context, 'findings.list', input)).map(({ id, status }) => `${id} ${status}`);

  test('are listed with their history: all, of one task, only open ones', async () => {
    expect(await names()).toEqual([]);
    await judged();
    expect(await names()).toEqual(['aaaa0001.1 open', 'aaaa0001.2 resolved']);
    expect(await names({ open: true })).toEqual(['aaaa0001.1 open']);
    expect(await names({ task: '1' })).toHaveLength(2);
    expect((await perform(context, 'findings.list'))[1]).toMatchObject({
      issue: 1,
      history: [
        { status: 'open', by: 'critic', sha: 'c1', at: '1970-01-01T00:00:01.000Z' },
        { status: 'resolved', sha: 'c2' },
      ],
    });
  });

  test('of a live task: the decision is a request for its runner', async () => {
    await judged();
    const answer = await perform(context, 'findings.wontfix', { finding: '1.1', why: 'so it shall be' });
    expect(answer).toMatchObject({
      finding: 'aaaa0001.1',
      status: 'wontfix',
      done: false,
      runnerAlive: false,
    });
    expect(await (await context.writing()).requests('aaaa0001')).toMatchObject([
      { kind: 'wontfix', finding: 'aaaa0001.1', why: 'so it shall be' },
    ]);
    await perform(context, 'findings.reopen', { finding: 'aaaa0001.2' });
    expect(await (await context.writing()).requests('aaaa0001')).toHaveLength(2);
    expect(await names()).toEqual(['aaaa0001.1 open', 'aaaa0001.2 resolved']);
  });

  test('of an ended task: it is written down at once, for a restart to find', async () => {
    await commit(await judged(), moved('queued', 'abandoned', 'finding_stuck'));
    const answer = await perform(context, 'findings.wontfix', { finding: 'aaaa0001.1', why: 'so' });
    expect(answer).toMatchObject({ done: true });
    expect(await names()).toEqual(['aaaa0001.1 wontfix', 'aaaa0001.2 resolved']);
    const [finding] = await perform(context, 'findings.list', { task: 'aaaa' });
    expect(finding?.history.at(-1)).toMatchObject({ status: 'wontfix', why: 'so' });
    expect(await (await context.writing()).events({ type: 'finding_decided' })).toHaveLength(1);
    await perform(context, 'findings.reopen', { finding: 'aaaa0001.1' });
    expect(await names({ open: true })).toEqual(['aaaa0001.1 open']);
  });

  test.each([
    ['findings.wontfix', { finding: 'aaaa0001.9', why: 'x' }, 'has no finding 9'],
    ['findings.wontfix', { finding: 'aaaa0001', why: 'x' }, 'is not the name of a finding'],
    ['findings.wontfix', { finding: 'bbbb.1', why: 'x' }, 'There is no task bbbb'],
    ['findings.wontfix', { finding: '1.1', why: ' ' }, 'why'],
    ['findings.wontfix', { finding: '1.1' }, 'why'],
    ['findings.reopen', { finding: '1.1' }, 'is open already'],
  ] as const)('%s %j is refused', async (name, input, says) => {
    await judged();
    await expect(perform(context, name, { ...input })).rejects.toThrow(says);
  });
});

describe('cost', () => {
  const day = (at: number) => context.day(at).name;
  const usage = (task: string, key: string, at: number, costUsd: number | null) => ({
    ...{ task, turn: 1, role: 'coder' as const, sessionId: 's', model: 'm', key, at, costUsd },
    ...{ input: 10, output: 5, cacheRead: 30, cacheWrite: 0, reasoning: 0 },
  });

  test('is empty before anything was spent, and makes no database', async () => {
    expect(await perform(context, 'cost')).toMatchObject({ since: null, by: 'issue', lines: [] });
    expect(existsSync(join(root, '.forge', 'forge.db'))).toBe(false);
  });

  test('adds up what is in the database, and leaves out what is older', async () => {
    const issue = await ready('Spent');
    await taskOf(issue, 'aaaa0001');
    const now = context.now();
    const old = now - 3 * 86_400_000;
    const store = await context.writing();
    await store.addUsage([usage('aaaa0001', 'k1', old, 1), usage('aaaa0001', 'k2', now, 0.5)]);
    expect(await perform(context, 'cost')).toMatchObject({
      lines: [{ key: `#${issue}`, title: 'Spent', costUsd: 1.5, tokens: 90, cacheHitRatio: 0.75 }],
      total: { costUsd: 1.5, complete: true },
    });
    expect((await perform(context, 'cost', { by: 'day' })).lines.map(({ key }) => key)).toEqual([
      day(old),
      day(now),
    ]);
    const atOnce = { ...context, now: () => now };
    for (const since of ['2d', '30h', 'today', day(now), new Date(now).toISOString()])
      expect((await perform(atOnce, 'cost', { since })).total.costUsd, since).toBe(0.5);
  });

  test.each(['yesterday', '7', '2026-13-45', ''])('since %j is no time', async (since) => {
    await expect(perform(context, 'cost', { since })).rejects.toThrow('is no time to begin at');
  });
});
