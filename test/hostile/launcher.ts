/** A runner in a process of its own, which starts a command confined, as the loop does: launched, recorded, or talked to; and as attempts are made. */
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { outputOf } from '../../src/attack/attack.ts';
import type { Access } from '../../src/core/role.ts';
import { openDialogue } from '../../src/process/dialogue.ts';
import { hostProcesses } from '../../src/process/host.ts';
import { bwrap } from '../../src/sandbox/bwrap.ts';
import { containers } from '../../src/sandbox/container.ts';

/** By bubblewrap where no image is named. */
const [how = '', root = '', script = '', image = ''] = process.argv.slice(2);
const at = (name: string): string => join(root, name);

const options = {
  folder: at('sandbox'),
  objects: () => [],
  hidden: [at('operator')],
  programs: [process.execPath],
  writable: () => [],
  never: null,
};
const access: Access = {
  readRoots: [],
  writeRoots: [at('workspace')],
  network: 'none',
  tools: 'work',
  sandbox: image === '' ? 'bwrap' : { image },
};
const env = { PATH: process.env.PATH ?? '', HOME: at('workspace') };
const command = { argv: ['/bin/sh', '-c', script], env, cwd: at('workspace') };
const confined =
  image === ''
    ? await bwrap(options).confine(command, access)
    : await containers(options).confine(command, access, image);
const { argv, env: passed, cwd, dispose } = confined;
const given = { argv, env: passed, cwd, logPath: at('log'), onHeld: async () => {} };

if (how === 'talked to') {
  const dialogue = openDialogue(given);
  console.log(await text(dialogue.stdout!));
  console.log(await dialogue.end());
} else if (how === 'attacked') {
  console.log(await outputOf({ argv, env: passed, cwd }));
} else {
  const { tail } = await hostProcesses().launch({
    ...given,
    ...{ stdin: '', timeoutMs: 30_000, signal: new AbortController().signal },
    ...(how === 'recorded' && { exitPath: at('exit.json') }),
  });
  console.log(tail);
}
await dispose();
