/** Confinement of a command to what it was granted. */

export interface Grants {
  readRoots: string[];
  writeRoots: string[];
  networkDomains: string[];
}

export interface Confined {
  argv: readonly string[];
  env: Record<string, string>;
  dispose(): Promise<void>;
}

export interface Sandbox {
  readonly kind: string;
  /** Null when it can confine here; else why it can't. */
  unavailable(): Promise<string | null>;
  confine(argv: readonly string[], env: Record<string, string>, grants: Grants): Promise<Confined>;
}
