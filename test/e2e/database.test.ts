/** The database when the machine fails it: a clear error, nothing lost, nothing deleted. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect } from 'vitest';
import { expectEventsWithoutGap, expectMergedOnce } from '../support/e2e/merged-once.ts';
import { test, type World } from '../support/e2e/world.ts';

/** Null when it may be done here; else why not. */
function whyNotMount(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'mounting needs root on Linux';
  const probe = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt'], {
    encoding: 'utf8',
  });
  return probe.status === 0 ? null : `mount is not permitted here: ${probe.stderr.trim()}`;
}

const cannotMount = whyNotMount();
if (cannotMount !== null)
  console.warn(`SKIPPED: full disk and read-only file system, because ${cannotMount}`);

function mount(world: World, ...args: string[]): void {
  const path = args.at(-1)!;
  mkdirSync(path, { recursive: true });
  execFileSync('mount', args);
  world.atEnd(() => execFileSync('umount', ['--lazy', path]));
}

/** Takes all the space there is; the function returned gives it back. */
function fill(folder: string): () => void {
  const path = join(folder, 'ballast');
  for (let bytes = 1 << 20; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(bytes), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
  expect(statfsSync(folder).bavail).toBe(0);
  return () => rmSync(path);
}

// A disk that is full needs a mount of its own, which needs root.
describe.skipIf(cannotMount !== null)('a full disk', () => {
  test('under .forge, mid-turn: commands say so, and the loop goes on when there is space (dispatch 43)', async ({
    world,
  }) => {
    const forge = join(world.root, '.forge');
    mount(world, '-t', 'tmpfs', '-o', 'size=4m', 'none', forge);
    const halt = world.halt('turn');
    world.script({
      when: { role: 'coder' },
      steps: [
        { write: { 'begun.txt': 'begun\n' } },
        { shell: halt.shell },
        { shell: 'echo done > done-1.txt' },
      ],
    });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await halt.arrived();
    const sessionId = (await world.task(issue)).roles.coder.session;
    const free = fill(forge);

    const refused = await world.cli('pause');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/disk is full; free some space/);
    expect((await world.status()).tasks, 'reading still works').toMatchObject([{ state: 'running' }]);
    halt.lift();
    await world.until('the runner to say so', () => /disk is full/.test(runner.said()));
    free();
    await world.finished(runner);
    expect(await expectMergedOnce(world, issue)).toMatchObject({ sessionIds: [sessionId] });
    expect(world.read('begun.txt')).toBe('begun\n');
  });

  test('when a run starts: exit 1 with the reason, and everything is still there afterwards (dispatch 43)', async ({
    world,
  }) => {
    const forge = join(world.root, '.forge');
    mount(world, '-t', 'tmpfs', '-o', 'size=4m', 'none', forge);
    world.settings({ merge: { enabled: false } });
    const issue = await world.issue({});
    await world.settle(3);
    const before = await world.task(issue);
    const free = fill(forge);
    const { code, stderr } = await world.cli('run', '--until-idle');
    expect(code).toBe(1);
    expect(stderr).toMatch(/disk is full; free some space/);
    free();
    expect(await world.task(issue)).toEqual(before);
    world.settings({});
    await world.settle();
    await expectMergedOnce(world, issue);
  });

  test('under the workspaces: the task is put off, not lost, and goes on when there is space (dispatch 43)', async ({
    world,
  }) => {
    mount(world, '-t', 'tmpfs', '-o', 'size=2m', 'none', world.stateHome);
    const free = fill(world.stateHome);
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    const failed = await world.until('the problem to be recorded', async () =>
      (await world.events().catch(() => [])).find((one) => one.type === 'loop_failed'),
    );
    expect(JSON.stringify(failed.data)).toMatch(/no space left/i);
    free();
    await world.finished(runner);
    expect(await expectMergedOnce(world, issue)).toMatchObject({ turns: 1, attempt: 1 });
  });
});

