/** Everything that a turn needs, tried once: a door, our Node behind it, and a place to write to. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Access, SandboxKind } from '../core/role.ts';
import { run } from './run.ts';
import type { Command, Confined } from './sandbox.ts';

interface Tried {
  /** Why it was not confined at all. */
  problem: string | null;
  said: string;
  code: number;
  /** Of what it wrote. */
  owner: number | null;
  isReached: boolean;
}

export async function tryOut(
  sandbox: SandboxKind,
  confine: (command: Command, access: Access) => Promise<Confined>,
  late: string,
): Promise<Tried> {
  const place = mkdtempSync(join(shortPlace(), 'forge-trial-'));
  let isReached = false;
  const cwd = join(place, 'workspace');
  const server = createServer((client) => {
    isReached = true;
    writeFileSync(join(cwd, 'reached'), '');
    client.destroy();
  });
  try {
    const socket = join(place, 'door');
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve));
    mkdirSync(cwd);
    const command = { argv: ['/bin/sh', '-c', UNTIL_REACHED], env: {}, cwd };
    const { argv, env, problem, dispose, ...started } = await confine(command, {
      readRoots: [],
      writeRoots: [cwd],
      network: { socket, port: await somePort(), env: {}, reads: [], offer: 'trial.invalid:1' },
      tools: 'work',
      sandbox,
    });
    const { said, code } = await run(argv, { env, cwd: started.cwd, timeoutMs: 120_000, late }).finally(
      dispose,
    );
    const owner = statSync(join(cwd, 'made'), { throwIfNoEntry: false })?.uid ?? null;
    return { problem: problem({ code }), said, code, owner, isReached };
  } finally {
    server.close();
    rmSync(place, { recursive: true, force: true });
  }
}

/** The command is there before its door is. */
const UNTIL_REACHED =
  'left=400; : >made; while [ ! -e reached ] && [ $left -gt 0 ]; do sleep 0.05 || sleep 1; left=$((left - 1)); done';

/**
 * That a machine is full is over in a while, and may be somebody's intention. Namespaces without space are those that a machine
 * allows nobody.
 */
export const isForNow = (said: string): boolean =>
  /resource temporarily unavailable|cannot allocate memory|out of memory|too many open files|can(no|')?t fork/i.test(
    said,
  ) ||
  (/no space left/i.test(said) && !/namespace/i.test(said));

/** For the name of a socket, which has at most 104 bytes. */
function shortPlace(): string {
  const temporary = realpathSync(tmpdir());
  return Buffer.byteLength(temporary) <= 80 ? temporary : realpathSync('/tmp');
}

/** That nobody has right now. */
const somePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
