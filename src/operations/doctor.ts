/** What would keep the loop from working, one line each: ok, warn or fail, and how to fix it. It changes nothing. */

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Settings } from '../config/load.ts';
import { problemText } from '../config/problems.ts';
import type { Context } from '../context.ts';
import { PRICES_AS_OF } from '../core/money/price-list.ts';
import { unpricedRoles } from '../core/money/prices.ts';
import { rolesInUse } from '../core/role.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { copiedAdvice, copiedText } from '../core/words/words.ts';
import { ConfigError, ForgeUnavailable, GitFailed, UserError } from '../errors.ts';
import { identity as operatorIdentity } from '../git/git.ts';
import { ownedKeys } from '../view.ts';
import { staleLeases } from './boot.ts';
import { installedAgents, nameOf, smokeTurns } from './doctor-agents.ts';
import { environment } from './doctor-env.ts';
import { folders } from './doctor-folders.ts';
import { mcp } from './doctor-mcp.ts';
import { notify } from './doctor-notify.ts';
import { planNeeds } from './doctor-plans.ts';
import { repositoryNeeds } from './doctor-repository.ts';
import { sandbox } from './doctor-sandbox.ts';
import { secrets } from './doctor-secrets.ts';
import { webhook } from './doctor-webhook.ts';
import { frontierProblems } from './frontier.ts';

export interface Check {
  name: string;
  level: 'ok' | 'warn' | 'fail';
  what: string;
  fix: string | null;
  /** The forge gives no answer now; it may by itself later. */
  isSilence?: boolean;
}

export interface Diagnosis {
  checks: Check[];
  failed: number;
  warned: number;
}

export async function doctor(context: Context, input: { agents: boolean }): Promise<Diagnosis> {
  return diagnosis([
    ...(await Promise.all([node(), git(context), identity(context)])),
    ...(await repository(context)),
    ...(await repositoryNeeds(context)),
    ...(await configuration(context)),
    ...(await agents(context)),
    ...(await installedAgents(context)),
    ...(input.agents ? await smokeTurns(context) : []),
    ...(await sandbox(context)),
    ...(await secrets(context)),
    ...(await mcp(context)),
    ...(await database(context)),
    ...(await leftovers(context)),
    ...(await folders(context)),
    ...(await forge(context, 'with rights')),
    ...(await webhook(context)),
    ...(await notify(context)),
    ...(await telemetry(context)),
  ]);
}

/**
 * The parts of doctor without which `run` could only fail later, in the middle of somebody's issue. Where the settings are
 * to replace those of a runner at work, a forge that stays is not asked: its outage keeps nobody from correcting the rest.
 * Where nothing but an outage of the forge is in the way, that is thrown as it is: it can be waited for.
 */
export async function requireReady(context: Context, inForce: Settings | null = null): Promise<void> {
  const { settings, problem } = await context.settings();
  if (problem) throw problem;
  const keepsForge = inForce !== null && isDeepStrictEqual(settings.tracker, inForce.tracker);
  const checks = [
    ...(await Promise.all([git(context), identity(context)])),
    ...(keepsForge ? [] : await repository(context)),
    ...(await agents(context)),
    ...(await sandbox(context)),
    ...(await secrets(context)),
    ...(keepsForge ? [] : await remoteForge(context)),
  ];
  const failed = checks.filter((check) => check.level === 'fail');
  const silent = failed.find((check) => check.isSilence);
  if (silent && failed.every((check) => check.isSilence)) throw new ForgeUnavailable(silent.what);
  if (failed.length > 0) throw notReady(failed);
}

/** What several roles lack alike is said once. */
export function notReady(failed: { what: string; fix: string | null }[]): UserError {
  const once = (texts: (string | null)[]): string => [...new Set(texts.filter(Boolean))].join('; ');
  return new UserError(
    `Not ready to run: ${once(failed.map(({ what }) => what.replace(/\.$/, '')))}.`,
    once(failed.map(({ fix }) => fix)) || null,
  );
}

export function diagnosis(checks: Check[]): Diagnosis {
  const count = (level: Check['level']) => checks.filter((check) => check.level === level).length;
  return { checks, failed: count('fail'), warned: count('warn') };
}

const ok = (name: string, what: string): Check => ({ name, level: 'ok', what, fix: null });
const warn = (name: string, what: string, fix: string | null): Check => ({ name, level: 'warn', what, fix });
const fail = (name: string, what: string, fix: string | null): Check => ({ name, level: 'fail', what, fix });

