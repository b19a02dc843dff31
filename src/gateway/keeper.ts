/**
 * The values of the operator's secrets: each is fetched when it is first needed, in the operator's own surroundings, and
 * kept in memory for as long as the loop runs. One that can't be had is asked for again the next time.
 */
import { spawn } from 'node:child_process';
import type { SecretPolicy } from '../core/access/secret.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Keeper {
  /** Rejects in words for a person, which never have anything of the value. */
  obtain(secret: SecretPolicy): Promise<string>;
}

export function secretKeeper(
  operator: Environment,
  learn: (secret: string) => void = () => {},
  timeoutMs = 60_000,
): Keeper {
  const known = new Map<string, Promise<string>>();
  return {
    async obtain({ name, from }) {
      const source = JSON.stringify(from);
      const fetched = known.get(source) ?? fetch(from, operator, timeoutMs);
      known.set(source, fetched);
      try {
        const value = await fetched;
        learn(value);
        return value;
      } catch (error) {
        known.delete(source);
        throw new Error(`secrets.${name}: ${(error as Error).message}`);
      }
    },
  };
}

async function fetch(from: SecretPolicy['from'], operator: Environment, timeoutMs: number): Promise<string> {
  if ('env' in from) {
    const given = operator[from.env];
    if (!given) throw new Error(`the variable ${from.env} is not set, or empty, where the loop was started`);
    return usable(given, `the variable ${from.env}`);
  }
  const printed = (await printedBy(from.command, operator, timeoutMs)).replace(/\r?\n$/, '');
  if (printed === '') throw new Error('its command printed nothing');
  return usable(printed, 'what its command printed');
}

/** Shorter ones would be found, and hidden, where they only happen to stand. */
const SHORTEST = 8;

function usable(value: string, what: string): string {
  if (/[\r\n]/.test(value)) throw new Error(`${what} has several lines: let it be the secret alone`);
  if (!/^[ -~]*$/.test(value)) throw new Error(`${what} has characters that no header can carry`);
  if (value.length < SHORTEST) throw new Error(`${what} has fewer than ${SHORTEST} characters`);
  return value;
}

const MOST_PRINTED = 65_536;

function printedBy(command: string, operator: Environment, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    // In a group of its own, so that nothing of it outlives its time.
    const child = spawn('/bin/sh', ['-c', command], {
      env: operator,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const heard = { out: '', err: '' };
    let why: string | null = null;
    const end = (reason: string): void => {
      why ??= reason;
      try {
        process.kill(-child.pid!, 'SIGKILL');
      } catch {}
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const timer = setTimeout(() => end(`its command took longer than ${timeoutMs / 1000} s`), timeoutMs);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      heard.out += text;
      if (heard.out.length > MOST_PRINTED) end('its command printed far too much for a secret');
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      heard.err = (heard.err + text).slice(-MOST_PRINTED);
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(new Error(`its command could not be started: ${error.message}`));
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (why === null && code === 0) resolve(heard.out);
      else reject(new Error(why ?? `its command ended with ${ending(code, signal)}${saidIn(heard)}`));
    });
  });
}

const ending = (code: number | null, signal: string | null): string =>
  code === null ? `the signal ${signal}` : `exit ${code}`;

/** Its complaint, without whatever it had printed of the secret. */
function saidIn({ out, err }: { out: string; err: string }): string {
  const printed = out.split(/\r?\n/).filter((line) => line.trim() !== '');
  const words = printed.reduce((text, line) => text.replaceAll(line, '…'), err);
  const said = words
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(-300);
  return said === '' ? '' : `: ${said}`;
}
