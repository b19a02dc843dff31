/**
 * What CI says about a head: check runs and commit statuses, which of them the branch's rules require, and for a red
 * one of GitHub Actions the step that failed and the end of its log. Our own statuses are not CI's.
 *
 * Not every token may read all of it. What it may not is asked another way where there is one; what stays unread is
 * said, and a required check among it is pending, never green.
 */
import type { Check } from '../../core/change/remark.ts';
import { Refused } from './client.ts';
import { memo } from './memo.ts';
import type { Place } from './place.ts';
import { OWN, type Rules } from './rules.ts';
import { checkRunShape, jobShape, type PullFacts, runShape, statusShape } from './shapes.ts';

interface Checks {
  /** `unread`: what this token may not read of it, in words. */
  of(facts: PullFacts): Promise<{ checks: Check[]; unread: string | null }>;
}

type Details = Pick<Check, 'job' | 'step' | 'logTail'>;

/** A check run, or a commit status in its form. */
interface Reported extends Pick<Check, 'name' | 'state' | 'required' | 'link'> {
  /** The job of GitHub Actions it is. */
  job: number | null;
  says: string | null;
}

const TAIL = 4000;
const REMEMBERED = 500;
/** A job's log is there a moment after the job has ended: so many looks wait for it. */
const LOOKS_FOR_LOG = 3;
const ASK_AGAIN_MS = 3_600_000;

export function openChecks({ client, at, now, remote }: Place, rules: Rules): Checks {
  /** A run that has ended does not change; a new one has a new id. */
  const ended = memo<number, Details>(REMEMBERED);
  const looks = memo<number, number>(REMEMBERED);
  const deniedAt = new Map<string, number>();

  /** Null when this token may not ask that; a right that was given later is found within the hour. */
  const ifAllowed = async <T>(what: string, ask: () => Promise<T>): Promise<T | null> => {
    if (now() - (deniedAt.get(what) ?? Number.NEGATIVE_INFINITY) < ASK_AGAIN_MS) return null;
    try {
      return await ask();
    } catch (problem) {
      if (!(problem instanceof Refused) || problem.status !== 403) throw problem;
      deniedAt.set(what, now());
      return null;
    }
  };

  /** Null while its log may still come. */
  const whatFailed = async (id: number): Promise<Details | null> => {
    const known = ended.get(id);
    if (known) return known;
    const one = { ...at, job_id: id };
    const route = '/repos/{owner}/{repo}/actions/jobs/{job_id}';
    const told = await ifAllowed('logs', async () => {
      const job = await client.get(route, one, jobShape);
      const failed = job?.steps?.find(
        (step) => step.conclusion === 'failure' || step.conclusion === 'timed_out',
      );
      const log = await client.text(`${route}/logs`, one);
      return {
        job: job?.name ?? null,
        step: failed?.name ?? null,
        logTail: log === null ? null : tailOf(log),
      };
    });
    if (told === null) return UNKNOWN;
    const look = (looks.get(id) ?? 0) + 1;
    looks.set(id, look);
    if (told.logTail === null && look < LOOKS_FOR_LOG) return null;
    ended.set(id, told);
    return told;
  };

  /** The check runs of a commit by another door: as a list, or as the jobs of GitHub Actions that they are. */
  const runsOtherwise = async (sha: string, required: readonly string[]) => {
    const asReported = (run: typeof checkRunShape._output, isAction: boolean): Reported => ({
      name: run.name,
      state: stateOfRun(run.status, run.conclusion),
      required: required.includes(run.name),
      link: run.html_url ?? run.details_url ?? null,
      job: isAction ? run.id : null,
      says: null,
    });
    const listed = await ifAllowed('check runs', () =>
      client.list(
        '/repos/{owner}/{repo}/commits/{ref}/check-runs',
        { ...at, ref: sha },
        checkRunShape,
        'check_runs',
      ),
    );
    if (listed)
      return {
        found: listed.map((run) => asReported(run, run.app?.slug === ACTIONS)),
        unread: null,
      };
    const jobs = await ifAllowed('jobs', async () => {
      const runs = await client.list(
        '/repos/{owner}/{repo}/actions/runs',
        { ...at, head_sha: sha },
        runShape,
        'workflow_runs',
      );
      const route = '/repos/{owner}/{repo}/actions/runs/{run_id}/jobs';
      const all = [];
      for (const { id } of runs)
        all.push(...(await client.list(route, { ...at, run_id: id }, checkRunShape, 'jobs')));
      return all;
    });
    return {
      found: (jobs ?? []).map((job) => asReported(job, true)),
      unread: jobs === null ? UNREAD.all : UNREAD.others,
    };
  };

  /** The commit statuses as a list; null where they may not be read that way either. */
  const statusesOtherwise = (sha: string, required: readonly string[]): Promise<Reported[] | null> =>
    ifAllowed('statuses', async () => {
      const route = '/repos/{owner}/{repo}/commits/{ref}/status';
      const listed = await client.list(route, { ...at, ref: sha }, statusShape, 'statuses');
      return listed.map((one) => ({
        name: one.context,
        state: stateOfStatus(one.state.toUpperCase()),
        required: required.includes(one.context),
        link: one.target_url ?? null,
        job: null,
        says: one.description ?? null,
      }));
    });

  /** GitHub leaves out what a token may not read without saying of which kind it was, so both are asked for. */
  const leftOut = async (sha: string, contexts: readonly Context[], required: readonly string[]) => {
    const runs = await runsOtherwise(sha, required);
    const showsStatuses = contexts.some((one) => one.__typename === 'StatusContext');
    const statuses = showsStatuses ? [] : await statusesOtherwise(sha, required);
    return {
      found: [...runs.found, ...(statuses ?? [])],
      unread: [statuses === null ? UNREAD.statuses : null, runs.unread].filter((one) => one !== null),
    };
  };

  return {
    async of(facts) {
      const commit = facts.commits.nodes[0]?.commit;
      if (!commit) return { checks: [], unread: null };
      const { checks: required } = await rules.read();
      const contexts = commit.statusCheckRollup?.contexts.nodes ?? [];
      const otherwise = facts.hasUnreadChecks
        ? await leftOut(commit.oid, contexts, required)
        : { found: [], unread: [] };
      const reported = [
        ...contexts.map(reportedBy).filter(({ name }) => !otherwise.found.some((one) => one.name === name)),
        ...otherwise.found,
      ].filter(({ name }) => !name.startsWith(OWN));

      const checks: Check[] = [];
      for (const { job, says, ...one } of reported) {
        const details =
          one.state !== 'red'
            ? UNKNOWN
            : job === null
              ? { ...UNKNOWN, logTail: says }
              : await whatFailed(job);
        const state = details === null ? 'pending' : one.state;
        checks.push({ ...one, headSha: commit.oid, ...(details ?? UNKNOWN), state });
      }
      // git knows of a push before a query does, which then still tells of the head before.
      const head = (await remote.head(facts.headRefName))?.sha ?? commit.oid;
      const here = checks.filter(({ headSha }) => headSha === head);
      const missing = required.filter((name) => !here.some((one) => one.name === name));
      for (const name of missing)
        checks.push({
          ...UNKNOWN,
          name,
          headSha: head,
          state: 'pending',
          required: true,
          link: null,
        });
      const lacksLog = checks.some(({ state }) => state === 'red') && deniedAt.has('logs');
      const unread = otherwise.unread.length === 0 && lacksLog ? [UNREAD.logs] : otherwise.unread;
      return { checks, unread: unread.length === 0 ? null : unread.join('; ') };
    },
  };
}

