/** Lets hostile scripts loose in the sandbox of this machine, on an operator who is made up. */
import { escapes, isInside, type Target } from '../attack/attack.ts';
import { ATTEMPTS, type Attempt } from '../attack/attempts.ts';
import { type Machine, makeMachine } from '../attack/machine.ts';
import type { Context } from '../context.ts';
import { sandboxName } from '../core/role.ts';
import { count } from '../core/words/words.ts';
import { type Check, type Diagnosis, diagnosis } from './doctor.ts';

export async function attack(context: Context): Promise<Diagnosis> {
  const { settings, problem } = await context.settings();
  if (problem) return diagnosis([]);
  const { sandbox, gateway } = await context.tools();
  const { kind } = await sandbox.choose(settings.policy.sandbox);
  if (kind === null || kind === 'none')
    return diagnosis([check('fail', 'there is no sandbox here: nothing was tried', NO_SANDBOX)]);
  const machine = await makeMachine(gateway);
  try {
    const harmless = ATTEMPTS.filter(({ harms }) => !harms);
    return diagnosis(await attacked(machine, { sandbox, kind }, harmless));
  } finally {
    await machine.dispose();
  }
}

export async function attacked(
  machine: Machine,
  target: Target,
  attempts: readonly Attempt[],
): Promise<Check[]> {
  const equipped = await isInside('perl', machine, target);
  const tried = attempts.filter((attempt) => equipped || !needsPerl(attempt, machine));
  const out: Check[] = [];
  for (const attempt of tried) {
    const found = await escapes(attempt, machine, target);
    if (found.length > 0) out.push(check('fail', `${attempt.name}: ${found.join(', ')}`, REPORT));
  }
  const kept = tried.length - out.length;
  const untried = attempts.length - tried.length;
  return [
    ...out,
    check(
      'ok',
      `${kept} of ${count(tried.length, 'hostile script')} got nowhere under ${sandboxName(target.kind)}`,
    ),
    ...(untried > 0 ? [check('warn', `${untried} need perl, and were not tried`, 'Install perl.')] : []),
  ];
}

const needsPerl = ({ script }: Attempt, machine: Machine): boolean => /\bperl\b/.test(script(machine));

const NO_SANDBOX = 'See the lines about the sandbox, and docs/security.md.';
const REPORT = 'Unless docs/security.md lists it, report it as that page says, and run agents elsewhere.';

const check = (level: Check['level'], what: string, fix: string | null = null): Check => ({
  name: 'attack',
  level,
  what,
  fix,
});