describe('a read-only database', () => {
  const isRoot = process.getuid?.() === 0;
  // Root may write to files that are read-only; for root it takes a mount.
  test.skipIf(isRoot && cannotMount !== null)(
    'is an error with advice; it can still be read (dispatch 43)',
    async ({ world }) => {
      const issue = await world.issue({});
      world.settings({ merge: { enabled: false } });
      await world.settle(3);
      const forge = join(world.root, '.forge');
      if (isRoot) {
        mount(world, '--bind', forge, forge);
        execFileSync('mount', ['-o', 'remount,bind,ro', forge]);
      } else {
        chmodSync(join(forge, 'forge.db'), 0o444);
        chmodSync(forge, 0o555);
        world.atEnd(() => chmodSync(forge, 0o755));
      }
      const { code, stderr } = await world.cli('run', '--until-idle');
      expect(code).toBe(1);
      expect(stderr).toMatch(/read-only|cannot be opened/);
      expect(stderr).toContain('writ');
      const { tasks } = await world.status();
      expect(tasks).toMatchObject([{ issue, state: 'awaiting_critic' }]);
      expect((await world.cli('doctor')).code).toBe(1);
    },
  );
});

describe('a damaged database', () => {
  test('is moved aside whole and never used; a run starts afresh once a person says so (dispatch 43)', async ({
    world,
  }) => {
    const issue = await world.issue({});
    await world.settle();
    const database = join(world.root, '.forge', 'forge.db');
    new Database(database).pragma('wal_checkpoint(TRUNCATE)');
    const damaged = readFileSync(database);
    damaged.fill(0x2a, 0, 2048);
    writeFileSync(database, damaged);

    const looked = await world.cli('status');
    expect(looked).toMatchObject({ code: 1, stderr: expect.stringContaining('damaged') });
    expect(readFileSync(database).equals(damaged), 'looking changes nothing').toBe(true);

    const { code, stderr } = await world.cli('run', '--until-idle');
    expect(code).toBe(1);
    expect(stderr).toMatch(/is damaged .* moved to .*forge\.db\.corrupt-.*nothing was deleted/s);
    expect(existsSync(database)).toBe(false);
    const aside = readdirSync(join(world.root, '.forge')).find((name) =>
      /^forge\.db\.corrupt-[^-]*-.*Z$/.test(name),
    );
    expect(readFileSync(join(world.root, '.forge', aside!)).equals(damaged)).toBe(true);

    const refused = await world.cli('run', '--until-idle');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('but the loop has worked here'),
    });
    expect((await world.cli('restore', '--empty')).code).toBe(0);
    const again = await world.issue({ title: 'After the damage' });
    expect(again).toBe(issue + 1);
    expect((await world.cli('run', '--until-idle')).code).toBe(0);
    const { tasks } = await world.status();
    expect(tasks).toMatchObject([{ issue: again, state: 'merged' }]);
    expect(world.read(`done-${issue}.txt`), 'what had merged is merged').toBe('done\n');
  });

  test('a run that ended leaves everything in one file, which a backup beside a runner has too', async ({
    world,
  }) => {
    const issue = await world.issue({});
    await world.settle();
    const alone = join(world.root, '.forge', 'alone.db');
    copyFileSync(join(world.root, '.forge', 'forge.db'), alone);
    const tasks = new Database(alone).prepare('SELECT issue, state FROM tasks').all();
    expect(tasks).toEqual([{ issue, state: 'merged' }]);

    const runner = world.run();
    await world.until(
      'the runner to be there',
      async () => (await world.events()).filter(({ type }) => type === 'runner_started').length === 2,
    );
    const made = await world.cli('backup', join(world.root, '.forge', 'backup.db'), '--json');
    expect(JSON.parse(made.stdout)).toMatchObject({ events: expect.any(Number) });
    await runner.kill();
  });

  test('killed again and again while it writes, it stays whole', async ({ world }) => {
    const issues = [await world.issue({}), await world.issue({ title: 'Another one' })];
    for (let kills = 0, seen = 0; kills < 5; kills++) {
      const runner = world.run();
      const { length } = await world.until('something to be written', async () => {
        const events = await world.events().catch(() => []);
        const tasks = events.length === 0 ? [] : await (await world.store()).tasks();
        // A third interrupted turn in a row would make its task wait; and a slow look may find everything done.
        const mayBeCut = kills < 2 || tasks.every(({ task }) => task.turn === null);
        const isDone = tasks.length > 1 && tasks.every(({ task }) => task.state === 'merged');
        return isDone || (events.length > seen + 2 && mayBeCut) ? events : null;
      });
      seen = length;
      await runner.kill();
    }
    await world.settle();
    for (const issue of issues) await expectMergedOnce(world, issue);
    await expectEventsWithoutGap(world);
  });
});
