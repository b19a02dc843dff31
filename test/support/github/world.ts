/**
 * What this GitHub knows: people, one repository with its bare git directory, issues, pull requests and what was said.
 * Everything that git can answer (heads, diffs, mergeability) is asked of git and never stored here.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Git, openGitDirectory } from '../../../src/git/git.ts';
import { resolve } from '../../../src/git/objects.ts';
import type { Lag } from './lag.ts';
import type { Hook, HookEvent } from './webhooks.ts';

export const PERMISSIONS = ['none', 'read', 'triage', 'write', 'maintain', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];

export interface User {
  login: string;
  id: number;
  type: 'User' | 'Bot';
}

export interface Label {
  id: number;
  name: string;
  color: string;
  description: string | null;
}

export interface TimelineEvent {
  id: number;
  event: string;
  actor: string;
  at: number;
  label?: string;
  rename?: { from: string; to: string };
  /** Why it was taken out of the merge queue. */
  reason?: string;
}

export interface Comment {
  id: number;
  user: string;
  body: string;
  at: number;
  editedAt: number | null;
}

export interface IssueRow {
  number: number;
  title: string;
  body: string;
  user: string;
  state: 'open' | 'closed';
  stateReason: string | null;
  labels: string[];
  comments: Comment[];
  timeline: TimelineEvent[];
  blockedBy: number[];
  /** Issues of other repositories: keys of `World.elsewhere` or `World.hidden`. */
  blockedElsewhere: string[];
  parent: number | null;
  /** What a project says about it, by the name of the field. */
  projectFields: Record<string, string>;
  createdAt: number;
  updatedAt: number;
  closedAt: number | null;
  /** Each edit of the text, oldest first, with the text it replaced. */
  edits: { at: number; before: string }[];
  /** Present when this number is a pull request's. */
  pull: PullRow | null;
}

export interface PullRow {
  headRef: string;
  /** `owner/name` of the repository the head is in; a fork's differs from ours. */
  headRepo: string;
  baseRef: string;
  draft: boolean;
  merged: boolean;
  mergedBy: string | null;
  mergedAt: number | null;
  mergeCommit: string | null;
  /** The head when the branch was last there: what is shown once it is gone. */
  lastHead: string;
  /** Waiting in the merge queue. */
  queued: boolean;
  reviews: Review[];
  threads: Thread[];
}

export interface Review {
  id: number;
  user: string;
  state: 'APPROVED' | 'CHANGES_REQUESTED' | 'COMMENTED' | 'DISMISSED';
  body: string;
  commit: string;
  at: number;
}

export interface Thread {
  id: number;
  path: string;
  line: number | null;
  side: 'LEFT' | 'RIGHT';
  commit: string;
  resolved: boolean;
  review: number;
  comments: Comment[];
}

export interface Status {
  id: number;
  sha: string;
  context: string;
  state: 'error' | 'failure' | 'pending' | 'success';
  description: string | null;
  targetUrl: string | null;
  user: string;
  at: number;
}

export interface CheckRun {
  id: number;
  sha: string;
  name: string;
  status: 'queued' | 'in_progress' | 'completed';
  conclusion: string | null;
  app: string;
  steps: { name: string; conclusion: string | null }[];
  log: string;
  at: number;
}

/** What the trunk asks for before anything lands on it, by classic protection or by a ruleset. */
export interface Protection {
  via: 'protection' | 'ruleset';
  requiredChecks: string[];
  strict: boolean;
  approvals: number;
  mergeQueue: boolean;
  /** One of these has to approve. */
  codeOwners?: string[];
  lastPushApproval?: boolean;
  resolvedThreads?: boolean;
  linear?: boolean;
  signed?: boolean;
  methods?: string[];
}

