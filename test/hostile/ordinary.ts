/**
 * The attempts that can do no harm, under bubblewrap, as the user who runs this: says which of them got out. Its argument is a file of
 * the system's that belongs to that user.
 */
import { join } from 'node:path';
import { escapes, play, spoken, type Target } from '../../src/attack/attack.ts';
import { ATTEMPTS } from '../../src/attack/attempts.ts';
import { makeMachine } from '../../src/attack/machine.ts';
import { openGateway } from '../../src/gateway/server.ts';
import { bwrap } from '../../src/sandbox/bwrap.ts';

const [ownFile = ''] = process.argv.slice(2);
const machine = await makeMachine(openGateway({}));
const sandbox = bwrap({
  folder: join(machine.state, 'key/sandbox'),
  objects: () => [join(machine.repository, '.git/objects')],
  hidden: [machine.operator, machine.repository, machine.state],
  programs: [process.execPath],
  writable: () => ATTEMPTS.flatMap(({ later }) => (later ? [join(machine.operator, later.write)] : [])),
  never: null,
});
const target: Target = { kind: 'bwrap', sandbox, knowsGrants: true };
const missing = await sandbox.unavailable();
const out: string[] = [];
const harmless = missing === null ? ATTEMPTS.filter(({ harms }) => !harms) : [];
for (const attempt of harmless)
  if ((await escapes(attempt, machine, target)).length > 0) out.push(attempt.name);
if (missing === null) {
  const { said } = await play(`cat '${ownFile}'`, machine, target);
  if (spoken(said).length > 0) out.push('reads a file of the system that belongs to its operator');
}
await machine.dispose();
console.log(
  JSON.stringify({ uid: process.getuid?.(), why: missing?.why ?? null, tried: harmless.length, out }),
);
