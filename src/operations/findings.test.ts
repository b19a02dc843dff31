/** The findings ledger, and a person's decisions. */
import { describe, expect, test } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import { afterRound } from '../core/change/findings.ts';
import type { StoredTask } from '../core/task.ts';
import { perform } from '../operations.ts';
import { taskLease } from '../store/store.ts';

const here = openedRepository();

describe('findings', () => {
  const problem = { category: 'x', line: 3, scenario: null, suggestion: null };
  /** A task of issue 1 with two findings, one of them resolved. */
  async function judged(): Promise<StoredTask> {
    await here.ready('Judged');
    const stored = await here.taskOf(1, 'aaaa0001');
    const round = { task: 'aaaa0001', source: 'critic', by: 'critic', at: 1000, answers: null } as const;
    const first = ['open', 'gone'].map((message) => ({
      ...problem,
      severity: 'sev2' as const,
      file: 'a.ts',
      message,
    }));
    const ledger = afterRound([], first, { ...round, round: 1, headSha: 'c1' });
    const findings = afterRound(ledger, first.slice(0, 1), { ...round, round: 2, headSha: 'c2' });
    const store = await here.context.writing();
    const lease = await store.acquireLease(
      taskLease('aaaa0001'),
      'test',
      here.context.now(),
      MINUTE,
      () => true,
    );
    const written = {
      lease: lease!,
      taskId: 'aaaa0001',
      expectedVersion: stored.version,
      events: [],
      findings,
    };
    const after = await store.commit({ ...written, at: here.context.now() });
    await store.releaseLease(lease!);
    return after;
  }
  const names = async (input = {}) =>
    (await perform(here.context, 'findings.list', input)).map(({ id, status }) => `${id} ${status}`);

  test('are listed with their history: all, of one task, only open ones', async () => {
    expect(await names()).toEqual([]);
    await judged();
    expect(await names()).toEqual(['aaaa0001.1 open', 'aaaa0001.2 resolved']);
    expect(await names({ open: true })).toEqual(['aaaa0001.1 open']);
    expect(await names({ task: '1' })).toHaveLength(2);
    expect((await perform(here.context, 'findings.list'))[1]).toMatchObject({
      issue: 1,
      history: [
        { status: 'open', by: 'critic', sha: 'c1', at: '1970-01-01T00:00:01.000Z' },
        { status: 'resolved', sha: 'c2' },
      ],
    });
  });

  test('of a live task: the decision is a request for its runner', async () => {
    await judged();
    const answer = await perform(here.context, 'findings.wontfix', { finding: '1.1', why: 'so it shall be' });
    expect(answer).toMatchObject({
      finding: 'aaaa0001.1',
      status: 'wontfix',
      done: false,
      runnerAlive: false,
    });
    expect(await (await here.context.writing()).requests('aaaa0001')).toMatchObject([
      { kind: 'wontfix', finding: 'aaaa0001.1', why: 'so it shall be' },
    ]);
    await perform(here.context, 'findings.reopen', { finding: 'aaaa0001.2' });
    expect(await (await here.context.writing()).requests('aaaa0001')).toHaveLength(2);
    expect(await names()).toEqual(['aaaa0001.1 open', 'aaaa0001.2 resolved']);
  });

  test('of an ended task: it is written down at once, for a restart to find', async () => {
    await here.commit(await judged(), moved('queued', 'abandoned', 'finding_stuck'));
    const answer = await perform(here.context, 'findings.wontfix', { finding: 'aaaa0001.1', why: 'so' });
    expect(answer).toMatchObject({ done: true });
    expect(await names()).toEqual(['aaaa0001.1 wontfix', 'aaaa0001.2 resolved']);
    const [finding] = await perform(here.context, 'findings.list', { task: 'aaaa' });
    expect(finding?.history.at(-1)).toMatchObject({ status: 'wontfix', why: 'so' });
    expect(await (await here.context.writing()).events({ type: 'finding_decided' })).toHaveLength(1);
    await perform(here.context, 'findings.reopen', { finding: 'aaaa0001.1' });
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
    await expect(perform(here.context, name, { ...input })).rejects.toThrow(says);
  });

  test('are found by file and by pattern (loops 33)', async () => {
    await judged();
    expect(await names({ file: 'a.ts', pattern: 'GO.E$' })).toEqual(['aaaa0001.2 resolved']);
    expect(await names({ file: 'b.ts' })).toEqual([]);
    await expect(names({ pattern: '(a' })).rejects.toThrow(
      "--pattern can't be used: the pattern opens a group",
    );
  });

  test('are written by people, for the coder to be told; never of a task that has ended', async () => {
    const stored = await judged();
    const written = { task: '1', description: 'crashes', file: 'a.ts', line: 3 };
    expect(await perform(here.context, 'findings.write', written)).toMatchObject({
      name: '#1',
      finding: null,
    });
    const [request] = await (await here.context.writing()).requests('aaaa0001');
    expect(request).toMatchObject({ kind: 'write', finding: expect.stringContaining('"line":3') });
    await here.commit(stored, moved('queued', 'abandoned', 'no_progress'));
    await expect(perform(here.context, 'findings.write', written)).rejects.toThrow('has ended: abandoned');
  });

  test('of a critic are not resolved by people', async () => {
    await judged();
    await expect(perform(here.context, 'findings.resolve', { finding: '1.1' })).rejects.toThrow(
      'not of an audit',
    );
  });
});

