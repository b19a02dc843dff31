/** The repository itself: rights, branches and their rules, labels, hooks, and who the caller is. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { created, gone, invalid, list, notFound, ok, Refusal } from './answer.ts';
import { says } from './error-texts.ts';
import { branches } from './git-backend.ts';
import { noticePush } from './merging.ts';
import { type Call, type Route, route, strings, text } from './router.ts';
import { iso, labelJson, ownUserJson, repositoryJson, userJson } from './shapes.ts';
import type { Hook } from './webhooks.ts';
import { branchTip, fullName, type Label, type Protection, type World } from './world.ts';

export const repositoryRoutes: Route[] = [
  route('GET', '', 'read', 'metadata=read', ({ world, user }) => ok(repositoryJson(world, user))),
  route('GET', '/collaborators/:login/permission', 'write', 'metadata=read', ({ world, params }) => {
    const login = params.login!;
    if (!world.users.has(login.toLowerCase())) throw notFound();
    const role = world.permissions.get(login.toLowerCase()) ?? 'none';
    const permission = role === 'maintain' ? 'write' : role === 'triage' ? 'read' : role;
    const publicly = permission === 'none' && !world.isPrivate ? 'read' : permission;
    return ok({
      permission: publicly,
      role_name: role === 'none' ? publicly : role,
      user: { ...userJson(world, login), role_name: role === 'none' ? publicly : role },
    });
  }),
  route('GET', '/branches/:branch/protection', 'admin', 'administration=read', ({ world, params }) => {
    const rules = world.protections.get(params.branch!);
    if (rules?.via !== 'protection') throw new Refusal(404, says('notProtected'));
    return ok(protectionJson(rules));
  }),
  route('PUT', '/branches/:branch/protection', 'admin', 'administration=write', (call) => {
    const { world, params, body } = call;
    const checks = body.required_status_checks as { strict?: boolean; contexts?: string[] } | null;
    const reviews = body.required_pull_request_reviews as { required_approving_review_count?: number } | null;
    const rules: Protection = {
      via: 'protection',
      requiredChecks: checks?.contexts ?? [],
      strict: checks?.strict === true,
      approvals: reviews?.required_approving_review_count ?? 0,
      mergeQueue: false,
    };
    world.protections.set(params.branch!, rules);
    refusePushes(world);
    return ok(protectionJson(rules));
  }),
  route('DELETE', '/branches/:branch/protection', 'admin', 'administration=write', ({ world, params }) => {
    if (world.protections.get(params.branch!)?.via !== 'protection')
      throw new Refusal(404, says('notProtected'));
    world.protections.delete(params.branch!);
    refusePushes(world);
    return gone;
  }),
  route('GET', '/branches/:branch', 'read', 'contents=read', async ({ world, params }) => {
    const sha = await branchTip(world, params.branch!);
    if (sha === null) throw new Refusal(404, says('noBranch'));
    const rules = world.protections.get(params.branch!);
    const classic = rules?.via === 'protection' ? rules : null;
    return ok({
      name: params.branch,
      commit: await commitJson(world, sha),
      protected: rules !== undefined,
      protection: {
        enabled: classic !== null,
        required_status_checks: {
          enforcement_level: classic && classic.requiredChecks.length > 0 ? 'non_admins' : 'off',
          contexts: classic?.requiredChecks ?? [],
          checks: (classic?.requiredChecks ?? []).map((context) => ({ context, app_id: null })),
        },
      },
    });
  }),
  route('GET', '/rules/branches/:branch', 'read', 'metadata=read', ({ world, url, params }) => {
    const rules = world.protections.get(params.branch!);
    const all = rules?.via === 'ruleset' ? [...world.moreRules, ...rulesOf(rules)] : [];
    const from = { ruleset_source_type: 'Repository', ruleset_source: fullName(world), ruleset_id: 1 };
    return list(
      url,
      all.map((rule) => ({ ...rule, ...from })),
    );
  }),
  route('GET', '/git/ref/:ref', 'read', 'contents=read', async ({ world, params }) => {
    const sha = await world.git.resolve(`refs/${params.ref}`);
    if (sha === null) throw notFound();
    return ok({ ref: `refs/${params.ref}`, object: { type: 'commit', sha } });
  }),
  route('POST', '/git/refs', 'write', 'contents=write', async ({ world, body }) => {
    const [ref, sha] = [text(body, 'ref') ?? '', text(body, 'sha') ?? ''];
    if ((await world.git.resolve(`${sha}^{commit}`)) === null) throw new Refusal(422, says('noObject'));
    await world.git(['update-ref', ref, sha]);
    return created({ ref, object: { type: 'commit', sha } });
  }),
  route('DELETE', '/git/refs/:ref', 'write', 'contents=write', async ({ world, params, user }) => {
    const before = branches(world);
    if ((await world.git.resolve(`refs/${params.ref}`)) === null) throw new Refusal(422, says('noReference'));
    await world.git(['update-ref', '-d', `refs/${params.ref}`]);
    await noticePush(world, before, user);
    return gone;
  }),
  route('GET', '/labels', 'read', 'issues=read', ({ world, url }) =>
    list(url, [...world.labels.values()].map(labelJson)),
  ),
  route('POST', '/labels', 'write', 'issues=write', ({ world, body }) => {
    const name = text(body, 'name') ?? '';
    if (name.trim() === '') throw invalid('Label', 'name', 'missing_field');
    if (world.labels.has(name.toLowerCase())) throw invalid('Label', 'name', 'already_exists');
    return created(
      labelJson(ensureLabel(world, name, text(body, 'color'), text(body, 'description') ?? null)),
    );
  }),
  route('GET', '/hooks', 'admin', 'repository_hooks=read', ({ world, url }) =>
    list(url, world.hooks.map(hookJson)),
  ),
  route('POST', '/hooks', 'admin', 'repository_hooks=write', ({ world, body }) => {
    const config = (body.config ?? {}) as Record<string, unknown>;
    const hook = {
      id: world.nextId(),
      url: text(config, 'url') ?? '',
      secret: text(config, 'secret') ?? '',
      events: strings(body.events),
    };
    if (hook.url === '') throw invalid('Hook', 'url', 'missing_field');
    world.hooks.push(hook);
    return created(hookJson(hook));
  }),
];

/** Nobody pushes past a check that is required. */
function refusePushes(world: World): void {
  const refs = [...world.protections]
    .filter(([, { requiredChecks }]) => requiredChecks.length > 0)
    .map(([branch]) => `refs/heads/${branch}\n`);
  writeFileSync(join(world.git.gitDir, 'protected-refs'), refs.join(''));
}

