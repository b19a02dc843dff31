/** What runs now, for whoever asked a runner to stop: each with its command, where it has one, and since when. */
import { doing, turnName } from './core/explain.ts';
import { nameOfTask } from './core/task.ts';
import { INTAKE_LEASE, type ProcessRecord, type Store, taskLease } from './store/store.ts';

interface AtWork {
  /** Null for what the loop itself runs: the deploy, the gate on trunk. */
  task: string | null;
  name: string | null;
  what: string;
  command: string | null;
  /** Null when it is part of a short step whose beginning nobody wrote down, such as a hook of a workspace. */
  since: number | null;
}

/** `owned` are the leases of whoever is asked about: what nobody holds does not run any more. */
export async function atWork(store: Store, owned: ReadonlySet<string>): Promise<AtWork[]> {
  const children = await store.processes();
  const found: AtWork[] = [];
  for (const { task } of await store.tasks({ live: true })) {
    if (!owned.has(taskLease(task.id))) continue;
    const started = (await store.pendingActions(task.id)).find(({ startedAt }) => startedAt !== null);
    const child = children.find((one) => one.task === task.id);
    if (!started && !child) continue;
    const { what, command } = said(child);
    const action = started?.action;
    found.push({
      task: task.id,
      name: nameOfTask(task),
      what: action ? (action.kind === 'turn' ? turnName(action) : doing(action)) : what,
      command: action?.kind === 'turn' ? null : command,
      since: started?.startedAt ?? null,
    });
  }
  if (!owned.has(INTAKE_LEASE)) return found;
  const loops = { task: null, name: null };
  const { deploy } = await store.loop();
  const trial = children.find(({ lease, task }) => lease === INTAKE_LEASE && task !== deploy?.last?.id);
  if (trial) found.push({ ...loops, what: 'the gate on trunk', command: said(trial).command, since: null });
  if (deploy?.last?.status === 'running') {
    const { id, startedAt } = deploy.last;
    const { command } = said(children.find((one) => one.task === id));
    found.push({ ...loops, what: 'the deploy', command, since: startedAt });
  }
  return found;
}

/** `hook afterCreate: npm ci`, as the loop wrote it down. */
function said(child: ProcessRecord | undefined): { what: string; command: string | null } {
  const [, what, command] = /^(.+?): (.+)$/s.exec(child?.purpose ?? '') ?? [];
  return { what: `the ${what ?? child?.purpose ?? 'next step'}`, command: command ?? null };
}
