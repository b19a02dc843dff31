/**
 * `npm test` within minutes, `npm run test:full` for everything: stages one after the other, each with what it is and how
 * long it took on two busy cores, where that was seen. The first that fails ends it. `npm test -- src/core` runs what is named.
 */
import { spawnSync } from 'node:child_process';
import { performance } from 'node:perf_hooks';

const vitest = (...args) => ['npx', 'vitest', 'run', ...args];

const UNIT = ['unit tests', 8, vitest('--project', 'unit', '--project', 'apart')];
const STAGES = {
  quick: [UNIT, ['the demo, end to end', 1, vitest('--project', 'e2e', 'test/e2e/demo.test.ts')]],
  full: [
    UNIT,
    ['the forges', 4, vitest('--project', 'forge')],
    ['the sandboxes, and hostile attempts on them', 4, vitest('--project', 'hostile')],
    [
      'simulation, 10,000 seeds',
      null,
      vitest('--project', 'simulation'),
      { SIM_SEEDS: '10000', SIM_STORMS: '100' },
    ],
    ['end to end', 12, vitest('--project', 'e2e')],
    ['the dashboard in a browser', null, vitest('--project', 'browser')],
    ['repositories shaped like real ones', null, vitest('--project', 'field')],
    ['real agents against a scripted model', null, ['npm', 'run', 'test:agents'], { ALL_AGENTS: '1' }],
  ],
};

const [mode = 'quick', ...rest] = process.argv.slice(2);
const stages = STAGES[mode] ?? [['the tests named', 1, vitest(mode, ...rest)]];
for (const [index, [name, minutes, [program, ...args], env]] of stages.entries()) {
  console.log(
    `\n[${index + 1}/${stages.length}] ${name}${minutes === null ? '' : `, at most about ${minutes} min`}`,
  );
  const begun = performance.now();
  const { status } = spawnSync(program, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  const seconds = Math.round((performance.now() - begun) / 1000);
  console.log(
    `[${index + 1}/${stages.length}] ${name}: ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s`,
  );
  if (status !== 0) process.exit(status ?? 1);
}
