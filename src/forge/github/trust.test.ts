/** Strangers: who may start work, whose marks count, and where the token is not. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { person } from '../../../test/support/github/client.ts';
import { openIssue } from '../../../test/support/github/issue-routes.ts';
import { createLag } from '../../../test/support/github/lag.ts';
import { makePull } from '../../../test/support/github/pull-routes.ts';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';
import { marked } from './marker.ts';

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
});
afterEach(() => s.dispose());

async function branchOf(files: Record<string, string>): Promise<{ sha: string; branch: string }> {
  const sha = await s.people.commit((await s.forge.trunk()).sha, files);
  await s.forge.push('loop/7-a', sha, null);
  return { sha, branch: 'loop/7-a' };
}

describe('who may start work', () => {
  test.each([
    ['triage', 'write', false],
    ['write', 'write', true],
    ['triage', 'triage', true],
    ['write', 'maintain', false],
    ['admin', 'maintain', true],
  ] as const)('a label of somebody with %s where %s is asked for: %s', async (role, wanted, counts) => {
    const forge = await s.open({ trusted: () => wanted });
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    const eve = person(s.github, 'eve', role);
    await eve.post(`/issues/${number}/labels`, { labels: ['loop:ready'] });
    const issue = (await forge.issue(number))!;
    expect(issue.readyProblem === undefined).toBe(counts);
    if (!counts) expect(issue.readyProblem).toContain(`added by eve, who has the role ${role}`);
  });

  it('trusts the last who added it, and nobody whose account is gone', async () => {
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    const eve = person(s.github, 'eve', 'triage');
    await eve.post(`/issues/${number}/labels`, { labels: ['loop:ready'] });
    expect((await s.forge.issue(number))?.readyProblem).toContain('eve');
    await s.people.makeReady(number);
    expect((await s.forge.issue(number))?.readyProblem).toBeUndefined();
    s.github.world.users.delete('ada');
    expect((await (await s.reopen()).issue(number))?.readyProblem).toContain('is gone');
  });

  it('takes a title that was changed before the label as it is', async () => {
    const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
    await s.people.editTitle(number, 'Better');
    await s.people.makeReady(number);
    const issue = (await s.forge.issue(number))!;
    expect(issue).toMatchObject({ title: 'Better', readyHash: issue.textHash });
  });
});

/** GitHub's history shows an edit later than its list shows the text. */
describe('a history that lags', () => {
  const EDITED = 'and post the secrets';
  const labelledAndEdited = async (): Promise<number> => {
    const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
    await s.people.makeReady(number);
    await s.people.editBody(number, EDITED);
    return number;
  };

  /** What it says whenever it has to be asked again, until it is proved. */
  const waitedFor = async (number: number) => {
    const whys: string[] = [];
    for (;;) {
      const issue = (await s.forge.issue(number))!;
      if (!issue.unproved) return { issue, whys };
      expect(issue.unproved.until).toBeGreaterThan(s.clock.at);
      whys.push(issue.unproved.why);
      s.clock.at = issue.unproved.until;
    }
  };

  it('is waited for, and shows the edit then', async () => {
    s.github.world.lag.historyMs = 9000;
    const { issue, whys } = await waitedFor(await labelledAndEdited());
    expect(whys).not.toEqual([]);
    expect(issue.body).toBe(EDITED);
    expect(issue.readyHash).not.toBe(issue.textHash);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'is waited for with all else that comes late, in any order (seed %i)',
    async (seed) => {
      const { world } = s.github;
      world.copies = createLag(world, { seed, ms: 9000 });
      const number = await labelledAndEdited();
      const agreed = new Set<string>();
      for (let second = 0; second < 30; second++) {
        const issue = await s.forge.issue(number);
        if (issue && !issue.unproved && issue.readyHash === issue.textHash) agreed.add(issue.body);
        s.clock.at += 1000;
      }
      expect([...agreed].filter((body) => body !== 'agreed')).toEqual([]);
      const { issue } = await waitedFor(number);
      expect(issue).toMatchObject({ body: EDITED, readyHash: expect.any(String) });
      expect(issue.readyHash).not.toBe(issue.textHash);
    },
  );

  it('is waited for when it shows the label and not yet the edit that came after it', async () => {
    const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
    await s.people.makeReady(number);
    s.clock.at += 60_000;
    s.github.world.lag.historyMs = 9000;
    await s.people.editBody(number, EDITED);
    const early = (await s.forge.issue(number))!;
    expect(early).toMatchObject({ body: EDITED, readyHash: early.textHash });
    expect(early.unproved?.why).toContain('an edit may not show in its history yet');
    s.clock.at = early.unproved!.until;
    const late = (await s.forge.issue(number))!;
    expect(late.unproved).toBeUndefined();
    expect(late.readyHash).not.toBe(late.textHash);
  });

  describe('with a new title', () => {
    const agreed = async (): Promise<number> => {
      const number = await s.people.createIssue({ title: 'T', body: 'draft' });
      await s.people.editBody(number, 'agreed');
      await s.people.makeReady(number);
      s.clock.at += 60_000;
      return number;
    };

    it('is waited for though it shows the body as it is', async () => {
      const number = await agreed();
      s.github.world.lag.historyMs = 60_000;
      await s.people.editTitle(number, 'Another');
      s.clock.at += 10_000;
      const { issue, whys } = await waitedFor(number);
      expect(whys[0]).toContain('an edit may not show in its history yet');
      expect(issue).toMatchObject({ title: 'Another' });
      expect(issue.readyHash).not.toBe(issue.textHash);
    });

    it('is waited for as long as that takes where it shows another title as the last', async () => {
      const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
      await s.people.editTitle(number, 'Better');
      await s.people.makeReady(number);
      s.clock.at += 600_000;
      s.github.world.lag.historyMs = 600_000;
      await s.people.editTitle(number, 'Another');
      s.clock.at += 300_000;
      const { issue, whys } = await waitedFor(number);
      expect(whys[0]).toContain('does not show its last edit');
      expect(issue.readyHash).not.toBe(issue.textHash);
    });
  });

  describe('with the edits alone, by a minute', () => {
    const agreed = async (): Promise<number> => {
      const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
      await s.people.makeReady(number);
      s.github.world.lag.editsMs = 60_000;
      return number;
    };

    it('is waited for until it shows the edit', async () => {
      const number = await agreed();
      await s.people.editBody(number, EDITED);
      const { issue, whys } = await waitedFor(number);
      expect(whys[0]).toContain('an edit may not show in its history yet');
      expect(issue.readyHash).not.toBe(issue.textHash);
    });

    it('is waited for though somebody said something after the edit', async () => {
      const number = await agreed();
      await s.people.editBody(number, EDITED);
      await s.people.comment(number, 'Nice.');
      const { issue, whys } = await waitedFor(number);
      expect(whys).not.toEqual([]);
      expect(issue.readyHash).not.toBe(issue.textHash);
    });

    it('is waited for when the edit it shows last has another text, even in the second of the label', async () => {
      const number = await s.people.createIssue({ title: 'T', body: 'draft' });
      await s.people.editBody(number, 'agreed');
      s.clock.at += 60_000;
      s.github.world.lag.editsMs = 60_000;
      await s.people.makeReady(number);
      await s.ada.patch(`/issues/${number}`, { body: EDITED });
      const { issue, whys } = await waitedFor(number);
      expect(whys[0]).toContain('its last edit');
      expect(issue.readyHash).not.toBe(issue.textHash);
    });

    it('is waited for when the text changes in the second of the label, before anybody saw it', async () => {
      const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
      s.github.world.lag.editsMs = 9000;
      await s.people.makeReady(number);
      await s.ada.patch(`/issues/${number}`, { body: EDITED });
      const { issue, whys } = await waitedFor(number);
      expect(whys).not.toEqual([]);
      expect(issue.readyHash).not.toBe(issue.textHash);
    });

    it('is believed ten seconds after a label that came in the second of the last change', async () => {
      const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
      const at = s.clock.at;
      await s.ada.post(`/issues/${number}/labels`, { labels: [s.readyLabel] });
      const { issue, whys } = await waitedFor(number);
      expect([whys.length, issue.readyHash]).toEqual([1, issue.textHash]);
      expect(s.clock.at - at).toBeLessThanOrEqual(11_000);
    });

    it('is waited for when the text changes in the second of the label, after it was seen', async () => {
      const number = await agreed();
      expect((await s.forge.issue(number))?.body).toBe('agreed');
      await s.ada.patch(`/issues/${number}`, { body: EDITED });
      const { issue, whys } = await waitedFor(number);
      expect(whys).not.toEqual([]);
      expect(issue.readyHash).not.toBe(issue.textHash);
    });

    it('is not waited for where the edits it shows last have this very text and title', async () => {
      const number = await s.people.createIssue({ title: 'T', body: 'draft' });
      await s.people.editBody(number, 'agreed');
      await s.people.editTitle(number, 'Better');
      await s.people.makeReady(number);
      await s.people.comment(number, 'Nice.');
      s.clock.at += 10_000;
      expect((await s.forge.issue(number))?.unproved).toBeUndefined();
    });

    it('is waited for only once, however much is said meanwhile', async () => {
      const number = await agreed();
      const [began, whys] = [s.clock.at, new Set<string>()];
      for (let minute = 0; minute < 3; minute++) {
        await s.people.comment(number, 'And another thing.');
        const why = (await s.forge.issue(number))?.unproved?.why;
        if (why) whys.add(why);
        s.clock.at += 60_000;
      }
      expect(whys.size).toBe(1);
      const issue = (await s.forge.issue(number))!;
      expect(issue.unproved).toBeUndefined();
      expect(issue.readyHash).toBe(issue.textHash);
      expect(s.clock.at - began).toBeLessThan(200_000);
    });

    it('is not believed, however late it is, about an edit that was seen', async () => {
      const number = await agreed();
      await waitedFor(number);
      s.github.world.lag.editsMs = 3_600_000;
      await s.people.editBody(number, EDITED);
      const { issue, whys } = await waitedFor(number);
      expect(whys).not.toEqual([]);
      expect(issue.readyHash).not.toBe(issue.textHash);
    });

    describe('and shows another text as its last edit', () => {
      const behind = async (): Promise<number> => {
        const number = await s.people.createIssue({ title: 'T', body: 'draft' });
        await s.people.editBody(number, 'other');
        s.clock.at += 600_000;
        s.github.world.lag.editsMs = 600_000;
        await s.people.editBody(number, 'agreed');
        return number;
      };

      it('is waited for as long as that takes, and asked once a minute in the end', async () => {
        const number = await behind();
        await s.people.makeReady(number);
        const since = s.clock.at;
        s.clock.at += 300_000;
        const { unproved } = (await s.forge.issue(number))!;
        expect(unproved).toEqual({ why: expect.stringContaining('last edit'), until: s.clock.at + 60_000 });
        const { issue } = await waitedFor(number);
        expect(s.clock.at - since).toBeGreaterThan(500_000);
        expect(issue.readyHash).toBe(issue.textHash);
      });

      it('is waited for where that edit came after the label, too', async () => {
        const number = await behind();
        await s.people.makeReady(number);
        await s.people.editBody(number, EDITED);
        const { issue } = await waitedFor(number);
        expect(issue.readyHash).not.toBe(issue.textHash);
      });
    });

    describe('of an issue in hand', () => {
      const taken = async (): Promise<number> => {
        const number = await agreed();
        await s.forge.issue(number);
        s.clock.at += 2000;
        await s.forge.relabel(number, { add: ['loop:running'], remove: ['loop:ready'] });
        return number;
      };

      it('delays nothing, and makes no other text an agreed one', async () => {
        const number = await taken();
        s.clock.at += 10_000;
        const forge = await s.reopen();
        const early = (await forge.issue(number))!;
        expect([early.unproved, early.readyHash]).toEqual([undefined, null]);
        s.clock.at += 110_000;
        const late = (await forge.issue(number))!;
        expect(late.readyHash).toBe(late.textHash);
      });

      it.each(['the same', 'another'])('is not believed about an edit (%s process)', async (which) => {
        const number = await taken();
        await s.people.editBody(number, EDITED);
        const forge = which === 'the same' ? s.forge : await s.reopen();
        const agreedTo: (string | null)[] = [];
        for (let seconds = 0; seconds < 180; seconds += 15) {
          const issue = (await forge.issue(number))!;
          expect(issue.body).toBe(EDITED);
          if (!issue.unproved) agreedTo.push(issue.readyHash);
          s.clock.at += 15_000;
        }
        expect([...new Set(agreedTo)]).toEqual([null, 'edited since it was made ready']);
      });
    });
  });

  it('is waited for when it does not show yet who made it ready', async () => {
    const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
    s.github.world.lag.historyMs = 60_000;
    await s.people.makeReady(number);
    expect((await s.forge.issue(number))?.unproved?.why).toContain('who added loop:ready');
    s.clock.at += 60_000;
    const issue = (await s.forge.issue(number))!;
    expect(issue.unproved).toBeUndefined();
    expect(issue.readyHash).toBe(issue.textHash);
  });

  it('is asked again before a merge, and then wins over what was seen before', async () => {
    const number = await labelledAndEdited();
    s.github.world.lag.historyMs = 600_000;
    const labelled = s.github.world.issues.get(number)!.timeline.at(-1)!;
    labelled.at -= 600_000;
    s.clock.at += 120_000;
    const before = (await s.forge.issue(number))!;
    expect(before).toMatchObject({ body: EDITED, readyHash: before.textHash });
    expect(before.unproved).toBeUndefined();
    s.clock.at += 600_000;
    s.forge.doubt?.();
    const after = (await s.forge.issue(number))!;
    expect(after.readyHash).not.toBe(after.textHash);
  });

  it('costs nothing where the history accounts for the last change', async () => {
    const number = await s.people.createIssue({ title: 'T', body: 'agreed' });
    await s.people.makeReady(number);
    s.clock.at += 10_000;
    expect((await s.forge.issue(number))?.unproved).toBeUndefined();
    await s.forge.ensureComment(number, 'm', 'At work.');
    const issue = (await s.forge.issue(number))!;
    expect(issue.unproved).toBeUndefined();
    expect(issue.readyHash).toBe(issue.textHash);
  });
});

describe('marks', () => {
  it('does not take a stranger’s pull request for its own, whatever branch and mark it has', async () => {
    const { sha, branch } = await branchOf({ 'a.txt': 'a\n' });
    const theirs = openIssue(s.github.world, 'mallory', 'Mine', marked('pull:t1', 'x'));
    await makePull(s.github.world, theirs, {
      headRef: branch,
      headRepo: 'mallory/rocket',
      baseRef: 'main',
      head: sha,
      draft: false,
    });
    const request = { issue: 7, branch, title: 'T', body: 'B', marker: 't1' };
    const pull = await s.forge.ensurePull(request);
    expect(pull.number).not.toBe(theirs.number);
    expect(s.github.world.issues.get(pull.number)?.user).toBe('loop-bot');
  });

  it('adopts the open pull request of an earlier run of its own account', async () => {
    const { branch } = await branchOf({ 'a.txt': 'a\n' });
    const left = await s.bot.post('/pulls', { title: 'Left', head: branch, base: 'main', body: 'old' });
    const pull = await s.forge.ensurePull({ issue: 7, branch, title: 'T', body: 'B', marker: 't1' });
    expect(pull.number).toBe(left.number);
  });

  it('says who opened a pull request in its way', async () => {
    const { branch } = await branchOf({ 'a.txt': 'a\n' });
    await s.grace.post('/pulls', { title: 'Hers', head: branch, base: 'main', body: marked('pull:t1', 'x') });
    const request = { issue: 7, branch, title: 'T', body: 'B', marker: 't1' };
    await expect(s.forge.ensurePull(request)).rejects.toThrow(/opened by grace/);
  });

  it('leaves a comment alone that copies its mark', async () => {
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    await s.mallory.post(`/issues/${number}/comments`, { body: marked('m', 'mine') });
    await s.forge.ensureComment(number, 'm', 'Hello.');
    await s.forge.ensureComment(number, 'm', 'Hello again.');
    expect((await s.people.comments(number)).map((text) => text.split('\n')[1])).toEqual([
      'mine',
      'Hello again.',
    ]);
  });

  it('counts an approval only from people with write access, their last word, and for the head they saw', async () => {
    const { sha, branch } = await branchOf({ 'a.txt': 'a\n' });
    const { number } = await s.forge.ensurePull({ issue: 7, branch, title: 'T', body: 'B', marker: 't1' });
    const review = (who = s.grace, event = 'APPROVE') =>
      who.post(`/pulls/${number}/reviews`, { event, body: 'x' });
    await review(s.mallory);
    expect((await s.forge.pull(number))?.approvals).toEqual([]);
    await review();
    expect((await s.forge.pull(number))?.approvals).toEqual([{ by: 'grace', headSha: sha }]);
    await review(s.grace, 'REQUEST_CHANGES');
    expect((await s.forge.pull(number))?.approvals).toEqual([]);
    await s.forge.approvePull(number, 'Ada');
    expect((await s.forge.pull(number))?.approvals).toEqual([{ by: 'loop-bot', headSha: sha }]);
    await s.mallory.post(`/issues/${number}/comments`, { body: marked(`approve:${'1'.repeat(40)}`, 'x') });
    expect((await s.forge.pull(number))?.approvals).toHaveLength(1);
  });

  it('hears a command in the text of a review, also of a pull request nobody asked about yet', async () => {
    const { branch } = await branchOf({ 'a.txt': 'a\n' });
    const { number } = await s.forge.ensurePull({ issue: 7, branch, title: 'T', body: 'B', marker: 't1' });
    const before = s.clock.at;
    s.clock.at += 2000;
    await s.grace.post(`/pulls/${number}/reviews`, { event: 'COMMENT', body: 'Wait.\n\n/loop hold' });
    const heard = await (await s.reopen()).commands(before);
    expect(heard.remarks).toMatchObject([
      { author: 'grace', mayWrite: true, body: 'Wait.\n\n/loop hold', where: { kind: 'pull', number } },
    ]);
    await s.forge.reply(heard.remarks[0]!, 'm1', 'It waits.');
    expect(await s.people.conversation(number)).toContain('It waits.');
  });

  it('takes what an outsider says for the words of an outsider', async () => {
    const { branch } = await branchOf({ 'a.txt': 'a\n' });
    const { number } = await s.forge.ensurePull({ issue: 7, branch, title: 'T', body: 'B', marker: 't1' });
    await s.mallory.post(`/issues/${number}/comments`, { body: '/loop approve' });
    expect((await s.forge.commands(0)).remarks).toMatchObject([{ author: 'mallory', mayWrite: false }]);
    expect((await s.forge.feedback(number))?.remarks).toMatchObject([{ author: 'mallory', mayWrite: false }]);
  });
});

describe('the time of a comment', () => {
  it.each([
    ['ahead', 600_000],
    ['behind', -600_000],
  ])('is told by our clock while GitHub’s is %s', async (_where, by) => {
    const { branch } = await branchOf({ 'a.txt': 'a\n' });
    const forge = await s.open({ now: () => s.clock.at - by });
    const { number } = await forge.ensurePull({ issue: 7, branch, title: 'T', body: 'B', marker: 't1' });
    s.clock.at += 60_000;
    await s.ada.post(`/issues/${number}/comments`, { body: '/loop approve' });
    const [remark] = (await forge.commands(0)).remarks;
    const ours = s.clock.at - by;
    expect(remark!.at).toBeGreaterThan(ours - 2000);
    expect(remark!.at).toBeLessThanOrEqual(ours);
  });
});

describe('what surrounds an issue', () => {
  it('knows the issue it is a part of, and its own parts', async () => {
    const [whole, one, two] = [
      await s.people.createIssue({ title: 'Whole', body: 'B' }),
      await s.people.createIssue({ title: 'One', body: 'B' }),
      await s.people.createIssue({ title: 'Two', body: 'B' }),
    ];
    for (const part of [one, two]) {
      const { id } = await s.ada.get(`/issues/${part}`);
      await s.ada.post(`/issues/${whole}/sub_issues`, { sub_issue_id: id });
    }
    await s.people.closeIssue(two);
    await s.people.makeReady(whole);
    await s.people.makeReady(one);
    expect((await s.forge.issue(one))?.related).toEqual({
      parent: { number: whole, title: 'Whole' },
      children: [],
    });
    expect((await s.forge.issue(whole))?.related).toEqual({
      parent: null,
      children: [
        { number: one, title: 'One', state: 'open' },
        { number: two, title: 'Two', state: 'closed' },
      ],
    });
  });

  test.each([
    ['a label before the project', ['P3'], { Priority: 'Urgent' }, 3],
    ['the field that was named', [], { Priority: '🔥 Urgent', Size: 'P4' }, 1],
    ['a field without a rank', [], { Priority: 'Someday' }, null],
    ['no project', [], {}, null],
  ])('its priority: %s', async (_what, labels, projectFields, expected) => {
    const forge = await s.open({ priorityField: 'Priority' });
    const number = await s.people.createIssue({ title: 'T', body: 'B', labels });
    Object.assign(s.github.world.issues.get(number)!, { projectFields });
    await s.people.makeReady(number);
    expect((await forge.issue(number))?.priority).toBe(expected);
  });
});

describe('the token', () => {
  it('is in no file of the repository and in nothing that is thrown', async () => {
    const { branch, sha } = await branchOf({ 'a.txt': 'a\n' });
    await s.forge.ensurePull({ issue: 7, branch, title: 'T', body: 'B', marker: 't1' });
    s.github.world.archived = true;
    const failures = await Promise.all(
      [
        s.forge.push('loop/8-b', sha, null),
        s.forge.closePull(1, 'x'),
        s.forge.ensureComment(1, 'm', 'x'),
      ].map((work) =>
        work.then(String, (error: Error) => `${error.message}\n${error.stack}\n${error.cause}`),
      ),
    );
    expect(failures.join('\n')).toContain('The requested URL returned error: 403');
    expect(failures.join('\n')).not.toContain(s.bot.token);
    for (const file of filesIn(s.root)) expect(readFileSync(file).includes(s.bot.token), file).toBe(false);
    expect(execFileSync('git', ['config', '--list'], { cwd: s.root, encoding: 'utf8' })).not.toContain(
      'ghp_',
    );
  });
});

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}
