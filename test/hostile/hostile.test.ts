/**
 * The attempts, under each sandbox that works here. Without a sandbox most of them have to get somewhere: an attempt that
 * never could proves nothing.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { installHint } from '../../src/agent/install-hint.ts';
import { escapes, type Target } from '../../src/attack/attack.ts';
import { ATTEMPTS, type Attempt } from '../../src/attack/attempts.ts';
import { type Machine, makeMachine } from '../../src/attack/machine.ts';
import { openGateway } from '../../src/gateway/server.ts';
import { bwrap } from '../../src/sandbox/bwrap.ts';
import { containers } from '../../src/sandbox/container.ts';
import { noSandbox } from '../../src/sandbox/none.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { srt } from '../../src/sandbox/srt.ts';
import {
  type ContainerEngine,
  IMAGE,
  openEngine,
  skippedWithoutEngine,
} from '../support/container-engine.ts';
import { type SecureHosts, secureHosts } from '../support/secure-hosts.ts';
import { BELOW, BESIDE, skippedWithoutSrt, WHOLE_PATH } from '../support/srt.ts';
import { SECRET_ATTEMPTS, SECRETS, VALUES } from './secret-attempts.ts';
import { chunksOf, escapesTogether } from './together.ts';

let hosts: SecureHosts;
let machine: Machine;
beforeAll(async () => {
  hosts = await secureHosts();
  hosts.answer = ({ headers, url, body }, response) => {
    response.end(`${headers.authorization} ${headers['x-key']} ${url} ${body}`);
  };
  machine = await makeMachine(openGateway({ ...hosts.operator, ...VALUES }), SECRETS);
});
afterAll(async () => {
  await machine.dispose();
  await hosts.close();
});

const ALL = [...ATTEMPTS, ...SECRET_ATTEMPTS];

const LATER = ALL.filter(({ later }) => later !== undefined).map(
  (attempt) => [attempt.name, attempt] as const,
);
const CHUNKS = chunksOf(ALL).map((chunk) => [chunk[0]?.name, chunk] as const);

/** What gets out of some sandboxes, and why; docs/security.md says so, too. */
type Known = Readonly<Record<string, string>>;

const OUT_OF_CONTAINERS: Known =
  process.getuid?.() === 0
    ? {
        'is root': 'it has the number of the user who runs the loop, and no capability',
        'writes to the log of the kernel': 'a file of that name in a /dev of its own, which is in memory',
        'reads the log of the kernel': 'the same file',
      }
    : {};

const NO_FILTER = 'srt filters no kernel calls but those of sockets';
const ROOT = 'the runner is root, and /proc and /dev are as root sees them';
const OUT_OF_SRT: Known = {
  'changes the kernel settings': ROOT,
  'catches core dumps of the host': ROOT,
  'may change the machine by /proc': ROOT,
  'reads what the kernel shows to root': ROOT,
  'writes to the log of the kernel': ROOT,
  'reads the log of the kernel': ROOT,
  'is root': ROOT,
  'makes a network namespace': NO_FILTER,
  'reads the session keyring': NO_FILTER,
  'sets up io_uring': NO_FILTER,
  'handles faults of pages': NO_FILTER,
  'talks to the host of a virtual machine': NO_FILTER,
};

const options = (folder: string, on: Machine = machine): SandboxOptions => ({
  folder: join(on.state, 'key', folder),
  objects: () => [join(on.repository, '.git/objects')],
  hidden: [on.operator, on.repository, on.state],
  programs: [process.execPath],
  // As the settings of a loop with such a role say.
  writable: () => ATTEMPTS.flatMap(({ later }) => (later ? [join(on.operator, later.write)] : [])),
  never: null,
});

const byBwrap = (): Target => ({ kind: 'bwrap', sandbox: bwrap(options('sandbox')), knowsGrants: true });

const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing)
  console.warn('SKIPPED: hostile attempts under bubblewrap. Install the package bubblewrap to run them.');

test('there are a hundred attempts, no two of one name', () => {
  const names = ALL.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThanOrEqual(100);
});

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('under bubblewrap', () => {
  test.each(ALL.map((attempt) => [attempt.name, attempt] as const))('%s', async (name, attempt) => {
    expect(await escapes(attempt, machine, byBwrap()), name).toEqual([]);
  });
});

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('under bubblewrap, what has to work for the attempts to mean something', () => {
  test('a secret reaches its host', async () => {
    const attempt = ALL.find(({ name }) => name === 'has the host of a secret say it')!;
    hosts.heard = [];
    expect(await escapes(attempt, machine, byBwrap())).toEqual([]);
    expect(JSON.stringify(hosts.heard)).toContain(VALUES.SECRET_KEY);
  });
});

// It needs podman, which CI installs.
describe.skipIf(skippedWithoutEngine('hostile attempts in containers'))('in a container', () => {
  let engine: ContainerEngine;
  let target: Target;
  beforeAll(() => {
    engine = openEngine();
    for (const [name, value] of Object.entries(engine.env)) vi.stubEnv(name, value);
    const confinement = containers(options('containers'));
    target = {
      kind: { image: IMAGE },
      sandbox: { confine: (command, access) => confinement.confine(command, access, IMAGE) },
      knowsGrants: true,
    };
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    engine.dispose();
  });

  test.each(CHUNKS)('%s, and more', (_, chunk) => playTogether(chunk, machine, target, OUT_OF_CONTAINERS));

  test.each(LATER)('%s', async (_, attempt) => {
    expect(await escapes(attempt, machine, target)).toEqual([]);
  });
});

// It needs the package, which `npm run test:agents` installs, and with it CI.
describe.skipIf(skippedWithoutSrt('hostile attempts under srt'))('under srt, on Linux', () => {
  let own: Machine;
  let target: Target;
  beforeAll(async () => {
    vi.stubEnv('PATH', WHOLE_PATH);
    vi.stubEnv('TMPDIR', BELOW);
    own = await makeMachine(openGateway({ ...hosts.operator, ...VALUES }), SECRETS);
    target = {
      kind: 'srt',
      sandbox: srt({ ...options('srt', own), installHint }, BESIDE),
      knowsGrants: true,
    };
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await own.dispose();
  });

  test.each(CHUNKS)('%s, and more', (_, chunk) => playTogether(chunk, own, target, OUT_OF_SRT));

  test.each(LATER)('%s', async (_, attempt) => {
    expect(await escapes(attempt, own, target)).toEqual([]);
  });
});

const effective = ALL.filter(({ needs }) => needs === undefined);

describe('without a sandbox gets somewhere', () => {
  test.each(effective.map((attempt) => [attempt.name, attempt] as const))('%s', async (_, attempt) => {
    const own = await makeMachine(openGateway({}));
    try {
      expect(await escapes(attempt, own, { kind: 'none', sandbox: noSandbox() })).not.toEqual([]);
    } finally {
      await own.dispose();
    }
  });
});

async function playTogether(
  chunk: readonly Attempt[],
  on: Machine,
  target: Target,
  known: Known,
): Promise<void> {
  const { escaped, found } = await escapesTogether(chunk, on, target);
  expect(escaped.filter((name) => !(name in known))).toEqual([]);
  expect(found).toEqual([]);
}
