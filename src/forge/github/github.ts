/**
 * GitHub as a forge: issues and pull requests over its API, branches over git. Everything that can be computed from git
 * is; what GitHub alone knows is asked for conditionally, in batches, and remembered for one look.
 */
import { join } from 'node:path';
import type { Labels } from '../../core/policy.ts';
import { ForgeUnavailable, UserError } from '../../errors.ts';
import type { Git } from '../../git/git.ts';
import { landedAs } from '../../git/landed.ts';
import type { IssueDesk } from '../desk.ts';
import type { Forge, Issue, Watched } from '../forge.ts';
import { ensureExcluded } from '../local/exclude.ts';
import { withLock } from '../local/lock.ts';
import type { Address } from './address.ts';
import { openBlockers } from './blockers.ts';
import { openClient, Refused } from './client.ts';
import { openComments } from './comments.ts';
import { hooksOf } from './hooks.ts';
import { openIssues } from './issues.ts';
import { openLanding } from './landing.ts';
import type { Place } from './place.ts';
import { openPulls } from './pulls.ts';
import { whyOutOfReach } from './reach.ts';
import { openReadiness } from './readiness.ts';
import { openReadings } from './readings.ts';
import { openRemarks } from './remarks.ts';
import { openRemote } from './remote.ts';
import { openReviews } from './reviews.ts';
import { createLabels, missingRights, problemsOf, unreadProject } from './rights.ts';
import { openRoles, type Role } from './roles.ts';
import { type MergeMethod, openRules } from './rules.ts';
import { repositoryShape, userShape, viewerShape } from './shapes.ts';
import { openStatuses } from './statuses.ts';

export interface GitHubForge extends Forge, IssueDesk {
  readonly kind: 'github';
  createLabels(): Promise<string[]>;
}

export interface GitHubOptions {
  git: Git;
  root: string;
  address: Address;
  token(again?: boolean): Promise<string>;
  now(): number;
  labels: Labels;
  trunk: string | null;
  /** The branch that work landed on so far, where no setting names one. */
  remembered?: () => Promise<string | null>;
  trusted(): Role;
  /** How merges are made. */
  method(): MergeMethod;
  /** Open pull requests as drafts until the critic approves. */
  drafts: boolean;
  /** The field of a project that says how urgent an issue is. */
  priorityField: string | null;
  requestsPerHour: number;
  writesPerHour?: number;
  paced: boolean;
  freshMs: number;
  /** How often the loop looks by itself: what shows no change is asked less often. Unless told, nothing is. */
  pollMs?(): number;
  /** How long GitHub may take for an answer; half a minute unless told. */
  patienceMs?: number;
  /** Told of what can't be read or shown, and is done without. */
  warn?(message: string): void;
}

/** How long a repository's name counts as its own. */
const NAMED_MS = 600_000;

