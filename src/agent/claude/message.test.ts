import { expect, test } from 'vitest';
import { isDoing } from './message.ts';

test.each<[string, object, boolean]>([
  ['streamed content', { type: 'stream_event', event: { type: 'content_block_delta' } }, true],
  ['a message, with what tools it calls', { type: 'assistant' }, true],
  ['a tool’s result', { type: 'user' }, true],
  ['a message of a subagent', { type: 'assistant', parent_tool_use_id: 'toolu_1' }, true],
  ['what a subagent comes to', { type: 'system', subtype: 'task_notification' }, true],
  ['a connection that is kept open', { type: 'stream_event', event: { type: 'ping' } }, false],
  ['a status', { type: 'system', subtype: 'status' }, false],
  ['a start', { type: 'system', subtype: 'init' }, false],
  ['a limit that is told', { type: 'rate_limit_event' }, false],
  ['something unknown', { type: 'keep_alive' }, false],
])('%s: progress, or a mere sign of life (loops 44)', (_what, message, isProgress) => {
  expect(isDoing(message)).toBe(isProgress);
});
