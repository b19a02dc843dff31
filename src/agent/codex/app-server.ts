/**
 * A small client of `codex app-server`: JSON objects, one a line, in both directions.
 *
 * A line that can't be read is skipped. One that does not end is a flood: the conversation is over, and memory stays
 * bounded. Whatever the server asks is answered at once, since nobody is there to be asked.
 */
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { strangeJson } from '../../core/text/strange-json.ts';

export interface AppServer {
  /** Rejects with the server's words, or when it has ended. */
  request(method: string, params: unknown): Promise<unknown>;
  notify(method: string): void;
  /** Resolves when nothing more will come, with what was wrong, if anything was. */
  readonly ended: Promise<string | null>;
}

interface Listener {
  onNotification(method: string, params: unknown): void;
  /** The result to answer with, or a promise of it; undefined for a question we do not know. */
  onRequest(method: string, params: unknown): unknown;
}

const LONGEST_LINE = 64 * 1024 * 1024;

const message = z.object({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

export function appServer(stdin: Writable, stdout: Readable, listener: Listener): AppServer {
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  let requests = 0;
  const send = (value: object) => void stdin.write(`${JSON.stringify(value)}\n`);
  const ended = listen().then((problem) => {
    for (const { reject } of waiting.values()) reject(new Error(problem ?? 'the app-server has ended'));
    return problem;
  });

  return {
    request(method, params) {
      requests += 1;
      const id = requests;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        send({ id, method, params });
      });
    },
    notify: (method) => send({ method }),
    ended,
  };

  async function listen(): Promise<string | null> {
    let rest = '';
    stdout.setEncoding('utf8');
    try {
      for await (const chunk of stdout) {
        rest += chunk as string;
        // A long line comes in many pieces: it is not looked through at each of them.
        if ((chunk as string).includes('\n')) {
          const lines = rest.split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) take(line);
        }
        if (rest.length > LONGEST_LINE)
          return `the app-server sent a line of more than ${LONGEST_LINE} characters`;
      }
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async function reply(id: number | string, method: string, params: unknown): Promise<void> {
    try {
      const result = await listener.onRequest(method, params);
      if (result === undefined) send({ id, error: { code: -32601, message: `${method} is not for us` } });
      else send({ id, result });
    } catch (error) {
      send({ id, error: { code: -32603, message: (error as Error).message } });
    }
  }

  function take(line: string): void {
    const { data } = message.safeParse(parsed(line));
    if (!data) return;
    const { id, method, params, result, error } = data;
    if (method !== undefined && id !== undefined) void reply(id, method, params);
    else if (method !== undefined) listener.onNotification(method, params);
    else if (typeof id === 'number') {
      const waiter = waiting.get(id);
      waiting.delete(id);
      if (error) waiter?.reject(new Error(error.message));
      else waiter?.resolve(result);
    }
  }
}

function parsed(line: string): unknown {
  try {
    return strangeJson(line);
  } catch {
    return null;
  }
}
