/** For tests: a scratch repository, and what people do in it with git, an editor and the command line. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ForgeUnderTest, People } from '../../src/forge/contract.ts';
import { type LocalForge, localForge } from '../../src/forge/local/local.ts';
import { openGit } from '../../src/git/git.ts';
import { LABELS } from './labels.ts';

export interface Scratch extends ForgeUnderTest {
  forge: LocalForge;
  root: string;
  sh(args: readonly string[], cwd?: string): string;
  write(path: string, content: string): void;
  read(path: string): string;
  reopen(): Promise<LocalForge>;
}

/** A repository with one commit in a folder whose name is not easy. */
export async function scratch(options: { branch?: string; now?: () => number } = {}): Promise<Scratch> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'forge lökal-')));
  const root = join(dir, 'my repo');
  mkdirSync(root);
  const sh: Scratch['sh'] = (args, cwd = root) =>
    execFileSync('git', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: ENV });
  const write: Scratch['write'] = (path, content) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  sh(['init', '-q', '-b', options.branch ?? 'main']);
  sh(['config', 'user.name', 'Ada']);
  sh(['config', 'user.email', 'ada@example.com']);
  write('README.md', 'hello\n');
  sh(['add', '.']);
  sh(['commit', '-q', '-m', 'Start']);

  const reopen = async () =>
    localForge({ git: await openGit(root), root, now: options.now ?? Date.now, labels: LABELS });
  const forge = await reopen();
  return {
    forge,
    root,
    sh,
    write,
    read: (path) => readFileSync(join(root, path), 'utf8'),
    reopen,
    people: peopleOf(forge, root, sh),
    readyLabel: LABELS.ready,
    dispose: async () => rmSync(dir, { recursive: true, force: true }),
  };
}

const ENV = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };

function peopleOf(forge: LocalForge, root: string, sh: Scratch['sh']): People {
  const fileOf = (folder: string, number: number) => {
    const digits = String(number).padStart(4, '0');
    const name = readdirSync(join(root, '.forge', folder)).find(
      (one) => (one.startsWith(`${digits}-`) || one === `${digits}.md`) && !one.endsWith('.comments.md'),
    );
    return join(root, '.forge', folder, name ?? `${digits}.md`);
  };
  const edit = (path: string, change: (text: string) => string) =>
    writeFileSync(path, change(readFileSync(path, 'utf8')));

  /** Commits without a checkout, so that no test depends on what is checked out. */
  const commit: People['commit'] = async (parent, files) => {
    const env = { ...ENV, GIT_INDEX_FILE: join(root, '.git', 'people-index') };
    const run = (args: string[], input = '') =>
      execFileSync('git', args, { cwd: root, encoding: 'utf8', env, input }).trim();
    run(['read-tree', parent]);
    for (const [path, content] of Object.entries(files)) {
      if (content === null) {
        run(['update-index', '--force-remove', '--', path]);
        continue;
      }
      const blob = run(['hash-object', '-w', '--stdin'], content);
      run(['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`]);
    }
    return run([
      'commit-tree',
      run(['write-tree']),
      '-p',
      parent,
      '-m',
      `Change ${Object.keys(files).join(', ')}`,
    ]);
  };
  const pushCommit: People['pushCommit'] = async (branch, files) => {
    const sha = await commit(sh(['rev-parse', branch]).trim(), files);
    moveTo(branch, sha);
    return sha;
  };
  const moveTo = (branch: string, sha: string) => {
    const isHere = sh(['symbolic-ref', '-q', 'HEAD']).trim() === `refs/heads/${branch}`;
    if (isHere) sh(['merge', '-q', '--ff-only', sha]);
    else sh(['update-ref', `refs/heads/${branch}`, sha]);
  };

  return {
    createIssue: async (issue) => (await forge.newIssue(issue)).number,
    makeReady: async (issue) => void (await forge.markReady(issue, 'Ada')),
    editBody: async (issue, body) =>
      edit(fileOf('issues', issue), (text) => `${text.slice(0, text.indexOf('---\n', 4) + 4)}\n${body}\n`),
    editTitle: async (issue, title) =>
      edit(fileOf('issues', issue), (text) => text.replace(/^title: .*$/m, `title: ${title}`)),
    label: async (issue, { add = [], remove = [] }) =>
      edit(fileOf('issues', issue), (text) =>
        text.replace(/^labels: \[(.*)\]$/m, (_line, labels: string) => {
          const kept = labels.split(', ').filter((label) => label !== '' && !remove.includes(label));
          return `labels: [${[...kept, ...add].join(', ')}]`;
        }),
      ),
    closeIssue: async (issue) =>
      edit(fileOf('issues', issue), (text) => text.replace('state: open', 'state: closed')),
    comments: async (issue) => (await forge.comments(issue)).map((comment) => comment.text),
    comment: (issue, text) => forge.addComment(issue, 'Mallory', text),
    commit,
    pushCommit,
    rewriteBranch: async (branch, sha) => {
      const isHere = sh(['symbolic-ref', '-q', 'HEAD']).trim() === `refs/heads/${branch}`;
      sh(isHere ? ['reset', '-q', '--hard', sha] : ['update-ref', `refs/heads/${branch}`, sha]);
    },
    mergeByHand: async (branch, how) => {
      if (how === 'merge') sh(['merge', '-q', '--no-ff', '-m', `Merge ${branch}`, branch]);
      if (how === 'fast_forward') sh(['merge', '-q', '--ff-only', branch]);
      if (how === 'squash') {
        sh(['merge', '-q', '--squash', branch]);
        sh(['commit', '-q', '-m', `All of ${branch}`]);
      }
      if (how === 'rebase') {
        const trunk = sh(['symbolic-ref', '--short', 'HEAD']).trim();
        sh(['rebase', '-q', trunk, branch]);
        sh(['checkout', '-q', trunk]);
        sh(['merge', '-q', '--ff-only', branch]);
      }
    },
    deleteBranch: async (branch) => void sh(['branch', '-q', '-D', branch]),
    closePull: async (pull) =>
      edit(fileOf('pulls', pull), (text) => text.replace('state: open', 'state: closed')),
    approve: async (pull) => void (await forge.approvePull(pull, 'Ada')),
    remark: async (pull, remark) => void (await forge.remark(pull, { by: 'Ada', ...remark })),
    reportCheck: async (pull, { log, ...check }) =>
      void (await forge.reportCheck(pull, {
        by: 'CI',
        job: null,
        step: null,
        link: null,
        log: log ?? null,
        ...check,
      })),
    description: async (pull) => readFileSync(fileOf('pulls', pull), 'utf8').split('\n### ')[0]!,
    conversation: async (pull) => readFileSync(fileOf('pulls', pull), 'utf8'),
    readFile: async (branch, path) => {
      try {
        return sh(['show', `${branch}:${path}`]);
      } catch {
        return null;
      }
    },
  };
}
