/** A runner that was started with files open, as shells, editors and test runners leave them: nothing confined gets at them. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CANARY } from '../../src/attack/machine.ts';
import { compiled } from '../support/compiled.ts';
import {
  type ContainerEngine,
  IMAGE,
  openEngine,
  skippedWithoutEngine,
} from '../support/container-engine.ts';

const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing) console.warn('SKIPPED: descriptors under bubblewrap. Install the package bubblewrap to run it.');

let launcher: ReturnType<typeof compiled>;
let root = '';
const secret = (): string => join(root, 'operator/secret');
beforeAll(() => {
  launcher = compiled('test/hostile/launcher.ts');
  const door = 'src/sandbox/door-program.js';
  cpSync(door, join(launcher.folder, door));
  root = realpathSync(mkdtempSync(join(tmpdir(), 'forge-descriptors-')));
  for (const folder of ['operator', 'workspace']) mkdirSync(join(root, folder));
  writeFileSync(secret(), `${CANARY}\n`);
});
afterAll(() => {
  for (const folder of [launcher.folder, root]) rmSync(folder, { recursive: true, force: true });
});

const HIGH = 57;
const ATTEMPTS = [
  ['reads a file', 'operator/secret', 'r', `cat /proc/self/fd/${HIGH}`],
  ['leaves by a folder', 'operator', 'r', `cat /proc/self/fd/${HIGH}/secret`],
  ['leaves by a folder upwards', 'workspace', 'r', `cat /proc/self/fd/${HIGH}/../operator/secret`],
  [
    'writes to a file',
    'operator/secret',
    'r+',
    `perl -e 'open my $f, ">&=", ${HIGH} or exit; print $f "gone"'; echo gone >/proc/self/fd/${HIGH}`,
  ],
] as const;

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('under bubblewrap', () => passesNothingOn(''));

// It needs podman, which CI installs.
describe.skipIf(skippedWithoutEngine('descriptors in containers'))('in a container', () => {
  let engine: ContainerEngine;
  beforeAll(() => {
    engine = openEngine();
    for (const [name, value] of Object.entries(engine.env)) vi.stubEnv(name, value);
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    engine.dispose();
  });

  passesNothingOn(IMAGE);
});

/** `image`: of containers; none for bubblewrap. */
function passesNothingOn(image: string): void {
  describe.each(['launched', 'recorded', 'talked to', 'attacked'])('%s', (how) => {
    test.each(ATTEMPTS)('%s', async (_, path, flags, script) => {
      const fd = openSync(join(root, path), flags);
      const left = [...Array.from({ length: HIGH - 3 }, () => 'ignore' as const), fd];
      const child = spawn(process.execPath, [launcher.script, how, root, `${script}; echo tried`, image], {
        stdio: ['ignore', 'pipe', 'inherit', ...left],
        timeout: 60_000,
      });
      closeSync(fd);
      let said = '';
      child.stdout?.on('data', (chunk) => {
        said += chunk;
      });
      await once(child, 'close');
      expect(said).toContain('tried');
      expect(said).not.toContain(CANARY);
      expect(readFileSync(secret(), 'utf8')).toBe(`${CANARY}\n`);
    });
  });
}
