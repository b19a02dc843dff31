/** What doctor says of the secrets of the project under work: whether each can be had, and held for whoever may use it. */
import type { Context } from '../context.ts';
import type { Network } from '../core/access/network.ts';
import type { SecretPolicy } from '../core/access/secret.ts';
import type { Policy } from '../core/policy.ts';
import { rolesInUse } from '../core/role.ts';
import type { Check } from './doctor.ts';

export async function secrets(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  const names = Object.keys(settings.workflow.secrets);
  if (problem || names.length === 0) return [];
  const { gateway, sandbox } = await context.tools();
  const { kind } = await sandbox.choose(settings.policy.sandbox);
  const users = usersIn(settings.policy);
  const checks = names.map(async (name): Promise<Check[]> => {
    const own = users.filter((user) => user.secrets.some((secret) => secret.name === name));
    const [secret] = own.flatMap((user) => user.secrets.filter((one) => one.name === name));
    if (!secret) return [check('warn', `no role or command may use ${name}`, NOBODY)];
    const missing = await gateway.secretProblem(secret);
    if (missing !== null) return [check('fail', missing, `Correct secrets.${name} in WORKFLOW.md.`)];
    const open = own.filter(({ network }) => kind === 'none' || network === 'host');
    const there = `${name} is there, for ${list(own)} at ${secret.hosts.join(', ').replaceAll(':443', '')}`;
    return [
      check('ok', there),
      ...open.map((user) => check('fail', `${name} can't be held for ${user.called}: ${why(user)}`, UNHELD)),
    ];
  });
  return (await Promise.all(checks)).flat();

  function why({ network }: User): string {
    return network === 'host' ? 'its network is `host`' : 'nothing confines it here';
  }
}

interface User {
  called: string;
  secrets: readonly SecretPolicy[];
  network: Network;
}

function usersIn(policy: Policy): User[] {
  const { agents, gate, hooks, sandbox } = policy;
  const ofHooks = sandbox.trusted.includes('hooks') ? 'host' : sandbox.network;
  return [
    ...rolesInUse(policy).map((role) => ({ called: `the ${role}`, ...agents[role] })),
    { called: 'the gate', ...gate },
    { called: 'hooks', secrets: hooks.secrets, network: ofHooks },
  ];
}

const list = (users: readonly User[]): string => users.map(({ called }) => called).join(' and ');

const NOBODY = 'Name who may under `for`; those whose network is `host` are left out unless you do.';
const UNHELD =
  'Confine it (`sandbox`) on a network other than `host`, or leave it out of `for`. It is not started without its secret.';

const check = (level: Check['level'], what: string, fix: string | null = null): Check => ({
  name: 'secrets',
  level,
  what,
  fix,
});
