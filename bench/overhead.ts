/** Loop overhead per task against the bare git commands and child processes the same work needs. */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Step, stepsByHand } from './by-hand.ts';
import { cpuMs, type Measured, median, ms, timed } from './measure.ts';
import { CHEAP_AGENT, type Scratch, scratch, workflow } from './scratch.ts';

const execute = promisify(execFile);
const TASKS = 12;
const ROUNDS = 3;

interface Cost {
  wall: number;
  /** Of this process and of every child that has ended. */
  cpu: number;
}

export async function overhead(): Promise<Measured[]> {
  const samples: Record<'loop' | 'node' | 'shell', Cost[]> = { loop: [], node: [], shell: [] };
  for (let round = 0; round < ROUNDS; round++) {
    samples.node.push(await elsewhere((place) => cost(() => fromNode(place))));
    samples.loop.push(await elsewhere(fromLoop));
    samples.shell.push(await elsewhere((place) => cost(() => fromShell(place))));
  }
  const each = (who: keyof typeof samples, what: keyof Cost): number =>
    median(samples[who].map((one) => one[what])) / TASKS;
  const [ours, base, script] = [each('loop', 'wall'), each('node', 'wall'), each('shell', 'wall')];
  const [oursCpu, baseCpu] = [each('loop', 'cpu'), each('node', 'cpu')];
  return [
    {
      name: 'loop overhead per task',
      value: `${ms(ours)} a task`,
      against: `the same git commands and children by hand, started from node: ${ms(base)}`,
      ratio: ours / base,
      goal: '≤ 1.6',
      met: ours / base <= 1.6,
    },
    {
      name: '… in processor time',
      value: `${ms(oursCpu)} a task`,
      against: `by hand: ${ms(baseCpu)}`,
      ratio: oursCpu / baseCpu,
      goal: 'reported',
      met: null,
    },
    {
      name: '… against a shell script of them',
      value: `${ms(ours)} a task`,
      against: `one /bin/sh script: ${ms(script)}`,
      ratio: ours / script,
      goal: 'reported',
      met: null,
    },
  ];
}

async function elsewhere(measure: (place: Scratch) => Promise<Cost>): Promise<Cost> {
  const place = await scratch(workflow(CHEAP_AGENT));
  try {
    return await measure(place);
  } finally {
    place.dispose();
  }
}

/** Without what it costs to start, which is not a matter of tasks. */
async function fromLoop(place: Scratch): Promise<Cost> {
  for (let number = 1; number <= TASKS; number++)
    place.issue(number, `Issue ${number}`, `Creates \`work-${number}.txt\`.`);
  const idle = await cost(async () => void (await place.loop(['status'])));
  const all = await cost(async () => void (await place.loop(['run', '--until-idle'])));
  const merged = (await place.git(['log', '--format=%s', 'main']))
    .split('\n')
    .filter((subject) => subject.startsWith('Issue'));
  if (merged.length !== TASKS) throw new Error(`${merged.length} of ${TASKS} tasks merged`);
  return { wall: all.wall - idle.wall, cpu: all.cpu - idle.cpu };
}

async function fromNode(place: Scratch): Promise<void> {
  for (let number = 1; number <= TASKS; number++) {
    const kept = new Map<string, string>();
    for (const step of stepsByHand(place, number)) {
      const [program, ...args] = step.run.map((arg) => kept.get(arg) ?? arg) as [string, ...string[]];
      const { stdout } = await execute(program, args, { cwd: step.in, env: place.env });
      if (step.as) kept.set(`$${step.as}`, stdout.split('\n')[0]!);
    }
  }
}

async function fromShell(place: Scratch): Promise<void> {
  const path = join(place.root, 'by-hand.sh');
  const tasks = Array.from({ length: TASKS }, (_, index) => stepsByHand(place, index + 1));
  writeFileSync(path, `set -e\n${tasks.flat().map(asShell).join('\n')}\n`);
  await execute('/bin/sh', [path], { env: place.env, maxBuffer: 1 << 28 });
}

function asShell(step: Step): string {
  const quoted = (arg: string): string =>
    /^\$[A-Z]+$/.test(arg) ? `"${arg}"` : `'${arg.replaceAll("'", `'\\''`)}'`;
  const line = step.run.map(quoted).join(' ');
  return `cd ${quoted(step.in)}\n${step.as ? `${step.as}=$(${line} | head -n 1)` : line}`;
}

async function cost(work: () => Promise<void>): Promise<Cost> {
  const before = cpuMs();
  const wall = await timed(work);
  return { wall, cpu: cpuMs() - before };
}
