/** Which agents are here, and whether those that are configured answer: a turn of one word for each role. */

import { randomUUID } from 'node:crypto';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { About, Agent, TurnResult } from '../agent/agent.ts';
import type { Context } from '../context.ts';
import type { Network } from '../core/access/network.ts';
import { redactCommand } from '../core/access/redact.ts';
import { type AgentPolicy, type CredentialKind, networkOfTurn } from '../core/policy.ts';
import { accessOf, allowedBySettings, type Role, rolesInUse, type SandboxKind } from '../core/role.ts';
import { untilOf } from '../core/words/wall-time.ts';
import type { Check } from './doctor.ts';

/** One line for each agent that is installed, configured or not, and one for the others. */
export async function installedAgents(context: Context): Promise<Check[]> {
  const { agents } = await context.tools();
  const { settings } = await context.settings();
  const roles = Object.values(settings.policy.agents);
  const known = await Promise.all(
    agents().map((agent) => agent.about?.(roles.filter(({ kind }) => kind === agent.kind)) ?? []),
  );
  const installed = known.flat().filter((about) => about.installed);
  const absent = known.flat().filter((about) => !about.installed);
  const names = absent.map(({ name }) => name).join(', ');
  return [
    ...installed.flatMap((about) => agentChecks(about, context.now())),
    ...(names === ''
      ? []
      : [{ name: 'agent', level: 'ok' as const, what: `not installed: ${names}`, fix: null }]),
    ...absent.flatMap(otherProblem),
  ];
}

export const agentChecks = (about: About, now: number): Check[] => [
  standing(about, now),
  ...olderNode(about),
  ...otherProblem(about),
];

function standing(about: About, now: number): Check {
  const { signIn } = about;
  const expires = typeof signIn === 'object' && 'by' in signIn ? signIn.expires : undefined;
  const ends = expires ? `, until ${untilOf(expires.at, now)}: no turn starts after that` : '';
  const what = `${standingOf(about)}${ends}`;
  const endsSoon = expires && expires.at - now < NIGHT_MS;
  return { name: 'agent', level: endsSoon ? 'warn' : 'ok', what, fix: expires?.advice ?? null };
}

function olderNode({ name, wantsNode }: About): Check[] {
  if (wantsNode === undefined) return [];
  const what = `${name} asks for Node ${wantsNode}, and this is ${process.versions.node}: it may fail`;
  return [{ name: 'agent', level: 'warn', what, fix: `Run forge-loop with Node ${wantsNode}.` }];
}

const otherProblem = ({ name, problem }: About): Check[] =>
  problem ? [{ name: 'agent', level: 'warn', what: `${name}: ${problem.what}`, fix: problem.fix }] : [];

/** A login that lasts longer sees a night through. */
const NIGHT_MS = 24 * 3600 * 1000;

function standingOf({ name, version, signIn }: About): string {
  const known = version === null ? `${name} (version unknown)` : `${name} ${version}`;
  if (signIn === 'none') return `${known}, not signed in`;
  if ('unusable' in signIn) return `${known}, but no turn can start: ${signIn.unusable}`;
  return 'by' in signIn
    ? `${known}, signed in by ${signIn.by}`
    : `${known}; can't tell whether it is signed in: ${signIn.unknown}`;
}

/** What an agent's program would be given here; null when it is not signed in, or nobody can tell. */
export async function credentialOf(context: Context, agent: AgentPolicy): Promise<CredentialKind | null> {
  const { agents } = await context.tools();
  const known = agents().find(({ kind }) => kind === agent.kind);
  return (await known?.credential?.(agent)) ?? null;
}

/** Where a role's turns can really go, confined: of one that keeps its credential that is more than its settings say. */
export const networkWith = (credential: CredentialKind | null, agent: AgentPolicy): Network =>
  credential ? networkOfTurn(credential, agent) : agent.network;

export const networkOfRole = async (context: Context, agent: AgentPolicy): Promise<Network> =>
  networkWith(await credentialOf(context, agent), agent);

