/**
 * The same adapter at a GitHub that we did not write. It knows no conditional requests, no list of all comments and no git
 * over HTTP; what else is asked over REST (issues, labels, comments, webhooks) works there as at our own. It knows no GraphQL
 * either: who labelled an issue is answered here, from its own timeline.
 */
import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createEmulator, type Emulator } from 'emulate';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Person, personAt } from '../../../test/support/github/client.ts';
import { type Node, runGraphql } from '../../../test/support/github/graphql-engine.ts';
import { LABELS } from '../../../test/support/labels.ts';
import { openGit } from '../../git/git.ts';
import { startWebhook } from '../../http/webhook.ts';
import { addressOf } from './address.ts';
import { type GitHubForge, githubForge } from './github.ts';

let github: Emulator;
let front: Server;
let apiUrl: string;
let forge: GitHubForge;
let ada: Person;
let owner: Person;
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
  front = createServer((request, response) => void answer(request, response));
  apiUrl = `http://127.0.0.1:${await portOf(front)}`;
  const [repository, graphql] = [() => `${github.url}/repos/loop-bot/rocket`, `${apiUrl}/graphql`];
  ada = personAt({ login: 'ada', token: 'hers', repository, graphql });
  owner = personAt({ login: 'loop-bot', token: 'bot', repository, graphql });
  forge = await open();
});

afterEach(async () => {
  front.closeAllConnections();
  front.close();
  await github.close();
  rmSync(root, { recursive: true, force: true });
});

const open = async (): Promise<GitHubForge> =>
  githubForge({
    git: await openGit(root),
    root,
    address: addressOf({ repository: 'loop-bot/rocket', apiUrl, remoteUrl: null }),
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

test('an issue is labelled, claimed, talked about and closed, and each thing people do wakes the loop', async () => {
  const woken = new EventEmitter();
  const endpoint = await startWebhook({
    port: 0,
    bind: '127.0.0.1',
    secret: 'secret',
    gatherMs: 0,
    heard: async (kinds) => void kinds.map((kind) => woken.emit(kind)),
  });
  const config = { url: endpoint.url, secret: 'secret', content_type: 'json' };
  const events = ['issues', 'issue_comment'];
  await owner.post('/hooks', { name: 'web', config, events });
  expect(await forge.hooks!()).toMatchObject([{ url: endpoint.url, active: true, events }]);
  await forge.createLabels();

  const opened = once(woken, 'issues');
  const { number } = await ada.post('/issues', { title: 'Broken', body: 'It is.' });
  await opened;
  forge.forget!();
  expect(await forge.openIssues()).toMatchObject([{ number, title: 'Broken', body: 'It is.', labels: [] }]);

  const labelled = once(woken, 'issues');
  await owner.post(`/issues/${number}/labels`, { labels: [LABELS.ready] });
  await labelled;
  forge.forget!();
  const [ready] = await forge.openIssues();
  expect(ready).toMatchObject({ labels: [LABELS.ready], readyHash: ready!.textHash });
  expect(ready!.readyProblem).toBeUndefined();

  await forge.relabel(number, { add: [LABELS.running], remove: [LABELS.ready] });
  await forge.ensureComment(number, 'status', 'Working.');
  expect(await forge.openIssues()).toMatchObject([{ number, labels: [LABELS.running] }]);

  const said = once(woken, 'issue_comment');
  const { id } = await ada.post(`/issues/${number}/comments`, { body: 'Is it?' });
  await said;
  const question = { id: `c${id}`, where: { kind: 'issue' as const, number } };
  for (let times = 0; times < 2; times++) await forge.reply(question, 'answer', 'It is.');

  await forge.relabel(number, { add: [LABELS.merged], remove: [LABELS.running] });
  await forge.ensureComment(number, 'status', 'Merged.');
  await forge.closeIssue(number);
  forge.forget!();
  expect(await forge.openIssues()).toEqual([]);
  expect(await ada.get(`/issues/${number}`)).toMatchObject({
    state: 'closed',
    labels: [{ name: LABELS.merged }],
  });
  expect((await forge.comments(number)).map(({ by, text }) => [by, text])).toEqual([
    ['loop-bot', 'Merged.'],
    ['ada', 'Is it?'],
    ['loop-bot', 'It is.'],
  ]);
  await endpoint.close();
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', headers } = request;
  const body = await text(request);
  const { query: source = '', variables = {} } = url === '/graphql' ? JSON.parse(body) : {};
  if (source.startsWith('query')) {
    const query = { __typename: 'Query', repository: { __typename: 'Repository', issue, label: null } };
    const root = { query, mutation: { __typename: 'Mutation' } };
    const report = (deviation: string) => expect.fail(deviation);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(await runGraphql({ source, variables, root, report })));
    return;
  }
  const sent = {
    method,
    headers: { authorization: headers.authorization!, 'content-type': 'application/json' },
  };
  const answered = await fetch(github.url + url, method === 'GET' ? sent : { ...sent, body });
  response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? '' });
  response.end(await answered.text());
}

async function issue({ number }: { number: number }): Promise<Node> {
  const { title, body, updated_at: updatedAt } = await ada.get(`/issues/${number}`);
  const timeline: { event: string; created_at: string; actor: object; label: object }[] = await ada.get(
    `/issues/${number}/timeline`,
  );
  const labelled = timeline
    .filter(({ event }) => event === 'labeled')
    .map(({ created_at: createdAt, actor, label }) => ({
      ...{ __typename: 'LabeledEvent', createdAt },
      actor: { __typename: 'User', ...actor },
      label: { __typename: 'Label', ...label },
    }));
  const pageInfo = { hasPreviousPage: false, startCursor: null };
  return {
    ...{ __typename: 'Issue', number, title, body, updatedAt, lastEditedAt: null },
    userContentEdits: { nodes: [] },
    timelineItems: ({ itemTypes: [type] }: { itemTypes: string[] }) => ({
      nodes: type === 'LABELED_EVENT' ? labelled : [],
      pageInfo,
    }),
  };
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await portOf(server);
  await new Promise((done) => server.close(done));
  return port;
}
