/** Every key with the value in force and where it comes from, for `forge-loop config`. Secrets are not shown. */

import { REDACTED, redactCommand, redactShapes } from '../core/access/redact.ts';
import { looksSecret } from '../core/access/toolchains.ts';
import { configKeys } from './keys.ts';
import type { Settings } from './load.ts';
import { isMap, valueAt } from './map.ts';
import type { Workflow } from './schema.ts';

export interface EffectiveKey {
  key: string;
  value: unknown;
  origin: 'default' | 'file';
}

export function effectiveConfig(settings: Settings): EffectiveKey[] {
  const { workflow, prompts, origins } = settings;
  const rows = configKeys().flatMap(({ key }): EffectiveKey[] => {
    const path = key.split('.');
    const prompt = path[0] === 'prompts' ? prompts[path[1] as keyof typeof prompts] : undefined;
    const value = prompt ?? valueAt(workflow, path);
    // A role without an override, a state without a limit, the parts of `gate: none`: no value, so no row.
    return value === undefined
      ? []
      : [{ key, value: redacted(key, value), origin: origins[key] ?? 'default' }];
  });
  if (workflow.gate === 'none') rows.push({ key: 'gate', value: 'none', origin: 'file' });
  rows.push({ key: 'body', value: redacted('body', prompts.task), origin: origins.body ?? 'default' });
  return rows;
}

const shownServer = ([name, server]: [string, unknown]): [string, unknown] => {
  const { command, env } = server as Workflow['mcp'][string];
  const hidden = Object.fromEntries(Object.keys(env).map((variable) => [variable, REDACTED]));
  return [name, { command: redacted('command', command), env: hidden }];
};

/** Where it is may be a secret as much as what it is signed with. */
const shownChannel = ([name, channel]: [string, unknown]): [string, unknown] => {
  const { url, secret, token, command, ...rest } = channel as Workflow['notify']['channels'][string];
  const hidden = Object.entries({ url, secret, token }).filter(([, value]) => value !== null);
  return [
    name,
    {
      ...rest,
      ...(command === null ? {} : { command: redacted('command', command) }),
      ...Object.fromEntries(hidden.map(([key]) => [key, REDACTED])),
    },
  ];
};

/** All under `tracker.provider`, where channels are and their secrets, variables of MCP servers, the secret of webhooks, the token of the server, and what is secret by its name or shape elsewhere. A `$VAR` gives nothing away. */
function redacted(key: string, value: unknown): unknown {
  if (key === 'tracker.provider' && isMap(value)) {
    return Object.fromEntries(Object.keys(value).map((name) => [name, REDACTED]));
  }
  if (key === 'mcp' && isMap(value)) return Object.fromEntries(Object.entries(value).map(shownServer));
  if (key === 'notify.channels' && isMap(value))
    return Object.fromEntries(Object.entries(value).map(shownChannel));
  if (key.startsWith('env.') && isMap(value)) {
    const shown = ([name, one]: [string, unknown]) => [
      name,
      looksSecret(name) ? REDACTED : redacted(key, one),
    ];
    return Object.fromEntries(Object.entries(value).map(shown));
  }
  if (key === 'webhook.secret' || key === 'server.token') return value === null ? null : REDACTED;
  if (Array.isArray(value)) return value.map((item) => redacted(key, item));
  if (key === 'secrets' && isMap(value))
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redacted(key, one)]));
  if (typeof value !== 'string') return value;
  // A prompt talks about secrets; it does not assign them.
  return key === 'body' || key.startsWith('prompts.') ? redactShapes(value) : redactCommand(value);
}
