/** What a role, a gate or a hook really gets: a look from inside its sandbox, at a place that is made up. */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { mountsIn } from '../core/mounts.ts';
import type { Network } from '../core/network.ts';
import type { Policy } from '../core/policy.ts';
import {
  type Access,
  accessOf,
  grantsOf,
  ROLES,
  type Role,
  roleRow,
  type SandboxKind,
  sandboxName,
} from '../core/role.ts';
import { toolsOf } from '../core/words/turn-tools.ts';
import { UserError } from '../errors.ts';
import type { Door } from '../gateway/gateway.ts';
import { commandAccess } from '../loop/command.ts';
import type { Command } from '../sandbox/sandbox.ts';
import { nameOf, networkOfRole } from './doctor-agents.ts';

export const ACCESS_OF = [...ROLES, 'gate', 'hooks'] as const;
type Who = (typeof ACCESS_OF)[number];

interface AccessView {
  who: Who;
  /** Of a role. */
  agent: string | null;
  sandbox: string;
  /** What keeps a better sandbox from working here. */
  why: string | null;
  /** Null without a sandbox: whatever the operator can. */
  files: { write: string[]; read: string[]; memory: string[]; hidden: string[] } | null;
  network: Network;
  /** Who has the credential of its model's provider; null of what asks no model. */
  credentials: Policy['agents'][Role]['gateway'] | null;
  /** Names, no values. */
  environment: string[];
  /** Those of the project that it may use, and does not see. */
  secrets: string[];
  /** MCP servers that it was granted. */
  mcp: string[];
  /** Those of the loop. */
  tools: string[];
}

export async function access(context: Context, { who }: { who: Who }): Promise<AccessView> {
  const { settings, problem } = await context.settings();
  if (problem) throw problem;
  const { policy } = settings;
  const { sandbox } = await context.tools();
  const chosen = await sandbox.choose(policy.sandbox);
  if (chosen.kind === null)
    throw new UserError(
      `\`sandbox: ${policy.sandbox.kind}\`, and ${chosen.why}.`,
      'See `forge-loop doctor`.',
    );
  const isTrusted = who === 'hooks' && policy.sandbox.trusted.includes('hooks');
  const kind = isTrusted ? 'none' : chosen.kind;
  const role = isRole(who) ? who : null;
  const agent = role && policy.agents[role];
  const own = agent && kind !== 'none' ? await networkOfRole(context, agent) : null;
  const network = own ?? (who === 'gate' ? policy.gate.network : policy.sandbox.network);
  return {
    who,
    agent: agent && nameOf(agent),
    sandbox: sandboxName(kind),
    why: isTrusted ? 'sandbox.trusted names them' : chosen.why,
    ...(await seen(context, who, kind, policy)),
    network: kind === 'none' ? 'host' : network,
    credentials: agent?.gateway ?? null,
    secrets: (isRole(who) ? policy.agents[who] : policy[who]).secrets.map(({ name }) => name),
    mcp: agent?.mcp.map(({ name }) => name) ?? [],
    tools:
      role && agent
        ? toolsOf(role, { hasPlan: true, asksForge: agent.forgeRequests > 0 }).map(({ name }) => name)
        : [],
  };
}

const isRole = (who: Who): who is Role => (ROLES as readonly string[]).includes(who);

type Seen = Pick<AccessView, 'files' | 'environment'>;

