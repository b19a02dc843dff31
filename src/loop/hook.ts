/** The operator's own commands around a workspace's life. A hook that fails names itself; the caller decides what follows. */
import type { Policy } from '../core/policy.ts';
import { lasting } from '../core/words/words.ts';
import type { Lease } from '../store/store.ts';
import { runCommand } from './command.ts';
import type { Ports } from './ports.ts';

type HookName = Exclude<keyof Policy['hooks'], 'timeoutMs' | 'env' | 'secrets'>;

interface HookRequest {
  task: string;
  lease: Lease;
  cwd: string;
  home?: string;
  env?: Record<string, string>;
  signal: AbortSignal;
}

/** Null when there is no such hook or it succeeded; else what went wrong. */
export async function runHook(ports: Ports, name: HookName, request: HookRequest): Promise<string | null> {
  const { hooks } = ports.settings.policy();
  const command = hooks[name];
  if (!command) return null;
  const logPath = ports.places.log(request.task, `hook-${name}.log`);
  const exit = await runCommand(ports, {
    ...request,
    purpose: `hook ${name}`,
    command,
    child: hooks.env,
    secrets: hooks.secrets,
    own: { kind: 'hooks' },
    logPath,
    timeoutMs: hooks.timeoutMs,
  });
  if (exit.code === 0) return null;
  const how = exit.timedOut
    ? `timed out after ${lasting(hooks.timeoutMs)}`
    : (exit.spawnError ?? `exit ${exit.code ?? exit.signal}`);
  const problem = `hook ${name} failed (${how}): ${exit.tail.trim().slice(-500)}`;
  ports.log('warn', problem, { task: request.task });
  return problem;
}

/** Once for a merged task, where what landed is and nothing else. */
export async function runAfterMerge(
  ports: Ports,
  sha: string | null,
  request: Omit<HookRequest, 'cwd'>,
): Promise<string | null> {
  const commit = sha ?? (await ports.forge.trunk()).sha;
  const place = await ports.workspaces.stage(commit, `after-merge-${request.task}`);
  try {
    const { path: cwd, home } = place;
    return await runHook(ports, 'afterMerge', { ...request, cwd, home, env: { FORGE_SHA: commit } });
  } finally {
    await place.dispose();
  }
}
