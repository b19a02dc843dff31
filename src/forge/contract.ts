/**
 * What every forge must do, whoever holds the issues: run against each implementation.
 *
 * `people` is the other side of the forge: what users do with it by hand, in whatever way it offers them.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SHOWN, searchWords } from '../core/access/forge-reading.ts';
import type { Check, Remark } from '../core/change/remark.ts';
import type { Candidate } from '../core/event.ts';
import type { Forge } from './forge.ts';

export interface People {
  createIssue(issue: {
    title: string;
    body: string;
    labels?: string[];
    priority?: number;
    blockedBy?: number[];
  }): Promise<number>;
  makeReady(issue: number): Promise<void>;
  editBody(issue: number, body: string): Promise<void>;
  editTitle(issue: number, title: string): Promise<void>;
  label(issue: number, change: { add?: string[]; remove?: string[] }): Promise<void>;
  closeIssue(issue: number): Promise<void>;
  /** The texts of an issue's comments, in order. */
  comments(issue: number): Promise<string[]>;
  comment(issue: number, text: string): Promise<void>;
  /** A commit in the loop's own repository, on no branch yet; null deletes a file. */
  commit(parent: string, files: Record<string, string | null>): Promise<string>;
  /** A commit on a branch of the forge, trunk included. */
  pushCommit(branch: string, files: Record<string, string | null>): Promise<string>;
  /** A forced push: the branch is there now, whatever it was. */
  rewriteBranch(branch: string, sha: string): Promise<void>;
  mergeByHand(branch: string, how: 'merge' | 'squash' | 'fast_forward' | 'rebase'): Promise<void>;
  deleteBranch(branch: string): Promise<void>;
  closePull(pull: number): Promise<void>;
  approve(pull: number): Promise<void>;
  /** Somebody with write access says something about the head as it is now. */
  remark(pull: number, remark: Pick<Remark, 'verdict' | 'body' | 'file' | 'line'>): Promise<void>;
  /** CI reports a result for the head as it is now. */
  reportCheck(pull: number, check: Pick<Check, 'name' | 'state'> & { log?: string }): Promise<void>;
  /** Title and text of a pull request, as people see them. */
  description(pull: number): Promise<string>;
  /** Everything that was said on a pull request. */
  conversation(pull: number): Promise<string>;
  readFile(branch: string, path: string): Promise<string | null>;
}

export interface ForgeUnderTest {
  forge: Forge;
  /** The same forge as another process sees it. */
  reopen(): Promise<Forge>;
  people: People;
  readyLabel: string;
  /** How much text one issue takes, where that is limited. */
  longestBody?: number;
  /** The forge makes the commit that lands itself, with the candidate's tree and on the candidate's trunk. */
  makesOwnCommit?: boolean;
  dispose(): Promise<void>;
}