/** Nothing to say where nobody asked for it. */
async function telemetry(context: Context): Promise<Check[]> {
  const { endpoint, problem } = await context.telemetry();
  if (problem) return [warn('telemetry', problem.what, problem.fix)];
  return endpoint === null ? [] : [ok('telemetry', `traces and figures go to ${endpoint}`)];
}

async function node(): Promise<Check> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const recent = major > 20 || (major === 20 && minor >= 19);
  const what = `node ${process.versions.node}`;
  return recent ? ok('node', what) : fail('node', `${what} is too old`, 'Install Node 20.19 or newer.');
}

async function git(context: Context): Promise<Check> {
  const said = (await context.git(['version'])).stdout.trim();
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(said)?.slice(1) ?? []).map(Number);
  if (major > 2 || (major === 2 && minor >= 38)) return ok('git', said);
  return fail('git', `${said} is too old to compute merges`, 'Install git 2.38 or newer.');
}

async function identity(context: Context): Promise<Check> {
  const known = await operatorIdentity(context.git);
  if (known) return ok('identity', `${known.name} <${known.email}>`);
  return fail(
    'identity',
    'git does not know who you are, so nothing can be committed',
    'git config --global user.name "Your Name" && git config --global user.email you@example.com',
  );
}

async function repository(context: Context): Promise<Check[]> {
  try {
    const { branch, sha } = await (await context.forge()).trunk();
    const head = await context.git(['symbolic-ref', '--quiet', '--short', 'HEAD'], { allow: [1] });
    const trunk = ok('repository', `${context.root}, trunk ${branch} at ${shortSha(sha)}`);
    if (head.exitCode === 0) return [trunk];
    return [
      trunk,
      warn('checkout', 'HEAD is detached: merges move the branch, not your checkout', `git switch ${branch}`),
    ];
  } catch (error) {
    // A broken WORKFLOW.md has a line of its own.
    if (error instanceof ConfigError) return [];
    if (error instanceof UserError) return [fail('repository', error.message, error.hint)];
    if (error instanceof ForgeUnavailable)
      return [{ ...fail('repository', error.message, error.hint), isSilence: !error.isRefusal }];
    if (error instanceof GitFailed) return [fail('repository', error.message, null)];
    throw error;
  }
}

async function configuration(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  if (problem) return brokenConfig(problem);
  const warnings = settings.warnings.map(({ message, hint }) => warn('config', message, hint));
  const { gate, critic, merge, sandbox: wanted } = settings.policy;
  const chosen = await (await context.tools()).sandbox.choose(wanted);
  const isConfined = chosen.kind !== null && chosen.kind !== 'none';
  const commands = gate.commands === 'none' ? [] : gate.commands;
  const checks = [
    ok('config', context.configPath),
    ...warnings,
    ...environment(settings.policy, isConfined),
    ...(await planNeeds(context, settings.policy)),
    ...(await frontierProblems(context)).map(({ what, fix }) => warn('direction', what, fix)),
  ];
  if (gate.commands === 'none') checks.push(warn('gate', '`gate: none`: nothing verifies the work', null));
  else if (commands.length === 0) {
    const follows = gate.mayBeEmpty ? 'finished work waits' : 'no turn starts';
    checks.push(warn('gate', `no gate.commands: ${follows}`, 'Set gate.commands, or write `gate: none`.'));
  } else checks.push(ok('gate', commands.join('; ')));
  if (!critic.enabled)
    checks.push(warn('critic', 'disabled: every change waits for `forge-loop task approve`', null));
  if (!merge.enabled) checks.push(warn('merge', 'disabled: every change waits for your merge', null));
  return checks;
}

function brokenConfig({ file, message, hint, problems }: ConfigError): Check[] {
  if (problems.length === 0) return [fail('config', message, hint)];
  return problems.map((one) =>
    (one.level === 'error' ? fail : warn)('config', problemText(file, one), one.hint),
  );
}

