/**
 * Issues. One conditional request lists all that are open; what it does not say (who made an issue ready and when, what
 * blocks it) is asked only for issues that changed and carry one of our labels, all in one query.
 */

import type { Related } from '../../core/event.ts';
import { hasLabel } from '../../core/line/schedule.ts';
import type { Labels } from '../../core/policy.ts';
import { ForgeUnavailable } from '../../errors.ts';
import type { Issue } from '../forge.ts';
import type { Blockers, Blocking } from './blockers.ts';
import { isAboutOne, Refused } from './client.ts';
import { issueFrom, withPlainLines } from './issue.ts';
import { openLabelSwap } from './label-swap.ts';
import { memo } from './memo.ts';
import type { Place } from './place.ts';
import { whyOutOfReach } from './reach.ts';
import type { Readiness, Ready } from './readiness.ts';
import {
  type IssueRow,
  issueShape,
  labelsShape,
  nothing,
  numberShape,
  relativeShape,
  repositoryShape,
} from './shapes.ts';

export interface Issues {
  /** Every open issue; unchanged ones are the very same objects as before. */
  open(): Promise<Issue[]>;
  /** The same, without asking twice within one look of the loop, for commands first, then for issues, or a moment after it. */
  lately(): Promise<Issue[]>;
  find(number: number, when?: 'lately'): Promise<Issue | null>;
  relabel(number: number, change: { add: string[]; remove: string[] }): Promise<void>;
  setState(number: number, state: 'open' | 'closed'): Promise<void>;
  create(issue: { title: string; body: string; labels: readonly string[] }): Promise<number>;
  all(): Promise<Issue[]>;
  /** What was read is out of date. */
  forget(): void;
  /** Who agreed to which text is read again even where nothing seems to have changed. */
  doubt(): void;
  /** How often something was said, as far as the list of open issues and pull requests shows it. */
  talk(): Promise<Talk>;
  /** The open pull requests of an account, as the list had them last. */
  pullsBy(login: string): number[];
  /** When an open pull request changed last, as the list has it; null when it is not in the list. */
  pullChangedAt(number: number): number | null;
  /** Nobody has said anything on it by the last list, which was read after this process took it in hand. */
  isSilent(number: number): boolean;
  /** How often the list was read. */
  timesListed(): number;
  /** How many changes of the list were seen: nothing read before the last of them may be believed beside it unasked. */
  changesSeen(): number;
}

/** Each grows when something new may have been said there: below an issue or a pull request, or on lines and in reviews. */
export interface Talk {
  comments: number;
  reviews: number;
  /** On what left the list before anybody saw it there. */
  unseen: number;
  /** No later than this, by GitHub's clock. */
  at: number;
}

/** One look of the loop is over by then, however often it looks. */
const LOOK_MS = 1000;

const REMEMBERED = 500;

const ASK_AGAIN_MS = 60_000;

const OPEN = { state: 'open', sort: 'created', direction: 'asc' };

