/** Programs of agents on this machine, as main.ts composes them. */
import { confinedPrograms, type Programs } from '../../src/agent/programs.ts';
import { hostProcesses } from '../../src/process/host.ts';
import { noSandbox } from '../../src/sandbox/none.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';

export const hostPrograms = (sandbox: Sandbox = noSandbox()): Programs =>
  confinedPrograms(hostProcesses(), sandbox);
