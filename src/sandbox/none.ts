/** No confinement: the command may do whatever the operator may. */
import type { Sandbox } from './sandbox.ts';

export function noSandbox(why: string | null = null): Sandbox {
  return {
    choose: async ({ kind }) =>
      kind === 'none' || kind === 'auto'
        ? { kind: 'none', why, unlimited: null }
        : { kind: null, why: why ?? 'there is no sandbox here' },
    confine: async (command) => ({ ...command, problem: () => null, dispose: async () => {} }),
    clear: async () => {},
  };
}
