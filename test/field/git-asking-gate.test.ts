/** A gate that asks git: which files are tracked, which version this is, whether what is generated is up to date. */
import { describe, expect } from 'vitest';
import { cloneOfTrunk, landedOn, paid } from '../support/e2e/trunk.ts';
import { test, type World } from '../support/e2e/world.ts';

/** Two items with one id are a mistake that only a look at all tracked items finds. */
const UNIQUE = 'test -z "$(git ls-files "items/*" | xargs cat | sort | uniq -d)"';
const VERSION = 'git describe --tags --match "v*" | grep "^v1"';
const GENERATED = 'sh ./generate.sh && git diff --exit-code';

function catalogue(world: World, ...commands: string[]): string {
  world.write('items/first', 'id-1\n');
  world.write('index.txt', 'first\n');
  world.write('generate.sh', 'ls items > index.txt\n');
  world.settings({ gate: { commands } });
  world.git('tag', '-a', 'v1.0', '-m', 'The first release');
  return world.git('rev-parse', 'HEAD').trim();
}

const add = (item: string, id: string) => ({ write: { [`items/${item}`]: `${id}\n` } });

describe('a gate that asks git', () => {
  test('is answered alike in the workspace and on the merged tree: one turn', async ({ world }) => {
    const start = catalogue(world, UNIQUE, VERSION, GENERATED);
    const steps = [add('second', 'id-2'), { shell: 'sh ./generate.sh' }];
    world.script({ when: { role: 'coder', turn: 1 }, steps });
    const issue = await world.issue({ title: 'Add an item' });
    const { stdout } = await world.settle();

    expect(stdout).toContain(`#${issue}`);
    expect(landedOn(world, start)).toEqual(['Add an item']);
    expect(await paid(world)).toEqual({ coder: 1, critic: 1 });
    const trunk = cloneOfTrunk(world);
    expect(trunk.read('index.txt')).toBe('first\nsecond\n');
    expect(trunk.red(UNIQUE, VERSION, GENERATED)).toEqual([]);
  });

  test('finds the clash of two tasks that are green alone: the second goes back to its coder', async ({
    world,
  }) => {
    const start = catalogue(world, UNIQUE);
    const halt = world.halt('both at work');
    const clash = (issue: number, item: string) => [
      { when: { role: 'coder', issue, turn: 1 } as const, steps: [{ shell: halt.shell }, add(item, 'id-2')] },
      { when: { role: 'coder', issue } as const, steps: [add(item, `id-${item}`)] },
    ];
    world.script(...clash(1, 'second'), ...clash(2, 'third'));
    await world.issue({ title: 'Add the second item' });
    await world.issue({ title: 'Add the third item' });
    const runner = world.run('--until-idle');
    await halt.arrived(2);
    halt.lift();
    const { stdout } = await world.finished(runner);

    expect(landedOn(world, start)).toHaveLength(2);
    const trunk = cloneOfTrunk(world);
    expect(trunk.red(UNIQUE)).toEqual([]);
    expect(trunk.files()).toEqual(expect.arrayContaining(['items/second', 'items/third']));
    expect((await paid(world)).coder).toBe(3);
    expect(stdout).toContain('gate on the merged tree failed');
    const candidates = (await world.events()).flatMap((one) =>
      one.type === 'gate_completed' && one.data.scope === 'candidate' ? [one.data.evidence.outcome] : [],
    );
    // Red on top of the first; once more on trunk, if the first had not landed by then.
    const changes = candidates.filter((one, at) => one !== candidates[at - 1]);
    expect(changes).toEqual(['pass', 'fail', 'pass']);
    expect(candidates.length).toBeLessThanOrEqual(4);
  });
});
