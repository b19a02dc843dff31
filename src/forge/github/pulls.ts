/**
 * Pull requests. Those the loop asks about are read together, a few queries for all; their heads come from git, so that what is
 * said about a branch and about its pull request never disagree.
 */
import { digestOf } from '../../core/text/digest.ts';
import { approvalText } from '../../core/words/review-text.ts';
import { ForgeUnavailable } from '../../errors.ts';
import { treeIfThere } from '../../git/objects.ts';
import type { Forge, Pull } from '../forge.ts';
import { Refused } from './client.ts';
import type { Comments } from './comments.ts';
import type { Issues } from './issues.ts';
import { hasMark, marked, remarked } from './marker.ts';
import { memo } from './memo.ts';
import type { Place } from './place.ts';
import { openPortions } from './portions.ts';
import { NotRead, readPullFacts } from './pull-facts.ts';
import { whyOutOfReach } from './reach.ts';
import { lastWords } from './rules.ts';
import { nothing, type PullFacts, type PullRow, pullShape } from './shapes.ts';

export interface Pulls
  extends Pick<Forge, 'ensurePull' | 'pull' | 'updatePull' | 'closePull'>,
    Required<Pick<Forge, 'leaveQueue'>> {
  /** As GitHub has it at this moment; null when there is none. */
  row(number: number): Promise<PullRow | null>;
  /** It is there, as this process opened it or has seen it lately. */
  isKnown(number: number): boolean;
  markReady(nodeId: string): Promise<void>;
  /** Resolves the conversations nobody but us took part in; one that GitHub refuses stays open. */
  resolveOwn(number: number): Promise<void>;
  /** Into GitHub's own merge queue, with this head. Asked again, it stays where it is. */
  enqueue(number: number, headSha: string): Promise<void>;
  /** An operator's approval of a head: on GitHub nobody can approve a pull request of their own account. */
  approve(number: number, headSha: string): Promise<void>;
  /**
   * Everything that is said about it, read together with all others that are followed; null when there is none. `since` is
   * how fresh it has to be: as of now, as of this look, as new as whoever waits for CI wants it, no older than what the list
   * shows, or the same and read long enough after the last change.
   */
  facts(number: number, since: 'now' | 'look' | 'waiting' | 'listed' | 'settled'): Promise<PullFacts | null>;
  /** It was merged, as this commit; a query may not know it yet. */
  noteMerged(number: number, sha: string): void;
  /** What was read is out of date: we changed it. */
  forget(number: number): void;
  forgetAll(): void;
}

interface Followed {
  facts: PullFacts;
  at: number;
  /** Read long enough after the last change: copies that GitHub answers from have it by then. */
  isSettled: boolean;
  /** Since when it is as it is. */
  sameSince: number;
  seen: number;
  wantedAt: number;
}

