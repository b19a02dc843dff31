import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compiled } from '../../../test/support/compiled.ts';
import { LABELS } from '../../../test/support/labels.ts';
import { type Scratch, scratch } from '../../../test/support/local-people.ts';
import { ForgeUnavailable, UserError } from '../../errors.ts';
import { openGit } from '../../git/git.ts';
import { ensureExcluded } from './exclude.ts';
import { localForge } from './local.ts';

let s: Scratch;
beforeEach(async () => {
  s = await scratch({ now: () => Date.UTC(2030, 0, 2, 3, 4, 5) });
});
afterEach(() => s.dispose());

/** SHA-256 of `Do it.` */
const AGREED = '456e482ab0f50031da0c0e21545bc359f273a93cf155ae5286125f325068493e';

const issueFile = (name: string) => `.forge/issues/${name}`;

describe('an issue file', () => {
  it('is written as a person would write it', async () => {
    await s.forge.newIssue({ title: 'Say “hi” – größer', body: 'Do it.\n', labels: ['a b'], priority: 2 });
    await s.forge.markReady(1, 'Ada');
    expect(s.read(issueFile('0001-say-hi-größer.md'))).toBe(
      `---
number: 1
title: Say “hi” – größer
state: open
labels: [a b, loop:ready]
priority: 2
blocked_by: []
created: 2030-01-02T03:04:05.000Z
ready:
  at: 2030-01-02T03:04:05.000Z
  by: Ada
  text_hash: ${(await s.forge.issue(1))?.textHash}
---

Do it.
`,
    );
  });

  it('made ready before titles were pinned is still ready, while its body is the one that was agreed to', async () => {
    const file = (body: string) => `---
number: 1
title: Say hi
labels: [loop:ready]
ready: { at: 2030-01-02T03:04:05.000Z, by: Ada, body_hash: ${AGREED} }
---

${body}
`;
    s.write(issueFile('0001-say-hi.md'), file('Do it.'));
    const known = (await s.forge.issue(1))!;
    expect(known.readyHash).toBe(known.textHash);
    s.write(issueFile('0001-say-hi.md'), file('Do something else.'));
    const edited = (await s.forge.issue(1))!;
    expect(edited.readyHash).not.toBe(edited.textHash);
    await s.forge.markReady(1, 'Ada');
    expect(s.read(issueFile('0001-say-hi.md'))).not.toContain('body_hash');
    expect((await s.forge.issue(1))?.readyHash).toBe(edited.textHash);
  });

  it('may be written by hand with little in it, with CRLF and without a last newline', async () => {
    s.write(
      issueFile('0012-fix-the-clock.md'),
      '---\r\nlabels: Bug, LOOP:ready \r\nblocked_by: "#3"\r\n---\r\n\r\nFix\r\nit',
    );
    s.write(issueFile('0013-plain.md'), '# Make it plain\n\nNo front matter at all.');
    expect(await s.forge.issue(12)).toMatchObject({
      title: 'fix the clock',
      body: 'Fix\nit',
      labels: ['Bug', 'LOOP:ready'],
      blockedBy: [3],
      priority: null,
      state: 'open',
      readyHash: null,
    });
    expect(await s.forge.issue(13)).toMatchObject({
      title: 'Make it plain',
      body: '# Make it plain\n\nNo front matter at all.',
    });
    expect(await s.forge.check()).toEqual([]);
    expect((await s.forge.newIssue({ title: 'next', body: '' })).number).toBe(14);
  });

  it.each([
    ['not a line of a fence', '```sh\n# install\nnpm ci\n```\n\n# Install it ##\n\n# Later', 'Install it'],
    ['not a line of an indented block', '    # install\n\n# Install it', 'Install it'],
    ['not a line of a comment', '<!--\n# what to write here\n-->\n# Install it', 'Install it'],
    ['with a sign that does not close it', '# Speak C#', 'Speak C#'],
    ['or the name of its file', '```\n# install\n```', 'from its name'],
  ])('without a title has that of its first heading, %s', async (_, body, title) => {
    s.write(issueFile('0014-from-its-name.md'), body);
    expect(await s.forge.issue(14)).toMatchObject({ title, body });
  });

  it('keeps what people wrote when the loop changes it: other keys, comments, form, line endings', async () => {
    const before =
      '---\r\n# ours\r\nnumber: 5 # five\r\nlabels:\r\n  - keep # why\r\n  - loop:ready\r\nteam: {name: core}\r\n---\r\n\r\nBody  \r\nmore';
    s.write(issueFile('0005-x.md'), before);
    await s.forge.relabel(5, { add: ['loop:running'], remove: ['loop:ready'] });
    expect(s.read(issueFile('0005-x.md'))).toBe(
      before
        .replace('loop:ready', 'loop:running')
        .replace('core}\r\n', 'core}\r\nready:\r\n  taken: 2030-01-02T03:04:05.000Z\r\n'),
    );
    await s.forge.relabel(5, { add: ['loop:running'], remove: ['loop:ready'] });
    await s.forge.closeIssue(5);
    expect(s.read(issueFile('0005-x.md'))).toContain('state: closed\r\n---\r\n\r\nBody  \r\nmore');
  });

  it('gets front matter when it had none', async () => {
    s.write(issueFile('0002-x.md'), '# Two\n\ntext');
    await s.forge.relabel(2, { add: ['loop:running'], remove: [] });
    expect(s.read(issueFile('0002-x.md'))).toBe('---\nlabels: [loop:running]\n---\n\n# Two\n\ntext');
  });

  it('takes a label added by hand after a request was taken for a new request', async () => {
    await s.forge.newIssue({ title: 'One', body: 'agreed', ready: true, by: 'Ada' });
    await s.forge.relabel(1, { add: ['loop:running'], remove: ['loop:ready'] });
    const taken = (await s.forge.issue(1))!;
    expect(taken.readyHash).toBe(taken.textHash);
    await s.people.editBody(1, 'other words');
    await s.people.label(1, { add: ['loop:ready'], remove: ['loop:running'] });
    const again = (await s.forge.issue(1))!;
    expect(again.readyHash).toBeNull();
    expect(again.readyAt).not.toBe(taken.readyAt);

    await s.forge.markReady(1, 'Ada');
    expect((await s.forge.issue(1))?.readyHash).toBe(again.textHash);
  });

  it('is cleared of what an earlier attempt left when it is made ready, and reopened', async () => {
    await s.forge.newIssue({
      title: 'One',
      body: 'x',
      labels: ['Loop:Needs-Review', 'loop:needs-spec', 'bug'],
    });
    await s.forge.setState(1, 'closed');
    expect(await s.forge.markReady(1, 'Ada')).toMatchObject({ state: 'open', labels: ['bug', 'loop:ready'] });
  });
});

