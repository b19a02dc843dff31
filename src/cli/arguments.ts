/** What people write after a command, made of it what it means. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { UserError, whyUnreadable } from '../errors.ts';

export function issueNumber(text: string): number {
  const digits = /^#?(\d+)$/.exec(text)?.[1];
  if (digits === undefined || Number(digits) === 0) throw new InvalidArgumentError('Not an issue number.');
  return Number(digits);
}

/** An issue by its number, a loop by its name. */
export const issueOrLoop = (text: string): { issue: number } | { loop: string } =>
  /^#?\d+$/.test(text) ? { issue: issueNumber(text) } : { loop: text };

export function pullNumber(text: string): number {
  const digits = /^#?(\d+)$/.exec(text)?.[1];
  if (digits === undefined || Number(digits) === 0)
    throw new InvalidArgumentError('Not the number of a pull request.');
  return Number(digits);
}

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Not a whole number.');
  return Number(text);
}

/** Of money. */
export function amount(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('Not an amount.');
  return Number(text);
}

export const collect = (text: string, before: string[] = []): string[] => [...before, text];
export const collectIssues = (text: string, before: number[] = []): number[] => [
  ...before,
  issueNumber(text),
];

export function textFrom(options: Record<string, unknown>): string {
  const file = options.bodyFile as string | undefined;
  if (file === undefined) return (options.body as string | undefined) ?? '';
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    const name = file === '-' ? 'Standard input' : file;
    throw new UserError(`${name} can't be read: ${whyUnreadable(cause as Error)}`, null, { cause });
  }
}
