/** What doctor says of confinement: what holds here, what is left open, and what would mend that. */
import { existsSync } from 'node:fs';
import type { Context } from '../context.ts';
import type { Network } from '../core/network.ts';
import type { Policy } from '../core/policy.ts';
import { rolesInUse, type SandboxKind, sandboxName } from '../core/role.ts';
import { UNCONFINED_CRITERION_FIX } from '../core/words/words.ts';
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
    return [check('fail', what, 'Mend that, or set `sandbox: auto`.')];
  }
  const { kind, why, unlimited } = chosen;
  if (kind === 'none') {
    const reason = why === null ? 'none, as WORKFLOW.md says' : `none, since ${why}`;
    const { criteriaCommands } = settings.policy.gate;
    return [
      check('warn', `${reason}: ${OPEN}`, why === null ? ELSEWHERE : `Mend that. ${ELSEWHERE}`),
      ...(criteriaCommands === 'confined' ? [check('warn', NO_CRITERIA, UNCONFINED_CRITERION_FIX)] : []),
      ...(criteriaCommands === 'always' ? [check('warn', STRANGERS, STRANGERS_FIX)] : []),
    ];
  }
  const unconfined = trusted.length > 0 ? `; not ${trusted.join(' and ')}, which you trust` : '';
  const missing = read.filter((path) => !existsSync(path));
  return [
    check(
      'ok',
      `${sandboxName(kind)}: agents, gates and hooks see ${typeof kind === 'string' ? 'the system' : 'its system'}, their workspace and their own home${unconfined}`,
    ),
    ...leftOpen(kind, unlimited),
    ...(await networks(context, settings.policy)),
    ...(process.getuid?.() === 0 ? [check('warn', AS_ROOT, 'Run the loop as an ordinary user.')] : []),
    ...missing.map((path) =>
      check('warn', `sandbox.read names ${path}, which is not there`, 'Correct it in WORKFLOW.md.'),
    ),
  ];
}

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
    ...(lines.length > 0 ? [check('ok', `beside their models they reach: ${lines.join('; ')}`)] : []),
    ...(open.length > 0
      ? [
          check(
            'warn',
            `${open.join(', ')} can reach whatever this machine can: its network is \`host\``,
            ELSEWHERE,
          ),
        ]
      : []),
    ...(keeping.length > 0 ? [check('warn', keepsText(keeping.map(([role]) => role)), HAND_OVER)] : []),
  ];
}

/** What this sandbox does not do here. */
function leftOpen(kind: Exclude<SandboxKind, 'none'>, unlimited: string | null): Check[] {
  if (kind === 'srt') return [check('warn', srtLeaves(process.platform), SRT_INSTEAD)];
  if (unlimited === null) return [];
  return [check('warn', `${kind === 'bwrap' ? NO_MEMORY_LIMIT : NO_LIMITS}: ${unlimited}`, DELEGATE)];
}

const NO_MEMORY_LIMIT = 'what is confined may use all of the memory';
const NO_LIMITS =
  'what is confined may use all of the memory and start any number of processes, since containers can be given no limits here';
const DELEGATE =
  'Let your user have cgroups of its own (cgroups v2 and a systemd session), or give the loop itself a limit: `systemd-run --user --scope -p MemoryMax=8G forge-loop run`.';

const srtLeaves = (platform: NodeJS.Platform): string =>
  platform === 'darwin'
    ? 'srt is untested on macOS: nobody has seen it hold there. What leaves its process group lives on after the command, memory is not limited, /tmp and other shared memory are those of the machine, and programs inside can listen on no port'
    : 'srt keeps less on Linux than bubblewrap: kernel calls are not filtered, shared memory and keyrings are those of the machine, and memory is not limited';
const SRT_INSTEAD = 'Where that matters, run the loop in a virtual machine with Linux, with bubblewrap.';

const OPEN =
  'agents and gate commands run with your rights: they can read your files, use the network, and reach anything your user can';
const keepsText = (roles: readonly string[]): string =>
  `${roles.map((role) => `the ${role}`).join(', ')} can reach whatever this machine can, whatever \`access.network\` says: its program keeps its own credential and goes to its provider by itself`;
const HAND_OVER =
  'Use an API key or a login that the gateway can hold (`gateway.credentials: all`); for Bedrock, Vertex and providers of your own there is none, so run the loop in a container or a virtual machine.';
const NO_CRITERIA = '`verify:` commands of issues are not run without a sandbox';
const STRANGERS =
  'commands that issues name (`verify:`) run with your rights too: `gate.criteria_commands: always`';
const STRANGERS_FIX = 'Set it to `confined`, unless you write every issue yourself.';
const ELSEWHERE = 'Run the loop as a user of its own, in a container or a virtual machine.';
const AS_ROOT =
  'the loop runs as root: a flaw in the kernel or in the sandbox would give that to what is confined, and limits on processes do not hold';

const check = (level: Check['level'], what: string, fix: string | null = null): Check => ({
  name: 'sandbox',
  level,
  what,
  fix,
});