export function openPulls(
  place: Place,
  issues: Pick<Issues, 'timesListed' | 'changesSeen' | 'pullChangedAt'>,
  comments: Comments,
  drafts: boolean,
): Pulls {
  const { client, at, self, remote, now, freshMs } = place;
  const followed = new Map<number, Followed>();
  const portions = openPortions<number>(place, (number) => number);

  /** Branches for which a pull request was opened, or may have been. */
  const tried = memo<string, true>(REMEMBERED);
  /** How often the list had been read when each was opened: until it is read again it can't show it. */
  const unlistedAt = memo<number, number>(REMEMBERED);
  /** When we closed each, by GitHub's clock. */
  const closedAt = memo<number, number>(REMEMBERED);
  /** A query may be late with that, too. */
  const asClosed = <T extends PullFacts | ForgeUnavailable | null>(number: number, facts: T): T =>
    facts && !(facts instanceof ForgeUnavailable) && facts.updatedAt <= (closedAt.get(number) ?? 0)
      ? { ...facts, state: facts.state === 'OPEN' ? 'CLOSED' : facts.state }
      : facts;
  let changes = 0;
  let changedAt = Number.NEGATIVE_INFINITY;
  /** After something happened to them: what was known, or is just being asked, was so before. */
  const forget = (...numbers: number[]): void => {
    changes += 1;
    changedAt = now();
    for (const number of numbers) {
      const known = followed.get(number);
      if (known) known.at = Number.NEGATIVE_INFINITY;
    }
  };

  /** With it all that are old, open, and that somebody asked about lately; what nobody asks about is forgotten. */
  const refresh = async (wanted: number): Promise<PullFacts | null> => {
    const before = changes;
    const open = [...followed].filter(
      ([, known]) =>
        known.facts.state === 'OPEN' && now() - known.wantedAt < FOLLOWED_MS && isOld(known, freshMs),
    );
    const seen = issues.changesSeen();
    const numbers = [...new Set([wanted, ...open.map(([number]) => number)])];
    const read = await readPullFacts(place, portions, numbers);
    const found = new Map([...read].map(([number, facts]) => [number, asClosed(number, facts)]));
    const asOf = before === changes ? now() : Number.NEGATIVE_INFINITY;
    for (const [number, known] of followed)
      if (!found.has(number) && (isOld(known, freshMs) || isBygone(known))) followed.delete(number);
    for (const [number, facts] of found) {
      const before = followed.get(number);
      if (facts === null || facts instanceof ForgeUnavailable) {
        followed.delete(number);
        if (facts && number !== wanted) client.warn(facts.message);
        continue;
      }
      const isSame = before && JSON.stringify(before.facts) === JSON.stringify(facts);
      followed.set(number, {
        facts,
        at: asOf,
        isSettled: now() >= Math.max(changedAt, facts.updatedAt - client.ahead()) + SETTLED_MS,
        sameSince: isSame ? before.sameSince : now(),
        seen,
        wantedAt: number === wanted ? now() : (before?.wantedAt ?? now()),
      });
    }
    const answer = found.get(wanted) ?? null;
    if (answer instanceof ForgeUnavailable) throw answer;
    // A query may be late with a new one, and whoever asks would leave out what is due.
    if (answer === null && (await row(wanted)))
      throw new NotRead(`GitHub's queries do not show pull request #${wanted} yet.`);
    return answer;
  };

  /**
   * The list of what is open shows when a pull request changed last: people's words, reviews, pushes and its end, not what
   * CI says. A merge closes the issue it fixes: an issue seen as closed beside a pull request seen as open would be no fact.
   */
  const isOutrun = ({ facts, at }: Followed): boolean => {
    if (facts.state !== 'OPEN') return true;
    const changedAt = issues.pullChangedAt(facts.number);
    // Whoever does not read the list does not learn from it either.
    if (changedAt === null)
      return unlistedAt.get(facts.number) !== issues.timesListed() || now() - at >= place.pollMs();
    return changedAt > facts.updatedAt;
  };

  /** Nobody has asked for it in a while, and nothing more happens to it. */
  const isBygone = ({ facts, wantedAt }: Followed): boolean =>
    facts.state !== 'OPEN' && now() - wantedAt >= FOLLOWED_MS;

  const isOld = (known: Followed, patienceMs: number): boolean => {
    if (known.facts.state === 'MERGED' && known.facts.mergeCommit) return false;
    const ageMs = now() - known.at;
    if (known.seen !== issues.changesSeen() && isOutrun(known)) return true;
    return ageMs >= freshMs && (ageMs >= patienceMs || isOutrun(known));
  };

  /** The longer nothing changed, the longer the next question may wait: a tenth of that time, and some looks at most. */
  const patienceOf = ({ at, isSettled, sameSince }: Followed): number =>
    isSettled ? Math.min(longestMs(), Math.max(place.pollMs(), (at - sameSince) / 10)) : place.pollMs();
  const longestMs = (): number => LOOKS * place.pollMs();

  const asOf = async (number: number, patience: (known: Followed) => number): Promise<PullFacts | null> => {
    const known = followed.get(number);
    if (!known || isOld(known, patience(known))) return refresh(number);
    known.wantedAt = now();
    return known.facts;
  };
  const PATIENCE = {
    look: () => freshMs,
    waiting: patienceOf,
    listed: () => longestMs(),
    // What the list shows late, or within the same second, is not known before.
    settled: (known: Followed) => (known.isSettled ? longestMs() : freshMs),
  };
  const facts: Pulls['facts'] = (number, since) =>
    since === 'now' ? refresh(number) : asOf(number, PATIENCE[since]);
  const pull: Pulls['pull'] = async (number) => {
    // Only a queue does something to it that the list may not show.
    const found = await asOf(number, (known) =>
      known.facts.isMergeQueueEnabled ? patienceOf(known) : longestMs(),
    );
    return found && describe(found);
  };

  const describe = async (facts: PullFacts): Promise<Pull> => ({
    number: facts.number,
    issue: issueIn(facts.headRefName),
    branch: facts.headRefName,
    state: facts.state === 'OPEN' ? 'open' : facts.state === 'MERGED' ? 'merged' : 'closed',
    headSha: (await remote.head(facts.headRefName))?.sha ?? null,
    ...(await mergedAs(facts)),
    inMergeQueue: facts.isInMergeQueue,
    queueLeft: queueLeft(facts),
    approvals: approvalsIn(facts, await self()),
  });

  const mergedAs = async (facts: PullFacts): Promise<Pick<Pull, 'mergedSha' | 'mergedTree'>> => {
    const mergedSha = facts.state === 'MERGED' ? (facts.mergeCommit?.oid ?? null) : null;
    if (mergedSha === null) return { mergedSha, mergedTree: null };
    const known = await treeIfThere(place.git, mergedSha);
    if (known === null) await remote.headNow(await place.trunkBranch());
    return { mergedSha, mergedTree: known ?? (await treeIfThere(place.git, mergedSha)) };
  };

  /** Just now: a query may not know it yet. */
  const opened = async (made: PullRow): Promise<Pull> => {
    unlistedAt.set(made.number, issues.timesListed());
    return {
      number: made.number,
      issue: issueIn(made.head.ref),
      branch: made.head.ref,
      state: 'open',
      headSha: (await remote.head(made.head.ref))?.sha ?? null,
      mergedSha: null,
      mergedTree: null,
      inMergeQueue: false,
      approvals: [],
    };
  };

  const row = (number: number): Promise<PullRow | null> =>
    client.get('/repos/{owner}/{repo}/pulls/{pull_number}', { ...at, pull_number: number }, pullShape);

  /** As GitHub filters by it: with the owner of today, where the repository was moved. */
  const headOf = async (branch: string): Promise<string> =>
    `${(await place.names())[0]!.split('/')[0]}:${branch}`;

  /** Ours is: from our own repository, by our own account, for this branch; of these the marked one, or else an open one. */
  const find = async (branch: string, marker: string): Promise<PullRow | null> => {
    const me = await self();
    const names = await place.names();
    const query = { ...at, state: 'all', head: await headOf(branch) };
    const listed = await client.list('/repos/{owner}/{repo}/pulls', query, pullShape);
    const own = listed.filter(
      (one) =>
        one.head.ref === branch &&
        names.includes(one.head.repo?.full_name.toLowerCase() ?? '') &&
        one.user?.login === me,
    );
    return (
      own.find((one) => hasMark(one.body, `pull:${marker}`)) ??
      own.find((one) => one.state === 'open') ??
      null
    );
  };

  /** GitHub allows one open pull request for a branch, and anybody who may read can open it. */
  const inTheWay = async (branch: string): Promise<Error> => {
    const query = { ...at, state: 'open', head: await headOf(branch) };
    const [other] = await client.list('/repos/{owner}/{repo}/pulls', query, pullShape);
    if (!other)
      return new ForgeUnavailable(`GitHub does not show yet which pull request the branch ${branch} has.`);
    const which = `#${other.number}, opened by ${other.user?.login ?? 'a deleted account'}`;
    return new Refused(
      422,
      `The branch ${branch} has a pull request that is not the loop's: ${which}. Close it.`,
    );
  };

  /** Null when there is one already. */
  const create = async (input: {
    branch: string;
    title: string;
    body: string;
    draft: boolean;
  }): Promise<PullRow | null> => {
    const { branch, title, body, draft } = input;
    const asked = { ...at, head: branch, base: await place.trunkBranch(), title, body, draft };
    try {
      return await client.write('POST /repos/{owner}/{repo}/pulls', asked, pullShape);
    } catch (problem) {
      const isRefused = problem instanceof Refused && problem.status === 422;
      // A private repository of a free plan has no drafts.
      if (isRefused && draft && /draft/i.test(problem.message)) return create({ ...input, draft: false });
      if (isRefused && /already exists/i.test(problem.message)) return null;
      throw problem;
    }
  };

  const ensured: Pulls['ensurePull'] = async ({ branch, title, body, marker }) => {
    // What an earlier process, or a lost answer, may have opened is looked for; a branch just made has none.
    const isFirst = remote.isMade(branch) && !tried.get(branch);
    tried.set(branch, true);
    let found = isFirst ? null : await find(branch, marker);
    if (!found) {
      const wanted = { branch, title: oneLine(title), body: marked(`pull:${marker}`, body), draft: drafts };
      const made = await create(wanted);
      if (made) return opened(made);
      found = await find(branch, marker);
    }
    if (!found) throw await inTheWay(branch);
    const seen = await facts(found.number, 'now');
    if (!seen) throw new ForgeUnavailable(`GitHub lists #${found.number} but does not show it yet.`);
    return describe(seen);
  };

  /** GitHub refuses what is so already, and sometimes what it has just done: then it is as it should be. */
  const asWanted = async (number: number, wanted: boolean, asked: Promise<unknown>): Promise<void> => {
    try {
      await asked;
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      const isThere = (await facts(number, 'now'))?.isInMergeQueue ?? false;
      if (isThere !== wanted && !(wanted && /already/i.test(problem.message))) throw problem;
    }
    forget(number);
  };

  return {
    row,
    isKnown: (number) => followed.has(number) || unlistedAt.get(number) !== undefined,
    pull,
    facts,
    forget,
    noteMerged: (number, sha) => {
      const known = followed.get(number);
      if (!known) return;
      known.facts = { ...known.facts, state: 'MERGED', mergeCommit: { oid: sha } };
      known.at = now();
      changes += 1;
    },
    forgetAll: () => forget(...followed.keys()),
    async ensurePull(wanted) {
      try {
        return await ensured(wanted);
      } catch (problem) {
        if (!(problem instanceof Refused)) throw problem;
        // What keeps every task from opening one, or shows late, is waited out, not asked of a person.
        const why = (await whyOutOfReach(place)) ?? (showsLate(problem) ? problem.message : null);
        throw why === null ? problem : new ForgeUnavailable(why, null, { cause: problem });
      }
    },
    async updatePull(number, text) {
      const known = followed.get(number)?.facts;
      const current = known ?? (await facts(number, 'now'));
      if (!current) return;
      const title = oneLine(text.title);
      const body = remarked(current.body, text.body);
      if (current.title === title && current.body.replaceAll('\r\n', '\n') === body) return;
      const route = 'PATCH /repos/{owner}/{repo}/pulls/{pull_number}';
      await client.write(route, { ...at, pull_number: number, title, body }, nothing);
      const after = followed.get(number);
      if (after) after.facts = { ...after.facts, title, body };
    },
    async closePull(number, comment) {
      const current = await row(number);
      if (current?.state !== 'open') return;
      if (comment !== '') await comments.ensure(number, `closed:${digestOf(comment, 12)}`, comment);
      await client.write(
        'PATCH /repos/{owner}/{repo}/pulls/{pull_number}',
        { ...at, pull_number: number, state: 'closed' },
        nothing,
      );
      closedAt.set(number, now() + client.ahead());
      forget(number);
    },
    async markReady(nodeId) {
      const query =
        'mutation($id: ID!) { markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { id } } }';
      await client.graphql(query, { id: nodeId }, nothing);
    },
    async resolveOwn(number) {
      const me = await self();
      const threads = (await facts(number, 'look'))?.reviewThreads.nodes ?? [];
      for (const { id, isResolved, comments } of threads) {
        if (isResolved || comments.nodes.some(({ author }) => author?.login !== me)) continue;
        const query =
          'mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { clientMutationId } }';
        try {
          await client.graphql(query, { id }, nothing);
        } catch (problem) {
          if (!(problem instanceof Refused)) throw problem;
          client.warn(`A conversation on pull request #${number} can't be resolved: ${problem.message}`);
        }
      }
    },
    // What GitHub shows of the queue may be late: it is told first, and what it shows counts only when it refuses.
    async leaveQueue(number) {
      const found = await facts(number, 'look');
      if (found?.state !== 'OPEN' || !found.isMergeQueueEnabled) return;
      const query = 'mutation($id: ID!) { dequeuePullRequest(input: { id: $id }) { clientMutationId } }';
      await asWanted(number, false, client.graphql(query, { id: found.id }, nothing));
    },
    async enqueue(number, head) {
      const found = await facts(number, 'look');
      if (!found) throw new Refused(404, `There is no pull request #${number}.`);
      if (found.isInMergeQueue) return;
      const query =
        'mutation($id: ID!, $head: GitObjectID!) { enqueuePullRequest(input: { pullRequestId: $id, expectedHeadOid: $head }) { clientMutationId } }';
      await asWanted(number, true, client.graphql(query, { id: found.id, head }, nothing));
    },
    async approve(number, headSha) {
      await comments.ensure(number, `approve:${headSha}`, approvalText(headSha));
      forget(number);
    },
  };
}

