/** Tests that need the machine's own bubblewrap, which the others do without: see without-bubblewrap.ts. */
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe } from 'vitest';

const { PATH, WHOLE_PATH } = process.env;
const missing = spawnSync('bwrap', ['--version'], { env: { PATH: WHOLE_PATH } }).status !== 0;

export function withBubblewrap(tests: () => void): void {
  if (missing) console.warn('SKIPPED: confined agents. Install the package bubblewrap to run them.');
  // It needs bubblewrap, which CI installs.
  describe.skipIf(missing)('with bubblewrap', () => {
    beforeAll(() => {
      process.env.PATH = WHOLE_PATH;
    });
    afterAll(() => {
      process.env.PATH = PATH;
    });
    tests();
  });
}