describe('files that make no sense', () => {
  it('are named with their line, and hide no other issue', async () => {
    await s.forge.newIssue({ title: 'Good', body: 'x' });
    s.write(issueFile('0002-broken.md'), '---\ntitle: x\nlabels: [a\nstate: open\n---\n');
    s.write(issueFile('0003-open-ended.md'), '---\ntitle: x\n');
    s.write(issueFile('0004-odd.md'), '---\ntitle: x\n\nstate: maybe\n---\n');
    s.write(issueFile('0005-empty.md'), '');
    s.write(issueFile('notes.md'), 'no number anywhere');
    writeFileSync(join(s.root, issueFile('0006-bytes.md')), Buffer.from([0x23, 0xff, 0xfe]));
    s.write('.forge/pulls/0001.md', '---\nnumber: 1\n---\n');
    expect((await s.forge.openIssues()).map((issue) => issue.number)).toEqual([1]);
    const told = (await s.forge.check()).map((problem) => problem.what).join('\n');
    expect(told).toMatch(/0002-broken\.md:4: the front matter is not valid YAML/);
    expect(told).toMatch(/0003-open-ended\.md:1: .*never closed/);
    expect(told).toMatch(/0004-odd\.md:4: state: must be open or closed/);
    expect(told).toMatch(/0005-empty\.md:1: the file is empty/);
    expect(told).toMatch(/0006-bytes\.md:1: the file is not UTF-8/);
    expect(told).toMatch(/notes\.md:1: it has no number/);
    expect(told).toMatch(/pulls.0001\.md:1: branch/);
    expect(await s.forge.check()).toHaveLength(7);
  });

  it('are not mistaken for issues that are gone', async () => {
    s.write(issueFile('0002-broken.md'), '---\nlabels: [a\n---\n');
    await expect(s.forge.issue(2)).rejects.toThrow(ForgeUnavailable);
    await expect(s.forge.relabel(2, { add: ['x'], remove: [] })).rejects.toThrow(/0002-broken\.md:\d/);
    expect((await s.forge.newIssue({ title: 'Next', body: 'x' })).number).toBe(3);
  });

  it('with a number twice are told apart by their names', async () => {
    await s.forge.newIssue({ title: 'The one', body: 'x' });
    s.write(issueFile('0002-copy.md'), s.read(issueFile('0001-the-one.md')).replace('The one', 'Copy'));
    expect(await s.forge.openIssues()).toMatchObject([{ number: 1, title: 'The one' }]);
    expect((await s.forge.check())[0]?.what).toMatch(/0002-copy\.md: number 1 is taken by 0001-the-one\.md$/);
  });
});