/** `make` starts with a trunk whose only file is `README.md` with the line "hello". */
export function forgeContract(name: string, make: () => Promise<ForgeUnderTest>): void {
  describe(`${name} forge`, () => {
    let under: ForgeUnderTest;
    let forge: Forge;
    let people: People;
    let started: string;
    beforeEach(async () => {
      under = await make();
      ({ forge, people } = under);
      started = (await forge.trunk()).sha;
    });
    afterEach(() => under.dispose());

    /** A pushed branch with one commit and its pull request. */
    async function openPull(
      branch: string,
      files: Record<string, string | null>,
      issue: number | null = null,
    ) {
      const sha = await people.commit((await forge.trunk()).sha, files);
      expect(await forge.push(branch, sha, null)).toBe('pushed');
      const request = {
        issue,
        branch,
        title: `Work on ${branch}`,
        body: 'Please merge.',
        marker: `pull:${branch}`,
      };
      return { sha, request, pull: await forge.ensurePull(request) };
    }

    const build = (headSha: string, method: 'squash' | 'merge' | 'rebase' = 'squash', baseSha = started) =>
      forge.buildCandidate({ headSha, baseSha, method, message: 'Add it (#1)', task: 't1' });

    async function candidateFor(headSha: string, method: 'squash' | 'merge' | 'rebase' = 'squash') {
      const built = await build(headSha, method);
      if (built.kind !== 'clean') throw new Error(`expected a candidate, got ${built.kind}`);
      return built.candidate;
    }

    it('shows the same of an issue, its pull request and branch, until something about them changes', async () => {
      if (!forge.seen) return;
      const issue = await people.createIssue({ title: 'One', body: 'x' });
      const { pull } = await openPull('loop/1-a', { 'a.txt': 'a\n' }, issue);
      const of = { issue, pull: pull.number, branch: 'loop/1-a' };
      const look = async () => (await forge.seen!([of]))[0]!;
      let before = await look();
      expect((await look()).every((one, at) => one === before[at])).toBe(true);
      for (const change of [
        () => people.pushCommit('loop/1-a', { 'b.txt': 'b\n' }),
        () => people.remark(pull.number, { verdict: 'comment', body: 'Hm.', file: null, line: null }),
        () => people.editBody(issue, 'y'),
      ]) {
        await change();
        const after = await look();
        expect(after.some((one, at) => one !== before[at])).toBe(true);
        before = after;
      }
    });

    it('has nothing to complain about', async () => {
      expect(await forge.check()).toEqual([]);
    });

    describe('issues', () => {
      it('says of an issue what people said', async () => {
        const first = await people.createIssue({ title: 'First', body: 'One\n\nmore' });
        const second = await people.createIssue({
          title: 'Zweites: "größer" 🚀',
          body: 'Two',
          labels: ['Bug', 'needs care'],
          priority: 2,
          blockedBy: [first],
        });
        expect(await forge.openIssues()).toMatchObject([{ number: first }, { number: second }]);
        expect(await forge.issue(second)).toMatchObject({
          title: 'Zweites: "größer" 🚀',
          body: 'Two',
          state: 'open',
          labels: expect.arrayContaining(['Bug', 'needs care']),
          priority: 2,
          blockedBy: [first],
        });
        expect((await forge.issue(first))?.body).toBe('One\n\nmore');
        expect(await forge.issue(first + 1000)).toBeNull();
      });

      it('carries a body of 70,000 characters, or as long as it takes, and a title written right to left', async () => {
        const body = `${'line of text\n'.repeat(5400)}end`.slice(-(under.longestBody ?? 70_000));
        const number = await people.createIssue({ title: 'إضافة تسجيل الدخول', body });
        const issue = await forge.issue(number);
        expect(issue?.title).toBe('إضافة تسجيل الدخول');
        expect(issue?.body).toBe(body);
      });

      it('does not offer a closed issue, but still answers for it (dispatch 44)', async () => {
        const number = await people.createIssue({ title: 'One', body: 'x' });
        await people.closeIssue(number);
        expect(await forge.openIssues()).toEqual([]);
        expect((await forge.issue(number))?.state).toBe('closed');
      });

      it('closes an issue, once or twice', async () => {
        const number = await people.createIssue({ title: 'One', body: 'x' });
        await forge.closeIssue(number);
        await forge.closeIssue(number);
        expect((await forge.issue(number))?.state).toBe('closed');
      });

      it('changes labels whatever their case and spacing, and repeats without effect (dispatch 8)', async () => {
        const number = await people.createIssue({ title: 'One', body: 'x', labels: ['Loop:Ready', 'keep'] });
        for (let round = 0; round < 2; round++) {
          await forge.relabel(number, { add: ['loop:running', 'Keep'], remove: [' loop:ready '] });
          expect((await forge.issue(number))?.labels.sort()).toEqual(['keep', 'loop:running']);
        }
      });

      it('leaves the body alone when it relabels, comments and closes', async () => {
        const number = await people.createIssue({ title: 'One', body: 'a  \n\n- b\n', labels: ['x'] });
        const before = (await forge.issue(number))!;
        await forge.relabel(number, { add: ['y'], remove: ['x'] });
        await forge.ensureComment(number, 'm', 'hello');
        await forge.closeIssue(number);
        expect(await forge.issue(number)).toMatchObject({ body: before.body, textHash: before.textHash });
      });

      it.each([
        ['body', (number: number) => people.editBody(number, 'something else')],
        ['title', (number: number) => people.editTitle(number, 'Something else')],
      ])(
        'pins the text when an issue is made ready, and a later edit of the %s shows (dispatch 45)',
        async (_what, edit) => {
          const number = await people.createIssue({ title: 'One', body: 'agreed' });
          await people.makeReady(number);
          const ready = (await forge.issue(number))!;
          expect(ready.labels).toContain(under.readyLabel);
          expect(ready.readyHash).toBe(ready.textHash);
          expect(ready.readyAt).not.toBeNull();

          await edit(number);
          const edited = (await forge.issue(number))!;
          expect(edited.textHash).not.toBe(ready.textHash);
          expect(edited.readyHash).not.toBe(edited.textHash);
          expect(edited.readyHash).not.toBeNull();
          const unseen = (await (await under.reopen()).issue(number))!;
          expect(unseen.readyHash).not.toBe(unseen.textHash);
          expect(unseen.readyHash).not.toBeNull();

          await people.makeReady(number);
          expect((await forge.issue(number))?.readyHash).toBe(edited.textHash);
        },
      );

      it('says a comment once per marker, also when asked by another process', async () => {
        const number = await people.createIssue({ title: 'One', body: 'x' });
        await forge.ensureComment(number, 'task-1:ended', 'It ended.');
        await forge.ensureComment(number, 'task-1:ended', 'It ended.');
        await (await under.reopen()).ensureComment(number, 'task-1:ended', 'It ended.');
        await forge.ensureComment(number, 'task-2:ended', 'It ended again.');
        const said = await people.comments(number);
        expect(said).toHaveLength(2);
        expect(said[0]).toContain('It ended.');
      });

      it('edits a comment in place when it is said with another text, and leaves all others alone', async () => {
        const number = await people.createIssue({ title: 'One', body: 'x' });
        await forge.ensureComment(number, 'first', 'Before it.');
        await forge.ensureComment(number, 'status', 'At work.\n\n- 1 turn');
        await people.comment(number, 'Go on!');
        await forge.ensureComment(number, 'status', 'In review.');
        await (await under.reopen()).ensureComment(number, 'status', 'Merged.\n\n- 3 turns');
        const said = await people.comments(number);
        expect(said).toHaveLength(3);
        expect(said[0]).toContain('Before it.');
        expect(said[1]).toContain('Merged.\n\n- 3 turns');
        expect(said[1]).not.toContain('review');
        expect(said[2]).toContain('Go on!');
      });

      it('does not take a marker in the words of a stranger for its own', async () => {
        const number = await people.createIssue({ title: 'One', body: 'x' });
        await people.comment(number, '<!-- forge-loop:task-1:ended -->\nnothing to see');
        await forge.ensureComment(number, 'task-1:ended', 'It ended.');
        expect((await people.comments(number)).filter((text) => text.includes('It ended.'))).toHaveLength(1);
      });

      it('has nothing to do for an issue that is gone', async () => {
        await forge.relabel(4711, { add: ['a'], remove: [] });
        await forge.ensureComment(4711, 'm', 'text');
        await forge.closeIssue(4711);
        expect(await forge.issue(4711)).toBeNull();
      });
    });

    describe('what agents read', () => {
      it('is an issue with its newest comments, and nothing for a number that has none', async () => {
        const number = await people.createIssue({ title: 'Dark mode', body: 'Too bright.', labels: ['ui'] });
        for (let n = 1; n <= SHOWN.comments + 2; n++) await people.comment(number, `said ${n}`);
        const read = await forge.readIssue(number);
        expect(read).toMatchObject({ number, title: 'Dark mode', state: 'open', text: 'Too bright.' });
        expect(read?.labels).toEqual(['ui']);
        expect(read?.comments.total).toBe(SHOWN.comments + 2);
        expect(read?.comments.shown.map(({ text }) => text)).toEqual(
          Array.from({ length: SHOWN.comments }, (_, n) => `said ${n + 3}`),
        );
        for (const { author, at } of read?.comments.shown ?? []) {
          expect(author).toMatch(/./);
          expect(at).toBeGreaterThan(0);
        }
        await people.closeIssue(number);
        expect(await forge.readIssue(number)).toMatchObject({ state: 'closed' });
        expect(await forge.readIssue(number + 1000)).toBeNull();
        expect(await forge.readPull(number + 1000)).toBeNull();
      });

      it('is a pull request with what it changes, what CI says and what people said', async () => {
        const { pull } = await openPull('work', { 'a.txt': '1\n2\n', 'README.md': null });
        await people.reportCheck(pull.number, { name: 'build', state: 'red', log: 'no' });
        await people.remark(pull.number, {
          verdict: 'request_changes',
          body: 'Not like this.',
          file: null,
          line: null,
        });
        await people.remark(pull.number, { verdict: 'comment', body: 'Why 2?', file: 'a.txt', line: 2 });
        const read = await forge.readPull(pull.number);
        const { branch: into } = await forge.trunk();
        expect(read).toMatchObject({ number: pull.number, state: 'open', from: pull.branch, into });
        expect(read?.title).toMatch(/./);
        expect(read?.checks).toEqual({ shown: [{ name: 'build', state: 'red' }], total: 1 });
        expect(read?.files).toEqual({
          shown: [
            { path: 'README.md', added: 0, deleted: 1 },
            { path: 'a.txt', added: 2, deleted: 0 },
          ],
          total: 2,
        });
        expect(read?.reviews.shown.find(({ text }) => text === 'Not like this.')?.verdict).toMatch(
          /request.*change|change.*request/,
        );
        expect(read?.threads).toMatchObject({
          shown: [{ file: 'a.txt', line: 2, isResolved: false, said: { shown: [{ text: 'Why 2?' }] } }],
          total: 1,
        });
        await people.closePull(pull.number);
        expect(await forge.readPull(pull.number)).toMatchObject({ state: 'closed' });
      });

      it('is found by its words, open or closed, in whatever case', async () => {
        const number = await people.createIssue({ title: 'Zebra stripes', body: 'of the quagga' });
        await people.createIssue({ title: 'Zebra crossing', body: 'x' });
        await people.closeIssue(number);
        // Where there is an index, it is a while behind.
        await expect
          .poll(async () => (await forge.search('zebra quagga')).shown, { timeout: 60_000, interval: 1000 })
          .toEqual([{ kind: 'issue', number, title: 'Zebra stripes', state: 'closed' }]);
        expect(await forge.search('nothinglikethis')).toEqual({ shown: [], total: 0 });
      });

      it('finds pull requests as such', async () => {
        const { pull } = await openPull('work', { 'a.txt': '1\n' });
        const { title } = (await forge.readPull(pull.number))!;
        await expect
          .poll(async () => (await forge.search(searchWords(title).join(' '))).shown, {
            timeout: 60_000,
            interval: 1000,
          })
          .toContainEqual({ kind: 'pull', number: pull.number, title, state: 'open' });
      });
    });

    describe('branches', () => {
      it('publishes a branch and its next head, and repeats without effect', async () => {
        const { sha: trunk } = await forge.trunk();
        const one = await people.commit(trunk, { 'a.txt': '1\n' });
        const two = await people.commit(one, { 'a.txt': '2\n' });
        expect(await forge.push('loop/1-a', one, null)).toBe('pushed');
        expect(await forge.push('loop/1-a', one, null)).toBe('pushed');
        expect(await forge.push('loop/1-a', two, one)).toBe('pushed');
        expect((await forge.branchHead('loop/1-a'))?.sha).toBe(two);
        expect(await forge.branchHead('loop/none')).toBeNull();
      });

      it('does not move a branch that somebody else moved', async () => {
        const { sha: trunk } = await forge.trunk();
        const one = await people.commit(trunk, { 'a.txt': '1\n' });
        await forge.push('loop/1-a', one, null);
        const theirs = await people.pushCommit('loop/1-a', { 'b.txt': 'b\n' });
        const two = await people.commit(one, { 'a.txt': '2\n' });
        expect(await forge.push('loop/1-a', two, one)).toBe('moved');
        expect(await forge.push('loop/1-a', two, null)).toBe('moved');
        expect((await forge.branchHead('loop/1-a'))?.sha).toBe(theirs);
      });

      it('deletes a branch that was merged, once or twice', async () => {
        const { sha, pull } = await openPull('loop/1-a', { 'a.txt': 'a\n' });
        await forge.land(pull.number, await candidateFor(sha));
        await forge.deleteBranch('loop/1-a');
        await forge.deleteBranch('loop/1-a');
        expect(await forge.branchHead('loop/1-a')).toBeNull();
        expect(await forge.pull(pull.number)).toMatchObject({ state: 'merged', headSha: null });
      });
    });

    describe('pull requests', () => {
      it('opens one pull request for a branch, however often it is asked, also by another process', async () => {
        const { sha, request, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        expect(pull).toMatchObject({
          branch: 'loop/7-a',
          state: 'open',
          headSha: sha,
          mergedSha: null,
          approvals: [],
        });
        expect((await forge.ensurePull(request)).number).toBe(pull.number);
        expect((await (await under.reopen()).ensurePull(request)).number).toBe(pull.number);
        expect((await openPull('loop/8-b', { 'b.txt': 'b\n' })).pull.number).not.toBe(pull.number);
        expect(await forge.pull(pull.number + 1000)).toBeNull();
      });

      it('always knows the head of the branch as it is now', async () => {
        const { pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const theirs = await people.pushCommit('loop/7-a', { 'b.txt': 'b\n' });
        expect((await forge.pull(pull.number))?.headSha).toBe(theirs);
        await people.deleteBranch('loop/7-a');
        const left = (await forge.pull(pull.number))!;
        expect([left.headSha, left.mergedSha]).toEqual([null, null]);
      });

      it('posts a review once per marker', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const review = {
          marker: 'review:1',
          headSha: sha,
          verdict: 'REQUEST_CHANGES',
          body: 'Not yet.',
          comments: [{ file: 'a.txt', line: 1, body: 'Handle the empty case.' }],
        };
        await forge.postReview(pull.number, review);
        await forge.postReview(pull.number, review);
        const said = await people.conversation(pull.number);
        expect(said.split('Not yet.')).toHaveLength(2);
        expect(said).toContain('Handle the empty case.');
        expect(said).toContain('REQUEST_CHANGES');
      });

      it('replaces title and text of a pull request, and keeps what was said on it', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const review = { marker: 'review:1', headSha: sha, verdict: 'APPROVE', body: 'Fine.', comments: [] };
        await forge.postReview(pull.number, review);
        const text = { title: 'A new title', body: 'First line.\n\n| a | b |\n|---|---|\n| 1 | 2 |' };
        await forge.updatePull(pull.number, text);
        await forge.updatePull(pull.number, text);
        const described = await people.description(pull.number);
        expect(described).toContain('A new title');
        expect(described).toContain(text.body);
        expect(described).not.toContain('Please merge.');
        expect((await people.conversation(pull.number)).split('Fine.')).toHaveLength(2);
        expect(await forge.pull(pull.number)).toMatchObject({ state: 'open', headSha: sha });
        await forge.postReview(pull.number, review);
        expect((await people.conversation(pull.number)).split('Fine.')).toHaveLength(2);
        await forge.updatePull(pull.number + 1000, text);
      });

      it('closes a pull request with a comment, once or twice', async () => {
        const { request, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        await forge.closePull(pull.number, 'Superseded by a new attempt.');
        await forge.closePull(pull.number, 'Superseded by a new attempt.');
        expect((await forge.pull(pull.number))?.state).toBe('closed');
        expect((await people.conversation(pull.number)).split('Superseded by')).toHaveLength(2);
        expect(await forge.ensurePull(request)).toMatchObject({ number: pull.number, state: 'closed' });
      });

      it('sees that a person closed it', async () => {
        const { pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        await people.closePull(pull.number);
        expect((await forge.pull(pull.number))?.state).toBe('closed');
      });

      it('binds a person’s approval to the head they saw', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        await people.approve(pull.number);
        await people.pushCommit('loop/7-a', { 'b.txt': 'b\n' });
        expect((await forge.pull(pull.number))?.approvals.map((approval) => approval.headSha)).toEqual([sha]);
      });

      for (const how of ['merge', 'squash', 'fast_forward', 'rebase'] as const) {
        it(`sees that a person merged it by ${how} (dispatch 44, 48)`, async () => {
          const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
          if (how !== 'fast_forward')
            await people.pushCommit((await forge.trunk()).branch, { 'x.txt': 'x\n' });
          expect((await forge.pull(pull.number))?.state).toBe('open');
          expect(await forge.onTrunk(sha)).toBe(false);
          await people.mergeByHand('loop/7-a', how);
          await people.pushCommit((await forge.trunk()).branch, { 'later.txt': 'x\n' });
          expect((await forge.pull(pull.number))?.state).toBe('merged');
          expect((await forge.pull(pull.number))?.mergedSha).not.toBeNull();
          expect(await forge.onTrunk(sha)).toBe(true);
        });
      }

      it('sees that a person merged it and deleted the branch', async () => {
        const { pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        await people.pushCommit((await forge.trunk()).branch, { 'x.txt': 'x\n' });
        await people.mergeByHand('loop/7-a', 'squash');
        await people.deleteBranch('loop/7-a');
        expect(await forge.pull(pull.number)).toMatchObject({ state: 'merged', headSha: null });
      });
    });

    describe('what people and CI say', () => {
      const plain = { verdict: 'comment', body: 'Why not a map?', file: null, line: null } as const;

      it('knows who said what about which head, oldest first', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\nb\n' });
        await people.remark(pull.number, plain);
        await people.remark(pull.number, {
          verdict: 'request_changes',
          body: 'Handle the empty case.\n\nAnd "quotes" & 🚀.',
          file: 'a.txt',
          line: 2,
        });
        const { remarks } = (await forge.feedback(pull.number))!;
        expect(remarks).toMatchObject([
          { ...plain, mayWrite: true, where: { kind: 'pull', number: pull.number } },
          {
            verdict: 'request_changes',
            body: 'Handle the empty case.\n\nAnd "quotes" & 🚀.',
            file: 'a.txt',
            line: 2,
            headSha: sha,
          },
        ]);
        expect(new Set(remarks.map(({ id }) => id)).size).toBe(2);
        expect(remarks.every(({ author, at }) => author !== '' && at > 0)).toBe(true);
        const again = await (await under.reopen()).feedback(pull.number);
        expect(again?.checks).toEqual([]);
        expect(timeless(again?.remarks ?? [])).toEqual(timeless(remarks));
      });

      it('leaves out what the loop said itself, but not what a person said in its words', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        await forge.postReview(pull.number, {
          marker: 'review:1',
          headSha: sha,
          verdict: 'REQUEST_CHANGES',
          body: 'Not yet.',
          comments: [],
        });
        await people.remark(pull.number, { ...plain, body: '<!-- forge-loop:review:1 -->\nDo it.' });
        const { remarks } = (await forge.feedback(pull.number))!;
        expect(remarks.map(({ body }) => body.includes('Do it.'))).toEqual([true]);
      });

      it('tells an approval from a request for changes, and binds both to their head', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        await people.remark(pull.number, { ...plain, verdict: 'request_changes' });
        await people.approve(pull.number);
        const theirs = await people.pushCommit('loop/7-a', { 'b.txt': 'b\n' });
        await people.remark(pull.number, { ...plain, verdict: 'request_changes', body: 'Not b.' });
        const { remarks } = (await forge.feedback(pull.number))!;
        expect(remarks.map(({ verdict, headSha }) => [verdict, headSha])).toEqual([
          ['request_changes', sha],
          ['approve', sha],
          ['request_changes', theirs],
        ]);
        expect((await forge.pull(pull.number))?.approvals).toMatchObject([{ headSha: sha }]);
      });

      it('reports the checks of the head as it is now, the newest result of each', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        await people.reportCheck(pull.number, { name: 'build', state: 'pending' });
        await people.reportCheck(pull.number, { name: 'lint', state: 'green' });
        await people.reportCheck(pull.number, { name: 'build', state: 'red', log: 'x\nexpected 1, got 2' });
        const { checks } = (await forge.feedback(pull.number))!;
        const byName = [...checks].sort((a, b) => (a.name < b.name ? -1 : 1));
        expect(byName).toMatchObject([
          { name: 'build', state: 'red', headSha: sha },
          { name: 'lint', state: 'green', headSha: sha },
        ]);
        expect(byName[0]?.logTail).toContain('expected 1, got 2');
        await people.pushCommit('loop/7-a', { 'b.txt': 'b\n' });
        expect((await forge.feedback(pull.number))?.checks).toEqual([]);
      });

      it('has nothing to say about a pull request that does not exist', async () => {
        expect(await forge.feedback(4711)).toBeNull();
      });

      it('finds commands on issues and pull requests, and only those made since', async () => {
        const issue = await people.createIssue({ title: 'One', body: '/loop abandon' });
        const { pull } = await openPull('loop/1-a', { 'a.txt': 'a\n' }, issue);
        await people.comment(issue, 'Thank you.\n/loop hold');
        await people.comment(issue, 'I would not say > /loop abandon here');
        await people.remark(pull.number, { ...plain, body: '/loop explain' });
        const { remarks, seen } = await forge.commands(0);
        expect(remarks.map(({ where, body }) => [where.kind, where.number, body])).toEqual([
          ['issue', issue, 'Thank you.\n/loop hold'],
          ['pull', pull.number, '/loop explain'],
        ]);
        expect(seen).toBeGreaterThanOrEqual(remarks.at(-1)!.at);
        expect((await forge.commands(seen + 60_000)).remarks).toEqual([]);
        expect((await forge.commands(seen + 60_000)).seen).toBe(seen + 60_000);
      });

      it('answers a remark once per marker, also when asked by another process, and never hears itself', async () => {
        const issue = await people.createIssue({ title: 'One', body: 'x' });
        const { pull } = await openPull('loop/1-a', { 'a.txt': 'a\n' }, issue);
        await people.comment(issue, '/loop explain');
        await people.remark(pull.number, { ...plain, body: '/loop hold', file: 'a.txt', line: 1 });
        const { remarks } = await forge.commands(0);
        for (const remark of remarks) {
          await forge.reply(remark, `command:${remark.id}`, '/loop is answered here.');
          await (await under.reopen()).reply(remark, `command:${remark.id}`, '/loop is answered here.');
        }
        const onIssue = (await people.comments(issue)).filter((text) => text.includes('is answered here.'));
        expect(onIssue).toHaveLength(1);
        expect((await people.conversation(pull.number)).split('is answered here.')).toHaveLength(2);
        expect(timeless((await (await under.reopen()).commands(0)).remarks)).toEqual(timeless(remarks));
        expect((await forge.feedback(pull.number))?.remarks).toHaveLength(1);
      });
    });

    describe('merging', () => {
      for (const method of ['squash', 'merge', 'rebase'] as const) {
        it(`lands exactly the candidate that was built by ${method}, and says so again (dispatch 48)`, async () => {
          const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
          const { branch } = await forge.trunk();
          await people.pushCommit(branch, { 'x.txt': 'x\n' });
          const candidate = await candidateFor(sha, method);
          expect(candidate).toMatchObject({ headSha: sha, trunk: (await forge.trunk()).sha });
          expect(await forge.mergeBlocker()).toBeNull();
          const result = await forge.land(pull.number, candidate);
          const landed = under.makesOwnCommit ? (await forge.trunk()).sha : candidate.sha;
          expect(result).toEqual({ kind: 'landed', sha: landed });
          expect((await forge.trunk()).sha).toBe(landed);
          expect((await forge.branchHead(branch))?.tree).toBe(candidate.tree);
          expect(await people.readFile(branch, 'a.txt')).toBe('a\n');
          expect(await people.readFile(branch, 'x.txt')).toBe('x\n');
          expect(await forge.onTrunk(candidate.sha)).toBe(true);
          expect(await forge.onTrunk(landed)).toBe(true);
          expect(await forge.onTrunk(sha)).toBe(true);
          expect(await forge.pull(pull.number)).toMatchObject({ state: 'merged', mergedSha: landed });

          await people.pushCommit(branch, { 'later.txt': 'x\n' });
          const again = await (await under.reopen()).land(pull.number, candidate);
          expect(again).toEqual({ kind: 'landed', sha: landed });
        });
      }

      it('builds on top of what is ahead, and the tree is that of landing one after the other', async () => {
        const first = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const second = await openPull('loop/8-b', { 'b.txt': 'b\n' });
        const ahead = await candidateFor(first.sha);
        const input = { baseSha: started, method: 'squash', message: 'Add b (#2)', task: 't2' } as const;
        const stacked = await forge.buildCandidate({ ...input, headSha: second.sha, onto: ahead.sha });
        if (stacked.kind !== 'clean') throw new Error(`expected a candidate, got ${stacked.kind}`);
        expect(stacked.candidate).toMatchObject({ headSha: second.sha, trunk: ahead.sha });
        expect(await forge.land(second.pull.number, stacked.candidate)).toEqual({ kind: 'trunk_moved' });
        expect((await forge.trunk()).sha).toBe(started);

        await forge.land(first.pull.number, ahead);
        const after = await forge.buildCandidate({ ...input, headSha: second.sha });
        expect(after).toMatchObject({ kind: 'clean', candidate: { tree: stacked.candidate.tree } });
        if (under.makesOwnCommit) return;
        expect(await forge.land(second.pull.number, stacked.candidate)).toMatchObject({ kind: 'landed' });
        expect((await forge.trunk()).sha).toBe(stacked.candidate.sha);
      });

      it('says that a head conflicts with what is ahead, and nothing moves', async () => {
        const first = await openPull('loop/7-a', { 'README.md': 'one\n' });
        const second = await openPull('loop/8-b', { 'README.md': 'two\n' });
        const { sha: onto } = await candidateFor(first.sha);
        const input = { baseSha: started, method: 'squash', message: 'b', task: 't2', onto } as const;
        expect(await forge.buildCandidate({ ...input, headSha: second.sha })).toEqual({
          kind: 'conflict',
          files: ['README.md'],
          trunk: onto,
        });
      });

      it('does not land a candidate of an older trunk, and builds a new one on today’s (dispatch 46)', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const stale = await candidateFor(sha);
        const moved = await people.pushCommit((await forge.trunk()).branch, { 'x.txt': 'x\n' });
        expect(await forge.land(pull.number, stale)).toEqual({ kind: 'trunk_moved' });
        expect((await forge.trunk()).sha).toBe(moved);
        const fresh = await candidateFor(sha);
        expect(fresh.trunk).toBe(moved);
        expect((await forge.land(pull.number, fresh)).kind).toBe('landed');
      });

      it('names the files of a conflict (dispatch 47)', async () => {
        const { sha } = await openPull('loop/7-a', { 'README.md': 'mine\n', 'ok.txt': 'ok\n' });
        const moved = await people.pushCommit((await forge.trunk()).branch, { 'README.md': 'theirs\n' });
        const built = await build(sha);
        expect(built).toEqual({ kind: 'conflict', files: ['README.md'], trunk: moved });
      });

      it('says that nothing is left to merge when trunk has it all (dispatch 50)', async () => {
        const { sha } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const moved = await people.pushCommit((await forge.trunk()).branch, {
          'a.txt': 'a\n',
          'b.txt': 'b\n',
        });
        const built = await build(sha);
        expect(built).toEqual({ kind: 'empty', trunk: moved });
      });

      it('does not bring back what a forced push took out of trunk', async () => {
        const { branch } = await forge.trunk();
        const removed = await people.pushCommit(branch, { 'removed.txt': 'removed\n' });
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const candidate = await candidateFor(sha);
        await people.rewriteBranch(branch, started);
        expect(await forge.land(pull.number, candidate)).toEqual({ kind: 'trunk_moved' });
        expect(await build(sha, 'squash', removed)).toEqual({ kind: 'rewritten', trunk: started });
        expect((await forge.trunk()).sha).toBe(started);
      });

      it('does not call the second of two equal changes merged because the first was (dispatch 50)', async () => {
        const first = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const second = await openPull('loop/8-b', { 'a.txt': 'a\n', 'README.md': 'hello\n' });
        await forge.land(first.pull.number, await candidateFor(first.sha));
        expect((await forge.pull(second.pull.number))?.state).toBe('open');
      });

      it('keeps the merge of one of two changes to a file, and the other conflicts or is built anew (dispatch 50)', async () => {
        const first = await openPull('loop/7-a', { 'README.md': 'one\n' });
        const second = await openPull('loop/8-b', { 'README.md': 'two\n' });
        const rival = await candidateFor(second.sha);
        await forge.land(first.pull.number, await candidateFor(first.sha));
        expect(await forge.land(second.pull.number, rival)).toEqual({ kind: 'trunk_moved' });
        const built = await build(second.sha);
        expect(built).toMatchObject({ kind: 'conflict', files: ['README.md'] });
      });

      it('does not land on a closed pull request', async () => {
        const { sha, pull } = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const candidate = await candidateFor(sha);
        await people.closePull(pull.number);
        expect((await forge.land(pull.number, candidate)).kind).toBe('refused');
        expect((await forge.trunk()).sha).toBe(candidate.trunk);
      });

      it('lets one of two rivals land when both try at once', async () => {
        const one = await openPull('loop/7-a', { 'a.txt': 'a\n' });
        const two = await openPull('loop/8-b', { 'b.txt': 'b\n' });
        const candidates: Candidate[] = [await candidateFor(one.sha), await candidateFor(two.sha)];
        const other = await under.reopen();
        const results = await Promise.all([
          forge.land(one.pull.number, candidates[0]!),
          other.land(two.pull.number, candidates[1]!),
        ]);
        expect(results.map((result) => result.kind).sort()).toEqual(['landed', 'trunk_moved']);
      });
    });
  });
}

/** Two processes may differ in the fraction of a second that they think another clock is ahead. */
const timeless = (remarks: readonly Remark[]) => remarks.map(({ at: _, ...remark }) => remark);
