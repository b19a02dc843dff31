/** Commit statuses and check runs, with the steps and the log of each. */
import { created, invalid, list, notFound, ok, Refusal } from './answer.ts';
import { checkState } from './merging.ts';
import { type Call, type Route, route, text } from './router.ts';
import { checkJson, statusJson } from './shapes.ts';
import { branchTip, type CheckRun, type World } from './world.ts';

export const checkRoutes: Route[] = [
  route('POST', '/statuses/:sha', 'write', 'statuses=write', async ({ world, user, params, body }) => {
    const sha = params.sha!;
    const state = text(body, 'state');
    if (state !== 'error' && state !== 'failure' && state !== 'pending' && state !== 'success')
      throw invalid('Status', 'state', 'invalid');
    if ((await world.git.resolve(`${sha}^{commit}`)) === null)
      throw new Refusal(422, `No commit found for SHA: ${sha}`);
    const description = text(body, 'description') ?? null;
    if ((description ?? '').length > 140)
      throw invalid('Status', 'description', 'custom', 'description is too long (maximum is 140 characters)');
    const status = {
      id: world.nextId(),
      sha,
      context: text(body, 'context') ?? 'default',
      state,
      description,
      targetUrl: text(body, 'target_url') ?? null,
      user,
      at: world.now(),
    } as const;
    world.statuses.push(status);
    world.emit({ event: 'status', payload: { sha, context: status.context, state } });
    return created(statusJson(world, status));
  }),
  route('GET', '/commits/:sha/status', 'read', 'statuses=read', async (call) => {
    const { world } = call;
    const sha = await commitIn(call);
    const latest = new Map(world.statuses.filter((one) => one.sha === sha).map((one) => [one.context, one]));
    const states = [...latest.keys()].map((name) => checkState(world, sha, name));
    const state = states.includes('failure')
      ? 'failure'
      : states.length > 0 && states.every((one) => one === 'success')
        ? 'success'
        : 'pending';
    return list(
      call.url,
      [...latest.values()].map((one) => statusJson(world, one)),
      (statuses) => ({ state, sha, total_count: latest.size, statuses }),
    );
  }),
  route('GET', '/commits/:sha/statuses', 'read', 'statuses=read', async (call) => {
    const sha = await commitIn(call);
    const all = call.world.statuses.filter((one) => one.sha === sha).reverse();
    return list(
      call.url,
      all.map((one) => statusJson(call.world, one)),
    );
  }),
  route('GET', '/commits/:sha/check-runs', 'read', 'checks=read', async (call) => {
    const sha = await commitIn(call);
    const all = latestChecks(call.world, sha);
    return list(
      call.url,
      all.map((one) => checkJson(call.world, one)),
      (runs) => ({ total_count: all.length, check_runs: runs }),
    );
  }),
  route('GET', '/check-runs/:id/annotations', 'read', 'checks=read', ({ url }) => list(url, [])),
  route('GET', '/actions/runs', 'read', 'actions=read', ({ world, url }) => {
    const sha = url.searchParams.get('head_sha');
    const ran = world.checks.some((one) => one.app === 'github-actions' && one.sha === (sha ?? one.sha));
    return list(url, ran ? [{ id: 1, head_sha: sha }] : [], (runs) => ({
      total_count: runs.length,
      workflow_runs: runs,
    }));
  }),
  route('GET', '/actions/runs/:run/jobs', 'read', 'actions=read', ({ world, url }) => {
    const jobs = world.checks
      .filter((one) => one.app === 'github-actions')
      .map((one) => checkJson(world, one));
    return list(url, jobs, (shown) => ({ total_count: jobs.length, jobs: shown }));
  }),
  route('GET', '/actions/jobs/:id', 'read', 'actions=read', (call) => {
    const job = jobIn(call);
    return ok({
      id: job.id,
      name: job.name,
      head_sha: job.sha,
      status: job.status,
      conclusion: job.conclusion,
      html_url: checkJson(call.world, job).html_url,
      steps: job.steps.map((step, index) => ({ ...step, number: index + 1, status: 'completed' })),
    });
  }),
  route('GET', '/actions/jobs/:id/logs', 'read', 'actions=read', (call) => {
    const job = jobIn(call);
    return { status: 302, headers: { location: `${call.url.origin}/logs/${job.id}` } };
  }),
];

/** The text behind the redirect; it needs no token, its address is the secret. */
export function jobLog(world: World, id: number): string | null {
  return world.checks.find((one) => one.id === id)?.log ?? null;
}

/** What continuous integration does: reports a run for a commit. A later run of the same name replaces it. */
export function reportCheck(
  world: World,
  run: Pick<CheckRun, 'sha' | 'name'> & Partial<Omit<CheckRun, 'id' | 'at'>>,
): CheckRun {
  const check: CheckRun = {
    status: 'completed',
    conclusion: 'success',
    app: 'github-actions',
    steps: [],
    log: '',
    ...run,
    id: world.nextId(),
    at: world.now(),
  };
  world.checks.push(check);
  world.emit({ event: 'check_run', payload: { action: check.status, check_run: { name: check.name } } });
  return check;
}

export function latestChecks(world: World, sha: string): CheckRun[] {
  const latest = new Map(world.checks.filter((one) => one.sha === sha).map((one) => [one.name, one]));
  return [...latest.values()];
}

async function commitIn({ world, params }: Call): Promise<string> {
  const asked = params.sha!;
  const sha = (await branchTip(world, asked)) ?? (await world.git.resolve(`${asked}^{commit}`));
  if (sha === null) throw new Refusal(422, `No commit found for SHA: ${asked}`);
  return sha;
}

function jobIn({ world, params }: Call): CheckRun {
  const found = world.checks.find((one) => one.id === Number(params.id));
  if (found?.app !== 'github-actions') throw notFound();
  return found;
}
