/** How long the command line takes to say something, against a bare node. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compare, type Measured, ms } from './measure.ts';
import { BIN } from './scratch.ts';

const execute = promisify(execFile);

export async function start(): Promise<Measured> {
  const run = (args: string[]) => async (): Promise<void> => void (await execute(process.execPath, args));
  const { ours, baseline } = await compare(15, run([BIN, '--version']), run(['-e', '0']));
  return {
    name: 'CLI start (--version)',
    value: ms(ours),
    against: `node -e 0: ${ms(baseline)}`,
    ratio: ours / baseline,
    goal: '≤ 3',
    met: ours / baseline <= 3,
  };
}
