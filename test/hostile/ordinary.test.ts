/** The attempts as an ordinary user, whom bubblewrap serves differently: these tests run as root where they are run by machines. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CANARY } from '../../src/attack/machine.ts';
import { compiled } from '../support/compiled.ts';

const NOBODY = 65_534;
const asNobody = ['--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'];

/** Why they can't be made here, said loudly. */
function isSkipped(): boolean {
  const isThere = (...argv: string[]): boolean => spawnSync(argv[0]!, argv.slice(1)).status === 0;
  const why =
    process.getuid?.() !== 0
      ? 'only root can become one; as an ordinary user, the other tests are this one'
      : !isThere('bwrap', '--version')
        ? 'install the package bubblewrap'
        : !isThere(
              'setpriv',
              ...asNobody,
              process.execPath,
              '-e',
              `require(${JSON.stringify(join(process.cwd(), 'package.json'))})`,
            )
          ? 'setpriv is missing, or others may not read this checkout or run its Node'
          : null;
  if (why !== null) console.warn(`SKIPPED: hostile attempts as an ordinary user: ${why}.`);
  return why !== null;
}

// It needs root, bubblewrap and a checkout that others may read, as CI has.
describe.skipIf(isSkipped())('as an ordinary user, under bubblewrap', () => {
  let program: ReturnType<typeof compiled>;
  let root = '';
  const system = `/usr/local/share/forge-loop-test-${process.pid}`;
  beforeAll(() => {
    program = compiled('test/hostile/ordinary.ts');
    const door = 'src/sandbox/door-program.js';
    cpSync(door, join(program.folder, door));
    chmodSync(program.folder, 0o755);
    root = mkdtempSync(join(tmpdir(), 'forge-ordinary-'));
    mkdirSync(system);
    writeFileSync(join(system, 'secret'), CANARY, { mode: 0o600 });
    for (const path of [root, join(system, 'secret')]) chownSync(path, NOBODY, NOBODY);
  });
  afterAll(() => {
    for (const folder of [program.folder, root, system]) rmSync(folder, { recursive: true, force: true });
  });

  test('none of those that can do no harm gets out', { timeout: 600_000 }, async ({ skip }) => {
    const child = spawn('setpriv', [...asNobody, process.execPath, program.script, join(system, 'secret')], {
      cwd: root,
      env: { PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`, HOME: root, TMPDIR: root },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const said = json(child.stdout) as Promise<{
      uid: number;
      why: string | null;
      tried: number;
      out: string[];
    }>;
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    const { why, ...found } = await said;
    if (why !== null) {
      console.warn(`SKIPPED: hostile attempts as an ordinary user: ${why}.`);
      skip();
    }
    expect(found).toEqual({ uid: NOBODY, tried: expect.any(Number), out: [] });
    expect(found.tried).toBeGreaterThan(100);
  });
});
