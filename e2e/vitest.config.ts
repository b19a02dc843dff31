/** The real agents against a scripted model: a stage of its own, because they have to be installed first. */
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { leftOut, remember } from './unchanged.ts';
import { pathWithoutBubblewrap } from './without-bubblewrap.ts';

const unchanged = leftOut();
if (unchanged.length > 0)
  console.log(
    `Left out, passed on the same agents, prompts and versions: ${unchanged.join(', ')}.\nALL_AGENTS=1 runs them, too.`,
  );

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    name: 'agents',
    include: ['e2e/*.test.ts'],
    exclude: [...configDefaults.exclude, ...unchanged.map((name) => `e2e/${name}`)],
    reporters: ['default', remember],
    globalSetup: ['e2e/setup.ts'],
    env: { PATH: pathWithoutBubblewrap(process.env.PATH ?? ''), WHOLE_PATH: process.env.PATH ?? '' },
    // Each test starts programs of some hundred megabytes; more at once would only wait for each other.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
});
