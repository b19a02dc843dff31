/** What people do at a GitHub, this one or the real one, by its API and by git. */
import { execFileSync } from 'node:child_process';
import type { Check } from '../../../src/core/change/remark.ts';
import type { People } from '../../../src/forge/contract.ts';
import { LABELS } from '../labels.ts';
import type { Person } from './client.ts';

export function peopleOf(options: {
  /** The loop's clone. */
  root: string;
  hers: string;
  ada: Person;
  grace: Person;
  mallory: Person;
  /** A branch as it is called there. */
  named(branch: string): string;
  /** Awaited before whatever people do. */
  before(): Promise<void>;
  after?(): Promise<void>;
  reported(check: { sha: string; name: string; state: Check['state']; log: string }): Promise<void>;
}): People {
  const { root, hers, ada, grace, mallory, named } = options;
  const fetched = () => ada.git(hers, 'fetch', '-q', '--prune', 'origin', '+refs/heads/*:refs/seen/*');
  const labels = (issue: number) => `/issues/${issue}/labels`;
  const pullOf = async (branch: string): Promise<number> => {
    const listed = (await ada.get('/pulls?state=all&per_page=100')) as {
      number: number;
      head: { ref: string };
    }[];
    const found = listed.find((pull) => pull.head.ref === named(branch));
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
    editTitle: (issue, title) => ada.patch(`/issues/${issue}`, { title }),
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
      const sha = await commitIn(hers, await ada.git(hers, 'rev-parse', `refs/seen/${named(branch)}`), files);
      await ada.git(hers, 'push', '-q', 'origin', `${sha}:refs/heads/${named(branch)}`);
      return sha;
    },
    rewriteBranch: async (branch, sha) => {
      await fetched();
      await ada.git(hers, 'push', '-q', '-f', 'origin', `${sha}:refs/heads/${named(branch)}`);
    },
    mergeByHand: async (branch, how) => {
      if (how !== 'fast_forward') {
        await ada.put(`/pulls/${await pullOf(branch)}/merge`, { merge_method: how });
        return;
      }
      await fetched();
      await ada.git(hers, 'push', '-q', 'origin', `refs/seen/${named(branch)}:refs/heads/${named('main')}`);
    },
    deleteBranch: async (branch) =>
      void (await ada.git(hers, 'push', '-q', 'origin', `:refs/heads/${named(branch)}`)),
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
      await options.reported({ sha: head.sha, name, state, log });
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
      return ada.git(hers, 'show', `refs/seen/${named(branch)}:${path}`).then(
        (text) => `${text}\n`,
        () => null,
      );
    },
  };
  return surrounded(people, options);
}

function surrounded(people: People, { before, after }: Parameters<typeof peopleOf>[0]): People {
  const acts = Object.entries(people).map(([name, act]) => [
    name,
    async (...args: never[]) => {
      // A commit on no branch is nothing that GitHub knows of.
      if (name === 'commit') return (act as (...given: never[]) => unknown)(...args);
      await before();
      const done = await (act as (...given: never[]) => unknown)(...args);
      await after?.();
      return done;
    },
  ]);
  return Object.fromEntries(acts) as People;
}

/** Commits without a checkout; null deletes a file. By one git for all of it. */
export async function commitIn(
  folder: string,
  parent: string | null,
  files: Record<string, string | null>,
): Promise<string> {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const changes = Object.entries(files).map(([path, content]) =>
    content === null
      ? `D ${JSON.stringify(path)}\n`
      : `M 100644 inline ${JSON.stringify(path)}\n${data(content)}`,
  );
  const input = [
    'feature done\nfeature get-mark\ncommit refs/people\nmark :1\n',
    `committer ${ADA.name} <${ADA.email}> now\n`,
    data(`Change ${Object.keys(files).join(', ')}\n`),
    ...(parent === null ? [] : [`from ${parent}\n`]),
    ...changes,
    // Nobody should see a ref that only stands for what is being made.
    `get-mark :1\nreset refs/people\nfrom ${'0'.repeat(40)}\n\ndone\n`,
  ].join('');
  const args = ['-c', 'fastimport.unpackLimit=1', 'fast-import', '--quiet', '--force', '--date-format=now'];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8', env, input }).trim();
}

export const ADA = { name: 'Ada', email: 'ada@example.com' };
