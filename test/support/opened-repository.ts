/** A repository for each test of a file, opened as a command opens it, and tasks in it as some runner left them. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { Context } from '../../src/context.ts';
import { event, type NewEvent } from '../../src/core/event.ts';
import { contractOf } from '../../src/core/issue/criteria.ts';
import type { Reason, State } from '../../src/core/machine.ts';
import type { StoredTask } from '../../src/core/task.ts';
import { openContext } from '../../src/main.ts';
import { perform } from '../../src/operations.ts';
import { INTAKE_LEASE, type Lease, taskLease } from '../../src/store/store.ts';

export const MINUTE = 60_000;

export interface OpenedRepository {
  root: string;
  context: Context;
  git(...args: string[]): string;
  /** The settings, as the front matter of WORKFLOW.md. */
  configure(settings: string): void;
  /** As another command would find it. */
  reopen(): Promise<void>;
  ready(title: string): Promise<number>;
  /** A task of the issue; its lease is free. */
  taskOf(issue: number, id: string, attempt?: number): Promise<StoredTask>;
  leaseOf(task: string): Promise<Lease>;
  commit(stored: StoredTask, ...events: NewEvent[]): Promise<StoredTask>;
}

export function openedRepository(): OpenedRepository {
  let state: string | undefined;
  const here = { git, configure, reopen, ready, taskOf, leaseOf, commit } as OpenedRepository;

  beforeEach(async () => {
    here.root = mkdtempSync(join(tmpdir(), 'forge-opened-'));
    state = process.env.XDG_STATE_HOME;
    process.env.XDG_STATE_HOME = join(here.root, '.state');
    git('init', '-q', '-b', 'main');
    git('config', 'user.name', 'Eva');
    git('config', 'user.email', 'eva@example.com');
    git('commit', '-q', '--allow-empty', '-m', 'start');
    configure('agent: { command: "true" }\ngate: none');
    here.context = await openContext(here.root);
  });

  afterEach(async () => {
    await here.context.close();
    rmSync(here.root, { recursive: true, force: true });
    if (state === undefined) delete process.env.XDG_STATE_HOME;
    else process.env.XDG_STATE_HOME = state;
  });

  function git(...args: string[]): string {
    return execFileSync('git', ['-C', here.root, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  }

  function configure(settings: string): void {
    writeFileSync(join(here.root, 'WORKFLOW.md'), `---\n${settings}\n---\n{{ issue.body }}\n`);
  }

  async function reopen(): Promise<void> {
    await here.context.close();
    here.context = await openContext(here.root);
  }

  async function ready(title: string): Promise<number> {
    return (await perform(here.context, 'issue.new', { title, body: 'prints "ok"', ready: true })).number;
  }

  async function taskOf(issue: number, id: string, attempt = 1): Promise<StoredTask> {
    const store = await here.context.writing();
    const at = here.context.now();
    const lease = await store.acquireLease(INTAKE_LEASE, 'test', at, MINUTE, () => true);
    const contract = contractOf((await (await here.context.forge()).issue(issue))!);
    const branch = `loop/${issue}-s`;
    const created = event('task_created', { kind: 'issue', issue, attempt, slug: 's', branch, contract });
    const claim = { lease: lease!, taskId: id, issue, events: [created], actions: [], at };
    const stored = await store.claim(claim);
    await store.releaseLease(lease!);
    return stored!;
  }

  async function leaseOf(task: string): Promise<Lease> {
    const store = await here.context.writing();
    return (await store.acquireLease(taskLease(task), 'test', here.context.now(), MINUTE, () => true))!;
  }

  async function commit(stored: StoredTask, ...events: NewEvent[]): Promise<StoredTask> {
    const store = await here.context.writing();
    const { id: taskId } = stored.task;
    const lease = await leaseOf(taskId);
    const at = here.context.now();
    const after = await store.commit({ lease, taskId, expectedVersion: stored.version, events, at });
    await store.releaseLease(lease);
    return after;
  }

  return here;
}

export const moved = (from: State, to: State, reason: Reason | null = null): NewEvent =>
  event('worker_state_transition', {
    from,
    to,
    reason,
    why: 'so it was',
    sessionId: null,
    turn: 0,
    headSha: null,
  });