async function seen(context: Context, who: Who, kind: SandboxKind, policy: Policy): Promise<Seen> {
  const { processes, prepareHome, childEnvironment, openTurnEnvironment, discard } = await context.tools();
  const places = await context.places();
  const task = `doctor-${randomUUID()}`;
  const home = places.home(task, isRole(who) ? who : 'commands');
  const session = places.session(task, 'session');
  const cwd = await realpath(await mkdtemp(join(tmpdir(), 'forge-doctor-')));
  const place = { cwd, home, session };
  try {
    const child = isRole(who) ? policy.agents[who].env : policy[who].env;
    const offered = await prepareHome(home, child);
    await mkdir(session, { recursive: true });
    const built = await childEnvironment(child, { task, home });
    const access = isRole(who)
      ? accessOf(who, place, grantsOf(policy, who, kind, offered))
      : commandAccess(place, kind, [...policy.sandbox.read, ...offered]);
    const turn = isRole(who)
      ? openTurnEnvironment({ role: who, task, cwd, home, sessionDir: session, access }, built)
      : null;
    const env = turn?.env ?? built;
    try {
      if (kind === 'none') return { files: null, environment: Object.keys(env).sort() };
      const log = places.log(task, 'access.log');
      return await lookInside(context, { argv: [], env, cwd }, access, { ...place, log, who, policy });
    } finally {
      turn?.close();
    }
  } finally {
    await processes.stop(task, []);
    await rm(cwd, { recursive: true, force: true });
    await discard(join(home, '..'));
  }
}

type Place = Record<'cwd' | 'home' | 'session', string>;

const LOOK = 'cat /proc/self/mountinfo > "$1/mounts" 2>/dev/null; env -0 > "$1/environment"';

async function lookInside(
  context: Context,
  command: Command,
  access: Access,
  { cwd, home, session, log, who, policy }: Place & { log: string; who: Who; policy: Policy },
): Promise<Seen> {
  const { sandbox, processes } = await context.tools();
  const door = await doorOf(context, who, policy);
  const argv = ['/bin/sh', '-c', LOOK, 'sh', home];
  const network = door?.way ?? 'none';
  const confined = await sandbox
    .confine({ ...command, argv }, { ...access, network })
    .catch(async (error) => {
      await door?.close();
      throw error;
    });
  try {
    const ended = await processes.launch({
      argv: confined.argv,
      env: confined.env,
      cwd: confined.cwd,
      stdin: '',
      logPath: log,
      timeoutMs: 30_000,
      signal: new AbortController().signal,
      onHeld: async () => {},
    });
    const why = confined.problem(ended) ?? ended.spawnError ?? ended.tail.trim();
    if (ended.code !== 0)
      throw new UserError(`Nobody could look inside: ${why}.`, 'See `forge-loop doctor`.');
  } finally {
    await confined.dispose();
    await door?.close();
  }
  const names = new Map([
    [cwd, placeText(who)],
    [home, 'its own home'],
    [session, 'its session'],
  ]);
  const named = (paths: string[]): string[] => paths.map((path) => names.get(path) ?? path);
  const { write, read, ...rest } =
    access.sandbox === 'srt' ? toldTo(access) : mountsIn(await readFile(join(home, 'mounts'), 'utf8'));
  const variables = (await readFile(join(home, 'environment'), 'utf8')).split('\0').filter(Boolean);
  return {
    files: { write: named(write), read: named(read), ...rest },
    environment: variables.map((line) => line.slice(0, line.indexOf('='))).sort(),
  };
}

/** As it would have: what tells it so is in its environment. One that keeps its credential, or is on the machine's network, has none. */
async function doorOf(context: Context, who: Who, policy: Policy): Promise<Door | null> {
  const { network, secrets } = isRole(who)
    ? policy.agents[who]
    : {
        network: who === 'gate' ? policy.gate.network : policy.sandbox.network,
        secrets: policy[who].secrets,
      };
  const isNeeded = isRole(who) ? policy.agents[who].gateway !== 'none' : network.length + secrets.length > 0;
  if (network === 'host' || !isNeeded) return null;
  const { gateway } = await context.tools();
  return gateway.open({ at: 'inside', network, secrets, advice: '' }).catch((error: Error) => {
    throw new UserError(`${error.message}.`, 'See `forge-loop doctor`.');
  });
}

/** srt's are no mounts that could be looked at. */
const toldTo = ({ readRoots, writeRoots }: Access): NonNullable<AccessView['files']> => ({
  write: [...writeRoots],
  read: ['the system, PATH and toolchains', ...readRoots],
  memory: [],
  hidden: ['everything else, as srt was told'],
});

function placeText(who: Who): string {
  if (!isRole(who)) return 'the tree it runs on';
  return roleRow(who).place === 'workspace' ? 'its workspace' : 'a copy of the head';
}
