/** What doctor says of the channels: whether each could be used, and whether the last message got through. It sends nothing. */
import type { Context } from '../context.ts';
import type { ChannelPolicy } from '../core/tell/notify.ts';
import type { Store } from '../store/store.ts';
import type { Check } from './doctor.ts';

export async function notify(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  const { channels } = settings.policy.notify;
  if (problem || channels.length === 0) return [];
  const tools = await context.tools();
  const store = await context.reading().catch(() => null);
  const checks = channels.map(async (channel): Promise<Check> => {
    const { name, kind, url, events } = channel;
    const missing = await tools.channels.problem(channel);
    if (missing !== null) return check('fail', `${name}: ${missing}`, FIX);
    const unsent = store && (await unsentTo(store, channel));
    if (unsent) return check('warn', `${name}: a message is waiting to be sent again: ${unsent}`, TRY);
    if (url !== null && isOpen(new URL(url)))
      return check('warn', `${name}: its url is not https, so messages are not encrypted`, null);
    return check('ok', `${name} (${kind}) is told of ${events.join(', ')}`);
  });
  return Promise.all(checks);
}

/** The last problem with a message that is still in the outbox. */
async function unsentTo(store: Store, { name }: ChannelPolicy): Promise<string | null> {
  const pending = await store.pendingActions(null);
  const failing = pending.some(
    ({ action, attempts }) => action.kind === 'notify' && action.channel === name && attempts > 0,
  );
  if (!failing) return null;
  const failures = await store.events({ type: 'notify_failed', last: 50 });
  const last = failures.findLast((one) => one.type === 'notify_failed' && one.data.channel === name);
  return last?.type === 'notify_failed' ? last.data.problem : 'see the log of the runner';
}

const isOpen = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && !/^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/.test(hostname);

const FIX = 'Correct it under notify.channels in WORKFLOW.md, or the variable it names.';
const TRY = '`forge-loop notify test` tries it now.';

const check = (level: Check['level'], what: string, fix: string | null = null): Check => ({
  name: 'notify',
  level,
  what,
  fix,
});
