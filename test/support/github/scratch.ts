/** For tests: a GitHub with a repository, the loop's clone of it, and what people do there by API and git. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
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
import { ForgeUnavailable } from '../../../src/errors.ts';
import type { ForgeUnderTest } from '../../../src/forge/contract.ts';
import { type Address, addressOf } from '../../../src/forge/github/address.ts';
import { type GitHubForge, type GitHubOptions, githubForge } from '../../../src/forge/github/github.ts';
import { openGit } from '../../../src/git/git.ts';
import { LABELS } from '../labels.ts';
import { reportCheck } from './check-routes.ts';
import { type Person, person } from './client.ts';
import { LONGEST_TEXT } from './issue-routes.ts';
import { ADA, commitIn, peopleOf } from './people.ts';
import { ensureLabel } from './repository-routes.ts';
import { type GitHub, startGitHub } from './server.ts';

export interface GitHubScratch extends ForgeUnderTest {
  forge: GitHubForge;
  github: GitHub;
  address: Address;
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

export async function githubScratch(
  options: Partial<GitHubOptions> = {},
  lag?: { seed: number; ms: number },
): Promise<GitHubScratch> {
  const clock = { at: Date.parse('2030-01-01T00:00:00Z') };
  const github = await startGitHub({ now: () => clock.at, ...(lag ? { lag } : {}) });
  const bot = person(github, 'loop-bot', 'write');
  const ada = person(github, 'ada', 'admin');
  const grace = person(github, 'grace', 'write');
  const mallory = person(github, 'mallory', 'none');
  for (const label of Object.values(LABELS)) ensureLabel(github.world, label);

  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'forge gïthub-')));
  const [root, hers] = [join(dir, 'the loop’s'), join(dir, 'ada’s')];
  begun ??= await beginning();
  for (const folder of [root, hers]) {
    lay(begun.files, join(folder, '.git'));
    appendFileSync(join(folder, '.git', 'config'), cloneOf(github.gitUrl));
  }
  const { gitDir } = github.world.git;
  lay(
    begun.files.filter(({ path }) => path.startsWith('objects')),
    gitDir,
  );
  writeFileSync(join(gitDir, 'refs', 'heads', 'main'), `${begun.start}\n`);

  const git = await openGit(root);
  const address = addressOf({ repository: null, apiUrl: github.apiUrl, remoteUrl: github.gitUrl });
  const open: GitHubScratch['open'] = async (more = {}) => {
    const forge = githubForge({
      git,
      root,
      address,
      token: async () => bot.token,
      now: () => clock.at,
      labels: LABELS,
      trunk: null,
      trusted: () => 'write',
      method: () => 'squash',
      drafts: false,
      priorityField: null,
      requestsPerHour: 5000,
      paced: false,
      freshMs: 0,
      ...options,
      ...more,
    });
    return lag ? patient(forge, clock, lag.ms) : forge;
  };
  return {
    forge: await open(),
    github,
    address,
    root,
    bot,
    ada,
    grace,
    mallory,
    clock,
    open,
    reopen: async () => {
      clock.at += lag?.ms ?? 0;
      return open();
    },
    people: peopleOf({
      root,
      hers,
      ada,
      grace,
      mallory,
      named: (branch) => branch,
      // GitHub counts whole seconds. People see what was done before, and what they did is seen.
      before: async () => {
        clock.at += Math.max(2000, lag?.ms ?? 0);
      },
      after: async () => {
        clock.at += lag?.ms ?? 0;
      },
      reported: async ({ sha, name, state, log }) =>
        void reportCheck(github.world, {
          sha,
          name,
          log,
          status: state === 'pending' ? 'in_progress' : 'completed',
          conclusion: { pending: null, green: 'success', red: 'failure' }[state],
        }),
    }),
    readyLabel: LABELS.ready,
    longestBody: LONGEST_TEXT,
    makesOwnCommit: true,
    dispose: async () => {
      await git.close();
      await github.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Asked again, as the loop does, when GitHub does not show yet what the answer rests on. */
function patient(forge: GitHubForge, clock: { at: number }, longestMs: number): GitHubForge {
  const again = async (act: () => unknown, first: unknown): Promise<unknown> => {
    for (let waitedMs = 0, answer = first; ; waitedMs += 1000, answer = act()) {
      try {
        const got = await answer;
        const isTold = !Array.isArray(got) || !got.includes(null);
        if (isTold || waitedMs > longestMs) return got;
        clock.at += 1000;
      } catch (problem) {
        if (!(problem instanceof ForgeUnavailable) || waitedMs > longestMs) throw problem;
        clock.at += 1000;
      }
    }
  };
  const acts = Object.entries(forge).map(([name, act]) => [
    name,
    typeof act !== 'function'
      ? act
      : (...args: never[]) => {
          const once = () => (act as (...given: never[]) => unknown)(...args);
          const answer = once();
          return answer instanceof Promise ? again(once, answer) : answer;
        },
  ]);
  return Object.fromEntries(acts) as GitHubForge;
}

/** What every repository here begins with, as files: git would be started twenty times for it in each test. */
interface Beginning {
  start: string;
  files: { path: string; content: Buffer }[];
}
let begun: Beginning | undefined;

async function beginning(): Promise<Beginning> {
  const folder = mkdtempSync(join(tmpdir(), 'forge-github-beginning-'));
  execFileSync('git', ['init', '-q', '-b', 'main', '--template=', folder]);
  const start = await commitIn(folder, null, { 'README.md': 'hello\n' });
  const gitDir = join(folder, '.git');
  const files = readdirSync(gitDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: path.slice(gitDir.length + 1), content: readFileSync(path) }));
  rmSync(folder, { recursive: true });
  return { start, files };
}

function lay(files: Beginning['files'], gitDir: string): void {
  for (const folder of ['refs/heads', 'refs/tags', 'objects/info', 'objects/pack'])
    mkdirSync(join(gitDir, folder), { recursive: true });
  for (const { path, content } of files) {
    mkdirSync(dirname(join(gitDir, path)), { recursive: true });
    writeFileSync(join(gitDir, path), content);
  }
}

const cloneOf = (url: string): string =>
  `[user]\n\tname = ${ADA.name}\n\temail = ${ADA.email}\n[remote "origin"]\n\turl = ${url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