async function agents(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  if (problem) return [];
  const tools = await context.tools();
  const checks: Check[] = [];
  for (const role of rolesInUse(settings.policy)) {
    const policy = settings.policy.agents[role];
    const missing = await tools.agent(policy.kind).unavailable(policy);
    const otherwise = `Install or fix it, or set another agent.kind in ${context.configPath}.`;
    checks.push(missing ? fail(role, missing, otherwise) : ok(role, nameOf(policy)));
  }
  const blind = unpricedRoles(settings.policy);
  checks.push(
    blind.length === 0
      ? ok('prices', `list prices as of ${PRICES_AS_OF}`)
      : warn(
          'prices',
          `no known price for these roles: ${blind.join(', ')}; \`budget.usd\` can't limit them (list prices as of ${PRICES_AS_OF})`,
          'Set the price of their models under `prices`, or rely on `budget.tokens` and `budget.wall_ms`.',
        ),
  );
  return checks;
}

async function database(context: Context): Promise<Check[]> {
  try {
    const store = await context.reading();
    if (!store) return [ok('database', 'none yet; the first run makes it')];
    await access(context.databasePath, constants.W_OK);
    await access(dirname(context.databasePath), constants.W_OK);
    const copied = await context.original();
    if (copied) return [fail('database', copiedText(copied), copiedAdvice(copied))];
    return [ok('database', `${context.databasePath}, integrity checked, writable`)];
  } catch (error) {
    const hint =
      error instanceof UserError ? error.hint : 'Make the file and its folder writable for this user.';
    return [fail('database', (error as Error).message, hint)];
  }
}

async function leftovers(context: Context): Promise<Check[]> {
  const store = await context.reading().catch(() => null);
  const { problem } = await context.settings();
  if (!store || (problem && problem.kind !== 'missing')) return [];
  const tools = await context.tools();
  const fix = 'forge-loop recover';
  const checks: Check[] = [];
  const stale = await staleLeases(context);
  checks.push(
    stale.length === 0
      ? ok('leases', 'none stale')
      : warn('leases', `${stale.length} of dead runners: ${stale.map(({ key }) => key).join(', ')}`, fix),
  );
  const owned = await ownedKeys(context, store);
  const lost: number[] = [];
  for (const record of await store.processes())
    if (!owned.has(record.lease) && (await tools.processes.isAlive(record))) lost.push(record.pid);
  checks.push(
    lost.length === 0
      ? ok('processes', 'no orphans')
      : warn('processes', `left by dead runners, still alive: ${lost.join(', ')}`, fix),
  );
  const kept = (await store.tasks()).filter(({ task }) => task.state !== 'merged');
  const orphans = await tools.workspaces.orphans(kept.map(({ task }) => task.id));
  const unsaved = orphans.filter((orphan) => orphan.unsaved).length;
  checks.push(
    orphans.length === 0
      ? ok('worktrees', 'no orphans')
      : warn(
          'worktrees',
          `${orphans.length} belong to no task (${unsaved} with unsaved work): ${orphans[0]!.path}`,
          fix,
        ),
  );
  return checks;
}

/** What another machine would refuse in the middle of the night is better known in the evening. */
async function remoteForge(context: Context): Promise<Check[]> {
  const { settings } = await context.settings();
  return settings.tracker.kind === 'local' ? [] : forge(context, 'without rights');
}

/** Identity and trunk have lines of their own. Trying rights takes writes, and their lack shows when one is used. */
async function forge(context: Context, how: 'with rights' | 'without rights'): Promise<Check[]> {
  const { problem } = await context.settings();
  if (problem && problem.kind !== 'missing') return [];
  const found = await context.forge().catch((error: unknown) => {
    if (error instanceof UserError) return null;
    throw error;
  });
  // What keeps it from being opened is the repository's line.
  if (found === null) return [];
  const said = new Set([
    (await identity(context)).fix,
    ...(await repository(context)).map((check) => check.what),
  ]);
  const inTheWay = (await found.check()).filter(({ what, fix }) => !said.has(what) && !said.has(fix));
  const isTried = how === 'with rights' && !inTheWay.some(({ blocks }) => blocks);
  const problems = [...inTheWay, ...((isTried && (await found.checkRights?.())) || [])];
  const told = problems.map(({ what, fix, blocks, isSilence }) => ({
    ...(blocks ? fail : warn)('forge', what, fix),
    ...(isSilence ? { isSilence } : {}),
  }));
  if (problems.some(({ blocks }) => blocks)) return told;
  const open = (await found.openIssues()).length;
  return [ok('forge', `${found.kind}, ${open} open issue${open === 1 ? '' : 's'}`), ...told];
}