const protectionJson = (rules: Protection) => ({
  required_status_checks: {
    strict: rules.strict,
    contexts: rules.requiredChecks,
    checks: rules.requiredChecks.map((context) => ({ context, app_id: null })),
  },
  ...(rules.approvals > 0 || rules.codeOwners
    ? {
        required_pull_request_reviews: {
          required_approving_review_count: rules.approvals,
          dismiss_stale_reviews: false,
          require_code_owner_reviews: rules.codeOwners !== undefined,
          require_last_push_approval: rules.lastPushApproval ?? false,
        },
      }
    : {}),
  required_conversation_resolution: { enabled: rules.resolvedThreads ?? false },
  required_linear_history: { enabled: rules.linear ?? false },
  required_signatures: { enabled: rules.signed ?? false },
});

const hookJson = (hook: Hook) => ({
  type: 'Repository',
  id: hook.id,
  name: 'web',
  active: true,
  events: hook.events,
  config: { url: hook.url, content_type: 'json' },
  created_at: iso(0),
  updated_at: iso(0),
  last_response:
    hook.answered === undefined
      ? { code: null, status: 'unused', message: null }
      : {
          code: hook.answered ?? 0,
          status: hook.answered === 202 || hook.answered === 200 ? 'active' : 'misconfigured',
          message: hook.answered === null ? 'failed to connect to host' : null,
        },
});

/** Who asks, and how much of the limit is left: paths outside the repository. */
export function ownRoute(path: string, { world, user }: Pick<Call, 'world' | 'user'>) {
  if (path !== '/user') return null;
  // https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api: "Resource not accessible"
  if (world.users.get(user)?.type === 'Bot') throw new Refusal(403, says('notByApp'));
  return ok(ownUserJson(world, user));
}

export function ensureLabel(
  world: World,
  name: string,
  color = 'ededed',
  description: string | null = null,
): Label {
  const found = world.labels.get(name.toLowerCase());
  if (found) return found;
  // https://github.com/semantic-release/github/issues/518
  if (name.length > 50) throw invalid('Label', 'name', 'invalid');
  const label = { id: world.nextId(), name, color, description };
  world.labels.set(name.toLowerCase(), label);
  return label;
}

/** A commit with who made it and what it says. */
async function commitJson(world: World, sha: string) {
  const format = '--format=%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%T%x00%P%x00%B';
  const { stdout } = await world.git(['log', '-1', format, sha]);
  const [author, mail, at, committer, committerMail, committedAt, tree, parents = '', message = ''] =
    stdout.split('\0');
  return {
    sha,
    commit: {
      author: { name: author, email: mail, date: at },
      committer: { name: committer, email: committerMail, date: committedAt },
      message: message.trimEnd(),
      comment_count: 0,
      tree: { sha: tree },
    },
    author: null,
    committer: null,
    parents: parents.split(' ').flatMap((parent) => (parent === '' ? [] : [{ sha: parent }])),
  };
}

function rulesOf(rules: Protection) {
  return [
    ...(rules.requiredChecks.length > 0
      ? [
          {
            type: 'required_status_checks',
            parameters: {
              required_status_checks: rules.requiredChecks.map((context) => ({ context })),
              strict_required_status_checks_policy: rules.strict,
            },
          },
        ]
      : []),
    ...(rules.approvals > 0 || rules.codeOwners || rules.resolvedThreads || rules.methods
      ? [
          {
            type: 'pull_request',
            parameters: {
              required_approving_review_count: rules.approvals,
              dismiss_stale_reviews_on_push: false,
              require_code_owner_review: rules.codeOwners !== undefined,
              require_last_push_approval: rules.lastPushApproval ?? false,
              required_review_thread_resolution: rules.resolvedThreads ?? false,
              ...(rules.methods ? { allowed_merge_methods: rules.methods } : {}),
            },
          },
        ]
      : []),
    ...(rules.linear ? [{ type: 'required_linear_history' }] : []),
    ...(rules.signed ? [{ type: 'required_signatures' }] : []),
    ...(rules.mergeQueue ? [{ type: 'merge_queue', parameters: QUEUE }] : []),
  ];
}

const QUEUE = {
  merge_method: 'SQUASH',
  grouping_strategy: 'ALLGREEN',
  check_response_timeout_minutes: 60,
  max_entries_to_build: 5,
  max_entries_to_merge: 5,
  min_entries_to_merge: 1,
  min_entries_to_merge_wait_minutes: 5,
};