const REMEMBERED = 500;

/** Whoever has one in hand asks about it every minute or so. */
const FOLLOWED_MS = 600_000;

/** However long nothing happened to one. */
const LOOKS = 5;

/** By then GitHub shows a change wherever it is asked. */
const SETTLED_MS = 10_000;

/** A branch that was just pushed may be unknown to what opens pull requests. */
const showsLate = ({ status, message }: Refused): boolean =>
  status === 422 && /"field":"head"|No commits between/.test(message);

/** Out of the queue it goes when it is merged, too; GitHub shows that a moment later. */
function queueLeft({ queueEvents }: PullFacts): { at: number; why: string } | null {
  const [last] = queueEvents.nodes;
  if (last?.__typename !== 'RemovedFromMergeQueueEvent' || /^merged?$/i.test(last.reason ?? '')) return null;
  return { at: last.createdAt ?? 0, why: last.reason ?? 'it gives no reason' };
}

function approvalsIn(facts: PullFacts, self: string): Pull['approvals'] {
  const given = lastWords(facts, self).flatMap(({ by, state, headSha }) =>
    state === 'APPROVED' && headSha !== null ? [{ by, headSha }] : [],
  );
  const own = facts.comments.nodes.flatMap(({ author, body }) => {
    const headSha = /^<!-- forge-loop:approve:([0-9a-f]{40}) -->/.exec(body)?.[1];
    return author?.login === self && headSha !== undefined ? [{ by: self, headSha }] : [];
  });
  return [...given, ...own];
}

const issueIn = (branch: string): number | null => {
  const number = /^loop\/(\d+)-/.exec(branch)?.[1];
  return number === undefined ? null : Number(number);
};

/** GitHub takes 256 characters. */
const oneLine = (title: string): string => [...title.replace(/\s+/g, ' ').trim()].slice(0, 250).join('');
