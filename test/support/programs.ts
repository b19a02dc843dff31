/** What agents on this machine are made of, as main.ts composes them. */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installHint } from '../../src/agent/install-hint.ts';
import { confinedPrograms, type Programs } from '../../src/agent/programs.ts';
import type { Gateway } from '../../src/gateway/gateway.ts';
import { openGateway } from '../../src/gateway/server.ts';
import { hostProcesses } from '../../src/process/host.ts';
import { bwrap } from '../../src/sandbox/bwrap.ts';
import { containers } from '../../src/sandbox/container.ts';
import { openSandbox } from '../../src/sandbox/open.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { srt } from '../../src/sandbox/srt.ts';

const MACHINE = {
  objects: () => [],
  hidden: [],
  programs: [process.execPath, fileURLToPath(new URL('../../src', import.meta.url))],
  writable: () => [],
  never: null,
};
const at = (name: string): string => join(tmpdir(), 'forge-test-sandbox', name);

/** Confines by what the access names. */
const hostSandbox = (): Sandbox =>
  openSandbox({
    bwrap: bwrap({ folder: at('bwrap'), ...MACHINE }),
    containers: containers({ folder: at('containers'), ...MACHINE }),
    srt: srt({ folder: at('srt'), installHint, ...MACHINE }),
  });

export const hostParts = (
  sandbox: Sandbox = hostSandbox(),
  operator: Record<string, string> = {},
): { programs: Programs; gateway: Gateway } => ({
  programs: confinedPrograms(hostProcesses(), sandbox),
  gateway: openGateway(operator),
});
