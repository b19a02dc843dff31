/** What doctor says of confinement: what holds here, what is left open, and what would fix that. */
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';
import type { Context } from '../context.ts';
import type { Network } from '../core/access/network.ts';
import { isWithin } from '../core/access/toolchains.ts';
import type { Policy } from '../core/policy.ts';
import { ROLES, rolesInUse, type SandboxKind, sandboxName } from '../core/role.ts';
import { UNCONFINED_CRITERION_FIX } from '../core/words/words.ts';
import type { Unlimited } from '../sandbox/sandbox.ts';
import type { Check } from './doctor.ts';
import { networkOfRole } from './doctor-agents.ts';

export async function sandbox(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  if (problem) return [];
  const { sandbox: wanted } = settings.policy;
  const { read, trusted } = wanted;
  const chosen = await (await context.tools()).sandbox.choose(wanted);
  if (chosen.kind === null) {
    const what = `\`sandbox: ${wanted.kind}\`, and ${chosen.why}`;
    return [check('fail', what, 'Fix that, or set `sandbox: auto`.')];
  }
  const { kind, why, unlimited } = chosen;
  if (kind === 'none') {
    const reason = why === null ? 'none (set in WORKFLOW.md)' : `none, since ${why}`;
    const { criteriaCommands } = settings.policy.gate;
    return [
      check('warn', `${reason}: ${OPEN}`, why === null ? ELSEWHERE : `Fix that. ${ELSEWHERE}`),
      ...(criteriaCommands === 'confined' ? [check('warn', NO_CRITERIA, UNCONFINED_CRITERION_FIX)] : []),
      ...(criteriaCommands === 'always' ? [check('warn', STRANGERS, STRANGERS_FIX)] : []),
    ];
  }
  const unconfined =
    trusted.length > 0
      ? `; ${trusted.join(' and ')} ${trusted.length === 1 ? 'is' : 'are'} not confined`
      : '';
  const missing = read.filter((path) => !existsSync(path));
  return [
    check(
      'ok',
      `${sandboxName(kind)}: agents, gates and hooks see ${typeof kind === 'string' ? 'the system' : 'its system'}, their workspace and their own home${unconfined}`,
    ),
    ...leftOpen(kind, unlimited),
    ...(await networks(context, settings.policy)),
    ...(process.getuid?.() === 0 ? [check('warn', AS_ROOT, 'Run the loop as an ordinary user.')] : []),
    ...writableTools(settings.policy, process.env.PATH),
    ...missing.map((path) =>
      check(
        'warn',
        `sandbox.read names ${path}, which does not exist`,
        'Correct or remove it in WORKFLOW.md.',
      ),
    ),
  ];
}

/** What `run` says where `auto` goes without: whoever did not ask for that may not know. */
export async function unprotected(context: Context): Promise<string[]> {
  const { sandbox: wanted } = (await context.settings()).settings.policy;
  const { kind, why } = await (await context.tools()).sandbox.choose(wanted);
  return kind === 'none' && why !== null
    ? [`no sandbox, since ${why}`, `${OPEN} (see \`forge-loop doctor\`)`]
    : [];
}

/** What an agent leaves there runs with the operator's rights as soon as somebody calls it by its name. */
function writableTools({ agents }: Pick<Policy, 'agents'>, path = ''): Check[] {
  const programs = path.split(delimiter).filter(isAbsolute);
  return ROLES.flatMap((role) =>
    agents[role].write
      .filter((place) => programs.some((folder) => isWithin(folder, place)))
      .map((place) =>
        check(
          'warn',
          `the ${role} may write to ${place}, where your PATH finds programs: ${AS_YOU}`,
          NOT_THERE,
        ),
      ),
  );
}

const AS_YOU = 'what it leaves there, you and the loop may run, unconfined';
const NOT_THERE = 'Take it out of `access.write`, or that folder out of your PATH.';

