/** Runs one shell command for a task: confined, held until its record is durable, its output kept. */
import type { Network } from '../core/access/network.ts';
import { type SecretPolicy, unheldText } from '../core/access/secret.ts';
import type { ChildPolicy } from '../core/access/toolchains.ts';
import type { Policy } from '../core/policy.ts';
import type { Access, SandboxKind } from '../core/role.ts';
import type { Door, NetworkRequest } from '../gateway/gateway.ts';
import type { LaunchResult } from '../process/process.ts';
import type { Confined, Sandbox } from '../sandbox/sandbox.ts';
import type { Child, Lease } from '../store/store.ts';
import { networkUse } from './network-use.ts';
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
  /** Where it may go, confined; as everything confined unless it is said. */
  network?: Network;
  /** What it may use without knowing it; whoever can't be given one is not started. */
  secrets?: readonly SecretPolicy[];
  /** The operator's own program, which may be trusted: whose setting says so, and what else of the runner's environment it gets. */
  own?: { kind: 'hooks' | 'deploy'; pass?: readonly string[] };
  logPath: string;
  timeoutMs: number;
  signal: AbortSignal;
}

interface CommandEnd extends LaunchResult {
  /** Hosts that it was not let go to. */
  refused: string[];
}

export async function runCommand(ports: Ports, request: CommandRequest): Promise<CommandEnd> {
  const { task, lease, purpose, cwd, logPath, timeoutMs, signal, own } = request;
  const { sandbox: wanted } = ports.settings.policy();
  const { kind, why } = await chosenSandbox(ports);
  if (kind === null) return notStarted(why);
  const home = request.home ?? ports.places.home(task, 'commands');
  const offered = await ports.prepareHome(home, request.child);
  const built = await ports.childEnvironment(request.child, { task, home, pass: own?.pass ?? [] });
  const env = { ...built, ...request.env };
  const argv = ['/bin/sh', '-c', request.command];
  const sandbox = own && wanted.trusted.includes(own.kind) ? 'none' : kind;
  const network = sandbox === 'none' ? 'host' : (request.network ?? wanted.network);
  const used = networkUse(ports, task, `${purpose}: ${request.command}`);
  const { secrets = [] } = request;
  if (network === 'host' && secrets.length > 0)
    return notStarted(unheldText(secrets, `the ${purpose} runs on the network of this machine`));
  const door = await doorTo(ports, {
    network,
    secrets,
    setting: own ? 'sandbox.network' : 'gate.network',
    onRequest: used.onRequest,
  }).catch((error: Error) => error.message);
  if (typeof door === 'string') return notStarted(door);
  const access: Access = {
    ...commandAccess({ cwd, home }, sandbox, [...wanted.read, ...offered]),
    network: door?.way ?? (network === 'host' ? 'host' : 'none'),
  };
  const confined = await confinedOr(ports.sandbox.confine({ argv, env, cwd }, access));
  if (typeof confined === 'string') {
    await door?.close();
    return notStarted(confined);
  }
  const recorder = processRecorder(ports, task, lease, `${purpose}: ${request.command}`);
  try {
    const result = await ports.processes.launch({
      argv: confined.argv,
      env: confined.env,
      cwd: confined.cwd,
      stdin: '',
      logPath,
      timeoutMs,
      signal,
      onHeld: recorder.onHeld,
    });
    const problem = confined.problem(result);
    if (problem !== null) return { ...notStarted(`${problem}: ${result.tail.trim()}`), tail: result.tail };
    return { ...result, refused: used.refused() };
  } finally {
    await recorder.forget();
    await confined.dispose();
    await door?.close();
    await used.close();
  }
}

export const commandAccess = (
  { cwd, home }: Record<'cwd' | 'home', string>,
  sandbox: SandboxKind,
  readRoots: readonly string[],
): Access => ({
  readRoots,
  writeRoots: [cwd, home],
  network: 'none',
  tools: 'work',
  sandbox,
});

/** Null where it needs none: it goes anywhere by itself, or nowhere. */
const doorTo = async (
  { gateway }: Ports,
  {
    network,
    secrets,
    setting,
    onRequest,
  }: {
    network: Network;
    secrets: readonly SecretPolicy[];
    setting: string;
    onRequest(request: NetworkRequest): void;
  },
): Promise<Door | null> => {
  if (network === 'host' || (network.length === 0 && secrets.length === 0)) return null;
  const advice = `add it to ${setting} in WORKFLOW.md`;
  return gateway.open({ at: 'inside', network, secrets, advice, isOneWay: true, onRequest });
};

const confinedOr = (confining: Promise<Confined>): Promise<Confined | string> =>
  confining.catch((error: Error) => error.message);

/** What confines a command now; or why nothing may be run: the operator asks for a sandbox that is not there. */
export async function chosenSandbox({
  settings,
  sandbox,
}: Pick<Ports, 'settings' | 'sandbox'>): ReturnType<Sandbox['choose']> {
  const wanted = settings.policy().sandbox;
  const chosen = await sandbox.choose(wanted);
  return chosen.kind === null ? { kind: null, why: `${said(wanted)}, and ${chosen.why}` } : chosen;
}

const said = ({ kind, isOwn }: Policy['sandbox']): string =>
  isOwn ? `it was started with \`--sandbox ${kind}\`` : `WORKFLOW.md says \`sandbox: ${kind}\``;

const notStarted = (spawnError: string): CommandEnd => ({
  code: null,
  signal: null,
  timedOut: false,
  cancelled: false,
  spawnError,
  tail: '',
  durationMs: 0,
  refused: [],
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
