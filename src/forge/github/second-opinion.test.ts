/**
 * The same adapter at a GitHub that we did not write. It knows no GraphQL, no conditional requests and no git over HTTP; what
 * is asked over REST alone (issues, labels, comments, webhooks) works there as at our own.
 */
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmulator, type Emulator } from 'emulate';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Person, personAt } from '../../../test/support/github/client.ts';
import { LABELS } from '../../../test/support/labels.ts';
import { openGit } from '../../git/git.ts';
import { addressOf } from './address.ts';
import { type GitHubForge, githubForge } from './github.ts';

let github: Emulator;
let forge: GitHubForge;
let ada: Person;
let root: string;

beforeEach(async () => {
  github = await createEmulator({
    service: 'github',
    port: await freePort(),
    seed: {
      tokens: { bot: { login: 'loop-bot', scopes: ['repo'] }, hers: { login: 'ada', scopes: ['repo'] } },
      github: {
        users: [{ login: 'loop-bot' }, { login: 'ada' }],
        repos: [{ owner: 'loop-bot', name: 'rocket', auto_init: true }],
      },
    },
  });
  root = mkdtempSync(join(tmpdir(), 'second-opinion-'));
  execFileSync('git', ['init', '-q', root]);
  ada = personAt({
    login: 'ada',
    token: 'hers',
    repository: () => `${github.url}/repos/loop-bot/rocket`,
    graphql: `${github.url}/graphql`,
  });
  forge = await open();
});

afterEach(async () => {
  await github.close();
  rmSync(root, { recursive: true, force: true });
});

const open = async (): Promise<GitHubForge> =>
  githubForge({
    git: await openGit(root),
    root,
    address: addressOf({ repository: 'loop-bot/rocket', apiUrl: github.url, remoteUrl: null }),
    token: async () => 'bot',
    now: Date.now,
    labels: LABELS,
    trunk: null,
    trusted: () => 'write',
    method: () => 'squash',
    drafts: false,
    priorityField: null,
    requestsPerHour: 5000,
    paced: false,
    freshMs: 0,
  });

test('issues are listed, labelled and closed', async () => {
  const { number } = await ada.post('/issues', { title: 'Broken', body: 'It is.' });
  expect(await forge.listIssues(false)).toMatchObject([{ number, title: 'Broken', body: 'It is.' }]);
  await forge.relabel(number, { add: ['bug', 'P1'], remove: [] });
  await forge.relabel(number, { add: [], remove: ['BUG', 'none'] });
  expect(await (await open()).issue(number)).toMatchObject({ labels: ['P1'], priority: 1 });
  await forge.closeIssue(number);
  expect(await (await open()).listIssues(false)).toEqual([]);
  expect(await ada.get(`/issues/${number}`)).toMatchObject({ state: 'closed', state_reason: 'completed' });
});

test('labels of the loop are made once', async () => {
  const made = await forge.createLabels();
  expect(made).toEqual(expect.arrayContaining(Object.values(LABELS)));
  expect(await (await open()).createLabels()).toEqual([]);
});

test('a comment stands once for its marker, also when another process asks', async () => {
  const { number } = await ada.post('/issues', { title: 'T', body: 'B' });
  await forge.ensureComment(number, 'status', 'Working.');
  await (await open()).ensureComment(number, 'status', 'Working.');
  await forge.ensureComment(number, 'status', 'Done.');
  expect((await forge.comments(number)).map(({ by, text }) => [by, text])).toEqual([['loop-bot', 'Done.']]);
});

test('a webhook is listed, and its deliveries carry the signature we check', async () => {
  let got: (signed: boolean) => void = () => {};
  const delivered = new Promise<boolean>((done) => {
    got = done;
  });
  const receiver = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const wanted = `sha256=${createHmac('sha256', 'secret').update(body).digest('hex')}`;
    response.end();
    if (request.headers['x-github-event'] === 'issues')
      got(request.headers['x-hub-signature-256'] === wanted);
  });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhook`;
  const config = { url, secret: 'secret', content_type: 'json' };
  const owner = personAt({
    login: 'loop-bot',
    token: 'bot',
    repository: () => `${github.url}/repos/loop-bot/rocket`,
    graphql: `${github.url}/graphql`,
  });
  await owner.post('/hooks', { name: 'web', config, events: ['issues'] });
  expect(await forge.hooks!()).toMatchObject([{ url, active: true, events: ['issues'] }]);
  await ada.post('/issues', { title: 'T', body: 'B' });
  expect(await delivered).toBe(true);
  receiver.closeAllConnections();
  receiver.close();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