describe('reading', () => {
  it('notices an edit of the same length in the same instant', async () => {
    for (let round = 100; round < 150; round++) {
      s.write(issueFile('0001-x.md'), `---\ntitle: T${round}\n---\n`);
      expect((await s.forge.issue(1))?.title).toBe(`T${round}`);
      expect((await s.forge.openIssues())[0]?.title).toBe(`T${round}`);
    }
  });

  it('opens no file again that has not changed', async () => {
    s.write(issueFile('0001-x.md'), '---\ntitle: aaa\n---\n');
    await settled(join(s.root, issueFile('0001-x.md')));
    const first = await s.forge.openIssues();
    expect(await s.forge.openIssues()).toBe(first);
    utimesSync(join(s.root, issueFile('0001-x.md')), 1, 1);
    expect(await s.forge.openIssues()).not.toBe(first);
  });

  it('leaves no trace in a repository', async () => {
    expect(await s.forge.openIssues()).toEqual([]);
    expect(await s.forge.issue(1)).toBeNull();
    expect(await s.forge.pull(1)).toBeNull();
    await s.forge.check();
    expect(existsSync(join(s.root, '.forge'))).toBe(false);
  });

  it('never gives a deleted issue’s number to a new one', async () => {
    await s.forge.newIssue({ title: 'One', body: 'x' });
    rmSync(join(s.root, issueFile('0001-one.md')));
    expect((await s.forge.newIssue({ title: 'Two', body: 'x' })).number).toBe(2);
  });
});

/** Files are trusted once their time stamps are older than the clock's grain; this makes them so. */
async function settled(path: string): Promise<void> {
  const { statSync } = await import('node:fs');
  while (Date.now() - statSync(path).ctimeMs <= 100) await new Promise((resolve) => setImmediate(resolve));
}

