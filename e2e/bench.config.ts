/** Benchmarks with the real agents: `npm run bench:cache`. One at a time, since they measure. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    name: 'bench',
    include: ['e2e/bench/*.bench.ts'],
    globalSetup: ['e2e/setup.ts'],
    fileParallelism: false,
    testTimeout: 600_000,
    disableConsoleIntercept: true,
  },
});
