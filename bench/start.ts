/** What the command line takes to say something, against a bare node. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compare, cpuMs, type Measured, ms } from './measure.ts';
import { BIN, CHEAP_AGENT, scratch, workflow } from './scratch.ts';
import { addWaitingTasks } from './waiting.ts';

const execute = promisify(execFile);
const ROUNDS = 15;
const TASKS = 100;

export async function start(): Promise<Measured[]> {
  const run = (args: string[]) => async (): Promise<void> => void (await execute(process.execPath, args));
  const { ours, baseline } = await compare(ROUNDS, run([BIN, '--version']), run(['-e', '0']));
  const version: Measured = {
    name: 'CLI start (--version)',
    value: ms(ours),
    against: `node -e 0: ${ms(baseline)}`,
    ratio: ours / baseline,
    goal: '≤ 3',
    met: ours / baseline <= 3,
  };
  const place = await scratch(workflow(CHEAP_AGENT));
  try {
    await addWaitingTasks(place, TASKS);
    return [version, await inProcessorTime(run([BIN, '-C', place.repo, 'status']), run(['-e', '0']))];
  } finally {
    place.dispose();
  }
}

/** On the average: the kernel counts in steps of ten milliseconds. */
async function inProcessorTime(status: () => Promise<void>, bare: () => Promise<void>): Promise<Measured> {
  const spent = { ours: 0, bare: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const begun = cpuMs();
    await bare();
    const between = cpuMs();
    await status();
    spent.bare += between - begun;
    spent.ours += cpuMs() - between;
  }
  return {
    name: `\`status\` with ${TASKS} tasks, in processor time`,
    value: ms(spent.ours / ROUNDS),
    against: `node -e 0: ${ms(spent.bare / ROUNDS)}`,
    ratio: spent.ours / spent.bare,
    goal: '≤ 3',
    met: spent.ours / spent.bare <= 3,
  };
}
