/** Takes over by hand what dead runners left: leases, children, started runs, and workspaces nobody owns. */
import type { Context } from '../context.ts';
import { nameOfTask, type Task } from '../core/task.ts';
import { holding, stopOrphans } from '../loop/leftovers.ts';
import type { Ports } from '../loop/ports.ts';
import { takeOver } from '../loop/recovery.ts';
import { taskLease } from '../store/store.ts';
import { isStale, ownedKeys } from '../view.ts';

interface Recovered {
  tasks: { task: string; name: string; issue: number | null; state: string; plan: string }[];
  /** Of trials and deploys, which were stopped. */
  processes: number[];
  workspaces: { path: string; done: 'removed' | 'kept'; why: string }[];
}

export async function recover(context: Context): Promise<Recovered> {
  if ((await context.reading()) === null) return { tasks: [], processes: [], workspaces: [] };
  const ports = await context.ports();
  const tasks: Recovered['tasks'] = [];
  for (const task of await abandonedByRunners(context, ports)) {
    const plan = await holding(ports, taskLease(task.id), (lease) => takeOver(ports, task.id, lease));
    if (plan !== null)
      tasks.push({ task: task.id, name: nameOfTask(task), issue: task.issue, state: task.state, plan });
  }
  const processes = await stopOrphans(ports);
  for (const lease of await ports.store.leases())
    if (isStale(lease, context)) await holding(ports, lease.key, async () => {});
  return { tasks, processes, workspaces: await removeOrphans(context, ports) };
}

/** Tasks with a lease whose owner is gone, or with children that nobody answers for. */
async function abandonedByRunners(context: Context, ports: Ports): Promise<Task[]> {
  const { store } = ports;
  const leases = await store.leases();
  const stale = new Set(leases.filter((lease) => isStale(lease, context)).map((lease) => lease.key));
  const owned = await ownedKeys(context, store);
  const children = new Set((await store.processes()).map((process) => process.task));
  return (await store.tasks())
    .map(({ task }) => task)
    .filter(({ id }) => !owned.has(taskLease(id)) && (stale.has(taskLease(id)) || children.has(id)));
}

/** Work that was given up is kept on purpose; only what merged, or belongs to nobody, is in the way. */
async function removeOrphans(context: Context, ports: Ports): Promise<Recovered['workspaces']> {
  const kept = (await ports.store.tasks()).map(({ task }) => task).filter((task) => task.state !== 'merged');
  const { discard } = await context.tools();
  const done: Recovered['workspaces'] = [];
  for (const { path, unsaved } of await ports.workspaces.orphans(kept.map((task) => task.id))) {
    if (!unsaved) await discard(path);
    done.push({
      path,
      done: unsaved ? 'kept' : 'removed',
      why: unsaved
        ? 'it holds work that is nowhere else'
        : 'no task needs it and all of it is in the repository',
    });
  }
  return done;
}
