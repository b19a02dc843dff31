/** Issues, their labels, comments and timeline. A pull request is an issue too, with the same numbers. */
import { type Answer, created, gone, invalid, list, notFound, ok, Refusal } from './answer.ts';
import { says } from './error-texts.ts';
import { closeIssue } from './merging.ts';
import { ensureLabel } from './repository-routes.ts';
import { type Call, type Route, route, strings, text } from './router.ts';
import { commentJson, elsewhereJson, iso, issueJson, labelsJson, partsOf, userJson } from './shapes.ts';
import { atLeast, type IssueRow, note, permissionOf, type World } from './world.ts';

export const LONGEST_TEXT = 65_536;

export const issueRoutes: Route[] = [
  route('GET', '/issues/comments', 'read', 'issues=read', ({ world, url }) => {
    const all = [...world.issues.values()].flatMap((issue) =>
      issue.comments.map((comment) => commentJson(world, comment, issue)),
    );
    return list(url, since(url, all));
  }),
  route('GET', '/issues', 'read', 'issues=read', ({ world, url }) => {
    needIssues(world);
    return list(
      url,
      selected(world, url.searchParams).map((issue) => issueJson(world, issue)),
    );
  }),
  route('POST', '/issues', 'read', 'issues=write', ({ world, user, body }) => {
    needIssues(world);
    const issue = openIssue(world, user, text(body, 'title') ?? '', text(body, 'body') ?? '');
    // Labels of people who may not set them are dropped in silence.
    if (atLeast(permissionOf(world, user), 'triage')) label(world, issue, user, strings(body.labels));
    world.emit({ event: 'issues', payload: { action: 'opened', number: issue.number } });
    return created(issueJson(world, issue));
  }),
  route('GET', '/issues/:number', 'read', 'issues=read', (call) => ok(issueJson(call.world, issueIn(call)))),
  route('PATCH', '/issues/:number', 'read', 'issues=write', (call) => {
    const { world, user, body } = call;
    const issue = issueIn(call);
    if (issue.user !== user && !atLeast(permissionOf(world, user), 'triage'))
      throw new Refusal(403, says('needsAdmin'));
    edit(world, issue, user, body);
    return ok(issueJson(world, issue));
  }),
  route('POST', '/issues/:number/labels', 'triage', 'issues=write', (call) => {
    const issue = issueIn(call);
    const named = Array.isArray(call.body) ? call.body : call.body.labels;
    label(call.world, issue, call.user, strings(named));
    return ok(labelsJson(call.world, issue.labels));
  }),
  route('DELETE', '/issues/:number/labels/:name', 'triage', 'issues=write', (call) => {
    const { world, user, params } = call;
    const issue = issueIn(call);
    const found = issue.labels.find((name) => name.toLowerCase() === params.name!.toLowerCase());
    if (found === undefined) throw new Refusal(404, says('noLabel'));
    unlabel(world, issue, user, found);
    return ok(labelsJson(world, issue.labels));
  }),
  route('GET', '/issues/:number/comments', 'read', 'issues=read', (call) =>
    list(
      call.url,
      issueIn(call).comments.map((comment) => commentJson(call.world, comment, issueIn(call))),
    ),
  ),
  route('POST', '/issues/:number/comments', 'read', 'issues=write', (call): Answer => {
    const { world, user } = call;
    const issue = issueIn(call);
    const body = spoken(text(call.body, 'body'), 'IssueComment');
    const comment = { id: world.nextId(), user, body, at: world.now(), editedAt: null };
    issue.comments.push(comment);
    issue.updatedAt = world.now();
    world.emit({ event: 'issue_comment', payload: { action: 'created', number: issue.number } });
    return created(commentJson(world, comment, issue));
  }),
  route('PATCH', '/issues/comments/:id', 'read', 'issues=write', (call) => {
    const { comment, issue } = commentIn(call);
    comment.body = spoken(text(call.body, 'body'), 'IssueComment');
    comment.editedAt = call.world.now();
    issue.updatedAt = call.world.now();
    return ok(commentJson(call.world, comment, issue));
  }),
  route('DELETE', '/issues/comments/:id', 'read', 'issues=write', (call) => {
    const { comment, issue } = commentIn(call);
    issue.comments = issue.comments.filter((one) => one !== comment);
    return gone;
  }),
  route('GET', '/issues/:number/timeline', 'read', 'issues=read', (call) =>
    list(
      call.url,
      issueIn(call).timeline.map((event) => ({
        id: event.id,
        event: event.event,
        actor: userJson(call.world, event.actor),
        created_at: iso(event.at),
        commit_id: null,
        performed_via_github_app: null,
        ...(event.label === undefined ? {} : { label: { name: event.label, color: 'ededed' } }),
        ...(event.rename ? { rename: event.rename } : {}),
      })),
    ),
  ),
  route('GET', '/issues/:number/dependencies/blocked_by', 'read', 'issues=read', (call) =>
    list(call.url, [
      ...issueIn(call).blockedBy.map((number) => issueJson(call.world, call.world.issues.get(number)!)),
      ...issueIn(call).blockedElsewhere.flatMap((name) => elsewhereJson(call.world, name) ?? []),
    ]),
  ),
  route('GET', '/issues/:number/sub_issues', 'read', 'issues=read', (call) =>
    list(
      call.url,
      partsOf(call.world, issueIn(call)).map((part) => issueJson(call.world, part)),
    ),
  ),
  route('POST', '/issues/:number/sub_issues', 'triage', 'issues=write', (call) => {
    const part = [...call.world.issues.values()].find(
      (one) => one.number + 100_000 === call.body.sub_issue_id,
    );
    if (!part) throw notFound();
    const whole = issueIn(call);
    part.parent = whole.number;
    for (const one of [part, whole]) one.updatedAt = call.world.now();
    return created(issueJson(call.world, whole));
  }),
  route('POST', '/issues/:number/dependencies/blocked_by', 'triage', 'issues=write', (call) => {
    const blocker = [...call.world.issues.values()].find(
      (one) => one.number + 100_000 === call.body.issue_id,
    );
    if (!blocker) throw notFound();
    issueIn(call).blockedBy.push(blocker.number);
    return created(issueJson(call.world, blocker));
  }),
];

