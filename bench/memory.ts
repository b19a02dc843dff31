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
    value: `${mib(full.resident)}, at most ${mib(full.most)}`,
    against: `with none: ${mib(empty.resident)}, at most ${mib(empty.most)}`,
    ratio: full.resident / empty.resident,
    goal: `< ${MOST_MIB} MiB`,
    met: full.resident / 1024 < MOST_MIB,
  };
}

async function resident(tasks: number): Promise<Memory> {
  // A tick looks at every issue: one that comes five times a second is never quiet.
  const place = await scratch(workflow(CHEAP_AGENT).replace('interval_ms: 200', 'interval_ms: 30000'));
  try {
    await addWaitingTasks(place, tasks);
    const runner = place.start(['--json', 'run']);
    await new Promise<void>((resolve) => runner.stdout!.once('data', () => resolve()));
    const found = await whenQuiet(runner.pid!);
    const gone = new Promise((resolve) => runner.once('exit', resolve));
    runner.kill('SIGTERM');
    runner.kill('SIGINT');
    await gone;
    return found;
  } finally {
    place.dispose();
  }
}

/** Both in KiB. */
interface Memory {
  resident: number;
  most: number;
}

/** Once it has looked at all of them: it has used (almost) no processor time for a while. */
async function whenQuiet(pid: number): Promise<Memory> {
  for (let before = Number.NEGATIVE_INFINITY; ; ) {
    const used = ticksOf(pid);
    if (used - before <= FLAT_TICKS) break;
    before = used;
    await new Promise((resolve) => setTimeout(resolve, FLAT_FOR_MS));
  }
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  return { resident: kib('VmRSS'), most: kib('VmHWM') };
}

const FLAT_FOR_MS = 3000;
/** In hundredths of a second: what the pulse of an idle runner takes. */
const FLAT_TICKS = 10;

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
