/**
 * What CI says about a head: check runs and commit statuses, which of them the branch's rules require, and for a red
 * one of GitHub Actions the step that failed and the end of its log. Our own statuses are not CI's.
 */
import type { Check } from '../../core/change/remark.ts';
import type { Place } from './place.ts';
import type { Rules } from './rules.ts';
import { jobShape, type PullFacts } from './shapes.ts';

interface Checks {
  of(facts: PullFacts): Promise<Check[]>;
}

const TAIL = 4000;
const OWN = 'forge-loop/';

export function openChecks({ client, at }: Place, rules: Rules): Checks {
  /** A run that has ended does not change; a new one has a new id. */
  const ended = new Map<number, Pick<Check, 'job' | 'step' | 'logTail'>>();

  const required = async (): Promise<string[]> =>
    (await rules.read()).checks.filter((name) => !name.startsWith(OWN));

  const whatFailed = async (
    id: number,
    isAction: boolean,
  ): Promise<Pick<Check, 'job' | 'step' | 'logTail'>> => {
    const known = ended.get(id);
    if (known) return known;
    if (!isAction) return UNKNOWN;
    const job = await client.get(
      '/repos/{owner}/{repo}/actions/jobs/{job_id}',
      { ...at, job_id: id },
      jobShape,
    );
    const log = await client.text('/repos/{owner}/{repo}/actions/jobs/{job_id}/logs', { ...at, job_id: id });
    const failed = job?.steps?.find(
      (step) => step.conclusion === 'failure' || step.conclusion === 'timed_out',
    );
    const told = {
      job: job?.name ?? null,
      step: failed?.name ?? null,
      logTail: log === null ? null : tailOf(log),
    };
    ended.set(id, told);
    return told;
  };

  return {
    async of(facts) {
      const commit = facts.commits.nodes[0]?.commit;
      if (!commit) return [];
      const found: Check[] = [];
      for (const one of commit.statusCheckRollup?.contexts.nodes ?? []) {
        const isRun = one.__typename === 'CheckRun';
        const name = isRun ? one.name : one.context;
        if (name.startsWith(OWN)) continue;
        const state = isRun ? stateOfRun(one.status, one.conclusion) : stateOfStatus(one.state);
        const told =
          state !== 'red'
            ? UNKNOWN
            : isRun
              ? await whatFailed(one.databaseId, one.checkSuite?.app?.slug === 'github-actions')
              : { job: null, step: null, logTail: one.description };
        const link = isRun ? one.detailsUrl : one.targetUrl;
        found.push({ name, headSha: commit.oid, state, required: one.isRequired, link, ...told });
      }
      const missing = (await required()).filter((name) => !found.some((one) => one.name === name));
      return [
        ...found,
        ...missing.map((name) => ({
          ...UNKNOWN,
          name,
          headSha: commit.oid,
          state: 'pending' as const,
          required: true,
          link: null,
        })),
      ];
    },
  };
}

const UNKNOWN = { job: null, step: null, logTail: null };

/** Anything that did not clearly succeed is red. */
function stateOfRun(status: string, conclusion: string | null): Check['state'] {
  if (status !== 'COMPLETED') return 'pending';
  return ['SUCCESS', 'NEUTRAL', 'SKIPPED'].includes(conclusion ?? '') ? 'green' : 'red';
}

function stateOfStatus(state: string): Check['state'] {
  if (state === 'SUCCESS') return 'green';
  return state === 'PENDING' || state === 'EXPECTED' ? 'pending' : 'red';
}

/** Each line of a job's log begins with a time nobody needs. */
function tailOf(log: string): string {
  const plain = log.replace(/^\uFEFF?\d{4}-\d\d-\d\dT[\d:.]+Z /gm, '').trimEnd();
  return plain.length <= TAIL ? plain : `…${plain.slice(-TAIL)}`;
}
