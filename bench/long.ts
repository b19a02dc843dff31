/** What a task costs after a hundred others, against the first ones of the same run: time and processor time. */
import { createInterface } from 'node:readline';
import { cpuOf, type Measured, ms } from './measure.ts';
import { CHEAP_AGENT, scratch, workflow } from './scratch.ts';

const TASKS = 120;
const COMPARED = 20;

interface Moment {
  wall: number;
  cpu: number;
}

export async function long(): Promise<Measured[]> {
  const merges = await momentsOfMerges();
  // The start of the runner is not a matter of tasks: the first one begins the count.
  const first = costBetween(merges[0]!, merges[COMPARED]!);
  const last = costBetween(merges[TASKS - 1 - COMPARED]!, merges[TASKS - 1]!);
  const row = (name: string, what: keyof Moment): Measured => ({
    name,
    value: ms(last[what]),
    against: `the first ${COMPARED}: ${ms(first[what])}`,
    ratio: last[what] / first[what],
    goal: 'reported',
    met: null,
  });
  return [row(`time per task, the last ${COMPARED} of ${TASKS}`, 'wall'), row('… in processor time', 'cpu')];
}

const costBetween = (from: Moment, to: Moment): Moment => ({
  wall: (to.wall - from.wall) / COMPARED,
  cpu: (to.cpu - from.cpu) / COMPARED,
});

async function momentsOfMerges(): Promise<Moment[]> {
  const place = await scratch(workflow(CHEAP_AGENT));
  for (let number = 1; number <= TASKS; number++)
    place.issue(number, `Issue ${number}`, `Creates \`work-${number}.txt\`.`);
  const runner = place.start(['--json', 'run', '--until-idle']);
  const moments: Moment[] = [];
  try {
    for await (const line of createInterface(runner.stdout!)) {
      const { type } = JSON.parse(line) as { type?: string };
      if (type === 'merge_observed') moments.push({ wall: performance.now(), cpu: cpuOf(runner.pid!) });
    }
    if (moments.length !== TASKS) throw new Error(`${moments.length} of ${TASKS} tasks merged`);
    return moments;
  } finally {
    place.dispose();
  }
}
