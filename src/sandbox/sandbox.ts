/** Confinement of a command to what it may touch. */
import type { Access } from '../core/role.ts';

interface Confined {
  argv: readonly string[];
  env: Record<string, string>;
  dispose(): Promise<void>;
}

export interface Sandbox {
  readonly kind: string;
  /** Null when it can confine here; else why it can't. */
  unavailable(): Promise<string | null>;
  confine(argv: readonly string[], env: Record<string, string>, access: Access): Promise<Confined>;
}
