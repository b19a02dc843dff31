/** What a role, a gate, a hook or the deploy really gets: a look from inside its sandbox, at a place that is made up. */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '../context.ts';
import { mountsIn } from '../core/access/mounts.ts';
import type { Network } from '../core/access/network.ts';
import { type AgentPolicy, type CredentialKind, isHeldFor, type Policy } from '../core/policy.ts';
import {
  type Access,
  accessOf,
  allowedBySettings,
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
import { credentialOf, nameOf, networkWith } from './doctor-agents.ts';

export const ACCESS_OF = [...ROLES, 'gate', 'hooks', 'deploy'] as const;
type Who = (typeof ACCESS_OF)[number];
type CommandName = Exclude<Who, Role>;

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
  /** Who has what proves to its model's provider who pays; `none` when it is given nothing. Null of what asks no model. */
  credentials: 'gateway' | 'agent' | 'none' | 'unknown' | null;
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
  const isTrusted = who !== 'gate' && !isRole(who) && policy.sandbox.trusted.includes(who);
  const kind = isTrusted ? 'none' : chosen.kind;
  const role = isRole(who) ? who : null;
  const agent = role && policy.agents[role];
  const granted = grantsOfWho(policy, who);
  const { secrets } = granted;
  const credential = agent && (await credentialOf(context, agent));
  const network = kind === 'none' ? 'host' : agent ? networkWith(credential, agent) : granted.network;
  return {
    who,
    agent: agent && nameOf(agent),
    sandbox: sandboxName(kind),
    why: isTrusted ? `sandbox.trusted names ${who === 'deploy' ? 'it' : 'them'}` : chosen.why,
    ...(await seen(context, { who, kind, network, policy })),
    network,
    credentials: agent && holderOf(credential, agent),
    secrets: secrets.map(({ name }) => name),
    mcp: agent?.mcp.map(({ name }) => name) ?? [],
    tools:
      role && agent
        ? toolsOf(role, { hasPlan: true, asksForge: agent.forgeRequests > 0 }).map(({ name }) => name)
        : [],
  };
}

function holderOf(
  credential: CredentialKind | null,
  { gateway }: AgentPolicy,
): NonNullable<AccessView['credentials']> {
  if (credential === null) return 'unknown';
  if (credential === 'none') return 'none';
  return isHeldFor(credential, gateway) ? 'gateway' : 'agent';
}

const isRole = (who: Who): who is Role => (ROLES as readonly string[]).includes(who);

const grantsOfWho = (policy: Policy, who: Who) =>
  isRole(who) ? policy.agents[who] : grantsOfCommand(policy, who);

/** A deploy gets what it needs by its own setting, as it is. */
const grantsOfCommand = (policy: Policy, who: CommandName) => ({
  env: policy[who].env,
  network: who === 'gate' ? policy.gate.network : policy.sandbox.network,
  secrets: who === 'deploy' ? [] : policy[who].secrets,
  pass: who === 'deploy' ? policy.deploy.passEnv : [],
});

type Seen = Pick<AccessView, 'files' | 'environment'>;

interface Asked {
  who: Who;
  kind: SandboxKind;
  /** Where it really can go. */
  network: Network;
  policy: Policy;
}

async function seen(context: Context, asked: Asked): Promise<Seen> {
  const { who, kind, policy } = asked;
  const { processes, prepareHome, childEnvironment, openTurnEnvironment, discard } = await context.tools();
  const places = await context.places();
  const task = `doctor-${randomUUID()}`;
  const home = places.home(task, isRole(who) ? who : 'commands');
  const session = places.session(task, 'session');
  const cwd = await realpath(await mkdtemp(join(tmpdir(), 'forge-doctor-')));
  const place = { cwd, home, session };
  try {
    const { env: child } = grantsOfWho(policy, who);
    const offered = await prepareHome(home, child);
    await mkdir(session, { recursive: true });
    const pass = isRole(who) ? [] : grantsOfCommand(policy, who).pass;
    const built = await childEnvironment(child, { task, home, pass });
    const access = isRole(who)
      ? accessOf(who, place, allowedBySettings(policy, who, kind, offered))
      : commandAccess(place, kind, [...policy.sandbox.read, ...offered]);
    const turn = isRole(who)
      ? openTurnEnvironment({ role: who, task, cwd, home, sessionDir: session, access }, built)
      : null;
    const env = turn?.env ?? built;
    try {
      if (kind === 'none') return { files: null, environment: Object.keys(env).sort() };
      const log = places.log(task, 'access.log');
      return await lookInside(context, { argv: [], env, cwd }, access, { ...place, log, ...asked });
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
  { cwd, home, session, log, ...asked }: Place & Asked & { log: string },
): Promise<Seen> {
  const { sandbox, processes } = await context.tools();
  const { who } = asked;
  const door = await doorOf(context, asked);
  const argv = ['/bin/sh', '-c', LOOK, 'sh', home];
  const network = door?.way ?? (asked.network === 'host' ? 'host' : 'none');
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
    if (ended.code !== 0) throw new UserError(`Can't look inside: ${why}.`, 'See `forge-loop doctor`.');
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

/** As it would have: what tells it so is in its environment. On the machine's network it has none. */
async function doorOf(context: Context, { who, network, policy }: Asked): Promise<Door | null> {
  const { secrets } = grantsOfWho(policy, who);
  const isNeeded = isRole(who) || network.length + secrets.length > 0;
  if (network === 'host' || !isNeeded) return null;
  const { gateway } = await context.tools();
  return gateway
    .open({ at: 'inside', network, secrets, advice: '', isOneWay: true })
    .catch((error: Error) => {
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