export interface World {
  readonly git: Git;
  /** Holds `<owner>/<name>.git`. */
  readonly root: string;
  owner: string;
  name: string;
  /** Names this repository had before; requests for them are redirected. */
  formerNames: string[];
  readonly id: number;
  /** Where this GitHub answers. */
  url: string;
  defaultBranch: string;
  isPrivate: boolean;
  archived: boolean;
  hasIssues: boolean;
  mergeMethods: { merge: boolean; squash: boolean; rebase: boolean };
  deleteBranchOnMerge: boolean;
  draftsAllowed: boolean;
  /** Pushes are searched for secrets. */
  pushProtection: boolean;
  users: Map<string, User>;
  permissions: Map<string, Permission>;
  /** Token → who it stands for, and what it may do: all that its account may unless `rights` or `lacks` say less. */
  tokens: Map<
    string,
    { login: string; lacks: string[]; rights?: readonly string[]; scopes?: string; expiresAt?: number }
  >;
  /** A GitHub App that is installed on the repository. */
  app: { id: string; slug: string; publicKey: string; installation: number } | null;
  labels: Map<string, Label>;
  issues: Map<number, IssueRow>;
  /** Issues that were deleted, or moved to another repository: a key of `World.elsewhere`. */
  gone: Map<number, { to: string | null }>;
  /** Issues of other repositories that everybody may read, by `owner/name#12`. */
  elsewhere: Map<string, { state: 'open' | 'closed' }>;
  /** Those that nobody here may read; they count where they block something all the same. */
  hidden: Map<string, { state: 'open' | 'closed' }>;
  statuses: Status[];
  checks: CheckRun[];
  protections: Map<string, Protection>;
  /** Rules of no interest that the branch has before the others. */
  moreRules: readonly { type: string }[];
  /** Who may pass by the merge queue. */
  bypasses: Set<string>;
  hooks: Hook[];
  /** How far GraphQL is behind REST with what happened to an issue: with its edits alone, or with its edits and events. */
  lag: { editsMs: number; historyMs: number };
  /**
   * How many issues and pull requests one query may ask for before GitHub ends it, each counted once or as `weights` has it:
   * with a part of the answer, with a timeout, or with its words for either and no status. Null is any number.
   */
  heaviest: { most: number; weights?: Record<number, number>; ends: 'partly' | 'late' | 'wrong' } | null;
  /** Null where everybody sees everything at once. */
  copies: Lag | null;
  /** The branches as a copy knows them, for the heads of pull requests; null is as they are. */
  tips: Map<string, string> | null;
  now(): number;
  nextId(): number;
  emit(event: HookEvent): void;
}

export async function openWorld(options: {
  root: string;
  owner: string;
  name: string;
  defaultBranch: string;
  now: () => number;
  emit: (event: HookEvent) => void;
}): Promise<World> {
  const { root, owner, name, defaultBranch, now, emit } = options;
  let id = 1000;
  const dir = join(root, owner, `${name}.git`);
  mkdirSync(dir, { recursive: true });
  const git = await initBare(dir, defaultBranch);
  return {
    git,
    root,
    owner,
    name,
    formerNames: [],
    id: 4711,
    url: '',
    defaultBranch,
    isPrivate: false,
    archived: false,
    hasIssues: true,
    mergeMethods: { merge: true, squash: true, rebase: true },
    deleteBranchOnMerge: false,
    draftsAllowed: true,
    pushProtection: false,
    users: new Map(),
    permissions: new Map(),
    tokens: new Map(),
    app: null,
    labels: new Map(),
    issues: new Map(),
    gone: new Map(),
    elsewhere: new Map(),
    hidden: new Map(),
    statuses: [],
    checks: [],
    protections: new Map(),
    moreRules: [],
    bypasses: new Set(),
    hooks: [],
    lag: { editsMs: 0, historyMs: 0 },
    heaviest: null,
    copies: null,
    tips: null,
    now,
    nextId: () => {
      id += 1;
      return id;
    },
    emit,
  };
}

/** A person with a token of their own. */
export function addUser(world: World, login: string, permission: Permission, type: User['type'] = 'User') {
  world.users.set(login.toLowerCase(), { login, id: world.nextId(), type });
  world.permissions.set(login.toLowerCase(), permission);
  const token = `ghp_${randomUUID().replaceAll('-', '')}`;
  world.tokens.set(token, { login, lacks: [] });
  return token;
}

export function permissionOf(world: World, login: string | null): Permission {
  const given = login === null ? 'none' : (world.permissions.get(login.toLowerCase()) ?? 'none');
  return given === 'none' && !world.isPrivate ? 'read' : given;
}

export const atLeast = (given: Permission, wanted: Permission): boolean =>
  PERMISSIONS.indexOf(given) >= PERMISSIONS.indexOf(wanted);

export const fullName = (world: World): string => `${world.owner}/${world.name}`;

/** The head as it is now, or as a copy knows it, while the branch is there, else as it was last. */
export async function headOf(world: World, pull: PullRow): Promise<string> {
  return (await liveHead(world, pull)) ?? pull.lastHead;
}

