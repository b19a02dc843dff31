/** What runs now: each with its command, where it has one, since when, and what it printed last. */
import type { Context } from './context.ts';
import { doing } from './core/explain.ts';
import { LOGS_OF_NO_TASK } from './core/keep.ts';
import { turnName } from './core/role.ts';
import { nameOfTask } from './core/task.ts';
import { lastLineIn } from './last-line.ts';
import { INTAKE_LEASE, type ProcessRecord, type Store, taskLease } from './store/store.ts';

export interface AtWork {
  /** Null for what the loop itself runs: the deploy, the gate on trunk. */
  task: string | null;
  name: string | null;
  what: string;
  command: string | null;
  /** Null when it is part of a short step whose beginning nobody wrote down, such as a hook of a workspace. */
  since: number | null;
  /** Of its command's output. */
  lastLine: string | null;
  /** Tells one run of a command from the next; null without a process. */
  pid: number | null;
}

/** `owned` are the leases of whoever is asked about: what nobody holds does not run any more. */
export async function atWork(
  context: Pick<Context, 'places' | 'startOf'>,
  store: Store,
  owned: ReadonlySet<string>,
): Promise<AtWork[]> {
  const children = await store.processes();
  const places = await context.places();
  const found: AtWork[] = [];
  for (const { task } of await store.tasks({ live: true })) {
    if (!owned.has(taskLease(task.id))) continue;
    const started = (await store.pendingActions(task.id)).find(({ startedAt }) => startedAt !== null);
    const child = children.find((one) => one.task === task.id);
    if (!started && !child) continue;
    const { what, command } = said(child);
    const action = started?.action;
    const isTurn = action?.kind === 'turn';
    const log = places.log(task.id, '');
    found.push({
      task: task.id,
      name: nameOfTask(task),
      what: action ? (action.kind === 'turn' ? turnName(action) : doing(action)) : what,
      command: isTurn ? null : command,
      since: started?.startedAt ?? null,
      lastLine: child && !isTurn ? await lastLineIn(log, OF_COMMANDS, context.startOf(child)) : null,
      pid: child?.pid ?? null,
    });
  }
  if (!owned.has(INTAKE_LEASE)) return found;
  const { deploy } = await store.loop();
  const ofLoop = async (what: string, child: ProcessRecord | undefined, logs: string): Promise<AtWork> => {
    const since = child ? context.startOf(child) : null;
    return {
      task: null,
      name: null,
      what,
      command: said(child).command,
      since,
      lastLine: child ? await lastLineIn(places.log(logs, ''), /\.log$/, since) : null,
      pid: child?.pid ?? null,
    };
  };
  const trial = children.find(({ lease, task }) => lease === INTAKE_LEASE && task !== deploy?.last?.id);
  if (trial) found.push(await ofLoop('the gate on trunk', trial, LOGS_OF_NO_TASK.trial));
  if (deploy?.last?.status === 'running') {
    const { id, startedAt } = deploy.last;
    const child = children.find((one) => one.task === id);
    found.push({ ...(await ofLoop('the deploy', child, LOGS_OF_NO_TASK.deploy)), since: startedAt });
  }
  return found;
}

/** Beside them are the logs of turns. */
const OF_COMMANDS = /^(gate|hook)-.*\.log$/;

/** `hook afterCreate: npm ci`, as the loop wrote it down. */
function said(child: ProcessRecord | undefined): { what: string; command: string | null } {
  const [, what, command] = /^(.+?): (.+)$/s.exec(child?.purpose ?? '') ?? [];
  return { what: `the ${what ?? child?.purpose ?? 'next step'}`, command: command ?? null };
}
