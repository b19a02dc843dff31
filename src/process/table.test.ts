import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compiled } from '../../test/support/compiled.ts';
import { bootClock, isInhabited, liveProcesses } from './table.ts';

// Only Linux tells of its processes in files.
describe.skipIf(process.platform !== 'linux')('the process table', () => {
  /** Everybody whose memory is not the kernel's, by the kernel's own word. */
  const everybody = (): number[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const status = readFileSync(`/proc/${pid}/status`, 'utf8');
          return /^VmSize:/m.test(status) ? [Number(pid)] : [];
        } catch {
          return [];
        }
      });

  test('has everybody who is there all the time', async () => {
    const child = spawn('sleep', ['1000'], { detached: true });
    await once(child, 'spawn');
    const before = everybody();
    const listed = liveProcesses();
    const after = new Set(everybody());
    const pids = new Set(listed.map(({ pid }) => pid));
    expect(before.filter((pid) => after.has(pid) && !pids.has(pid))).toEqual([]);
    expect(pids).toContain(process.pid);
    expect(listed).toContainEqual(
      expect.objectContaining({ pid: child.pid, group: child.pid, session: child.pid }),
    );
    child.kill('SIGKILL');
  });

  const WAYS: [string, (folder: string) => SpawnOptions][] = [
    ['works in', (cwd) => ({ cwd })],
    ['was told of', (folder) => ({ env: { ...process.env, HOME: join(folder, 'home') } })],
  ];
  test.each(WAYS)('knows a folder that somebody %s', async (_what, options) => {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'forge-table-'));
    expect(isInhabited(folder)).toBe(false);
    const child = spawn('sleep', ['1000'], options(folder));
    await once(child, 'spawn');
    expect([isInhabited(folder), isInhabited(folder.slice(0, -1))]).toEqual([true, false]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isInhabited(folder)).toBe(false);
    rmSync(folder, { recursive: true });
  });
});

// Elsewhere there are no containers that share a kernel.
describe.skipIf(process.platform !== 'linux')('the clock that runs since the machine started', () => {
  let program: ReturnType<typeof compiled>;
  beforeAll(() => {
    program = compiled('test/support/boot-clock.ts');
  });
  afterAll(() => rmSync(program.folder, { recursive: true, force: true }));

  const asked = (...wrapped: string[]): { id: string; now: number } => {
    const [command, ...args] = [...wrapped, process.execPath, program.script];
    return JSON.parse(execFileSync(command!, args, { encoding: 'utf8' }));
  };

  function expectShared(ask: () => { id: string; now: number }): void {
    const before = bootClock.now();
    const { id, now } = ask();
    expect(id).toBe(bootClock.id);
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(bootClock.now());
  }

  test('is the same for every process', () => expectShared(() => asked()));

  const may = (...options: string[]): boolean => spawnSync('unshare', [...options, 'true']).status === 0;

  // Mounting needs the rights of root.
  test.skipIf(!may('--mount'))('also in a container that is shown a time of its own since its start', () => {
    const fake = join(program.folder, 'uptime');
    writeFileSync(fake, '5.00 5.00\n');
    const shown = `mount --bind '${fake}' /proc/uptime && exec "$@"`;
    expectShared(() => asked('unshare', '--mount', 'sh', '-c', shown, 'sh'));
  });

  // So does a clock of one's own, and a kernel that has them.
  test.skipIf(!may('--time', '--monotonic', '86400'))('another clock has another name', () => {
    const elsewhere = ['unshare', '--time', '--fork', '--monotonic', '86400', '--boottime', '86400'];
    expect(asked(...elsewhere).id).not.toBe(bootClock.id);
  });
});
