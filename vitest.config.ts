import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// An agent of the loop may run these tests; what they start is not inside its turn.
delete process.env.FORGE_ROLE;

// Vitest leaves one core to itself, which on two means one test file at a time; most of ours wait for git half the time.
const maxWorkers = Math.max(2, availableParallelism());

/**
 * Without times of an earlier run vitest begins with the longest file, and the shortest are those that run a whole contract:
 * the slowest tests would begin last, and end alone.
 */
const SLOWEST = /github|forge.local|src.workspace|src.process|src.sandbox.container|storms/;

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => (SLOWEST.test(moduleId) ? 0 : 1);
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

/** Tests that change what their process has: its environment, its mask, its folder. */
const APART = 'src/{workspace,process}/**/*.test.ts';

/** The forges, each by its whole contract: GitHub's against a server that does what GitHub does. */
const FORGES = ['src/forge/**/*.test.ts', 'test/github-server.test.ts'];

/** Tests of whole sandboxes, which need programs that a developer may not have. */
const SANDBOXES = ['src/sandbox/**/*.test.ts', 'src/operations/doctor-container.test.ts'];

/** Whole nights on virtual time. */
const NIGHTS = ['test/storms.test.ts', 'test/github-cost.test.ts'];

/** Only what is broken comes near these: a busy machine may take ten times as long as a quiet one. */
const PATIENT = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 90_000 } } };

export default defineConfig({
  test: {
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/*.test.ts', 'test/transcripts/*.test.ts'],
          exclude: [APART, ...FORGES, ...SANDBOXES, ...NIGHTS],
          setupFiles: ['test/support/clean-process.ts'],
          // They leave nothing behind in their process, so one is started and loaded for many.
          isolate: false,
          maxWorkers,
          ...PATIENT,
        },
      },
      {
        test: {
          name: 'apart',
          include: [APART],
          maxWorkers,
          ...PATIENT,
        },
      },
      {
        test: {
          name: 'forge',
          include: FORGES,
          maxWorkers,
          ...PATIENT,
        },
      },
      {
        test: {
          name: 'hostile',
          include: ['test/hostile/*.test.ts', ...SANDBOXES],
          maxWorkers,
          ...PATIENT,
        },
      },
      {
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts', ...NIGHTS],
          maxWorkers,
          ...PATIENT,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/e2e/build.ts'],
          // Loaded as it is, by whoever calls it without a process.
          server: { deps: { external: [/\/dist\//] } },
          // They wait for other processes most of the time, and run after the others for the sake of both.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/browser/*.test.ts'],
          globalSetup: ['test/support/e2e/build.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'field',
          include: ['test/field/**/*.test.ts'],
          globalSetup: ['test/support/e2e/build.ts'],
          server: { deps: { external: [/\/dist\//] } },
          maxWorkers: 4,
          sequence: { groupOrder: 2 },
          testTimeout: 600_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
