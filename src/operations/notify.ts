/** `notify test`: sends a sample to channels, one try each, and says what came of it. It goes past the outbox. */
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import type { Context } from '../context.ts';
import { type ChannelKind, type ChannelPolicy, isQuiet } from '../core/tell/notify.ts';
import { sampleMessage } from '../core/words/notices.ts';
import { UserError } from '../errors.ts';

interface Tried {
  channel: string;
  kind: ChannelKind;
  /** Null: its service took it. */
  problem: string | null;
  /** It would keep quiet now. */
  isQuiet: boolean;
}

export async function testNotify(
  context: Context,
  { channel }: { channel?: string | undefined },
): Promise<{ channels: Tried[]; failed: number }> {
  const { settings, problem } = await context.settings();
  if (problem) throw problem;
  const wanted = chosen(settings.policy.notify.channels, channel);
  const { channels } = await context.tools();
  const project = basename(context.root);
  const tried = await Promise.all(
    wanted.map(async (one): Promise<Tried> => {
      const message = sampleMessage(one.name, { id: randomUUID(), at: context.now(), project });
      const sent = await channels.send(message, one, {
        signal: new AbortController().signal,
        // Whoever tries it out waits for it.
        onHeld: async () => {},
      });
      return {
        channel: one.name,
        kind: one.kind,
        problem: sent.kind === 'sent' ? null : sent.why,
        isQuiet: isQuiet(one.quiet, context.now()),
      };
    }),
  );
  return { channels: tried, failed: tried.filter((one) => one.problem !== null).length };
}

function chosen(channels: readonly ChannelPolicy[], name: string | undefined): readonly ChannelPolicy[] {
  if (channels.length === 0)
    throw new UserError(
      'There is no channel: nobody is told anything.',
      'Add one under notify.channels in WORKFLOW.md; docs/notifications.md has an example of each.',
    );
  const found = channels.filter((one) => name === undefined || one.name === name);
  if (found.length > 0) return found;
  const names = channels.map((one) => one.name).join(', ');
  throw new UserError(`There is no channel ${name}.`, `WORKFLOW.md has ${names}.`);
}