describe('findings of a plan', () => {
  const started = () => perform(here.context, 'loop.start', { goal: 'Tidy up.', name: 'tidy-cli' });
  const crash = { task: 'tidy-cli', description: 'crashes without input', file: 'src/cli.ts', line: 12 };

  test('a live one: its runner is asked, with the whole finding', async () => {
    const { task } = await started();
    expect(await perform(here.context, 'findings.write', crash)).toMatchObject({
      finding: null,
      name: 'tidy-cli',
    });
    const [request] = await (await here.context.writing()).requests(task);
    expect(request).toMatchObject({ kind: 'write', by: expect.stringContaining('Eva') });
    expect(JSON.parse(request?.finding ?? '')).toEqual({
      severity: 'bug',
      description: 'crashes without input',
      file: 'src/cli.ts',
      line: 12,
      scenario: null,
    });
  });

  test('an ended one: it is in the ledger at once, with who wrote and who resolved it', async () => {
    await started();
    await perform(here.context, 'loop.cancel', { loop: 'tidy-cli' });
    const { finding } = await perform(here.context, 'findings.write', crash);
    expect(finding).toMatch(/\.1$/);
    await perform(here.context, 'findings.resolve', { finding: 'tidy-cli.1', why: 'there is a check' });
    const [known] = await perform(here.context, 'findings.list', { task: 'tidy-cli' });
    expect(known).toMatchObject({
      status: 'resolved',
      severity: 'sev2',
      source: 'auditor',
      history: [
        { status: 'open', by: expect.stringContaining('Eva') },
        { status: 'resolved', by: expect.stringContaining('Eva'), why: 'there is a check' },
      ],
    });
  });

  test('are its own: the same plan started again sees none of them (loops 33)', async () => {
    await started();
    await perform(here.context, 'loop.cancel', { loop: 'tidy-cli' });
    await perform(here.context, 'findings.write', crash);
    const again = await started();
    expect(again).toMatchObject({ name: 'tidy-cli-2', already: false });
    expect(await perform(here.context, 'findings.list', { task: again.task })).toEqual([]);
    expect(await perform(here.context, 'findings.list', { task: 'tidy-cli' })).toMatchObject([
      { file: 'src/cli.ts', line: 12, severity: 'sev2', message: 'crashes without input' },
    ]);
  });

  test('a completed one takes no more', async () => {
    const { task } = await started();
    const store = await here.context.writing();
    await here.commit(
      (await store.task(task))!,
      moved('queued', 'dispatched'),
      moved('dispatched', 'running'),
      moved('running', 'completed'),
    );
    await expect(perform(here.context, 'findings.write', crash)).rejects.toThrow('tidy-cli is completed');
  });
});
