/** A message as JSON for programs: what the webhook posts and what the command reads. Documented in docs/notifications.md. */
import type { Message } from '../core/tell/notify.ts';
import { messageLines, messageTitle } from '../core/words/notices.ts';

export function payloadOf(message: Message): string {
  const { id, at, project, notices, more } = message;
  const [first] = notices;
  const isDigest = notices.length + more > 1;
  return JSON.stringify({
    type: isDigest || !first ? 'digest' : first.kinds[0],
    timestamp: new Date(at).toISOString(),
    data: {
      id,
      project,
      title: messageTitle(message),
      text: messageLines(message).join('\n'),
      notices: notices.map(({ kinds, at: happenedAt, ...notice }) => ({
        ...notice,
        events: kinds,
        at: new Date(happenedAt).toISOString(),
      })),
      more,
    },
  });
}
