/** MCP over standard input and output: one client, until it closes its end. What it asked before is answered first. */
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { UserError } from '../errors.ts';
import { countCalls } from './calls.ts';
import { mcpServer, type Open } from './server.ts';
import { grantProblem } from './tools.ts';

export async function serveOverStdio(
  open: Open,
  version: string,
  warn: (text: string) => void,
): Promise<void> {
  await open(async (context) => {
    const problem = grantProblem((await context.settings()).settings.workflow.server.mcp.allow);
    if (problem) throw new UserError(problem, 'Correct WORKFLOW.md.');
  });
  const calls = countCalls(() => Date.now(), null);
  // Its own end, unlike that of the client, comes only when everything was answered.
  const input = new PassThrough();
  process.stdin.pipe(input, { end: false });
  const { transport, answered } = answering(new StdioServerTransport(input));
  const stopped = new Promise<void>((done) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => done());
  });
  const gone = new Promise<void>((done) => {
    process.stdin.once('end', done);
    process.stdin.once('close', done);
  });
  const serving = serveStdio(() => mcpServer(open, calls, version), {
    transport,
    onerror: ({ message }) => warn(message),
  });
  const allRead = async (): Promise<void> => {
    do await nextTurn();
    while (input.readableLength > 0);
  };
  await Promise.race([stopped, gone.then(allRead).then(answered)]);
  await serving.close();
}

/** A request that stays open for what may happen later has no answer to wait for. */
const STAYS_OPEN = 'subscriptions/listen';

/** A client that is a pipe closes its end as soon as it has asked. */
function answering(inner: Transport): { transport: Transport; answered(): Promise<void> } {
  const open = new Set<unknown>();
  let onEmpty: (() => void) | null = null;
  const settle = (id: unknown): void => {
    open.delete(id);
    if (open.size === 0) onEmpty?.();
  };
  const heard = (message: JSONRPCMessage): void => {
    if (!('method' in message)) return;
    if ('id' in message && message.method !== STAYS_OPEN) open.add(message.id);
    if (message.method === 'notifications/cancelled')
      settle((message.params as { requestId?: unknown } | undefined)?.requestId);
  };
  const transport: Transport = {
    start: () => {
      inner.onclose = () => transport.onclose?.();
      inner.onerror = (problem) => transport.onerror?.(problem);
      inner.onmessage = (message, extra) => {
        heard(message);
        transport.onmessage?.(message, extra);
      };
      return inner.start();
    },
    send: async (message, options) => {
      await inner.send(message, options);
      if ('id' in message && !('method' in message)) settle(message.id);
    },
    close: () => inner.close(),
  };
  return {
    transport,
    answered: () => (open.size === 0 ? Promise.resolve() : new Promise((done) => (onEmpty = done))),
  };
}
