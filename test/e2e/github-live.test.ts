/** `npm run test:github` against the test server: the command that proves the loop on the real GitHub is known to work. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test as plainTest } from 'vitest';
import { type Program, startProgram } from '../support/e2e/program.ts';
import { until } from '../support/e2e/until.ts';
import { startActions } from '../support/github/actions.ts';
import { type Person, person } from '../support/github/client.ts';
import { type GitHub, startGitHub } from '../support/github/server.ts';
import { EVERY_RIGHT, makeFineGrained } from '../support/github/token-rights.ts';

const SCRIPT = fileURLToPath(new URL('../live/start.js', import.meta.url));

interface Live {
  github: GitHub;
  /** The loop's account, with a fine-grained token. */
  bot: Person;
  owner: Person;
  start(env: Record<string, string>, ...args: string[]): Program & { told: Promise<Told> };
  prove(env: Record<string, string>, ...args: string[]): Promise<Told>;
}

interface Told {
  code: number | null;
  said: string;
  /** Empty where none was written. */
  report: string;
}

const test = plainTest.extend<{ live: Live }>({
  // biome-ignore lint/correctness/noEmptyPattern: it needs no other fixture.
  live: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'forge-live-test-'));
    const github = await startGitHub();
    github.world.isPrivate = true;
    const actions = startActions(github, 3000);
    const [bot, owner] = [person(github, 'loop-bot', 'write'), person(github, 'ada', 'admin')];
    makeFineGrained(github.world, 'loop-bot', EVERY_RIGHT);
    const start: Live['start'] = (env, ...args) => {
      const file = join(folder, 'report.md');
      rmSync(file, { force: true });
      const program = startProgram(
        ['--api-url', github.apiUrl, '--pause-ms', '0', '--minutes', '5', '--report', file, ...args],
        { cwd: folder, env: { PATH: process.env.PATH ?? '', ...env }, program: SCRIPT },
      );
      const told = program.ended.then(({ code, stdout, stderr }) => ({
        code,
        said: stdout + stderr,
        report: existsSync(file) ? readFileSync(file, 'utf8') : '',
      }));
      return { ...program, told };
    };
    await use({ github, bot, owner, start, prove: (env, ...args) => start(env, ...args).told });
    await actions.over();
    await github.close();
    rmSync(folder, { recursive: true, force: true });
  },
});