export function openIssues(place: Place, labels: Labels, readiness: Readiness, blockers: Blockers): Issues {
  const { client, at, now, freshMs } = place;
  const made = new Map<number, Made>();
  const labelSwap = openLabelSwap(place, readiness);
  /** When those are asked about again about which something could not be read. */
  const unreadUntil = new Map<number, number>();
  /** When those were asked for that are not in the list of open ones. */
  const unlisted = new Map<number, number>();
  /** How often the list had been read when this process labelled each: what another one said before is in the next. */
  const labelledAt = memo<number, number>(REMEMBERED);
  let rows: readonly IssueRow[] | null = null;
  /** We changed something ourselves since. */
  let isTouched = false;
  let issues: Issue[] = [];
  let askedAt = Number.NEGATIVE_INFINITY;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let timesListed = 0;
  let changesSeen = 0;
  let talk: Talk = { comments: 0, reviews: 0, unseen: 0, at: 0 };
  let timesForgotten = 0;

  /** However often the loop looks: once a poll will do, but for what it may begin with at any moment. */
  const lookMs = (): number => {
    const pollMs = place.pollMs();
    const isWaitedFor = issues.some((issue) => hasLabel(issue.labels, labels.ready));
    if (isWaitedFor) return Math.min(freshMs, Math.max(LOOK_MS, pollMs / 10));
    // The timer of a look may be early.
    return Math.max(freshMs, pollMs * 0.9);
  };

  const open = async (): Promise<Issue[]> => {
    const before = timesForgotten;
    const listed = await listOpen();
    // What made us forget may have come after the answer: the next question is asked again.
    askedAt = before === timesForgotten ? now() : Number.NEGATIVE_INFINITY;
    timesListed += 1;
    if (listed !== rows) {
      changesSeen += 1;
      talk = afterTalk(talk, rows ?? [], listed);
    }
    if (listed === rows && !isTouched && !issues.some(isStale)) return issues;
    rows = listed;
    isTouched = false;
    try {
      issues = await understood(listed.filter((row) => row.pull_request === undefined));
    } catch (problem) {
      // The list will not change again for that.
      isTouched = true;
      throw problem;
    }
    const open = new Set(issues.map(({ number }) => number));
    for (const number of made.keys()) if (!open.has(number)) made.delete(number);
    for (const number of unreadUntil.keys()) if (!open.has(number)) unreadUntil.delete(number);
    readiness.keepOnly(open);
    return issues;
  };

  /** What others asked for in between keeps no look from asking in its time, unless that was a moment ago. */
  const lately = async (): Promise<Issue[]> => {
    const age = now() - askedAt;
    if (age < lookMs() / 4) lookedAt = askedAt;
    const isFresh = Math.max(age, now() - lookedAt) < lookMs();
    if (isFresh && !issues.some(isStale)) return issues;
    const listed = await open();
    lookedAt = askedAt;
    return listed;
  };

  const listOpen = async (): Promise<readonly IssueRow[]> => {
    try {
      return await client.list('/repos/{owner}/{repo}/issues', { ...at, ...OPEN }, issueShape);
    } catch (problem) {
      const isGone = problem instanceof Refused && problem.status === 404;
      const why = isGone ? await whyOutOfReach(place) : null;
      throw why === null ? problem : new ForgeUnavailable(why, null, { cause: problem });
    }
  };

  const understood = async (fresh: readonly IssueRow[]): Promise<Issue[]> => {
    const changed = fresh.filter((row) => made.get(row.number)?.row !== JSON.stringify(row) || isStale(row));
    const ours = changed.filter((row) => row.state === 'open' && isOurs(row.labels));
    const asked = ours.filter(needsHistory);
    const found = await readiness.of(asked);
    for (const row of changed) {
      const isAsked = ours.includes(row);
      const { related, blocking, problem } = isAsked ? await around(row) : alone(row);
      const before = isAsked ? made.get(row.number)?.ready : null;
      const ready = (asked.includes(row) ? found.get(row.number) : before) ?? null;
      const known = issueFrom(row, ready, blocking, related);
      const unread = problem === null ? null : { why: problem, until: now() + ASK_AGAIN_MS };
      if (unread) unreadUntil.set(row.number, unread.until);
      else unreadUntil.delete(row.number);
      // One in hand does not wait for what it once waited for.
      const isHeld = unread && !known.unproved && hasLabel(row.labels, labels.ready);
      const issue = isHeld ? { ...known, unproved: unread } : known;
      made.set(row.number, { id: row.node_id, row: JSON.stringify(row), about: aboutOf(row), ready, issue });
    }
    return fresh.map((row) => made.get(row.number)!.issue);
  };

  const isStale = ({ number }: { number: number }): boolean =>
    readiness.isStale(number) ||
    blockers.isStale(number) ||
    now() >= (unreadUntil.get(number) ?? Number.POSITIVE_INFINITY);

  const alone = (row: IssueRow): Around => ({
    related: null,
    blocking: blockers.inText(row),
    problem: null,
  });

  /** What is wrong about one issue keeps no other from being read. */
  const around = async (row: IssueRow): Promise<Around> => {
    try {
      return { related: await relatedOf(row), blocking: await blockers.of(row), problem: null };
    } catch (problem) {
      if (!isAboutOne(problem)) throw problem;
      return { ...alone(row), problem: `what it waits for can't be read: ${problem.message}` };
    }
  };

  /** Of one in hand nothing but its text and its labels is agreed to: what is said on it changes neither. */
  const needsHistory = (row: IssueRow): boolean => {
    const known = made.get(row.number);
    const isInHand = !hasLabel(row.labels, labels.ready) && (known?.ready ?? null) !== null;
    return !isInHand || known?.about !== aboutOf(row) || readiness.isStale(row.number);
  };

  const isOurs = (names: readonly string[]): boolean =>
    [labels.ready, labels.running].some((label) => hasLabel(names, label));

  /** Null for an issue that stands alone, as most do; those cost nothing. */
  const relatedOf = async ({ number, sub_issues_summary: parts, parent_issue_url: url }: IssueRow) => {
    const [, whose, found] = /\/repos\/([^/]+\/[^/]+)\/issues\/(\d+)$/.exec(url ?? '') ?? [];
    const isHere = whose !== undefined && (await place.names()).includes(whose.toLowerCase());
    const up = isHere ? found : undefined;
    if (!parts?.total && up === undefined) return null;
    const one = '/repos/{owner}/{repo}/issues/{issue_number}';
    const parent =
      up === undefined ? null : await client.get(one, { ...at, issue_number: Number(up) }, relativeShape);
    const listed = parts?.total
      ? await client.list(`${one}/sub_issues`, { ...at, issue_number: number }, relativeShape)
      : [];
    return { parent: parent && { number: parent.number, title: parent.title }, children: [...listed] };
  };

  /** The list leaves them out for issues that nobody made ready. */
  const withBlockers = async (issue: Issue): Promise<Issue> => {
    const row = rows?.find((one) => one.number === issue.number);
    if (!row) return issue;
    const { here, elsewhere } = await blockers.of(row);
    return { ...issue, blockedBy: here, ...(elsewhere.length > 0 ? { blockedElsewhere: elsewhere } : {}) };
  };

  /** Null where there is none, or not any more: it was deleted, or moved to another repository, to which GitHub leads then. */
  const rowOf = async (number: number): Promise<IssueRow | null> => {
    const one = { ...at, issue_number: number };
    try {
      const row = await client.get('/repos/{owner}/{repo}/issues/{issue_number}', one, issueShape);
      return row?.number === number && (await isHere(row)) ? row : null;
    } catch (problem) {
      if (!(problem instanceof Refused) || problem.status !== 410) throw problem;
      // So GitHub answers, too, where issues are disabled.
      if ((await client.get('/repos/{owner}/{repo}', at, repositoryShape))?.has_issues) return null;
      throw problem;
    }
  };

  const isHere = async ({ repository_url: url }: IssueRow): Promise<boolean> => {
    const whose = /\/repos\/([^/]+\/[^/]+)$/.exec(url ?? '')?.[1]?.toLowerCase();
    const isNamed = whose === undefined || whose === `${at.owner}/${at.repo}`.toLowerCase();
    return isNamed || (await place.names()).includes(whose);
  };

  const find: Issues['find'] = async (number, when) => {
    const isFresh = now() - askedAt < (when === 'lately' ? lookMs() : freshMs);
    if (!isFresh || (when !== 'lately' && isStale({ number }))) await open();
    const listed = issues.find((issue) => issue.number === number);
    if (listed) return isOurs(listed.labels) ? listed : withBlockers(listed);
    const known = made.get(number);
    if (known && now() - (unlisted.get(number) ?? Number.NEGATIVE_INFINITY) < freshMs) return known.issue;
    const row = await rowOf(number);
    if (row === null || row.pull_request !== undefined) return null;
    const [issue] = await understood([row]);
    unlisted.set(number, now());
    return issue!;
  };

  const forget = (): void => {
    timesForgotten += 1;
    unlisted.clear();
    askedAt = Number.NEGATIVE_INFINITY;
  };

  /** What we changed ourselves we know without asking; the next list confirms it. */
  const remember = (number: number, change: Partial<Pick<Issue, 'labels' | 'state'>>): void => {
    const entry = made.get(number);
    if (!entry) return;
    entry.issue = { ...entry.issue, ...change };
    // Labels that we changed ourselves say nothing about who agreed to what.
    if (change.labels)
      entry.about = aboutOf({ ...(JSON.parse(entry.row) as IssueRow), labels: change.labels });
    issues = issues
      .map((issue) => (issue.number === number ? entry.issue : issue))
      .filter((issue) => issue.state === 'open');
    isTouched = true;
  };

  return {
    open,
    lately,
    find,
    isSilent: (number) =>
      timesListed > (labelledAt.get(number) ?? timesListed) &&
      rows?.find((row) => row.number === number)?.comments === 0,
    timesListed: () => timesListed,
    changesSeen: () => changesSeen,
    pullChangedAt: (number) => rows?.find((row) => row.number === number)?.updated_at ?? null,
    pullsBy: (login) =>
      (rows ?? [])
        .filter((row) => row.pull_request !== undefined && row.user?.login === login)
        .map(({ number }) => number),
    forget,
    doubt: readiness.doubt,
    async talk() {
      await lately();
      return talk;
    },
    async relabel(number, { add, remove }) {
      const issue = await find(number);
      if (!issue) return;
      const one = { ...at, issue_number: number };
      labelledAt.set(number, timesListed);
      let current = issue.labels;
      const missing = add.filter((label) => !hasLabel(current, label));
      const extra = current.filter((label) => hasLabel(remove, label));
      const id = made.get(number)?.id;
      if (missing.length > 0 && extra.length > 0 && id !== undefined) {
        const swapped = await labelSwap.make(id, { add: missing, remove: extra });
        if (swapped) return remember(number, { labels: swapped });
      }
      if (missing.length > 0)
        current = await client.write(
          'POST /repos/{owner}/{repo}/issues/{issue_number}/labels',
          { ...one, labels: missing },
          labelsShape,
        );
      for (const name of current.filter((label) => hasLabel(remove, label))) {
        const route = 'DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}';
        const left = await unlessGone(client.write(route, { ...one, name }, labelsShape));
        current = left ?? current.filter((label) => label !== name);
      }
      remember(number, { labels: current });
    },
    async setState(number, state) {
      const issue = await find(number);
      if (!issue || issue.state === state) return;
      const reason = state === 'closed' ? { state_reason: 'completed' } : {};
      await client.write(
        'PATCH /repos/{owner}/{repo}/issues/{issue_number}',
        { ...at, issue_number: number, state, ...reason },
        nothing,
      );
      remember(number, { state });
    },
    async create({ title, body, labels: wanted }) {
      const text = withPlainLines(body);
      const created = await client.write(
        'POST /repos/{owner}/{repo}/issues',
        { ...at, title, body: text, labels: wanted },
        numberShape,
      );
      askedAt = Number.NEGATIVE_INFINITY;
      return created.number;
    },
    async all() {
      const listed = await client.list(
        '/repos/{owner}/{repo}/issues',
        { ...at, ...OPEN, state: 'all' },
        issueShape,
      );
      return understood(listed.filter((row) => row.pull_request === undefined));
    },
  };
}