const UNKNOWN = { job: null, step: null, logTail: null };
const ACTIONS = 'github-actions';

const UNREAD = {
  others:
    'this token may not read check runs, as no fine-grained token may; those of GitHub Actions are read as jobs, others are not seen',
  all: 'this token may not read check runs, as no fine-grained token may: give it Actions: read, and those of GitHub Actions are seen',
  statuses: 'this token may not read commit statuses: give it Commit statuses: read',
  logs: 'this token may not read the logs of GitHub Actions: give it Actions: read',
};

type Context = NonNullable<
  PullFacts['commits']['nodes'][number]['commit']['statusCheckRollup']
>['contexts']['nodes'][number];

function reportedBy(one: Context): Reported {
  if (one.__typename === 'StatusContext')
    return {
      name: one.context,
      state: stateOfStatus(one.state),
      required: one.isRequired,
      link: one.targetUrl,
      job: null,
      says: one.description,
    };
  return {
    name: one.name,
    state: stateOfRun(one.status, one.conclusion),
    required: one.isRequired,
    link: one.detailsUrl,
    job: one.checkSuite?.app?.slug === ACTIONS ? jobIn(one.detailsUrl) : null,
    says: null,
  };
}

/** GraphQL has no number of a check run that fits; its address does: `…/actions/runs/1/job/2`, formerly `…/runs/2`. */
function jobIn(link: string | null): number | null {
  const found = /\/job\/(\d+)/.exec(link ?? '') ?? /(?<!\/actions)\/runs\/(\d+)(?:[?#]|$)/.exec(link ?? '');
  return found ? Number(found[1]) : null;
}

/** Anything that did not clearly succeed is red. */
export function stateOfRun(status: string, conclusion: string | null): Check['state'] {
  if (status.toUpperCase() !== 'COMPLETED') return 'pending';
  return ['SUCCESS', 'NEUTRAL', 'SKIPPED'].includes((conclusion ?? '').toUpperCase()) ? 'green' : 'red';
}

export function stateOfStatus(state: string): Check['state'] {
  if (state === 'SUCCESS') return 'green';
  return state === 'PENDING' || state === 'EXPECTED' ? 'pending' : 'red';
}

/** Each line of a job's log begins with a time nobody needs. */
function tailOf(log: string): string {
  const plain = log.replace(/^\uFEFF?\d{4}-\d\d-\d\dT[\d:.]+Z /gm, '').trimEnd();
  return plain.length <= TAIL ? plain : `…${plain.slice(-TAIL)}`;
}
