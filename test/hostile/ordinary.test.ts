/** The attempts as an ordinary user, whom bubblewrap serves differently: these tests run as root where they are run by machines. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CANARY } from '../../src/attack/machine.ts';
import { compiled } from '../support/compiled.ts';

const NOBODY = 65_534;
const asNobody = ['setpriv', '--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'];

/** podman gives a user's containers users of their own, if the system has numbers for them; here it has, for this one alone. */
const withNumbers = (root: string): string[] => {
  const numbers = join(root, 'numbers');
  writeFileSync(numbers, 'nobody:200000:65536\n');
  const bind = 'mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && shift && exec "$@"';
  return ['unshare', '--mount', 'sh', '-c', bind, 'sh', numbers];
};

const isThere = (...argv: string[]): boolean => spawnSync(argv[0]!, argv.slice(1)).status === 0;
const readsThis = ['-e', `require(${JSON.stringify(join(process.cwd(), 'package.json'))})`];

/** Why they can't be made here, said loudly. */
function isSkipped(what: string, missing: string | null): boolean {
  const why =
    process.getuid?.() !== 0
      ? 'only root can become one; as an ordinary user, the other tests are this one'
      : (missing ??
        (isThere(...asNobody, process.execPath, ...readsThis)
          ? null
          : 'setpriv is missing, or others may not read this checkout or run its Node'));
  if (why !== null) console.warn(`SKIPPED: hostile attempts as an ordinary user ${what}: ${why}.`);
  return why !== null;
}

const noBwrap = isThere('bwrap', '--version') ? null : 'install the package bubblewrap';
const podmans = ['podman', 'runc', 'newuidmap'].filter((name) => !isThere('which', name));
const noPodman = podmans.length === 0 ? null : `${podmans.join(' and ')} is missing (podman, runc, uidmap)`;

let program: ReturnType<typeof compiled>;
let root = '';
const system = `/usr/local/share/forge-loop-test-${process.pid}`;
beforeAll(() => {
  program = compiled('test/hostile/ordinary.ts');
  const door = 'src/sandbox/door-program.js';
  cpSync(door, join(program.folder, door));
  chmodSync(program.folder, 0o755);
  root = mkdtempSync(join(tmpdir(), 'forge-ordinary-'));
  mkdirSync(join(root, 'run'), { mode: 0o700 });
  mkdirSync(system);
  writeFileSync(join(system, 'secret'), CANARY, { mode: 0o600 });
  for (const path of [root, join(root, 'run'), join(system, 'secret')]) chownSync(path, NOBODY, NOBODY);
});
afterAll(() => {
  // podman of an ordinary user leaves a process that keeps its namespaces for the next container.
  const waiting = join(root, 'run/libpod/tmp/pause.pid');
  if (existsSync(waiting)) process.kill(Number(readFileSync(waiting, 'utf8')), 'SIGKILL');
  for (const folder of [program.folder, root, system]) rmSync(folder, { recursive: true, force: true });
});

describe.each([
  ['bwrap', 'under bubblewrap', noBwrap],
  ['container', 'in containers', noPodman],
])('%s', (kind, what, missing) => {
  // It needs root, bubblewrap or podman, and a checkout that others may read, as CI has.
  test.skipIf(isSkipped(what, missing))(
    `as an ordinary user ${what}, none of those that can do no harm gets out`,
    { timeout: 600_000 },
    async ({ skip }) => {
      const numbered = kind === 'container' ? withNumbers(root) : [];
      const [first = '', ...rest] = [...numbered, ...asNobody, process.execPath, program.script, kind];
      const child = spawn(first, [...rest, join(system, 'secret')], {
        cwd: root,
        env: {
          PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin:/usr/sbin`,
          ...{ HOME: root, TMPDIR: root, XDG_RUNTIME_DIR: join(root, 'run') },
        },
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
        console.warn(`SKIPPED: hostile attempts as an ordinary user ${what}: ${why}.`);
        skip();
      }
      expect(found).toEqual({ uid: NOBODY, tried: expect.any(Number), out: [] });
      expect(found.tried).toBeGreaterThan(100);
    },
  );
});
