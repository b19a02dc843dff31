/** Commit statuses and check runs, with the steps and the log of each. */
import { created, invalid, list, notFound, ok, Refusal } from './answer.ts';
import { says } from './error-texts.ts';
import { checkState } from './merging.ts';
import { type Call, type Route, route, text } from './router.ts';
import { checkJson, iso, mentionJson, plainStatusJson, statusJson } from './shapes.ts';
import { branchTip, type CheckRun, type World } from './world.ts';

export const checkRoutes: Route[] = [
  route('POST', '/statuses/:sha', 'write', 'statuses=write', async ({ world, user, params, body }) => {
    const sha = params.sha!;
    const state = text(body, 'state');
    if (state !== 'error' && state !== 'failure' && state !== 'pending' && state !== 'success')
      throw invalid('Status', 'state', 'invalid');
    if ((await world.git.resolve(`${sha}^{commit}`)) === null)
      throw new Refusal(422, says('noCommit', { sha }));
    const description = text(body, 'description') ?? null;
    if ((description ?? '').length > 140)
      throw invalid('Status', 'description', 'custom', says('longDescription'));
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
    return list(call.url, [...latest.values()].map(plainStatusJson), (statuses) => ({
      state,
      sha,
      total_count: latest.size,
      statuses,
      repository: mentionJson(world),
    }));
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
    const all = runsOf(world).filter((run) => run.sha === (sha ?? run.sha));
    return list(
      url,
      all.map((run) => runJson(world, run)),
      (runs) => ({ total_count: all.length, workflow_runs: runs }),
    );
  }),
  route('GET', '/actions/runs/:run/jobs', 'read', 'actions=read', ({ world, url, params }) => {
    const run = runsOf(world).find(({ id }) => id === Number(params.run));
    if (!run) throw notFound();
    const jobs = run.jobs.map((one) => jobJson(world, one));
    return list(url, jobs, (shown) => ({ total_count: jobs.length, jobs: shown }));
  }),
  route('GET', '/actions/jobs/:id', 'read', 'actions=read', (call) => ok(jobJson(call.world, jobIn(call)))),
  route('GET', '/actions/jobs/:id/logs', 'read', 'actions=read', (call) => {
    const job = jobIn(call);
    return { status: 302, headers: { location: `${call.url.origin}/logs/${job.id}` } };
  }),
];

interface Run {
  id: number;
  sha: string;
  jobs: CheckRun[];
}

/** Each commit has one run, with its jobs as they were reported last. */
function runsOf(world: World): Run[] {
  const shas = new Set(world.checks.filter((one) => one.app === 'github-actions').map(({ sha }) => sha));
  return [...shas].map((sha, index) => ({
    id: index + 1,
    sha,
    jobs: latestChecks(world, sha).filter((one) => one.app === 'github-actions'),
  }));
}

function runJson(world: World, { id, sha, jobs }: Run) {
  const [{ at }] = jobs as [CheckRun];
  const isOver = jobs.every((one) => one.status === 'completed');
  const isGreen = jobs.every((one) => checkState(world, sha, one.name) === 'success');
  return {
    id,
    name: 'CI',
    display_title: 'CI',
    path: '.github/workflows/ci.yml',
    workflow_id: 1,
    run_number: id,
    event: 'push',
    head_branch: null,
    head_sha: sha,
    head_commit: null,
    status: isOver ? 'completed' : 'in_progress',
    conclusion: isOver ? (isGreen ? 'success' : 'failure') : null,
    pull_requests: [],
    repository: mentionJson(world),
    head_repository: mentionJson(world),
    created_at: iso(at),
    updated_at: iso(at),
  };
}

function jobJson(world: World, job: CheckRun) {
  return {
    id: job.id,
    run_id: runsOf(world).find(({ sha }) => sha === job.sha)?.id ?? 0,
    name: job.name,
    created_at: iso(job.at),
    started_at: iso(job.at),
    completed_at: job.status === 'completed' ? iso(job.at) : null,
    labels: ['ubuntu-latest'],
    runner_id: 1,
    runner_name: 'GitHub Actions 1',
    runner_group_id: 0,
    runner_group_name: 'GitHub Actions',
    workflow_name: 'CI',
    head_branch: null,
    head_sha: job.sha,
    status: job.status,
    conclusion: job.conclusion,
    html_url: checkJson(world, job).html_url,
    steps: job.steps.map((step, index) => ({ ...step, number: index + 1, status: 'completed' })),
  };
}

/** The text behind the redirect; it needs no token, its address is the secret. */
export function jobLog(world: World, id: number): string | null {
  return world.checks.find((one) => one.id === id)?.log ?? null;
}

/** What continuous integration does: reports a run for a commit. A later run of the same name replaces it. */
export function reportCheck(
  world: World,
  run: Pick<CheckRun, 'sha' | 'name'> & Partial<Omit<CheckRun, 'id' | 'at'>>,
): CheckRun {
  world.copies?.keep();
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
  if (sha === null) throw new Refusal(422, says('noCommit', { sha: asked }));
  return sha;
}

function jobIn({ world, params }: Call): CheckRun {
  const found = world.checks.find((one) => one.id === Number(params.id));
  if (found?.app !== 'github-actions') throw notFound();
  return found;
}
