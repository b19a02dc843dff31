/** From starting again after a SIGKILL to the resumed turn, against starting fresh to the first turn. */
import type { ChildProcess } from 'node:child_process';
import { type Measured, ms } from './measure.ts';
import { type Scratch, scratch, workflow } from './scratch.ts';

const HANGING = 'cat >/dev/null; echo work > "work-$FORGE_ISSUE.txt"; exec sleep 600';

export async function restart(): Promise<Measured> {
  const place = await scratch(workflow(HANGING));
  try {
    place.issue(1, 'Issue 1', 'Creates `work-1.txt`.');
    const fresh = await untilTurn(place);
    fresh.runner.kill('SIGKILL');
    await exited(fresh.runner);
    const resumed = await untilTurn(place);
    resumed.runner.kill('SIGTERM');
    resumed.runner.kill('SIGINT');
    await exited(resumed.runner);
    return {
      name: 'restart after SIGKILL to the resumed turn',
      value: ms(resumed.took),
      against: `fresh start to the first turn: ${ms(fresh.took)}`,
      ratio: resumed.took / fresh.took,
      goal: 'reported',
      met: null,
    };
  } finally {
    place.dispose();
  }
}

/** Until the runner says, as a JSON line, that a turn started. */
async function untilTurn(place: Scratch): Promise<{ runner: ChildProcess; took: number }> {
  const start = performance.now();
  const runner = place.start(['--json', 'run']);
  return new Promise((resolve, reject) => {
    runner.once('exit', (code) => reject(new Error(`the runner ended with ${code}`)));
    runner.stdout!.on('data', (chunk: Buffer) => {
      if (chunk.includes('"turn_started"')) resolve({ runner, took: performance.now() - start });
    });
  });
}

const exited = (runner: ChildProcess): Promise<void> =>
  new Promise((resolve) =>
    runner.exitCode !== null || runner.signalCode !== null ? resolve() : runner.once('exit', () => resolve()),
  );
