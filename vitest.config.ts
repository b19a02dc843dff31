import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

// Vitest leaves one core to itself, which on two means one test file at a time; most of ours wait for git half the time.
const maxWorkers = Math.max(2, availableParallelism());

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts', 'test/transcripts/*.test.ts'],
          maxWorkers,
          testTimeout: 30_000,
          hookTimeout: 30_000,
          // What is polled for comes at once, unless the machine is busy with something else.
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          maxWorkers,
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/e2e/build.ts'],
          // They wait for other processes most of the time, and run after the others for the sake of both.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
          testTimeout: 200_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
