/** Run on Linux; on macOS nobody has. `npm run test:agents` installs the package. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { sandboxStage } from '../../test/support/sandbox-stage.ts';
import { BELOW, BESIDE, skippedWithoutSrt, WHOLE_PATH } from '../../test/support/srt.ts';
import { installHint } from '../agent/install-hint.ts';
import { bwrap } from './bwrap.ts';
import { containers } from './container.ts';
import { sandboxContract } from './contract.ts';
import { openSandbox } from './open.ts';
import { srt } from './srt.ts';
import { srtSettings } from './srt-settings.ts';

beforeAll(() => {
  vi.stubEnv('PATH', WHOLE_PATH);
  vi.stubEnv('TMPDIR', BELOW);
});
afterAll(() => {
  vi.unstubAllEnvs();
});

const stage = sandboxStage({
  name: 'srt',
  kind: 'srt',
  open: (options) => srt({ ...options, installHint }, BESIDE),
  below: BELOW,
  // What starts it, and its temporary files.
  shows: /\/state\/sandbox\/launch-\d+-\w+\/start$/,
});
const { at, options, access, command, inside } = stage;

// It needs the package, which `npm run test:agents` installs, and with it CI.
describe.skipIf(skippedWithoutSrt('confinement by srt'))('a command confined by srt, on Linux', () => {
  sandboxContract(stage);

  test('has its own temporary folder, and none that all of them share', async () => {
    mkdirSync('/tmp/claude', { recursive: true });
    expect(
      await inside('touch "$TMPDIR/x" && echo made; touch /tmp/claude/x 2>/dev/null && ls -A /tmp/claude'),
    ).toMatchObject({ said: expect.stringMatching(/^made/) });
    expect(spawnSync('ls', ['/tmp/claude'], { encoding: 'utf8' }).stdout).not.toContain('x\n');
  });

  test('has nothing in its environment but what it was given', async () => {
    const { said } = await inside('env | cut -d= -f1 | sort');
    expect(said.split('\n')).toEqual(
      ['HOME', 'OLDPWD', 'PATH', 'PWD', 'TMPDIR'].filter((name) => said.includes(name)),
    );
  });

  test('is not given what it would take for a pattern, or does not show', async () => {
    mkdirSync(at('work[1]'));
    const odd = access({ writeRoots: [at('workspace'), at('work[1]')] });
    await expect(srt({ ...options(), installHint }, BESIDE).confine(command(':'), odd)).rejects.toThrow(
      /\*\?\[\]/,
    );
    const device = access({ readRoots: ['/dev/shm'] });
    await expect(srt({ ...options(), installHint }, BESIDE).confine(command(':'), device)).rejects.toThrow(
      /nothing below \/dev/,
    );
  });

  test('is taken on macOS where nothing better works, and on Linux only when it is asked for', async () => {
    const without = { ...options(), never: 'not for this test' };
    const sandboxes = {
      bwrap: bwrap(without),
      containers: containers(without),
      srt: srt({ ...options(), installHint }, BESIDE),
    };
    for (const kind of ['auto', 'required'] as const) {
      const [mac, linux] = [openSandbox(sandboxes, 'darwin'), openSandbox(sandboxes, 'linux')];
      expect(await mac.choose({ kind, image: null })).toMatchObject({ kind: 'srt', why: null });
      expect(await linux.choose({ kind, image: null })).toMatchObject({
        kind: kind === 'auto' ? 'none' : null,
        why: 'not for this test',
      });
      expect(await linux.choose({ kind: 'srt', image: null })).toMatchObject({ kind: 'srt' });
    }
  });
});

test('without the package there is no srt, and how to install it is said', async () => {
  const nowhere = 'file:///nonexistent/module.js';
  const sandbox = openSandbox({
    bwrap: bwrap(options()),
    containers: containers(options()),
    srt: srt({ ...options(), installHint }, nowhere),
  });
  expect(await sandbox.choose({ kind: 'srt', image: null })).toEqual({
    kind: null,
    why: expect.stringMatching(
      /^srt is not installed: .*npm install.*@anthropic-ai\/sandbox-runtime@0\.0\.78/,
    ),
  });
  await expect(sandbox.confine(command(':'), access())).rejects.toThrow(/srt is not installed/);
});

describe('on macOS, as far as can be told here', () => {
  const way = { socket: '/private/door', port: 17_001, env: {}, reads: [], offer: '' };
  const view = {
    platform: 'darwin' as const,
    read: ['/usr'],
    write: ['/w'],
    masked: ['/etc/ssh'],
    shared: ['/s'],
  };

  test('a command may use the port of its own door, and no other', () => {
    expect(srtSettings({ ...view, network: way }).network).toEqual({
      allowedDomains: [],
      deniedDomains: [],
      allowUnixSockets: ['/private/door', '/w'],
      httpProxyPort: 17_001,
      socksProxyPort: 17_001,
    });
  });

  test('without a door it may use none', () => {
    expect(srtSettings({ ...view, network: 'none' }).network).toEqual({
      allowedDomains: [],
      deniedDomains: [],
      allowUnixSockets: ['/w'],
    });
  });

  test('it reads what it was given and nothing else', () => {
    expect(srtSettings({ ...view, network: 'none' }).filesystem).toEqual({
      denyRead: ['/', '/etc/ssh'],
      allowRead: ['/usr', '/w'],
      allowWrite: ['/w'],
      denyWrite: ['/s'],
    });
  });
});
