/**
 * The attempts that can do no harm, as the user who runs this: says which of them got out. Its arguments are the sandbox, and a file
 * of the system's that belongs to that user.
 */
import { join } from 'node:path';
import { escapes, play, spoken, type Target } from '../../src/attack/attack.ts';
import { ATTEMPTS } from '../../src/attack/attempts.ts';
import { type Machine, makeMachine } from '../../src/attack/machine.ts';
import { openGateway } from '../../src/gateway/server.ts';
import { bwrap } from '../../src/sandbox/bwrap.ts';
import { containers } from '../../src/sandbox/container.ts';
import type { SandboxOptions, Unavailable } from '../../src/sandbox/sandbox.ts';
import { IMAGE, openEngine } from '../support/container-engine.ts';
import { chunksOf, escapesTogether } from './together.ts';

interface Made {
  missing: Unavailable | null;
  tried: number;
  out: string[];
}

const [kind = '', ownFile = ''] = process.argv.slice(2);
const harmless = ATTEMPTS.filter(({ harms }) => !harms);
const machine = await makeMachine(openGateway({}));
const { missing, tried, out } = await (kind === 'bwrap' ? underBwrap(machine) : inContainers(machine));
await machine.dispose();
console.log(JSON.stringify({ uid: process.getuid?.(), why: missing?.why ?? null, tried, out }));

function options(folder: string): SandboxOptions {
  return {
    folder: join(machine.state, 'key', folder),
    objects: () => [join(machine.repository, '.git/objects')],
    hidden: [machine.operator, machine.repository, machine.state],
    programs: [process.execPath],
    writable: () => ATTEMPTS.flatMap(({ later }) => (later ? [join(machine.operator, later.write)] : [])),
    never: null,
  };
}

async function underBwrap(on: Machine): Promise<Made> {
  const sandbox = bwrap(options('sandbox'));
  const missing = await sandbox.unavailable();
  if (missing !== null) return { missing, tried: 0, out: [] };
  const target: Target = { kind: 'bwrap', sandbox, knowsGrants: true };
  const out: string[] = [];
  for (const attempt of harmless) if ((await escapes(attempt, on, target)).length > 0) out.push(attempt.name);
  const { said } = await play(`cat '${ownFile}'`, on, target);
  if (spoken(said).length > 0) out.push('reads a file of the system that belongs to its operator');
  return { missing, tried: harmless.length, out };
}

async function inContainers(on: Machine): Promise<Made> {
  const engine = openEngine();
  try {
    Object.assign(process.env, engine.env);
    const sandbox = containers(options('containers'));
    const missing = await sandbox.unavailable(IMAGE);
    if (missing !== null) return { missing, tried: 0, out: [] };
    const target: Target = {
      kind: { image: IMAGE },
      sandbox: { confine: (command, access) => sandbox.confine(command, access, IMAGE) },
      knowsGrants: true,
    };
    const chunks = chunksOf(harmless);
    const out: string[] = [];
    for (const chunk of chunks) {
      const { escaped, found } = await escapesTogether(chunk, on, target);
      out.push(...escaped, ...found);
    }
    return { missing, tried: chunks.flat().length, out };
  } finally {
    engine.dispose();
  }
}
