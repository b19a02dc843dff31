/** No confinement: the command may do whatever the operator may. */
import type { Sandbox } from './sandbox.ts';

export function noSandbox(): Sandbox {
  return {
    kind: 'none',
    unavailable: async () => null,
    confine: async (argv, env) => ({ argv, env, dispose: async () => {} }),
  };
}
