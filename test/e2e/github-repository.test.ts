/** The repository itself changes while the loop is at work: no task is lost, no turn is spent, and it goes on afterwards. */
import { expect } from 'vitest';
import { test } from '../support/e2e/on-github.ts';
import type { GitHub } from '../support/github/server.ts';

interface Change {
  away(github: GitHub): void;
  back(github: GitHub): void;
  /** What people can read about it meanwhile, and the event that says it; null where nothing is noticed. */
  says: [event: 'effect_failed' | 'forge_unavailable', words: RegExp] | null;
}

const CHANGES: Record<string, Change> = {
  'is archived': {
    away: ({ world }) => void Object.assign(world, { archived: true }),
    back: ({ world }) => void Object.assign(world, { archived: false }),
    says: ['effect_failed', /acme\/rocket is archived/],
  },
  'is transferred where the token may not see it': {
    away: ({ world }) => void Object.assign(world, { owner: 'elsewhere' }),
    back: ({ world }) => void Object.assign(world, { owner: 'acme' }),
    says: ['forge_unavailable', /shows this token no repository acme\/rocket any more/],
  },
  'is renamed': {
    away: ({ world }) => {
      world.formerNames.push('acme/rocket');
      world.name = 'starship';
    },
    back: () => {},
    says: null,
  },
};

test.for(Object.entries(CHANGES))('%s', async ([, { away, back, says }], { world, on }) => {
  const halt = world.halt('turn');
  world.script({
    when: { role: 'coder' },
    steps: [{ shell: halt.shell }, { write: { 'done-1.txt': 'done\n' } }],
  });
  const issue = await on.issue('Write the file');
  await on.ready(issue);
  const runner = world.run();
  await halt.arrived();
  away(on.github);
  halt.lift();
  await world.event('turn_completed', ({ status }) => status === 'finished');
  if (says) {
    const [event, words] = says;
    expect((await world.event(event)).data.problem).toMatch(words);
  }
  back(on.github);
  const task = await world.state(issue, 'merged');
  runner.send('SIGTERM');
  await world.finished(runner);
  expect(task).toMatchObject({ turns: 1, attempt: 1 });
});

test('a run begun while GitHub is down waits for it, and `why` speaks of the outage alone', async ({
  world,
  on,
}) => {
  await on.settings({});
  on.github.faults.add({ how: { kind: 'answer', status: 503 }, times: 10_000 });
  const why = await world.cli('why');
  expect(why.stdout).toContain('the forge does not answer');
  expect(why.stdout).not.toContain('no open issue');
  const runner = world.run('--until-idle');
  await world.event('forge_unavailable');
  on.github.faults.clear();
  const ended = await world.finished(runner);
  expect(ended.stderr).toContain('It answers again.');
});

test('a token that is not accepted ends a run at once', async ({ world, on }) => {
  await on.settings({});
  on.github.world.tokens.clear();
  const ended = await world.finished(world.run('--until-idle'), 1);
  expect(ended.stderr).toContain('does not accept the token');
});
