/**
 * Registers the MCP server with the clients that are installed, each by its own means: its command, or the file that it documents.
 * What is there under that name stays as it is.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isMap } from '../config/map.ts';
import type { Context } from '../context.ts';

export interface RegisteredClient {
  client: 'claude' | 'codex' | 'opencode';
  /** `there`: something of that name is registered already. */
  done: 'added' | 'there' | 'failed';
  /** Where, or why not. */
  says: string;
}

const NAME = 'forge-loop';

export async function registerMcp(context: Context): Promise<RegisteredClient[]> {
  const command = [...(await context.ownCommand()), 'mcp', 'serve'];
  const found: RegisteredClient[] = [];
  for (const client of ['claude', 'codex'] as const)
    if (await context.isInstalled(client)) found.push(await byCommand(context, client, command));
  if (await context.isInstalled('opencode')) found.push(inFile(context.configHome, command));
  return found;
}

/** Both have the same words for it; Claude keeps it for this repository, Codex for all. */
async function byCommand(
  context: Context,
  client: 'claude' | 'codex',
  command: readonly string[],
): Promise<RegisteredClient> {
  const known = await context.askProgram([client, 'mcp', 'get', NAME]);
  if (known.code === 0) return { client, done: 'there', says: `\`${client} mcp get ${NAME}\` shows it` };
  const add = [client, 'mcp', 'add', NAME, '--', ...command];
  const { code, output } = await context.askProgram(add);
  return code === 0
    ? { client, done: 'added', says: `\`${client} mcp remove ${NAME}\` takes it back` }
    : { client, done: 'failed', says: `\`${add.join(' ')}\` failed: ${output.slice(-500)}` };
}

/** Its own command asks on a terminal. */
function inFile(configHome: string, command: readonly string[]): RegisteredClient {
  const client = 'opencode';
  const path = join(configHome, 'opencode', 'opencode.json');
  const entry = { type: 'local', command, enabled: true };
  const byHand = `Add this to its settings: ${JSON.stringify({ mcp: { [NAME]: entry } })}`;
  if (existsSync(`${path}c`))
    return { client, done: 'failed', says: `${path}c may have comments. ${byHand}` };
  const settings = existsSync(path) ? jsonOf(path) : { $schema: 'https://opencode.ai/config.json' };
  if (settings === null || !isMap(settings.mcp ?? {}))
    return { client, done: 'failed', says: `${path} can't be read as JSON. ${byHand}` };
  const servers = (settings.mcp ?? {}) as Record<string, unknown>;
  if (NAME in servers) return { client, done: 'there', says: `it is in ${path}` };
  mkdirSync(dirname(path), { recursive: true });
  const text = JSON.stringify({ ...settings, mcp: { ...servers, [NAME]: entry } }, null, 2);
  writeFileSync(path, `${text}\n`);
  return { client, done: 'added', says: `in ${path}` };
}

function jsonOf(path: string): Record<string, unknown> | null {
  try {
    const read: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isMap(read) ? read : null;
  } catch {
    return null;
  }
}
