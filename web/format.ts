/** Numbers and times as people read them. What nobody knows is said to be unknown, never nothing. */
import { shortSha } from '../src/core/words/short-sha.ts';

export function usd(amount: number | null, isAll = true): string {
  if (amount === null) return 'unknown';
  const digits = amount > 0 && amount < 0.01 ? 4 : 2;
  return `${isAll ? '' : '≥ '}$${amount.toFixed(digits)}`;
}

export function tokens(count: number | null): string {
  if (count === null) return 'unknown';
  if (count < 1000) return `${count}`;
  if (count < 999_500) return `${(count / 1000).toFixed(count < 9950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** Nothing that is known of is not nothing. */
export const known = (count: number, isAll: boolean): string => tokens(count === 0 && !isAll ? null : count);

export function lasting(ms: number | null): string {
  if (ms === null) return '';
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function ago(at: string, now: number): string {
  const ms = now - Date.parse(at);
  if (ms < 0) return `in ${lasting(-ms)}`;
  return ms < 5000 ? 'now' : `${lasting(ms)} ago`;
}

/** As this machine shows it, to the second. */
export const exact = (at: string): string =>
  new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });

export function clock(at: string): string {
  const day = new Date(at);
  const time = day.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return day.toDateString() === new Date().toDateString()
    ? time
    : `${day.toLocaleDateString(undefined, { month: 'short', day: 'numeric' })} ${time}`;
}

export function bytes(count: number): string {
  if (count < 2048) return `${count} B`;
  return count < 2048 * 1024 ? `${Math.round(count / 1024)} kB` : `${(count / 1024 / 1024).toFixed(1)} MB`;
}

export const short = (sha: string | null): string => shortSha(sha, '');
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`;
export const percent = (part: number | null): string => (part === null ? '' : `${Math.round(part * 100)} %`);
