/**
 * Tools of the host for an agent that starts its own MCP servers: a small program of ours, which speaks MCP with the agent
 * and files with us, in a directory of the turn's own. The agent's side gets neither the store nor a socket, and whatever
 * it puts there is read as data of a stranger.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { TOOL_SERVER } from '../core/policy.ts';
import { inputSchemaOf } from '../core/words/turn-tools.ts';
import type { TurnTools } from './agent.ts';
import type { GrantedServer } from './mcp-servers.ts';

export interface ToolDialogue {
  names: string[];
  /** The MCP server the agent is to start. */
  command: string;
  args: string[];
  close(): Promise<void>;
}

/** As one more of the servers that an agent may start. */
export const ownServer = ({ command, args }: ToolDialogue): GrantedServer => ({
  name: TOOL_SERVER,
  command,
  args,
});

const PROGRAM = fileURLToPath(new URL('./tool-dialogue-program.js', import.meta.url));
const LOOK_EVERY_MS = 50;
const LONGEST_CALL = 64 * 1024;
const call = z.object({ name: z.string(), input: z.unknown() });

export async function openToolDialogue(sessionDir: string, tools: TurnTools): Promise<ToolDialogue> {
  // The same place in every turn of a session, since the agent may show its settings to the model.
  const dir = join(sessionDir, 'tools');
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const list = tools.list.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: inputSchemaOf(tool),
  }));
  await writeFile(join(dir, 'tools.json'), JSON.stringify(list));
  const over = new AbortController();
  const answered = new Set<string>();
  const listening = listen();
  return {
    names: list.map(({ name }) => name),
    command: process.execPath,
    args: [PROGRAM, dir],
    async close() {
      over.abort();
      await listening;
      await rm(dir, { recursive: true, force: true });
    },
  };

  async function listen(): Promise<void> {
    while (!over.signal.aborted) {
      const names = await readdir(dir).catch(() => []);
      for (const name of names.filter((one) => one.endsWith('.call') && !answered.has(one))) {
        answered.add(name);
        await answer(name);
      }
      await delay(LOOK_EVERY_MS, null, { signal: over.signal }).catch(() => null);
    }
  }

  async function answer(name: string): Promise<void> {
    const { data } = call.safeParse(await read(join(dir, name)));
    const said = data
      ? await tools.call(data.name, data.input)
      : { text: 'the call could not be read', isError: true };
    const aside = join(dir, randomUUID());
    await writeFile(aside, JSON.stringify(said), { flag: 'wx' });
    await rename(aside, join(dir, name.replace(/\.call$/, '.answer')));
  }
}

/** Null for what is no plain file, too long, or no JSON. */
async function read(path: string): Promise<unknown> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => null,
  );
  if (!file) return null;
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > LONGEST_CALL) return null;
    return JSON.parse(await file.readFile('utf8'));
  } catch {
    return null;
  } finally {
    await file.close();
  }
}