/** Changed since then, sorted as asked. */
export function since<T extends { created_at: string; updated_at: string }>(
  url: URL,
  rows: readonly T[],
): T[] {
  const from = Date.parse(url.searchParams.get('since') ?? '') || 0;
  const key = url.searchParams.get('sort') === 'updated' ? 'updated_at' : 'created_at';
  const sign = url.searchParams.get('direction') === 'asc' ? 1 : -1;
  const changed = rows.filter((row) => Date.parse(row.updated_at) >= from);
  return changed.sort((a, b) => sign * (Date.parse(a[key]) - Date.parse(b[key])));
}

export function openIssue(world: World, user: string, title: string, body: string): IssueRow {
  if (title.trim() === '') throw invalid('Issue', 'title', 'missing_field');
  const issue: IssueRow = {
    number: Math.max(0, ...world.issues.keys()) + 1,
    title,
    body: withinLimit(body, 'Issue'),
    user,
    state: 'open',
    stateReason: null,
    labels: [],
    comments: [],
    timeline: [],
    blockedBy: [],
    blockedElsewhere: [],
    parent: null,
    projectFields: {},
    createdAt: world.now(),
    updatedAt: world.now(),
    closedAt: null,
    edits: [],
    pull: null,
  };
  world.issues.set(issue.number, issue);
  return issue;
}

export function issueIn({ world, params }: Pick<Call, 'world' | 'params'>): IssueRow {
  const found = world.issues.get(Number(params.number));
  if (!found) throw whereNow(world, Number(params.number));
  if (!found.pull) needIssues(world);
  return found;
}

/** https://docs.github.com/en/rest/issues/issues#get-an-issue */
function whereNow(world: World, number: number): Refusal {
  const gone = world.gone.get(number);
  if (!gone) return notFound();
  if (gone.to === null) return new Refusal(410, says('issueDeleted'));
  const location = `${world.url}/api/v3/repos/${gone.to.replace('#', '/issues/')}`;
  return new Refusal(301, 'Moved Permanently', [], { location });
}

