/** The real agents against a scripted model: a stage of its own, because they have to be installed first. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    name: 'agents',
    include: ['e2e/*.test.ts'],
    globalSetup: ['e2e/setup.ts'],
    // Each test starts programs of some hundred megabytes; more at once would only wait for each other.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
});
