/**
 * What this process knows to be secret: variables of its own environment and of the settings, and what is fetched while it
 * runs. Everything that leaves the process goes through `redact`.
 */
import { isMap } from './config/map.ts';
import type { Workflow } from './config/schema.ts';
import { knownValues, type Redaction, redact, redactCommand } from './core/access/redact.ts';
import { looksSecret } from './core/access/toolchains.ts';

export interface Redactor extends Redaction {
  learn(secrets: Iterable<string | null | undefined>): void;
}

export function openRedactor(env: Readonly<Record<string, string | undefined>> = {}): Redactor {
  const secrets = new Set<string>();
  let known: readonly string[] = [];
  const redactor: Redactor = {
    text: (text) => redact(text, known),
    command: (command) => redactCommand(command, known),
    learn(values) {
      const before = secrets.size;
      for (const value of values) if (value && isTelling(value)) secrets.add(value);
      if (secrets.size > before) known = knownValues(secrets);
    },
  };
  redactor.learn(secretVariables(env));
  return redactor;
}

/** What would be struck out of ordinary words is left: something short, a word, a number, a path. */
const isTelling = (value: string): boolean =>
  value.length >= 8 && !/^(?:[A-Za-z]{1,15}|[\d.]+|\/.*|true|false)$/s.test(value);

const secretVariables = (env: Readonly<Record<string, string | undefined>>): (string | undefined)[] =>
  Object.keys(env)
    .filter(looksSecret)
    .map((name) => env[name]);

/** Of a tracker's own settings, which may be of any shape. */
const secretsUnder = (given: unknown): string[] =>
  isMap(given)
    ? Object.entries(given).flatMap(([name, value]) =>
        looksSecret(name) && typeof value === 'string' ? [value] : secretsUnder(value),
      )
    : [];

/** All that the settings have of secrets, as they are in force: variables are filled in. */
export function secretsOf(workflow: Workflow): (string | null | undefined)[] {
  const { tracker, webhook, server, env, mcp, notify } = workflow;
  return [
    ...secretsUnder(tracker.provider),
    webhook.secret,
    server.token,
    ...secretVariables(env.set),
    ...Object.values(mcp).flatMap((server) => secretVariables(server.env)),
    ...Object.values(notify.channels).flatMap(({ url, secret, token }) => [secret, token, lastPart(url)]),
  ];
}

/** Of an address of a channel, what lets one in: the whole path, which others may not have. */
function lastPart(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const { pathname, search } = new URL(url);
  const part = `${pathname}${search}`.replace(/^\//, '');
  return part === '' ? null : part;
}