function needIssues(world: World): void {
  if (!world.hasIssues) throw new Refusal(410, says('issuesDisabled'));
}

function commentIn({ world, params, user }: Call) {
  for (const issue of world.issues.values()) {
    const comment = issue.comments.find((one) => one.id === Number(params.id));
    if (!comment) continue;
    if (comment.user !== user && !atLeast(permissionOf(world, user), 'write'))
      throw new Refusal(403, says('needsAdmin'));
    return { issue, comment };
  }
  throw notFound();
}

function edit(world: World, issue: IssueRow, user: string, body: Record<string, unknown>): void {
  const [title, said, state] = [text(body, 'title'), text(body, 'body'), text(body, 'state')];
  if (title !== undefined && title !== issue.title) {
    note(world, issue, { event: 'renamed', actor: user, rename: { from: issue.title, to: title } });
    issue.title = title;
  }
  if (said !== undefined && said !== issue.body) {
    const before = issue.body;
    issue.body = withinLimit(said, 'Issue');
    issue.edits.push({ at: world.now(), before });
  }
  if (title !== undefined || said !== undefined) {
    issue.updatedAt = world.now();
    world.emit({ event: 'issues', payload: { action: 'edited', number: issue.number } });
  }
  if (state === 'closed' && issue.state === 'open')
    closeIssue(world, issue, user, text(body, 'state_reason') ?? 'completed');
  if (state === 'open' && issue.state === 'closed') {
    if (issue.pull?.merged) throw invalid('PullRequest', 'state', 'custom', says('staysMerged'));
    issue.state = 'open';
    issue.stateReason = 'reopened';
    issue.closedAt = null;
    note(world, issue, { event: 'reopened', actor: user });
  }
}

/** A name nobody used before becomes a label of the repository. One event for each label that is new on the issue. */
export function label(world: World, issue: IssueRow, user: string, names: readonly string[]): void {
  for (const given of names) {
    const { name } = ensureLabel(world, given);
    if (issue.labels.some((one) => one.toLowerCase() === name.toLowerCase())) continue;
    issue.labels.push(name);
    note(world, issue, { event: 'labeled', actor: user, label: name });
    world.emit({ event: 'issues', payload: { action: 'labeled', number: issue.number, label: { name } } });
  }
}

export function unlabel(world: World, issue: IssueRow, user: string, name: string): void {
  if (!issue.labels.includes(name)) return;
  issue.labels = issue.labels.filter((one) => one !== name);
  note(world, issue, { event: 'unlabeled', actor: user, label: name });
  world.emit({ event: 'issues', payload: { action: 'unlabeled', number: issue.number, label: { name } } });
}

function selected(world: World, query: URLSearchParams): IssueRow[] {
  const state = query.get('state') ?? 'open';
  const labels = (query.get('labels') ?? '').split(',').filter((name) => name !== '');
  const since = Date.parse(query.get('since') ?? '') || 0;
  const key = query.get('sort') === 'updated' ? 'updatedAt' : 'createdAt';
  const sign = query.get('direction') === 'asc' ? 1 : -1;
  return [...world.issues.values()]
    .filter((issue) => state === 'all' || issue.state === state)
    .filter((issue) => issue.updatedAt >= since)
    .filter((issue) =>
      labels.every((name) => issue.labels.some((one) => one.toLowerCase() === name.toLowerCase())),
    )
    .sort((a, b) => sign * (a[key] - b[key] || a.number - b.number));
}

function withinLimit(body: string, resource: string): string {
  if (body.length > LONGEST_TEXT)
    throw invalid(resource, 'data', 'unprocessable', says('longBody', { count: LONGEST_TEXT }));
  return body;
}

export function spoken(body: string | undefined, resource: string): string {
  if (body === undefined || body.trim() === '') throw invalid(resource, 'body', 'missing_field');
  return withinLimit(body, resource);
}