/** Where each may go, and who is on the network of this machine. */
async function networks(context: Context, policy: Policy): Promise<Check[]> {
  const { agents, gate, sandbox } = policy;
  const reached = await Promise.all(
    rolesInUse(policy).map(async (role) => [role, await networkOfRole(context, agents[role])] as const),
  );
  const keeping = reached.filter(([role, network]) => network === 'host' && agents[role].network !== 'host');
  const given: [string, Network][] = [
    ...reached.map(([role, network]): [string, Network] => [`the ${role}`, network]),
    ['gates', gate.network],
    ['hooks', sandbox.network],
  ];
  const open = given
    .filter(([name, network]) => network === 'host' && !keeping.some(([role]) => name === `the ${role}`))
    .map(([name]) => name);
  const kept = given.filter(([, network]) => network !== 'host');
  const where = (network: Network): string =>
    network === 'any' ? 'any public host' : network.length === 0 ? 'nowhere' : [...network].join(' ');
  const lines = kept.map(([name, network]) => `${name}: ${where(network)}`);
  return [
    ...(lines.length > 0 ? [check('ok', `allowed hosts, besides models: ${lines.join('; ')}`)] : []),
    ...(open.length > 0
      ? [
          check(
            'warn',
            `${LIST.format(open)} ${open.length === 1 ? 'has' : 'have'} the whole network of this machine (\`host\`)`,
            `Set ${networkKeys(open)}, or run the loop in a container.`,
          ),
        ]
      : []),
    ...(keeping.length === 0
      ? []
      : sandbox.kind === 'required'
        ? [check('fail', refusedText(keeping.map(([role]) => role)), HAND_OVER)]
        : [check('warn', keepsText(keeping.map(([role]) => role)), HAND_OVER)]),
  ];
}

const LIST = new Intl.ListFormat('en');

/** Where the network of each is set. */
function networkKeys(names: readonly string[]): string {
  const keys = names.map((name) =>
    name === 'gates' ? 'gate.network' : name === 'hooks' ? 'sandbox.network' : 'roles.<role>.access.network',
  );
  return [...new Set(keys)].join(', ');
}

/** What this sandbox does not do here. */
function leftOpen(kind: Exclude<SandboxKind, 'none'>, unlimited: Unlimited | null): Check[] {
  if (kind === 'srt') return [check('warn', srtLeaves(process.platform), SRT_INSTEAD)];
  if (unlimited === null) return [];
  return [check('warn', `${unlimitedText(kind, unlimited.what)}: ${unlimited.why}`, DELEGATE)];
}

function unlimitedText(kind: SandboxKind, what: Unlimited['what']): string {
  if (kind !== 'bwrap')
    return 'confined processes may use all memory and start any number of processes, since containers can be given no limits here';
  // Every user but root has a limit.
  const isRoot = process.getuid?.() === 0;
  if (what === 'processes')
    return isRoot
      ? 'a confined command may start any number of processes'
      : 'the processes of a confined command are not limited by themselves, only those of your whole user';
  return `confined processes may use all memory${isRoot ? ' and start any number of processes' : ''}`;
}

const DELEGATE =
  'Let your user have cgroups of its own (cgroups v2 and a systemd session), or give the loop itself a limit: `systemd-run --user --scope -p MemoryMax=8G -p TasksMax=8192 forge-loop run`.';

const srtLeaves = (platform: NodeJS.Platform): string =>
  platform === 'darwin'
    ? "srt is untested on macOS: nobody has seen it hold there. A process that leaves its group survives the command, memory is not limited, /tmp and shared memory are the machine's, and programs inside cannot listen on a port"
    : "srt confines less on Linux than bubblewrap: kernel calls are not filtered, shared memory and keyrings are the machine's, and memory is not limited";
const SRT_INSTEAD = 'If that matters, run the loop in a Linux virtual machine with bubblewrap.';

const OPEN =
  'agents and gate commands run with your rights: they can read your files, use the network, and reach anything your user can';
const keepsText = (roles: readonly string[]): string =>
  `${LIST.format(roles.map((role) => `the ${role}`))} ${roles.length === 1 ? 'has' : 'have'} the whole network of this machine, whatever \`access.network\` says: the program keeps its own credential and connects to its provider itself`;
const refusedText = (roles: readonly string[]): string =>
  `${LIST.format(roles.map((role) => `the ${role}`))} will not start: \`sandbox: required\`, and its program keeps its own credential, so it would be on this machine's network`;
const HAND_OVER =
  'Use an API key or a login that the gateway can hold (`gateway.credentials: all`); for Bedrock, Vertex and providers of your own there is none, so allow it (`roles.<role>.access.network: host`), or run the loop in a container or a virtual machine.';
const NO_CRITERIA = '`verify:` commands of issues are not run without a sandbox';
const STRANGERS =
  'commands that issues name (`verify:`) run with your rights too: `gate.criteria_commands: always`';
const STRANGERS_FIX = 'Set it to `confined`, unless you write every issue yourself.';
const ELSEWHERE = 'Run the loop as a user of its own, in a container or a virtual machine.';
const AS_ROOT = 'the loop runs as root: whatever breaks out of the sandbox is root';

const check = (level: Check['level'], what: string, fix: string | null = null): Check => ({
  name: 'sandbox',
  level,
  what,
  fix,
});
