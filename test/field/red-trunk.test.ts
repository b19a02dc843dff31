/** A trunk that is red: an issue that is about it, and one that is not. */
import { describe, expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

const GATE = 'node check.mjs';

/** Green when no part is missing: whoever mends it needs a turn for each. */
function withMissingParts(world: World): string {
  world.write(
    'check.mjs',
    'import { existsSync } from "node:fs";\n' +
      'const missing = [1, 2, 3, 4].filter((n) => !existsSync("parts/" + n));\n' +
      'if (missing.length > 0) { console.log("missing: " + missing); process.exit(1); }\n',
  );
  world.settings({ gate: { commands: [GATE] }, agent: { max_turns: 8 } });
  return world.git('rev-parse', 'HEAD').trim();
}

describe('a red trunk', () => {
  test('an issue whose goal is the red command is ordinary work: four turns, and it is green', async ({
    world,
  }) => {
    const start = withMissingParts(world);
    const issue = await world.issue({
      title: 'Make the check pass',
      body: '## Acceptance\n\n- [ ] `node check.mjs` exits 0\n',
    });
    world.script(
      { when: { role: 'coder' }, steps: [{ shell: 'mkdir -p parts && echo yes > "parts/$FORGE_TURN"' }] },
      {
        when: { role: 'critic' },
        steps: [
          { answer: { verdict: 'APPROVE', criteria: [{ id: 'c1', met: 'met', evidence: 'the gate' }] } },
        ],
      },
    );
    const { stdout } = await world.settle();
    expect(landedOn(world, start)).toEqual(['Make the check pass']);
    expect(cloneOfTrunk(world).red(GATE)).toEqual([]);
    expect(await paid(world)).toEqual({ coder: 4, critic: 1 });
    expect(stdout).not.toContain('trunk_red');
    expect(await world.task(issue)).toMatchObject({ state: 'merged', turns: 4 });
  });

  test('an issue that is not about it waits, and goes on by itself on the trunk that was mended', async ({
    world,
  }) => {
    const start = withMissingParts(world);
    const issue = await world.issue({ title: 'Write the file' });
    const { stdout, stderr } = await world.settle(3);
    expect(stdout + stderr).toContain(GATE);
    expect(landedOn(world, start)).toEqual([]);
    const before = await paid(world);
    expect(before.coder, 'no more is paid than finds it out').toBeLessThanOrEqual(2);

    for (const part of [1, 2, 3, 4]) world.write(`parts/${part}`, 'yes\n');
    const mended = world.commit('Mend trunk');
    await world.settle();
    expect(landedOn(world, mended)).toEqual(['Write the file']);
    const trunk = cloneOfTrunk(world);
    expect(trunk.red(GATE)).toEqual([]);
    expect(trunk.read(`done-${issue}.txt`)).toBe('done\n');
    expect((await paid(world)).coder - before.coder).toBeLessThanOrEqual(1);
  });
});