/** Null when the branch is gone, or is in a fork. */
export async function liveHead(world: World, pull: PullRow): Promise<string | null> {
  if (pull.headRepo !== fullName(world)) return null;
  if (world.tips) return world.tips.get(pull.headRef) ?? pull.lastHead;
  return resolve(world.git, `refs/heads/${pull.headRef}`);
}

export async function branchTip(world: World, branch: string): Promise<string | null> {
  return resolve(world.git, `refs/heads/${branch}`);
}

/** What happened to an issue, as GraphQL knows it by now. The text it was written with is an edit once there is another. */
export function historyOf(world: World, issue: IssueRow) {
  const { editsMs, historyMs } = world.lag;
  const told = world.now() - historyMs;
  const shown = Math.min(told, world.now() - editsMs);
  const known = world.copies ? world.copies.seen('history').issues.get(issue.number) : issue;
  const { edits = [], timeline = [], body = '' } = known ?? {};
  const texts = [...edits.map(({ before }) => before), body];
  const made = [issue.createdAt, ...edits.map(({ at }) => at)].filter((at) => at <= shown);
  return {
    edits: made.length > 1 ? made.map((at, n) => ({ at, text: texts[n]! })) : [],
    timeline: timeline.filter(({ at }) => at <= told),
  };
}

export function note(world: World, issue: IssueRow, event: Omit<TimelineEvent, 'id' | 'at'>): void {
  issue.timeline.push({ id: world.nextId(), at: world.now(), ...event });
  issue.updatedAt = world.now();
}

/**
 * What GitHub refuses a push for, in its words. The reason is told to the server, since git itself says no more than
 * "hook declined".
 *
 * Workflows: https://github.com/web-platform-tests/wpt/issues/31939. Push protection: https://github.com/palxiao/poster-design/issues/140.
 * Protected branches: https://github.com/loot/loot/pull/687.
 */
const REFUSE = `#!/bin/sh
decline() { printf '%s' "$1" > "$GIT_DIR/declined"; exit 1; }
if [ -f "$GIT_DIR/protected-refs" ] && grep -qxF "$1" "$GIT_DIR/protected-refs"; then
  echo "error: GH006: Protected branch update failed for $1." >&2
  decline 'protected branch hook declined'
fi
if [ -f "$GIT_DIR/own-hook" ]; then
  cat "$GIT_DIR/own-hook" >&2
  decline 'pre-receive hook declined'
fi
[ -f "$GIT_DIR/own-reason" ] && decline "$(cat "$GIT_DIR/own-reason")"
[ -n "$LACKS_WORKFLOWS$PUSH_PROTECTION" ] && base=$(git merge-base HEAD "$3" 2>/dev/null) || exit 0
workflow=$(git diff --name-only "$base" "$3" -- .github/workflows | head -n 1)
if [ -n "$LACKS_WORKFLOWS" ] && [ -n "$workflow" ]; then
  decline "refusing to allow a Personal Access Token to create or update workflow \\\`$workflow\\\` without \\\`workflow\\\` scope"
fi
if [ -n "$PUSH_PROTECTION" ] && git diff "$base" "$3" | grep -q '^+.*ghp_'; then
  cat >&2 <<END
error: GH013: Repository rule violations found for $1.

- GITHUB PUSH PROTECTION
  —————————————————————————————————————————
    Resolve the following violations before pushing again

    - Push cannot contain secrets

      —— GitHub Personal Access Token ——————————————————————
       locations:
         - commit: $3

       (?) To push, remove secret from commit(s) or follow this URL to allow the secret.
END
  decline 'push declined due to repository rule violations'
fi
exit 0
`;

async function initBare(dir: string, branch: string): Promise<Git> {
  for (const folder of ['hooks', 'objects/info', 'objects/pack', 'refs/heads', 'refs/tags'])
    mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, 'HEAD'), `ref: refs/heads/${branch}\n`);
  writeFileSync(join(dir, 'config'), SERVED);
  writeFileSync(join(dir, 'hooks', 'update'), REFUSE, { mode: 0o755 });
  return openGitDirectory(dir);
}

/** As text: each key set by git would be a process in every test, and so would `git init`. */
const SERVED = `[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
[user]
\tname = GitHub
\temail = noreply@github.com
[http]
\treceivepack = true
[receive]
\tdenyDeleteCurrent = ignore
\tautogc = false
[uploadpack]
\tallowAnySHA1InWant = true
`;