/** What an issue waits for, and which others it belongs to. */
interface Around {
  related: Related | null;
  blocking: Blocking;
  /** Why it is not known. */
  problem: string | null;
}

interface Made {
  id: string;
  row: string;
  about: string;
  ready: Ready | null;
  issue: Issue;
}

const aboutOf = ({ title, body, labels }: Pick<IssueRow, 'title' | 'body' | 'labels'>): string =>
  JSON.stringify([title, body, labels.toSorted()]);

/** A row counts its comments, and is of another time when anything was said on a pull request. What left the list may have. */
function afterTalk(talk: Talk, before: readonly IssueRow[], after: readonly IssueRow[]): Talk {
  const known = new Map(before.map((row) => [row.number, row]));
  const left = new Set(known.keys());
  let [comments, reviews] = [false, false];
  for (const row of after) {
    const was = known.get(row.number);
    left.delete(row.number);
    comments ||= row.comments !== (was?.comments ?? 0);
    reviews ||= row.pull_request !== undefined && row.updated_at !== was?.updated_at;
  }
  return {
    comments: talk.comments + Number(comments),
    reviews: talk.reviews + Number(reviews),
    unseen: talk.unseen + Number(left.size > 0),
    at: Math.max(talk.at, ...after.map((row) => row.updated_at)),
  };
}

/** Null when what should be taken away was gone already. */
async function unlessGone<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (problem) {
    if (problem instanceof Refused && problem.status === 404) return null;
    throw problem;
  }
}
