/** Runs the gate on trunk as the loop would, now; what it came to counts for the loop too. */
import type { Context } from '../context.ts';
import type { Policy } from '../core/policy.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { count } from '../core/words/words.ts';
import { UserError } from '../errors.ts';
import { stopChildren } from '../loop/leftovers.ts';
import { tryGate as tryOnTrunk } from '../loop/trial.ts';
import { type Check, type Diagnosis, diagnosis } from './doctor.ts';

export async function tryGate(context: Context): Promise<Diagnosis> {
  return diagnosis(await checks(context));
}

async function checks(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  const { commands } = settings.policy.gate;
  if (problem || commands === 'none' || commands.length === 0) return [];
  try {
    return [await tried(context, settings.policy)];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return [{ name: 'gate run', level: 'fail', what: error.message, fix: error.hint }];
  }
}

async function tried(context: Context, { gate }: Policy): Promise<Check> {
  const ports = await context.ports();
  const { store, owner, clock, timing } = ports;
  const { sha } = await ports.forge.trunk();
  const tree = await ports.repository.treeOf(sha);
  const lease = await store.acquireLease(LEASE, owner, clock.now(), timing.leaseTtlMs, ports.isOwnerDead);
  if (!lease) throw new UserError('Another `doctor --gate` is running the gate.', 'Wait for it to end.');
  const renewal = setInterval(
    () => void store.renewLeases(owner, clock.now(), timing.leaseTtlMs).catch(() => {}),
    timing.renewMs,
  );
  try {
    await stopChildren(ports, lease.key);
    const made = await tryOnTrunk(ports, { sha, tree }, lease, new AbortController().signal, 'anew');
    await store.record({ lease, events: made.events, at: clock.now() });
    const where = `trunk at ${shortSha(sha)}`;
    if (made.outcome === 'pass')
      return {
        name: 'gate run',
        level: 'ok',
        what: `passes on ${where} (${count(gate.commands.length, 'command')})`,
        fix: null,
      };
    const level = made.outcome === 'fail' ? 'warn' : 'fail';
    const how = made.outcome === 'fail' ? 'is red' : 'could not run';
    const fix =
      made.outcome === 'fail' ? 'Fix trunk.' : 'Correct `gate` or `env` in WORKFLOW.md, or fix the machine.';
    return { name: 'gate run', level, what: `${how} on ${where}: ${made.detail}`, fix };
  } finally {
    clearInterval(renewal);
    await store.releaseLease(lease);
  }
}

const LEASE = 'doctor-gate';
