/** The daemon's memory with 1,000 tasks it knows and holds, against the same daemon with none. */
import { readFileSync } from 'node:fs';
import type { Measured } from './measure.ts';
import { CHEAP_AGENT, scratch, workflow } from './scratch.ts';
import { addWaitingTasks } from './waiting.ts';

const TASKS = 1000;
const MOST_MIB = 150;

export async function memory(): Promise<Measured> {
  const [empty, full] = [await resident(0), await resident(TASKS)];
  const mib = (kib: number): string => `${Math.round(kib / 1024)} MiB`;
  return {
    name: `daemon memory with ${TASKS} waiting tasks`,
    value: mib(full),
    against: `with none: ${mib(empty)}`,
    ratio: full / empty,
    goal: `< ${MOST_MIB} MiB`,
    met: full / 1024 < MOST_MIB,
  };
}

async function resident(tasks: number): Promise<number> {
  const place = await scratch(workflow(CHEAP_AGENT));
  try {
    await addWaitingTasks(place, tasks);
    const runner = place.start(['--json', 'run']);
    await new Promise<void>((resolve) => runner.stdout!.once('data', () => resolve()));
    await new Promise((resolve) => setTimeout(resolve, 8000));
    const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${runner.pid}/status`, 'utf8'))?.[1]);
    const gone = new Promise((resolve) => runner.once('exit', resolve));
    runner.kill('SIGTERM');
    runner.kill('SIGINT');
    await gone;
    return rss;
  } finally {
    place.dispose();
  }
}
