/**
 * One POST to a service, over a connection that the operator's own proxy variables may lead elsewhere: node's fetch does not
 * heed them. No redirect is followed: what is sent is for the address that was configured, and for nobody it points to.
 */
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import { connect as secure } from 'node:tls';
import type { ChannelPolicy } from '../core/tell/notify.ts';
import { SEND_TIMEOUT_MS, type Sent } from './notify.ts';

export type Dial = (to: { host: string; port: number }) => Promise<Socket>;

interface Posted {
  url: string;
  body: string;
  headers?: Record<string, string>;
  signal: AbortSignal;
}

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
}

/** `retryAfterIn`: where its service says in the body how many seconds it wants to be left alone. */
export async function post(
  dial: Dial,
  posted: Posted,
  now: () => number,
  retryAfterIn: (body: string) => number | null = () => null,
): Promise<Sent> {
  const { status, headers, body } = await answerTo(dial, posted);
  if (status >= 200 && status <= 299) return { kind: 'sent' };
  const seconds = retryAfterIn(body) ?? secondsIn(headers['retry-after'], now());
  const isAsked = status === 429 || status === 503;
  return {
    kind: 'failed',
    why: `answered ${status}${body.trim() === '' ? '' : `: ${body.trim().slice(0, 200)}`}`,
    retryAt: isAsked && seconds !== null ? now() + Math.ceil(seconds * 1000) : null,
  };
}

/** Why an address can't be used; it is not shown. */
export function urlProblem({ url, name }: ChannelPolicy): string | null {
  const key = `notify.channels.${name}.url`;
  if (url === null) return `${key} is not set: give it as \`$VAR\`, and the variable to the loop`;
  if (!URL.canParse(url)) return `${key} is no URL`;
  const { protocol } = new URL(url);
  return protocol === 'https:' || protocol === 'http:' ? null : `${key} must begin with https:// or http://`;
}

/** Seconds, or a date. */
function secondsIn(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  const seconds = /^\d+(\.\d+)?$/.test(header.trim()) ? Number(header) : (Date.parse(header) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

const MOST_BYTES = 4096;

/** A connection that comes too late is nobody's. */
async function unlessAborted(dialled: Promise<Socket>, signal: AbortSignal): Promise<Socket> {
  const aborted = new Promise<never>((_, reject) => {
    const give = () => reject(new Error(NO_ANSWER));
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
  try {
    return await Promise.race([dialled, aborted]);
  } catch (error) {
    dialled.then((late) => late.destroy()).catch(() => {});
    throw error;
  }
}

const NO_ANSWER = 'no answer in time';

async function answerTo(dial: Dial, { url: address, body, headers, signal }: Posted): Promise<Answer> {
  const url = new URL(address);
  const isSecure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(url.port || (isSecure ? 443 : 80));
  const within = AbortSignal.any([signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]);
  const socket = await unlessAborted(dial({ host, port }), within);
  const connection = isSecure ? secure({ socket, servername: host, ALPNProtocols: ['http/1.1'] }) : socket;
  try {
    return await new Promise((resolve, reject) => {
      connection.on('error', reject);
      within.addEventListener('abort', () => reject(new Error(NO_ANSWER)), { once: true });
      const options = {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'forge-loop',
          'content-length': `${Buffer.byteLength(body)}`,
          ...headers,
        },
        createConnection: () => connection,
      };
      const asked: ClientRequest = (isSecure ? secureRequest : plainRequest)(url, options);
      asked.on('error', reject);
      asked.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          if (text.length < MOST_BYTES) text += chunk;
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      });
      asked.end(body);
    });
  } finally {
    connection.destroy();
  }
}
