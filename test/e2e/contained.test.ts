/** The story of an issue with everything in containers, and what a killed runner leaves of it. */
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import {
  type ContainerEngine,
  IMAGE,
  openEngine,
  skippedWithoutEngine,
} from '../support/container-engine.ts';
import { APPROVE, test } from '../support/e2e/world.ts';

const CONFINED = { sandbox: { kind: 'container', image: IMAGE } };

// It needs podman, which CI installs.
describe.skipIf(skippedWithoutEngine('stories in containers'))('in containers', () => {
  let engine: ContainerEngine;
  beforeAll(() => {
    engine = openEngine();
  });
  afterAll(() => engine.dispose());
  const left = (): string => engine.podman('ps', '--all', '--quiet');

  test('an issue is coded, fails its gate, is judged and merged, on one session', async ({ world }) => {
    Object.assign(world.env, engine.env);
    const contained = '[ "$(hostname 2>/dev/null || cat /proc/sys/kernel/hostname)" = sandbox ]';
    world.settings({ ...CONFINED, gate: { commands: [`${contained} && ! grep -q half done-1.txt`] } });
    world.script(
      {
        when: { role: 'coder', turn: 1 },
        steps: [{ shell: contained }, { write: { 'done-1.txt': 'half\n' } }],
      },
      {
        when: { role: 'coder', turn: 2 },
        steps: [{ write: { 'done-1.txt': 'whole\n' } }, { shell: 'git commit -qam mine' }],
      },
      { when: { role: 'critic' }, steps: [{ shell: contained }, { shell: '! touch written' }, APPROVE] },
    );
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(world.git('show', 'main:done-1.txt')).toBe('whole\n');
    const turns = await world.turns(issue);
    expect(turns.map(({ role, status }) => `${role} ${status}`)).toEqual([
      'coder finished',
      'coder finished',
      'critic finished',
    ]);
    expect(left()).toBe('');
    const { stdout } = await world.cli('doctor');
    expect(stdout).toMatch(/ok +sandbox +container of localhost\/forge-test:1: agents, gates and hooks/);
  });

  test('a killed runner leaves a container, which its successor removes before it goes on', async ({
    world,
  }) => {
    Object.assign(world.env, engine.env);
    world.settings(CONFINED);
    world.script({
      when: { role: 'coder', turn: 1 },
      steps: [
        {
          shell:
            'if [ ! -e "$FORGE_SESSION_DIR/again" ]; then touch "$FORGE_SESSION_DIR/again"; setsid env -i /usr/bin/sleep 987656 & sleep 987655; fi; echo done > done-1.txt',
        },
      ],
    });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    const isThere = (): boolean => spawnSync('pgrep', ['-fx', '/usr/bin/sleep 987656']).status === 0;
    await world.until('its daemon to run', isThere);
    const [name] = engine.podman('ps', '--format', '{{.Names}}').trim().split('\n');
    await runner.kill();
    expect(isThere()).toBe(true);
    await world.settle();
    expect(spawnSync('pgrep', ['-f', 'sleep 98765[56]']).status).toBe(1);
    expect(left()).toBe('');
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(name).toMatch(/^forge-loop-/);
  });

  test('an image that is not there: nothing runs, and how to get it is said', async ({ world }) => {
    Object.assign(world.env, engine.env);
    world.settings({ sandbox: { kind: 'container', image: 'localhost/missing:1' } });
    await world.issue({});
    const { code, stderr } = await world.run('--until-idle').ended;
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/`sandbox: container`, and podman has no image localhost\/missing:1: get it with/);
  });
});