/** Costs a few tokens; asked for by `doctor --agents` only. */
export async function smokeTurns(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  if (problem) return [];
  const { policy } = settings;
  // At once: one that hangs takes two minutes to be called so.
  const checks = await Promise.all(
    rolesInUse(policy).map((role) => smokeCheck(context, role, policy.agents[role])),
  );
  return checks.flat();
}

/** Nothing of an agent that can't start here: that it can't, and why, was said already. */
async function smokeCheck(context: Context, role: Role, policy: AgentPolicy): Promise<Check[]> {
  if (policy.kind === 'scripted')
    return [{ name: `${role} turn`, level: 'ok', what: 'scripted: nobody to ask', fix: null }];
  const { agent, sandbox } = await context.tools();
  if ((await agent(policy.kind).unavailable(policy)) !== null) return [];
  const { settings } = await context.settings();
  const { kind } = await sandbox.choose(settings.policy.sandbox);
  // Nothing is asked unconfined where that is not allowed; the check of the sandbox says why.
  return kind === null ? [] : [await smokeTurn(context, role, policy, kind)];
}

const PROMPT =
  'This is a test of the connection. Use no tools and change nothing. Answer with one word: ready\n';
const TIMEOUT_MS = 120_000;
const limitOf = ({ turnTimeoutMs }: AgentPolicy): number => Math.min(turnTimeoutMs, TIMEOUT_MS);

async function smokeTurn(context: Context, role: Role, policy: AgentPolicy, by: SandboxKind): Promise<Check> {
  const tools = await context.tools();
  const agent: Agent = tools.agent(policy.kind);
  const task = `doctor-${randomUUID()}`;
  const places = await context.places();
  const home = places.home(task, role);
  const cwd = await realpath(await mkdtemp(join(tmpdir(), 'forge-doctor-')));
  const sessionId = randomUUID();
  let tokens = 0;
  const startedAt = context.now();
  try {
    const offered = await tools.prepareHome(home, policy.env);
    const allowed = allowedBySettings((await context.settings()).settings.policy, role, by, offered);
    const result = await agent.run(
      {
        task,
        role,
        number: 1,
        cwd,
        prompt: PROMPT,
        sessionId,
        sessionDir: places.session(task, sessionId),
        resume: false,
        policy: { ...policy, turnTimeoutMs: limitOf(policy) },
        access: accessOf(role, { cwd, home, session: places.session(task, sessionId) }, allowed),
        identity: await tools.identity(),
        home,
        logPath: places.log(task, 'turn.log'),
        mark: task,
      },
      {
        signal: new AbortController().signal,
        onHeld: async () => {},
        onProgress: () => {},
        onUsage: ({ input, output, cacheRead, cacheWrite, reasoning }) => {
          tokens += input + output + cacheRead + cacheWrite + reasoning;
        },
      },
    );
    const took = `${((context.now() - startedAt) / 1000).toFixed(1)} s, ${tokens} tokens`;
    return checkOf(role, policy, result, took);
  } finally {
    await tools.processes.stop(task, []);
    await tools.sandbox.clear(task);
    await rm(cwd, { recursive: true, force: true });
    await tools.discard(join(home, '..'));
  }
}

/** An agent as its settings name it. */
export function nameOf({ kind, preset, command, script, model }: AgentPolicy): string {
  const program = { acp: preset ?? command, command, scripted: script }[kind]?.trim();
  const what = program ? `${kind}: ${redactCommand(program)}` : kind;
  return model === null ? what : `${what} with ${model}`;
}

function checkOf(role: Role, policy: AgentPolicy, result: TurnResult, took: string): Check {
  const name = `${role} turn`;
  const who = nameOf(policy);
  if (result.status === 'finished') {
    const [word = ''] = result.text.trim().split('\n', 1);
    return { name, level: 'ok', what: `${who} answered "${word.slice(0, 40)}" (${took})`, fix: null };
  }
  const why =
    result.status === 'failed'
      ? `${result.code}: ${result.message.split('\n', 1)[0]}`
      : result.status === 'timed_out'
        ? `no answer after ${limitOf(policy) / 1000} s`
        : 'it was cancelled';
  const fix = 'See its code in docs/reasons.md, and docs/agents.md about signing in and models.';
  return { name, level: 'fail', what: `${who} did not answer (${took}): ${why}`, fix };
}
