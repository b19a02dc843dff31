/** Runs one shell command for a task: confined, held until its record is durable, its output kept. */
import type { LaunchResult } from '../process/process.ts';
import type { Lease } from '../store/store.ts';
import type { Ports } from './ports.ts';

export interface CommandRequest {
  task: string;
  lease: Lease;
  purpose: string;
  command: string;
  cwd: string;
  /** The task's own home unless another is named. */
  home?: string;
  /** Beside what every child gets. */
  env?: Record<string, string>;
  /** The operator's own program: it is not confined and gets these variables of the runner's environment. */
  trusted?: { pass: readonly string[] };
  logPath: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export async function runCommand(ports: Ports, request: CommandRequest): Promise<LaunchResult> {
  const { task, lease, purpose, cwd, logPath, timeoutMs, signal } = request;
  const refused = whyUnconfined(ports);
  if (refused) return notStarted(refused);
  const home = request.home ?? ports.places.home(task);
  const built = await ports.childEnvironment(task, home, request.trusted?.pass);
  const env = { ...built, ...request.env };
  const argv = ['/bin/sh', '-c', request.command];
  const grants = { readRoots: ['/'], writeRoots: [cwd, home], networkDomains: [] };
  const confined = request.trusted
    ? { argv, env, dispose: async () => {} }
    : await ports.sandbox.confine(argv, env, grants);
  const hold = processRecorder(ports, task, lease, purpose);
  try {
    return await ports.processes.launch({
      argv: confined.argv,
      env: confined.env,
      cwd,
      stdin: '',
      logPath,
      timeoutMs,
      signal,
      onHeld: hold.onHeld,
    });
  } finally {
    await hold.forget();
    await confined.dispose();
  }
}

/** Why nothing may be run now: the operator asks for a sandbox that is not there. Null when it may. */
export function whyUnconfined({ settings, sandbox }: Pick<Ports, 'settings' | 'sandbox'>): string | null {
  const missing = settings.policy().sandbox === 'required' && sandbox.kind === 'none';
  return missing ? 'WORKFLOW.md says `sandbox: required`, and there is no sandbox here' : null;
}

const notStarted = (spawnError: string): LaunchResult => ({
  code: null,
  signal: null,
  timedOut: false,
  cancelled: false,
  spawnError,
  tail: '',
  durationMs: 0,
});

/** Makes a child's record durable before it is let go, and takes it back when the child is gone. */
export function processRecorder(ports: Ports, task: string, lease: Lease, purpose: string) {
  const records: { task: string; pid: number; startTime: string; bootId: string; purpose: string }[] = [];
  return {
    async onHeld(child: { pid: number; startTime: string; bootId: string }): Promise<void> {
      const record = { task, purpose, ...child };
      await ports.store.recordProcess(lease, record);
      records.push(record);
    },
    async forget(): Promise<void> {
      for (const record of records) await ports.store.forgetProcess(record);
    },
  };
}
