/** Runs one shell command for a task: confined, held until its record is durable, its output kept. */
import type { Access } from '../core/role.ts';
import type { ChildPolicy } from '../core/toolchains.ts';
import type { LaunchResult } from '../process/process.ts';
import type { Child, Lease } from '../store/store.ts';
import type { Ports } from './ports.ts';

interface CommandRequest {
  task: string;
  lease: Lease;
  purpose: string;
  command: string;
  cwd: string;
  /** The one of the task's commands unless another is named. */
  home?: string;
  /** What it gets of the operator's. */
  child: ChildPolicy;
  /** Beside what every child gets. */
  env?: Record<string, string>;
  /** The operator's own program: it is not confined and gets these variables of the runner's environment, too. */
  trusted?: { pass: readonly string[] };
  logPath: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export async function runCommand(ports: Ports, request: CommandRequest): Promise<LaunchResult> {
  const { task, lease, purpose, cwd, logPath, timeoutMs, signal } = request;
  const refused = whyUnconfined(ports);
  if (refused) return notStarted(refused);
  const home = request.home ?? ports.places.home(task, 'commands');
  await ports.prepareHome(home, request.child);
  const built = await ports.childEnvironment(request.child, { task, home, ...request.trusted });
  const env = { ...built, ...request.env };
  const argv = ['/bin/sh', '-c', request.command];
  const access: Access = {
    readRoots: ['/'],
    writeRoots: [cwd, home],
    network: 'any',
    tools: 'work',
    credentials: 'none',
  };
  const confined = request.trusted
    ? { argv, env, dispose: async () => {} }
    : await ports.sandbox.confine(argv, env, access);
  const recorder = processRecorder(ports, task, lease, `${purpose}: ${request.command}`);
  try {
    return await ports.processes.launch({
      argv: confined.argv,
      env: confined.env,
      cwd,
      stdin: '',
      logPath,
      timeoutMs,
      signal,
      onHeld: recorder.onHeld,
    });
  } finally {
    await recorder.forget();
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
  const records: Child[] = [];
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
