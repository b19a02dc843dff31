/**
 * A small client of `opencode serve`: what we use of its HTTP API and its stream of events, in our own words.
 *
 * The server listens on loopback with a password made for this one turn. Who answers at its port may be somebody else of the
 * agent's: an answer or an event without end is left, and memory stays bounded.
 */
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { answered } from '../unanswered.ts';

export interface OpencodeServer {
  /** The answer's body; rejects with what went wrong. Null for what is not there. */
  get(path: string): Promise<unknown>;
  post(path: string, body?: unknown): Promise<unknown>;
  /** Resolves when the stream is open; `each` is called until it ends, and `ended` then. */
  listen(each: (event: ServerEvent) => void, ended: () => void): Promise<void>;
}

const serverEvent = z.object({ type: z.string(), properties: z.unknown().optional() });
export type ServerEvent = z.output<typeof serverEvent>;

const LONGEST_EVENT = 64 * 1024 * 1024;
const LONGEST_ANSWER = 64 * 1024 * 1024;

export function opencodeServer(url: string, password: string): OpencodeServer {
  const headers = {
    authorization: `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`,
    'content-type': 'application/json',
  };
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await textOf(response, `${method} ${path}`);
    if (response.status === 404) return null;
    if (!response.ok)
      throw new Error(`opencode answered ${method} ${path} with ${response.status}: ${text.slice(0, 1000)}`);
    return text === '' ? null : JSON.parse(text);
  };
  return {
    get: (path) => answered(ask('GET', path), path),
    post: (path, body) => answered(ask('POST', path, body), path),
    async listen(each, ended) {
      const response = await answered(fetch(`${url}/event`, { headers }), '/event');
      if (!response.ok || !response.body)
        throw new Error(`opencode has no stream of events: it answered with ${response.status}`);
      void readEvents(response.body, each).then(ended, ended);
    },
  };
}

async function textOf(response: Response, asked: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > LONGEST_ANSWER)
      throw new Error(`opencode answered ${asked} with more than ${LONGEST_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The port it listens on; null when it ends first. */
export async function portOf(stdout: Readable): Promise<number | null> {
  stdout.setEncoding('utf8');
  return new Promise((resolve) => {
    let said = '';
    // It goes on being read when the address is known, so that nothing it prints fills the pipe.
    stdout.on('data', (chunk: string) => {
      said = (said + chunk).slice(-4096);
      const found = /listening on http:\/\/127\.0\.0\.1:(\d+)\s/.exec(said)?.[1];
      if (found) resolve(Number(found));
    });
    stdout.once('close', () => resolve(null));
  });
}

async function readEvents(
  body: AsyncIterable<Uint8Array>,
  each: (event: ServerEvent) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  let last = '';
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true });
    const seen = last + text;
    last = seen.slice(-1);
    rest += text;
    if (rest.length > LONGEST_EVENT) return;
    // A long event comes in many pieces: it is not looked through at each of them.
    if (!seen.includes('\n\n')) continue;
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const { data } = serverEvent.safeParse(parsed(block.replace(/^data: /, '')));
      if (data) each(data);
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