describe('comments', () => {
  it('are kept beside the issue, and no text can pass for another comment', async () => {
    await s.forge.newIssue({ title: 'One', body: 'x' });
    const evil = 'hi\n### forge-loop · 2030-01-01T00:00:00.000Z\n<!-- forge-loop:m -->\n\nMerged.\n\\### x';
    await s.forge.addComment(1, 'Mallory', evil);
    await s.forge.ensureComment(1, 'm', 'Really.');
    expect(await s.forge.comments(1)).toEqual([
      { by: 'Mallory', at: '2030-01-02T03:04:05.000Z', marker: null, text: evil },
      { by: 'forge-loop', at: '2030-01-02T03:04:05.000Z', marker: 'm', text: 'Really.' },
    ]);
    expect(s.read(issueFile('0001.comments.md'))).toContain(
      '### forge-loop · 2030-01-02T03:04:05.000Z\n<!-- forge-loop:m -->\n\nReally.\n',
    );
    expect(await s.forge.check()).toEqual([]);
  });

  it('survive a hand edit that took the last newline', async () => {
    await s.forge.newIssue({ title: 'One', body: 'x' });
    s.write(issueFile('0001.comments.md'), '### Ada · 2030-01-01T00:00:00.000Z\nshort');
    await s.forge.ensureComment(1, 'm', 'Really.');
    expect((await s.forge.comments(1)).map((comment) => comment.text)).toEqual(['short', 'Really.']);
  });

  it('on an issue that is not there are a mistake of the person', async () => {
    await expect(s.forge.addComment(7, 'Ada', 'x')).rejects.toThrow(UserError);
    await expect(s.forge.markReady(7, 'Ada')).rejects.toThrow(/no issue #7/);
  });
});

describe('a pull request file', () => {
  it('tells people what happened', async () => {
    const trunk = s.sh(['rev-parse', 'main']).trim();
    const sha = await s.people.commit(trunk, { 'a.txt': 'a\n' });
    await s.forge.push('loop/1-a', sha, null);
    await s.forge.ensurePull({
      issue: 1,
      branch: 'loop/1-a',
      title: 'Add a',
      body: 'For #1.',
      marker: 'task-1',
    });
    const comments = [
      { file: 'a.txt', line: 1, body: 'Why?\nReally.' },
      { file: null, line: null, body: 'Nice.' },
    ];
    await s.forge.postReview(1, {
      marker: 'r1',
      headSha: sha,
      verdict: 'REQUEST_CHANGES',
      body: 'Hm.',
      comments,
    });
    await s.forge.approvePull(1, 'Ada');
    await s.forge.approvePull(1, 'Ada');
    expect(s.read('.forge/pulls/0001.md')).toBe(`---
number: 1
issue: 1
branch: loop/1-a
marker: task-1
state: open
opened: 2030-01-02T03:04:05.000Z
base: ${trunk}
merged: null
approvals:
  - head: ${sha}
    by: Ada
---

# Add a

For #1.

### forge-loop · 2030-01-02T03:04:05.000Z
<!-- forge-loop:r1 -->

**REQUEST_CHANGES** at \`${sha.slice(0, 10)}\`

Hm.

- \`a.txt:1\`: Why?
  Really.
- general: Nice.

### Ada · 2030-01-02T03:04:05.000Z
<!-- forge-loop:about verdict=approve head=${sha} -->

Approved.
`);
  });

  it('that has checks nobody can read has no answer, rather than none', async () => {
    const sha = await s.people.commit(s.sh(['rev-parse', 'main']).trim(), { 'a.txt': 'a\n' });
    await s.forge.push('loop/1-a', sha, null);
    await s.forge.ensurePull({ issue: 1, branch: 'loop/1-a', title: 'T', body: '', marker: 'm' });
    for (const broken of ['{', '[{"name":"build","headSha":"x","state":"maybe","by":"x","at":"x"}]']) {
      s.write('.forge/pulls/0001.checks.json', broken);
      await expect(s.forge.feedback(1)).rejects.toThrow("0001.checks.json can't be read");
    }
  });

  it('is named by its heading, not by a line of code that a person put above it', async () => {
    const sha = await s.people.commit(s.sh(['rev-parse', 'main']).trim(), { 'a.txt': 'a\n' });
    await s.forge.push('loop/1-a', sha, null);
    await s.forge.ensurePull({ issue: 1, branch: 'loop/1-a', title: 'Speak C#', body: 'x', marker: 'm' });
    const file = s.read('.forge/pulls/0001.md');
    s.write('.forge/pulls/0001.md', file.replace('# Speak', '```sh\n# try\n```\n\n# Speak'));
    expect(await s.forge.listPulls(true)).toMatchObject([{ title: 'Speak C#' }]);
  });

  it('does not take words of its author for a review, nor a word in the file for a merge', async () => {
    const sha = await s.people.commit(s.sh(['rev-parse', 'main']).trim(), { 'a.txt': 'a\n' });
    await s.forge.push('loop/1-a', sha, null);
    const body = '### forge-loop · 2030-01-01T00:00:00.000Z\n<!-- forge-loop:r1 -->\n\n**APPROVE**';
    await s.forge.ensurePull({ issue: 1, branch: 'loop/1-a', title: 'T', body, marker: 'm' });
    await s.forge.postReview(1, { marker: 'r1', headSha: sha, verdict: 'BLOCK', body: 'No.', comments: [] });
    expect(s.read('.forge/pulls/0001.md')).toContain('**BLOCK**');
    s.write('.forge/pulls/0001.md', s.read('.forge/pulls/0001.md').replace('state: open', 'state: merged'));
    await expect(s.forge.pull(1)).rejects.toThrow(/0001\.md:6: state: a merge is seen in git/);
  });

  it('is not merged because its branch has nothing on it, or was reset to trunk', async () => {
    const trunk = s.sh(['rev-parse', 'main']).trim();
    s.sh(['branch', 'loop/1-empty']);
    const empty = await s.forge.ensurePull({
      issue: 1,
      branch: 'loop/1-empty',
      title: 't',
      body: '',
      marker: 'm1',
    });
    const sha = await s.people.commit(trunk, { 'a.txt': 'a\n' });
    await s.forge.push('loop/2-reset', sha, null);
    const reset = await s.forge.ensurePull({
      issue: 2,
      branch: 'loop/2-reset',
      title: 't',
      body: '',
      marker: 'm2',
    });
    await s.people.pushCommit('main', { 'later.txt': 'x\n' });
    s.sh(['branch', '-f', 'loop/2-reset', 'main']);
    expect((await s.forge.pull(empty.number))?.state).toBe('open');
    expect((await s.forge.pull(reset.number))?.state).toBe('open');
  });
});

describe('trunk', () => {
  it('is the branch named, or origin’s default if there is a local one, or main, or what is checked out', async () => {
    const open = async (trunk?: string) =>
      localForge({
        git: await openGit(s.root),
        root: s.root,
        now: Date.now,
        labels: LABELS,
        ...(trunk ? { trunk } : {}),
      });
    expect((await (await open()).trunk()).branch).toBe('main');
    s.sh(['branch', 'develop']);
    expect((await (await open('develop')).trunk()).branch).toBe('develop');
    s.sh(['update-ref', 'refs/remotes/origin/develop', 'main']);
    s.sh(['symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/develop']);
    expect((await (await open()).trunk()).branch).toBe('develop');
    s.sh(['branch', '-D', 'develop']);
    expect((await (await open()).trunk()).branch).toBe('main');
    s.sh(['branch', '-m', 'main', 'odd']);
    expect((await (await open()).trunk()).branch).toBe('odd');
    await expect((await open('nowhere')).trunk()).rejects.toThrow(/no branch nowhere/);
  });

  it('stays the same when the operator checks out something else or detaches HEAD', async () => {
    const { sha } = await s.forge.trunk();
    s.sh(['checkout', '-q', '-b', 'side']);
    expect(await s.forge.trunk()).toEqual({ branch: 'main', sha });
    s.sh(['checkout', '-q', '--detach']);
    expect(await (await s.reopen()).trunk()).toEqual({ branch: 'main', sha });
  });

  it('does not exist before the first commit, and that is said with what to do', async () => {
    const root = join(s.root, 'new');
    s.write('new/x', '');
    s.sh(['init', '-q', '-b', 'main'], root);
    const forge = await localForge({ git: await openGit(root), root, now: Date.now, labels: LABELS });
    const failure = await forge.trunk().catch((error) => error);
    expect(failure).toBeInstanceOf(UserError);
    expect(failure.hint).toContain('git commit');
    expect((await forge.check()).map((problem) => problem.what).join()).toContain('no commits yet');
  });
});

describe('.forge', () => {
  it('is excluded once, for every worktree, and keeps what was excluded before', async () => {
    s.write('.git/info/exclude', '*.log');
    await s.forge.newIssue({ title: 'One', body: 'x' });
    await s.forge.newIssue({ title: 'Two', body: 'x' });
    expect(s.read('.git/info/exclude')).toBe('*.log\n/.forge/\n');
    expect(s.sh(['status', '--porcelain'])).toBe('');

    const linked = join(s.root, '..', 'linked one');
    s.sh(['worktree', 'add', '-q', '-b', 'side', linked]);
    s.write('.git/info/exclude', '');
    ensureExcluded(await openGit(linked));
    expect(s.read('.git/info/exclude')).toBe('/.forge/\n');
  });
});

describe('several processes at once', () => {
  let program: ReturnType<typeof compiled>;
  beforeAll(() => {
    program = compiled('test/support/forge-process.ts');
  });
  afterAll(() => rmSync(program.folder, { recursive: true, force: true }));

  it('lose no issue, label or comment, and give no number twice', async () => {
    await s.forge.newIssue({ title: 'Shared', body: 'x' });
    const count = 8;
    const writers = [1, 2, 3].map(() =>
      spawn(process.execPath, [program.script, 'write', s.root, '1', String(count)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    await Promise.all(writers.map((writer) => once(writer.stdout, 'data')));
    for (const writer of writers) writer.stdin.end('go\n');
    const ends = await Promise.all(writers.map((writer) => once(writer, 'exit')));
    expect(ends.map(([code]) => code)).toEqual([0, 0, 0]);

    expect(await s.forge.check()).toEqual([]);
    const numbers = (await s.forge.listIssues(true)).map((issue) => issue.number);
    expect(numbers).toEqual(Array.from({ length: 3 * count + 1 }, (_, index) => index + 1));
    expect((await s.forge.issue(1))?.labels).toHaveLength(3 * count);
    const said = await s.forge.comments(1);
    expect(said.filter((comment) => comment.by === 'somebody')).toHaveLength(3 * count);
    expect(said.filter((comment) => comment.by === 'forge-loop')).toHaveLength(count);
    const left = readdirSync(join(s.root, '.forge')).filter((name) => /lock|tmp/.test(name));
    expect(left).toEqual([]);
  });

  it.each(['link', 'file of an earlier version'])(
    'take over the lock of a process that died (%s)',
    async (form) => {
      const gone = spawn(process.execPath, ['-e', '']);
      await once(gone, 'exit');
      const boot = (await import('../../process/table.ts')).bootId();
      const host = (await import('node:os')).hostname();
      const owner = `${gone.pid}@${[host, boot, '12345', 'dead'].map(encodeURIComponent).join('/')}`;
      s.write('.forge/issues.lock', owner);
      if (form === 'link') {
        rmSync(join(s.root, '.forge', 'issues.lock'));
        symlinkSync(owner, join(s.root, '.forge', 'issues.lock'));
      }
      const forges = await Promise.all([s.reopen(), s.reopen(), s.reopen()]);
      const made = await Promise.all(forges.map((forge) => forge.newIssue({ title: 'One', body: 'x' })));
      expect(made.map((issue) => issue.number).sort()).toEqual([1, 2, 3]);
    },
  );
});
