import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { liveProcesses } from './table.ts';

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
});
