import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { isOwnerDead, ownerIdentity } from './owner.ts';
import { processAt } from './table.ts';

test('a live owner is not dead, and two identities of one process differ', () => {
  const owner = ownerIdentity();
  expect(isOwnerDead(owner)).toBe(false);
  expect(ownerIdentity()).not.toBe(owner);
});

test('an owner of another boot, with a pid that is gone or used again, is provably dead', async () => {
  const child = spawn('true');
  await once(child, 'exit');
  const parts = ownerIdentity().split(/[@/]/);
  const owner = (change: Record<number, string>) => {
    const [pid, ...rest] = parts.map((part, index) => change[index] ?? part);
    return `${pid}@${rest.join('/')}`;
  };
  expect(isOwnerDead(owner({}))).toBe(false);
  expect(isOwnerDead(owner({ 0: `${child.pid}` }))).toBe(true);
  expect(isOwnerDead(owner({ 2: 'another-boot' }))).toBe(true);
  expect(isOwnerDead(owner({ 3: '1' }))).toBe(true);
});

test('an owner that was killed but not yet reaped is dead', async () => {
  // The shell becomes a program that never waits for the child it inherited.
  const parent = spawn('sh', ['-c', 'sleep 1000 & echo $!; exec sleep 1000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = Number(await once(parent.stdout, 'data'));
  const [, ...rest] = ownerIdentity().split('/');
  const owner = `${pid}@${ownerIdentity().split(/[@/]/)[1]}/${[rest[0], processAt(pid)?.startTime, rest[2]].join('/')}`;
  expect(isOwnerDead(owner)).toBe(false);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => isOwnerDead(owner)).toBe(true);
  parent.kill('SIGKILL');
});

test('what can not be proved is not claimed: another host, another format', () => {
  const owner = ownerIdentity();
  expect(isOwnerDead(owner.replace(/@[^/]+/, '@elsewhere').replace(/^\d+/, '999999999'))).toBe(false);
  expect(isOwnerDead('somebody')).toBe(false);
});
