/** For tests: a GitHub with a repository, the loop's clone of it, and what people do there by API and git. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ForgeUnderTest, People } from '../../../src/forge/contract.ts';
import { addressOf } from '../../../src/forge/github/address.ts';
import { type GitHubForge, type GitHubOptions, githubForge } from '../../../src/forge/github/github.ts';
import { openGit } from '../../../src/git/git.ts';
import { LABELS } from '../labels.ts';
import { reportCheck } from './check-routes.ts';
import { type Person, person } from './client.ts';
import { LONGEST_TEXT } from './issue-routes.ts';
import { ensureLabel } from './repository-routes.ts';
import { type GitHub, startGitHub } from './server.ts';

export interface GitHubScratch extends ForgeUnderTest {
  forge: GitHubForge;
  github: GitHub;
  /** The loop's clone. */
  root: string;
  /** The account of the loop. */
  bot: Person;
  ada: Person;
  grace: Person;
  mallory: Person;
  /** Time passes only here. */
  clock: { at: number };
  open(options?: Partial<GitHubOptions>): Promise<GitHubForge>;
  reopen(): Promise<GitHubForge>;
}

export async function githubScratch(options: Partial<GitHubOptions> = {}): Promise<GitHubScratch> {
  const clock = { at: Date.parse('2030-01-01T00:00:00Z') };
  const github = await startGitHub({ now: () => clock.at });
  const bot = person(github, 'loop-bot', 'write');
  const ada = person(github, 'ada', 'admin');
  const grace = person(github, 'grace', 'write');
  const mallory = person(github, 'mallory', 'none');
  for (const label of Object.values(LABELS)) ensureLabel(github.world, label);

  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'forge gïthub-')));
  const [root, hers] = [join(dir, 'the loop’s'), join(dir, 'ada’s')];
  for (const folder of [root, hers]) {
    mkdirSync(folder);
    execFileSync('git', ['init', '-q', '-b', 'main', folder]);
    await ada.git(folder, 'remote', 'add', 'origin', github.gitUrl);
    await ada.git(folder, 'config', 'user.name', 'Ada');
    await ada.git(folder, 'config', 'user.email', 'ada@example.com');
  }
  const start = await commitIn(hers, null, { 'README.md': 'hello\n' });
  await ada.git(hers, 'push', '-q', 'origin', `${start}:refs/heads/main`);

  const open: GitHubScratch['open'] = async (more = {}) =>
    githubForge({
      git: await openGit(root),
      root,
      address: addressOf({ repository: null, apiUrl: github.apiUrl, remoteUrl: github.gitUrl }),
      token: async () => bot.token,
      now: () => clock.at,
      labels: LABELS,
      trunk: null,
      trusted: () => 'write',
      drafts: false,
      priorityField: null,
      requestsPerHour: 5000,
      paced: false,
      freshMs: 0,
      ...options,
      ...more,
    });
  return {
    forge: await open(),
    github,
    root,
    bot,
    ada,
    grace,
    mallory,
    clock,
    open,
    reopen: () => open(),
    people: peopleOf({ github, root, hers, ada, grace, mallory, clock }),
    readyLabel: LABELS.ready,
    longestBody: LONGEST_TEXT,
    makesOwnCommit: true,
    dispose: async () => {
      await github.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function peopleOf(options: {
  github: GitHub;
  root: string;
  hers: string;
  ada: Person;
  grace: Person;
  mallory: Person;
  clock: { at: number };
}): People {
  const { github, root, hers, ada, grace, mallory, clock } = options;
  const fetched = () => ada.git(hers, 'fetch', '-q', '--prune', 'origin', '+refs/heads/*:refs/seen/*');
  const labels = (issue: number) => `/issues/${issue}/labels`;
  const pullOf = (branch: string): number => {
    const found = [...github.world.issues.values()].find((issue) => issue.pull?.headRef === branch);
    if (!found) throw new Error(`there is no pull request for ${branch}`);
    return found.number;
  };
  const people: People = {
    createIssue: async ({ title, body, labels: given = [], priority, blockedBy = [] }) => {
      const wanted = [...given, ...(priority === undefined ? [] : [`priority:${priority}`])];
      const { number } = await ada.post('/issues', { title, body, labels: wanted });
      for (const blocker of blockedBy) {
        const { id } = await ada.get(`/issues/${blocker}`);
        await ada.post(`/issues/${number}/dependencies/blocked_by`, { issue_id: id });
      }
      return number;
    },
    makeReady: async (issue) => {
      await ada.request('DELETE', `${labels(issue)}/${LABELS.ready}`);
      await ada.post(labels(issue), { labels: [LABELS.ready] });
    },
    editBody: (issue, body) => ada.patch(`/issues/${issue}`, { body }),
    label: async (issue, { add = [], remove = [] }) => {
      if (add.length > 0) await ada.post(labels(issue), { labels: add });
      for (const name of remove) await ada.request('DELETE', `${labels(issue)}/${name}`);
    },
    closeIssue: (issue) => ada.patch(`/issues/${issue}`, { state: 'closed' }),
    comments: async (issue) =>
      (await ada.get(`/issues/${issue}/comments?per_page=100`)).map((one: { body: string }) => one.body),
    comment: (issue, text) => mallory.post(`/issues/${issue}/comments`, { body: text }),
    commit: (parent, files) => commitIn(root, parent, files),
    pushCommit: async (branch, files) => {
      await fetched();
      const sha = await commitIn(hers, await ada.git(hers, 'rev-parse', `refs/seen/${branch}`), files);
      await ada.git(hers, 'push', '-q', 'origin', `${sha}:refs/heads/${branch}`);
      return sha;
    },
    rewriteBranch: async (branch, sha) => {
      await fetched();
      await ada.git(hers, 'push', '-q', '-f', 'origin', `${sha}:refs/heads/${branch}`);
    },
    mergeByHand: async (branch, how) => {
      if (how !== 'fast_forward') {
        await ada.put(`/pulls/${pullOf(branch)}/merge`, { merge_method: how });
        return;
      }
      await fetched();
      await ada.git(hers, 'push', '-q', 'origin', `refs/seen/${branch}:refs/heads/main`);
    },
    deleteBranch: async (branch) =>
      void (await ada.git(hers, 'push', '-q', 'origin', `:refs/heads/${branch}`)),
    closePull: (pull) => ada.patch(`/pulls/${pull}`, { state: 'closed' }),
    approve: (pull) => grace.post(`/pulls/${pull}/reviews`, { event: 'APPROVE' }),
    remark: async (pull, { verdict, body, file, line }) => {
      const event = { approve: 'APPROVE', request_changes: 'REQUEST_CHANGES', comment: 'COMMENT' }[verdict];
      if (file !== null) {
        const comments = [{ path: file, line, side: 'RIGHT', body }];
        await ada.post(`/pulls/${pull}/reviews`, { event, comments });
      } else if (verdict === 'comment') await ada.post(`/issues/${pull}/comments`, { body });
      else await ada.post(`/pulls/${pull}/reviews`, { event, body });
    },
    reportCheck: async (pull, { name, state, log = '' }) => {
      const { head } = await ada.get(`/pulls/${pull}`);
      reportCheck(github.world, {
        sha: head.sha,
        name,
        log,
        status: state === 'pending' ? 'in_progress' : 'completed',
        conclusion: { pending: null, green: 'success', red: 'failure' }[state],
      });
    },
    description: async (pull) => {
      const { title, body } = await ada.get(`/pulls/${pull}`);
      return `${title}\n\n${body}`;
    },
    conversation: async (pull) => {
      const texts = [
        await ada.get(`/pulls/${pull}`),
        ...(await ada.get(`/issues/${pull}/comments`)),
        ...(await ada.get(`/pulls/${pull}/reviews`)),
        ...(await ada.get(`/pulls/${pull}/comments`)),
      ].map((one: { body: string }) => one.body);
      return texts.join('\n\n');
    },
    readFile: async (branch, path) => {
      await fetched();
      return ada.git(hers, 'show', `refs/seen/${branch}:${path}`).then(
        (text) => `${text}\n`,
        () => null,
      );
    },
  };
  return ticking(people, clock);
}

/** Two seconds pass before whatever people do: GitHub counts whole ones. */
function ticking(people: People, clock: { at: number }): People {
  const ticked = Object.entries(people).map(([name, act]) => [
    name,
    (...args: never[]) => {
      clock.at += 2000;
      return (act as (...given: never[]) => unknown)(...args);
    },
  ]);
  return Object.fromEntries(ticked) as People;
}

/** Commits without a checkout; null deletes a file. */
async function commitIn(
  folder: string,
  parent: string | null,
  files: Record<string, string | null>,
): Promise<string> {
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_INDEX_FILE: join(folder, '.git', 'people-index'),
  };
  const run = (args: string[], input = '') =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8', env, input }).trim();
  run(parent === null ? ['read-tree', '--empty'] : ['read-tree', parent]);
  for (const [path, content] of Object.entries(files)) {
    if (content === null) {
      run(['update-index', '--force-remove', '--', path]);
      continue;
    }
    const blob = run(['hash-object', '-w', '--stdin'], content);
    run(['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`]);
  }
  const parents = parent === null ? [] : ['-p', parent];
  return run([
    'commit-tree',
    run(['write-tree']),
    ...parents,
    '-m',
    `Change ${Object.keys(files).join(', ')}`,
  ]);
}
