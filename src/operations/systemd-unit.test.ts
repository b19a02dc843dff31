/** The systemd unit, judged by systemd itself where it is there. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { perform } from '../operations.ts';

const here = openedRepository();
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
if (!hasSystemd) console.warn('the unit is not verified: systemd-analyze is missing (package systemd)');

beforeEach(() => void vi.stubEnv('XDG_CONFIG_HOME', join(here.root, 'con%fig $HOME "q"')));
afterEach(() => void vi.unstubAllEnvs());

/** A program that is there and may be run: systemd asks for that. */
function program(): string {
  const file = join(here.root, '50% "of" $PATH');
  writeFileSync(file, '', { mode: 0o755 });
  return file;
}

describe('service install', () => {
  // Elsewhere nobody could run the unit.
  test.skipIf(!hasSystemd)(
    'writes a unit that systemd reads as it was meant, whatever the names',
    async () => {
      const { file } = await perform(here.context, 'service.install', { program: program() });
      const said = spawnSync('systemd-analyze', ['--user', 'verify', file], {
        encoding: 'utf8',
        env: { ...process.env, XDG_RUNTIME_DIR: here.root },
      });
      expect([said.status, said.stderr.split('\n').filter((line) => line.includes('forge-loop'))]).toEqual([
        0,
        [],
      ]);
      const unit = readFileSync(file, 'utf8');
      expect(unit).toContain(`/50%% \\"of\\" $$PATH" "-C" "${here.root}" "--config"`);
      expect(unit).toContain('EnvironmentFile=-');
      expect(unit).toContain('/con%%fig $HOME "q"/forge-loop/');
    },
  );

  test('overwrites its own file, and no other', async () => {
    const input = { program: program() };
    const { file, name } = await perform(here.context, 'service.install', input);
    expect((await perform(here.context, 'service.install', input)).next).toContain(
      `systemctl --user enable --now ${name}`,
    );
    writeFileSync(file, '[Service]\nExecStart=/bin/true\n');
    await expect(perform(here.context, 'service.install', input)).rejects.toThrow(
      'not written by forge-loop',
    );
    await expect(perform(here.context, 'service.remove')).rejects.toThrow('not written by forge-loop');
    expect(readFileSync(file, 'utf8')).toContain('/bin/true');
  });

  test('refuses a folder that systemd has no words for', async () => {
    await expect(
      perform(here.context, 'service.install', { program: '/a\nExecStart=/bin/sh' }),
    ).rejects.toThrow('it has a line break');
  });

  test('remove wants it disabled first, takes it away, and is an error when there is none', async () => {
    const { file, name } = await perform(here.context, 'service.install', { program: program() });
    expect((await perform(here.context, 'uninstall')).left.join('\n')).toContain('forge-loop service remove');
    const wants = join(dirname(file), 'default.target.wants');
    mkdirSync(wants);
    symlinkSync(file, join(wants, name));
    await expect(perform(here.context, 'service.remove')).rejects.toMatchObject({
      message: `${name} is still enabled.`,
      hint: `Disable it first: systemctl --user disable --now ${name}`,
    });
    expect(existsSync(file)).toBe(true);
    rmSync(join(wants, name));
    expect((await perform(here.context, 'service.remove')).next).toEqual(['systemctl --user daemon-reload']);
    expect(existsSync(file)).toBe(false);
    await expect(perform(here.context, 'service.remove')).rejects.toThrow('There is no service here');
  });
});
