/** The world of an end-to-end test with its repository on a GitHub of its own. */
import { reportCheck } from '../github/check-routes.ts';
import { type Person, person } from '../github/client.ts';
import { ensureLabel } from '../github/repository-routes.ts';
import { type GitHub, startGitHub } from '../github/server.ts';
import type { IssueRow } from '../github/world.ts';
import { LABELS } from '../labels.ts';
import { type Json, test as plainTest, type World } from './world.ts';

export interface OnGitHub {
  github: GitHub;
  ada: Person;
  grace: Person;
  mallory: Person;
  /** Settings as `world.settings` takes them, also on GitHub's main. */
  settings(settings: Json): Promise<void>;
  issue(title: string, body?: string): Promise<number>;
  ready(issue: number, by?: Person): Promise<void>;
  row(issue: number): IssueRow;
  pulls(): IssueRow[];
  /** What CI says of each new head of a task's branch, one after the other; the last stands for all that follow. */
  ci(...conclusions: ('success' | 'failure')[]): void;
  /** The loop's requests that changed something: `METHOD path`, with numbers and shas left out, or names of mutations. */
  writes(): string[];
}

export const test = plainTest.extend<{ on: OnGitHub }>({
  on: ({ world }, use) => staged(world, {}, use),
});

/** The same where what was written is seen later, by at most so many milliseconds. */
export const testWithLag = (lag: { seed: number; ms: number }) =>
  plainTest.extend<{ on: OnGitHub }>({ on: ({ world }, use) => staged(world, { lag }, use) });

type Hosting = NonNullable<Parameters<typeof startGitHub>[0]>;

async function staged(world: World, hosting: Hosting, use: (on: OnGitHub) => Promise<void>): Promise<void> {
  const on = await onGitHub(world, hosting);
  await use(on);
  await on.github.close();
}

export async function onGitHub(world: World, hosting: Hosting = {}): Promise<OnGitHub> {
  const github = await startGitHub(hosting);
  const bot = person(github, 'loop-bot', 'write');
  const ada = person(github, 'ada', 'admin');
  for (const label of Object.values(LABELS)) ensureLabel(github.world, label);
  world.git('remote', 'add', 'origin', github.gitUrl);
  world.env.LOOP_TOKEN = bot.token;
  const on: OnGitHub = {
    github,
    ada,
    grace: person(github, 'grace', 'write'),
    mallory: person(github, 'mallory', 'none'),
    async settings(given) {
      const provider = { api_url: github.apiUrl, token: '$LOOP_TOKEN', paced: 'false' };
      const polling = { interval_ms: 1000 };
      world.settings({ tracker: { kind: 'github', provider }, polling, ...given });
      await ada.git(world.root, 'push', '-q', 'origin', 'main');
    },
    issue: async (title, body = 'It must contain `done`.') =>
      (await ada.post('/issues', { title, body })).number,
    ready: async (issue, by = ada) =>
      void (await by.post(`/issues/${issue}/labels`, { labels: ['loop:ready'] })),
    row: (issue) => github.world.issues.get(issue)!,
    pulls: () => [...github.world.issues.values()].filter((row) => row.pull),
    ci(...conclusions) {
      const { emit } = github.world;
      github.world.emit = (event) => {
        emit(event);
        const { ref, after } = event.payload as { ref?: string; after?: string };
        if (event.event !== 'push' || !ref?.startsWith('refs/heads/loop/') || !/[1-9a-f]/.test(after ?? ''))
          return;
        const conclusion = conclusions.length > 1 ? conclusions.shift()! : conclusions[0]!;
        const steps = [{ name: 'npm test', conclusion }];
        reportCheck(github.world, {
          sha: after!,
          name: 'ci',
          conclusion,
          steps,
          log: `CI-LOG ${conclusion}\n`,
        });
      };
    },
    writes: () =>
      github.requests
        .filter(({ user }) => user === 'loop-bot')
        .filter(({ method, path }) => method !== 'GET' && !path.startsWith('git '))
        .filter(({ path, mutation }) => path !== '/graphql' || mutation !== undefined)
        .map(
          ({ method, path, mutation }) =>
            mutation ??
            `${method} ${path
              .replace('/repos/acme/rocket', '')
              .replace(/[0-9a-f]{40}/g, 'SHA')
              .replace(/\/\d+/g, '/N')}`,
        ),
  };
  await on.settings({});
  return on;
}