test('an empty repository: all of the story is seen, and all of it is cleaned up', async ({ live }) => {
  const { github, bot, owner } = live;
  const env = { GITHUB_TOKEN: bot.token, GITHUB_STAGE_TOKEN: owner.token };
  const { code, said, report } = await live.prove(env, '--repo', 'acme/rocket');
  expect(code, said + report).toBe(0);
  expect(report).toContain('0 wrong, 0 skipped');
  expect(report).toMatch(/\| ok \| #1 → #\d+ \| Merged by loop-bot as [0-9a-f]{40}\. \|/);
  expect(report).toContain('1 of 2 were brought up to date');
  for (const token of [bot.token, owner.token]) expect(said + report).not.toContain(token);

  const issues = [...github.world.issues.values()];
  expect(issues.filter(({ pull }) => pull === null)).toHaveLength(101);
  expect(issues.filter(({ state }) => state === 'open')).toEqual([]);
  expect(github.world.protections.size).toBe(0);
  expect(await owner.git('.', 'ls-remote', '--heads', github.gitUrl)).toMatch(/^\w{40}\trefs\/heads\/main$/);
  const files = await github.world.git(['ls-tree', '-r', '--name-only', 'main']);
  expect(files.stdout.trim(), 'trunk is what it was: marked').toBe('THROWAWAY.md');
});

test('rights that are missing: the rest is proved, GitHub’s words are told, and how to get there', async ({
  live,
}) => {
  const { github, bot } = live;
  const token = github.world.tokens.get(bot.token)!;
  const alone = { GITHUB_TOKEN: bot.token };

  token.lacks = ['workflows=write'];
  const first = await live.prove(alone, '--repo', 'acme/rocket');
  expect(first.code, first.said + first.report).toBe(3);
  expect(first.report).toMatch(
    /\| skipped \| GitHub Actions \| .*without `workflow` scope.* – Give the token Workflows: write/,
  );

  token.lacks = [];
  const second = await live.prove(alone, '--repo', 'acme/rocket');
  expect(second.code, second.said + second.report).toBe(3);
  expect(second.report).toContain('private; marked as a throwaway');
  expect(second.report).toMatch(
    /\| skipped \| Classic rule: heads up to date \| 403: Resource not accessible by personal access token \(it needs administration=write\) – Give GITHUB_STAGE_TOKEN Administration: write/,
  );
  expect([...github.world.issues.values()].filter(({ state }) => state === 'open')).toEqual([]);
});

test('interrupted in the middle: it cleans up all the same, and says that it was', async ({ live }) => {
  const { github, bot, owner } = live;
  const env = { GITHUB_TOKEN: bot.token, GITHUB_STAGE_TOKEN: owner.token };
  const proving = live.start(env, '--repo', 'acme/rocket');
  await until('work to begin', () => github.world.issues.get(1)?.labels.includes('loop:running'));
  proving.send('SIGINT');
  const { code, report } = await proving.told;
  expect(code).toBe(1);
  expect(report).toContain('| **wrong** | The story | Interrupted. |');
  expect([...github.world.issues.values()].filter(({ state }) => state === 'open')).toEqual([]);
  expect(github.world.protections.size).toBe(0);
});

test('a loop that does not get there: the report says so, in GitHub’s words and the loop’s', async ({
  live,
}) => {
  const { github, bot, owner } = live;
  github.world.permissions.set('loop-bot', 'read');
  const env = { GITHUB_TOKEN: bot.token, GITHUB_STAGE_TOKEN: owner.token };
  const { code, report } = await live.prove(env, '--repo', 'acme/rocket');
  expect(code).toBe(1);
  expect(report).toContain('| **wrong** | doctor | Something failed: see below. |');
  expect(report).toMatch(/\| \*\*wrong\*\* \| run \| .*This token may not push to acme\/rocket/);
  expect(report).toContain('| **wrong** | #1 | Not merged: it was never taken up |');
  expect(report).toMatch(
    /\| 403 \| Resource not accessible by personal access token \(it needs \w+=write\) \|/,
  );
  expect(github.world.protections.size).toBe(0);
});

test('a repository that is not evidently a throwaway is left alone', async ({ live }) => {
  const { github, bot, owner } = live;
  const refused = async () => {
    const seen = github.requests.length;
    const { code, said } = await live.prove({ GITHUB_TOKEN: bot.token }, '--repo', 'acme/rocket');
    expect(code).toBe(2);
    expect(said).toContain('acme/rocket is not evidently a throwaway');
    expect(said).toContain('forge-loop may overwrite this repository.');
    const asked = github.requests.slice(seen).filter(({ path }) => !path.includes('git-upload-pack'));
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'GET']);
  };
  await owner.post('/issues', { title: 'Somebody’s', body: 'work' });
  await refused();

  const { git, issues } = github.world;
  issues.clear();
  const tree = (await git(['hash-object', '-w', '-t', 'tree', '/dev/null'])).stdout.trim();
  const work = (await git(['commit-tree', tree, '-m', 'Somebody’s work'])).stdout.trim();
  await git(['update-ref', 'refs/heads/main', work]);
  await refused();
});

test('what is wrong with the command is said, and nothing is done', async ({ live }) => {
  const token = { GITHUB_TOKEN: live.bot.token };
  for (const [env, args, says] of [
    [token, [], 'Give the repository as --repo owner/name.'],
    [token, ['--repo', 'rocket'], 'Give the repository as --repo owner/name.'],
    [token, ['--repo', 'acme/rocket', '--minutes', 'ten'], '--minutes must be a whole number, not ten.'],
    [token, ['--repo', 'acme/rocket', '--fast'], "Unknown option '--fast'"],
    [{}, ['--repo', 'acme/rocket'], 'There is no token: set GITHUB_TOKEN'],
    [token, ['--repo', 'acme/other'], "acme/other does not exist, or this token can't see it."],
    [{ GITHUB_TOKEN: 'ghp_old' }, ['--repo', 'acme/rocket'], '(401): Bad credentials'],
    [
      { GITHUB_TOKEN: 'ghp_old', GITHUB_STAGE_TOKEN: live.owner.token },
      ['--repo', 'acme/rocket'],
      'GitHub does not accept GITHUB_TOKEN (401): Bad credentials',
    ],
  ] as const) {
    const { code, said } = await live.prove(env, ...args);
    expect(said).toContain(says);
    expect(code, says).toBe(2);
  }
  const help = await live.prove({}, '--help');
  expect(help).toMatchObject({ code: 0, said: expect.stringContaining('Usage: npm run test:github') });
});
