/**
 * Where the forge is asked: what people command, what there is to work on, and the loop's own outbox. A forge that
 * can't be asked holds up new work only; it is said once, and once more when it answers again.
 */
import { isRun } from '../core/action.ts';
import { event } from '../core/event.ts';
import { ForgeUnavailable, UserError } from '../errors.ts';
import type { Lease } from '../store/store.ts';
import { createListener } from './commands.ts';
import { guarded } from './guarded.ts';
import { createIntake, type Poll } from './intake.ts';
import { performForge } from './perform.ts';
import type { Ports } from './ports.ts';
import { putOff } from './put-off.ts';

export interface Reception {
  /** Answers how much came of it. */
  ask(lease: Lease): Promise<number>;
  /** What the forge had to offer when it last answered. */
  poll(): Poll | null;
  /** There may be work that nobody can see now. */
  isForgeSilent(): boolean;
}

export function createReception(
  ports: Ports,
  /** Asked after people were heard: they may just have paused the loop. */
  mayClaim: () => Promise<boolean>,
): Reception {
  const { store, clock } = ports;
  const takeUp = createIntake(ports);
  const listen = createListener(ports);
  let poll: Poll | null = null;
  let isForgeSilent = false;

  return { ask, poll: () => poll, isForgeSilent: () => isForgeSilent };

  async function ask(lease: Lease): Promise<number> {
    let came = 0;
    try {
      // Who can't be heard now is heard later; work goes on meanwhile.
      await guarded(ports, 'commands', async () => {
        came += await listen(lease);
      });
      came += await takeIn(lease);
    } catch (problem) {
      // What it refuses (issues were disabled, the rights are gone) waits for a person as an outage does.
      const isRefusal = problem instanceof UserError;
      if (!(problem instanceof ForgeUnavailable) && !isRefusal) throw problem;
      const until = isRefusal ? null : problem.retryAt;
      if (!isForgeSilent) await note(event('forge_unavailable', { problem: problem.message, until }));
      isForgeSilent = true;
      ports.log('warn', problem.message, {});
      return came;
    }
    if (isForgeSilent) await note(event('forge_answers', {}));
    isForgeSilent = false;
    return came;
  }

  async function takeIn(lease: Lease): Promise<number> {
    await performOwn(lease);
    poll = await takeUp(lease, await mayClaim());
    const said = poll.declined.length + poll.withdrawn.length;
    if (said > 0) await performOwn(lease);
    return poll.claimed.length + said;
  }

  /** Comments and labels on issues that never became tasks. */
  async function performOwn(lease: Lease): Promise<void> {
    for (const pending of await store.pendingActions(null)) {
      if (pending.notBefore > clock.now() || isRun(pending.action)) continue;
      await store.proveLease(lease, clock.now());
      try {
        await performForge(ports, pending.action);
      } catch (problem) {
        await putOff(ports, lease, pending, problem);
        continue;
      }
      await store.record({ lease, events: [], at: clock.now(), finishAction: pending.id });
    }
  }

  async function note(one: ReturnType<typeof event>): Promise<void> {
    await store.record({ events: [one], at: clock.now() });
  }
}
