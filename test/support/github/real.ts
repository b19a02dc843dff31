/**
 * The real GitHub under the forge's contract: a scratch repository that is given in the environment. Its issues and
 * pull requests are closed, and branches come and go; nothing else should live there.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ForgeUnderTest } from '../../../src/forge/contract.ts';
import type { Forge, Pull } from '../../../src/forge/forge.ts';
import { addressOf } from '../../../src/forge/github/address.ts';
import { type GitHubForge, githubForge } from '../../../src/forge/github/github.ts';
import { openGit } from '../../../src/git/git.ts';
import { LABELS } from '../labels.ts';
import { type Person, personAt } from './client.ts';
import { LONGEST_TEXT } from './issue-routes.ts';
import { commitIn, peopleOf } from './people.ts';

/** The account of the loop, and two of people with write access: nobody approves what they opened or objected to. */
export const NEEDED = [
  'FORGE_LOOP_TEST_REPOSITORY',
  'FORGE_LOOP_TEST_TOKEN',
  'FORGE_LOOP_TEST_PERSON_TOKEN',
  'FORGE_LOOP_TEST_REVIEWER_TOKEN',
] as const;

/** Null when the environment does not give all that is needed. */
export function realGitHub(env: NodeJS.ProcessEnv): (() => Promise<ForgeUnderTest>) | null {
  const [repository, token, person, reviewer] = NEEDED.map((name) => env[name]);
  if (!repository || !token || !person || !reviewer) return null;
  const apiUrl = env.FORGE_LOOP_TEST_API_URL || null;
  return () => underTest({ repository, token, person, reviewer, apiUrl });
}

async function underTest(given: {
  repository: string;
  token: string;
  person: string;
  reviewer: string;
  apiUrl: string | null;
}): Promise<ForgeUnderTest> {
  const address = addressOf({ repository: given.repository, apiUrl: given.apiUrl, remoteUrl: null });
  const repository = `${address.apiUrl}/repos/${given.repository}`;
  const graphql = `${address.apiUrl.replace(/\/v3$/, '')}/graphql`;
  const somebody = (token: string): Person =>
    personAt({ login: 'somebody', token, repository: () => repository, graphql });
  const ada = somebody(given.person);
  // Every test has a trunk and branches of its own: what an earlier one left is in nobody's way.
  const tag = randomBytes(4).toString('hex');
  const trunk = `contract-${tag}`;
  const named = (branch: string): string => (branch === 'main' ? trunk : `${branch}-${tag}`);
  await closeAll(ada);

  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'forge-real-')));
  const [root, hers] = [join(dir, 'loop'), join(dir, 'person')];
  for (const folder of [root, hers]) {
    mkdirSync(folder);
    execFileSync('git', ['init', '-q', folder]);
    await ada.git(folder, 'remote', 'add', 'origin', address.gitUrl);
    await ada.git(folder, 'config', 'user.name', 'Contract');
    await ada.git(folder, 'config', 'user.email', 'contract@example.com');
  }
  const start = await commitIn(hers, null, { 'README.md': 'hello\n' });
  await ada.git(hers, 'push', '-q', 'origin', `${start}:refs/heads/${trunk}`);

  const since = Math.floor(Date.now() / 1000) * 1000;
  const open = async (): Promise<GitHubForge> =>
    githubForge({
      git: await openGit(root),
      root,
      address,
      token: async () => given.token,
      now: Date.now,
      labels: LABELS,
      trunk,
      trusted: () => 'write',
      method: () => 'squash',
      drafts: false,
      priorityField: null,
      requestsPerHour: 5000,
      paced: given.apiUrl === null,
      freshMs: 0,
    });
  const forge = await open();
  await forge.createLabels();
  return {
    forge: renamed(forge, named, since),
    reopen: async () => renamed(await open(), named, since),
    people: peopleOf({
      root,
      hers,
      ada,
      grace: somebody(given.reviewer),
      mallory: ada,
      named,
      before: nextSecond,
      reported: ({ sha, name, state, log }) =>
        ada.post(`/statuses/${sha}`, {
          context: name,
          state: { pending: 'pending', green: 'success', red: 'failure' }[state],
          description: log.slice(0, 140),
        }),
    }),
    readyLabel: LABELS.ready,
    longestBody: LONGEST_TEXT,
    makesOwnCommit: true,
    dispose: async () => {
      await closeAll(ada);
      const heads = await ada.git(hers, 'ls-remote', '--heads', 'origin', `*${tag}`);
      const refs = heads.split('\n').flatMap((line) => line.split('\t')[1] ?? []);
      if (refs.length > 0) await ada.git(hers, 'push', '-q', 'origin', ...refs.map((ref) => `:${ref}`));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The forge under the names that this test's branches have there; what was said before it began is not its business. */
function renamed(forge: GitHubForge, named: (branch: string) => string, since: number): Forge {
  const plain = <T extends Pull | null>(pull: T): T =>
    pull && { ...pull, branch: pull.branch.replace(named(''), '') };
  return {
    ...forge,
    trunk: async () => ({ ...(await forge.trunk()), branch: 'main' }),
    push: (branch, sha, expected) => forge.push(named(branch), sha, expected),
    branchHead: (branch) => forge.branchHead(named(branch)),
    deleteBranch: (branch) => forge.deleteBranch(named(branch)),
    ensurePull: async (pull) => plain(await forge.ensurePull({ ...pull, branch: named(pull.branch) })),
    pull: async (number) => plain(await forge.pull(number)),
    commands: (from) => forge.commands(Math.max(from, since)),
  };
}

async function closeAll(person: Person): Promise<void> {
  const open = (await person.get('/issues?state=open&per_page=100')) as { number: number }[];
  for (const { number } of open) await person.patch(`/issues/${number}`, { state: 'closed' });
}

/** GitHub counts whole seconds: what happens in the same one has no order. */
const nextSecond = (): Promise<void> =>
  new Promise((done) => {
    setTimeout(done, 1010 - (Date.now() % 1000));
  });