export function githubForge(options: GitHubOptions): GitHubForge {
  const { git, address, now, labels } = options;
  const client = openClient({ ...options, apiUrl: address.apiUrl });
  const at = { owner: address.owner, repo: address.name };

  let named: string | null = options.trunk;
  /** Found once: a default branch that is changed on GitHub does not change where merges land. */
  const trunkBranch = async (): Promise<string> => {
    named ??= (await options.remembered?.()) ?? null;
    named ??= (await client.get('/repos/{owner}/{repo}', at, repositoryShape))?.default_branch ?? null;
    if (named !== null) return named;
    throw new UserError(
      `GitHub shows this token no repository ${at.owner}/${at.repo}.`,
      'Check its name and what the token may see.',
    );
  };
  let login: string | null = null;
  const askLogin = async (): Promise<string | null> => {
    try {
      return (await client.get('/user', {}, userShape))?.login ?? null;
    } catch (problem) {
      if (!(problem instanceof Refused) || problem.status !== 403) throw problem;
      // It is refused to Apps and to jobs of GitHub Actions, which are told here.
      return (await client.graphql('query { viewer { login } }', {}, viewerShape)).viewer.login;
    }
  };
  const self = async (): Promise<string> => {
    login ??= await askLogin();
    if (login !== null) return login;
    throw new UserError(
      'GitHub does not say whose token this is.',
      'Use a token of a user account, or tracker.auth: app with the App’s own key.',
    );
  };
  let called: { names: string[]; at: number } | null = null;
  /** A renamed repository answers to its old name too, and calls itself by the new one. */
  const names = async (): Promise<string[]> => {
    if (called && now() - called.at < NAMED_MS) return called.names;
    const found = await client.get('/repos/{owner}/{repo}', at, repositoryShape);
    const all = [found?.full_name ?? '', `${at.owner}/${at.repo}`].map((name) => name.toLowerCase());
    called = { names: [...new Set(all)].filter((name) => name !== ''), at: now() };
    return called.names;
  };
  const remote = openRemote({ ...options, url: address.gitUrl, trunk: trunkBranch });
  const place: Place = {
    client,
    git,
    remote,
    at,
    host: address.host,
    names,
    self,
    trunkBranch,
    now,
    freshMs: options.freshMs,
    pollMs: options.pollMs ?? (() => 0),
  };
  const exclusively = <T>(name: string, section: () => Promise<T>): Promise<T> => {
    ensureExcluded(git);
    return withLock(join(options.root, '.forge', `${name}.lock`), section);
  };

  const roles = openRoles(place);
  const issues = openIssues(
    place,
    labels,
    openReadiness(place, labels, roles, options.trusted, options.priorityField),
    openBlockers(place),
  );
  const comments = openComments(place);
  const pulls = openPulls(place, issues, comments, options.drafts);
  const statuses = openStatuses(place);
  const rules = openRules(place);
  const landing = openLanding({ place, pulls, rules, exclusively });
  const remarks = openRemarks({ place, pulls, issues, comments, roles, rules, method: options.method });
  const existing = async (number: number): Promise<Issue> => {
    const issue = await issues.find(number);
    if (!issue) throw new UserError(`There is no issue #${number} in ${at.owner}/${at.repo}.`);
    return issue;
  };

  const forget = (): void => {
    issues.forget();
    pulls.forgetAll();
    remote.forget();
  };

  const markReady: GitHubForge['markReady'] = async (number) => {
    await existing(number);
    await issues.setState(number, 'open');
    const stale = [labels.needsReview, labels.needsSpec, labels.abandon, labels.merged, labels.ready];
    await issues.relabel(number, { add: [], remove: stale });
    await issues.relabel(number, { add: [labels.ready], remove: [] });
    await issues.open();
    return existing(number);
  };

  const seenOf = async ({ issue, pull, branch }: Watched): Promise<readonly unknown[]> => [
    issue === null ? null : JSON.stringify(await issues.find(issue, 'lately')),
    pull === null ? null : JSON.stringify([await pulls.pull(pull), await remarks.feedback(pull)]),
    (await remote.head(branch))?.sha ?? null,
  ];

  return {
    kind: 'github',
    check: () => problemsOf(place, labels, rules, options.method()),
    checkRights: async () => [
      ...(await missingRights(place, rules)),
      ...(await unreadProject(place, options.priorityField)),
    ],
    createLabels: () => createLabels(place, labels),
    hooks: () => hooksOf(place),

    forget,
    doubt: () => {
      forget();
      issues.doubt();
      rules.forget();
    },
    openIssues: issues.lately,
    issue: issues.find,
    relabel: issues.relabel,
    ensureComment: async (number, marker, body) => {
      if (await issues.find(number)) await comments.ensure(number, marker, body, issues.isSilent(number));
    },
    closeIssue: (number) => issues.setState(number, 'closed'),
    // What a look reads, from the same lists and queries.
    // One after the other: what is asked for the first answers for all, and asked at once it would be asked for each.
    seen: async (of) => {
      const seen: (readonly unknown[] | null)[] = [];
      for (const one of of) seen.push(await seenOf(one).catch(() => null));
      return seen;
    },

    trunk: landing.trunk,
    push: async (branch, sha, expected) => {
      if (branch === (await trunkBranch())) throw new Error(`${branch} is trunk: only a merge moves it`);
      const pushed = await remote.push(branch, sha, expected).catch((problem: unknown) => ({ problem }));
      pulls.forgetAll();
      if (typeof pushed === 'string') return pushed;
      // What keeps every task from pushing is waited out, not asked of a person task by task.
      const why = await whyOutOfReach(place).catch(() => null);
      const cause = 'problem' in pushed ? pushed.problem : new Error(pushed.refused);
      if (why !== null) throw new ForgeUnavailable(why, null, { cause });
      if ('problem' in pushed) throw pushed.problem;
      return pushed;
    },
    showVerified: (sha) =>
      statuses.set(
        sha,
        'forge-loop/gate',
        { state: 'success', description: 'The gate passed' },
        remote.isBrought(sha),
      ),
    branchHead: remote.head,
    deleteBranch: async (branch) => {
      const head = await remote.headNow(branch);
      // Only what is on trunk: anything else might be somebody's only copy.
      if (head && (await landedAs(git, head.sha, (await landing.trunk()).sha)) !== null)
        await remote.remove(branch, head.sha);
    },

    ensurePull: pulls.ensurePull,
    pull: pulls.pull,
    updatePull: pulls.updatePull,
    postReview: openReviews(place, pulls, comments, statuses).postReview,
    closePull: pulls.closePull,
    leaveQueue: pulls.leaveQueue,
    ...remarks,
    mergesAlone: landing.mergesAlone,
    buildCandidate: landing.buildCandidate,
    mergeBlocker: async () => null,
    // A merge closes the issues it fixes.
    land: (number, candidate) => landing.land(number, candidate).finally(issues.forget),
    onTrunk: landing.onTrunk,
    ...openReadings(place, pulls.isKnown),

    newIssue: async ({ title, body, labels: given = [], priority, blockedBy = [], ready, by }) => {
      const wanted = [...given, ...(priority ? [`priority:${priority}`] : [])];
      const blockers = blockedBy.map((number) => `Blocked by #${number}`).join('\n');
      const text = [body, blockers].filter((part) => part !== '').join('\n\n');
      const number = await issues.create({ title, body: text, labels: wanted });
      return ready ? markReady(number, by ?? '') : existing(number);
    },
    markReady,
    setState: async (number, state) => {
      await existing(number);
      await issues.setState(number, state);
    },
    addComment: async (number, _by, text) => {
      await existing(number);
      await comments.add(number, text);
    },
    comments: async (number) => comments.all((await existing(number)).number),
    listIssues: (all) => (all ? issues.all() : issues.open()),
    approvePull: async (number) => {
      const pull = await pulls.pull(number);
      if (!pull) throw new UserError(`There is no pull request #${number}.`);
      if (pull.state !== 'open' || pull.headSha === null)
        throw new UserError(
          `Pull request #${number} is ${pull.headSha === null ? 'without a branch' : pull.state}.`,
        );
      await pulls.approve(number, pull.headSha);
      return { headSha: pull.headSha };
    },
  };
}
