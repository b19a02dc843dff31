/**
 * Where the forge is asked: what people command, what there is to work on, and the loop's own outbox. A forge that
 * can't be asked holds up new work only; it is said once, and once more when it answers again.
 */
import { isRun } from '../core/action.ts';
import { event, type NewEvent } from '../core/event.ts';
import { NO_QUOTA, type Quota } from '../core/line/schedule.ts';
import { isPutOff } from '../core/waiting.ts';
import { ForgeUnavailable, UserError, withHint } from '../errors.ts';
import type { Lease } from '../store/store.ts';
import { catchAndLog } from './catch-and-log.ts';
import { answerCommands } from './commands.ts';
import { type Poll, takeUp } from './intake.ts';
import { performForge } from './perform.ts';
import type { Ports } from './ports.ts';
import { putOff } from './put-off.ts';
import { everySource } from './source.ts';

interface Reception {
  /** Answers how much came of it. */
  ask(lease: Lease): Promise<number>;
  /** What the forge had to offer when it last answered. */
  poll(): Poll | null;
  /** There may be work that nobody can see now. */
  isForgeSilent(): boolean;
}

export function createReception(
  ports: Ports,
  /** Asked after people were heard: the loop may have been paused meanwhile. */
  mayClaim: () => Promise<boolean>,
  /** What this run takes up, given how much it did already. */
  quota: (claimed: number) => Quota = () => NO_QUOTA,
): Reception {
  const source = everySource(ports.forge);
  let poll: Poll | null = null;
  let isForgeSilent = false;
  let claimed = 0;
  let saidUnreadable: readonly string[] = [];

  return { ask, poll: () => poll, isForgeSilent: () => isForgeSilent };

  async function ask(lease: Lease): Promise<number> {
    let came = 0;
    // Who can't be heard now is heard later; work goes on meanwhile.
    await catchAndLog(ports, 'commands', async () => {
      came += await answerCommands(ports, lease, poll?.schedule ?? null);
    });
    try {
      await performOwn(ports, lease);
      poll = await takeUp(ports, source, lease, await mayClaim(), quota(claimed));
      claimed += poll.claimed;
      await sayUnreadable();
      came += poll.claimed + poll.turnedAway;
      if (poll.turnedAway > 0) await performOwn(ports, lease);
    } catch (problem) {
      // What it refuses (issues were disabled, the rights are gone) waits for a person as an outage does.
      const isRefusal = problem instanceof UserError;
      if (!(problem instanceof ForgeUnavailable) && !isRefusal) throw problem;
      const until = isRefusal ? null : problem.retryAt;
      if (!isForgeSilent)
        await note(ports, event('forge_unavailable', { problem: withHint(problem), until }));
      isForgeSilent = true;
      ports.log('warn', problem.message, {});
      return came;
    }
    if (isForgeSilent) await note(ports, event('forge_answers', {}));
    isForgeSilent = false;
    return came;
  }

  /** Once for each change: whoever broke a file waits for it in vain. */
  async function sayUnreadable(): Promise<void> {
    const problems = ((await ports.forge.unreadable?.()) ?? []).map(({ what }) => what);
    if (problems.join('\n') === saidUnreadable.join('\n')) return;
    for (const what of problems.filter((one) => !saidUnreadable.includes(one))) ports.log('warn', what, {});
    saidUnreadable = problems;
    await note(ports, event('issues_unreadable', { problems }));
  }
}

/** Comments and labels on issues that never became tasks. */
async function performOwn(ports: Ports, lease: Lease): Promise<void> {
  const { store, clock } = ports;
  for (const pending of await store.pendingActions(null)) {
    const { action } = pending;
    if (isPutOff(pending, clock.now()) || isRun(action) || action.kind === 'notify') continue;
    await store.proveLease(lease, clock.now());
    try {
      await performForge(ports, action);
    } catch (problem) {
      await putOff(ports, lease, pending, problem);
      continue;
    }
    await store.record({ lease, events: [], at: clock.now(), finishAction: pending.id });
  }
}

async function note({ store, clock }: Ports, one: NewEvent): Promise<void> {
  await store.record({ events: [one], at: clock.now() });
}
