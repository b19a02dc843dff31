/** One issue on GitHub, carried to its merge by a row of runners: each is killed as its effect takes place. */
import { expect } from 'vitest';
import { expectEventsWithoutGap } from '../support/e2e/merged-once.ts';
import { test } from '../support/e2e/on-github.ts';
import type { Ended, Program } from '../support/e2e/program.ts';

test('killed after each kind of effect, whose answer is lost: everything is done once', async ({
  world,
  on,
}) => {
  const finding = { severity: 'sev2', file: 'done-1.txt', line: 1, message: 'It lacks a second line.' };
  world.script(
    {
      when: { role: 'critic', round: 1 },
      steps: [{ answer: { verdict: 'REQUEST_CHANGES', findings: [finding] } }],
    },
    { when: { role: 'coder' }, steps: [{ append: { 'done-1.txt': 'done\n' } }] },
  );
  const issue = await on.issue('Write the file');
  await on.ready(issue);

  let runner: Program | null = null;
  const killedAt = new Set<string>();
  on.github.faults.add({
    times: Number.POSITIVE_INFINITY,
    when(method, path) {
      const effect = effectOf(method, path)?.replace(/ \+ remove\w+$/, `: ${on.row(issue).labels}`) ?? null;
      if (effect === null || runner === null || killedAt.has(effect)) return false;
      killedAt.add(effect);
      return true;
    },
    how: { kind: 'lose', also: () => runner!.kill() },
  });
  let ended: Ended;
  do {
    runner = world.run('--until-idle');
    ended = await runner.ended;
  } while (ended.signal === 'SIGKILL');
  expect(ended.code).toBe(0);
  expect([...killedAt].sort()).toEqual([
    'PATCH /issues/comments/N',
    'PATCH /pulls/N',
    'POST /graphql mutation addLabelsToLabelable: loop:ready',
    'POST /graphql mutation addLabelsToLabelable: loop:running',
    'POST /graphql mutation markPullRequestReadyForReview',
    'POST /issues/N/comments',
    'POST /pulls',
    'POST /pulls/N/reviews',
    'POST /statuses/SHA',
    'POST git /git-receive-pack',
    'PUT /pulls/N/merge',
  ]);

  const task = await world.task(issue);
  expect(task).toMatchObject({ state: 'merged', attempt: 1, turns: 2, criticRounds: 2, hold: null });
  expect(task.sessionIds.length).toBeLessThanOrEqual(2);
  const [pull, ...others] = on.pulls();
  expect(others).toEqual([]);
  expect(pull!.pull!.merged).toBe(true);
  expect(pull!.pull!.reviews).toHaveLength(2);
  expect(pull!.pull!.threads).toHaveLength(1);
  for (const { comments } of [on.row(issue), pull!]) {
    const marks = comments.map(({ body }) => body.split('\n')[0]);
    expect(new Set(marks).size).toBe(marks.length);
  }
  expect(on.row(issue)).toMatchObject({ state: 'closed', labels: ['loop:merged'] });
  await on.ada.git(world.root, 'fetch', '-q', 'origin');
  const landed = world.git('log', '--format=%H', `--grep=^Issue: #${issue}$`, 'origin/main').trim();
  expect(landed.split('\n')).toEqual([task.mergedSha]);
  const branches = await on.ada.git(world.root, 'ls-remote', '--heads', 'origin');
  expect(branches).toMatch(/^[0-9a-f]{40}\trefs\/heads\/main$/);
  await expectEventsWithoutGap(world);
});

/** What a request changes, without the numbers; null when it changes nothing. */
function effectOf(method: string, path: string): string | null {
  const isRead = method === 'GET' || path === '/graphql' || path.includes('upload-pack');
  if (isRead) return null;
  const what = path
    .replace('/repos/acme/rocket', '')
    .replace(/[0-9a-f]{40}/g, 'SHA')
    .replace(/\/\d+/g, '/N');
  return `${method} ${what}`;
}
