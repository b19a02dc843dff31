/**
 * Tools of the host for an agent that starts its own MCP servers: a small program of ours, which speaks MCP with the agent
 * and files with us, in a folder of the turn's own. The agent's side gets neither the store nor a socket, and whatever
 * it puts there is read as data of a stranger.
 *
 * The folder is beside the session's. A confined agent can write to the one of the calls alone, which is mounted for it: so it
 * can't put another folder in the place of the one that we write our answers to.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { lstat, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { TOOL_SERVER } from '../core/policy.ts';
import { inputSchemaOf } from '../core/words/turn-tools.ts';
import type { TurnRequest, TurnTools } from './agent.ts';
import type { GrantedServer } from './mcp-servers.ts';
import { removeLeft } from './replace-file.ts';
import { entriesBelow, textBelow } from './stranger-files.ts';

export interface ToolDialogue {
  names: string[];
  /** The MCP server the agent is to start. */
  command: string;
  args: string[];
  /** The turn, with what that server may touch. */
  within(turn: TurnRequest): TurnRequest;
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
const CALLS = 'calls';
const call = z.object({ name: z.string(), input: z.unknown() });

export async function openToolDialogue(sessionDir: string, tools: TurnTools): Promise<ToolDialogue> {
  // The same place in every turn of a session, since the agent may show its settings to the model.
  const dir = `${sessionDir}-tools`;
  const calls = join(dir, CALLS);
  removeLeft(dir);
  mkdirSync(calls, { recursive: true, mode: 0o700 });
  const list = tools.list.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: inputSchemaOf(tool),
  }));
  writeFileSync(join(dir, 'tools.json'), JSON.stringify(list));
  const { ino } = await lstat(calls);
  const over = new AbortController();
  const answered = new Set<string>();
  const listening = listen();
  return {
    names: list.map(({ name }) => name),
    command: process.execPath,
    args: [PROGRAM, dir],
    within: (turn) => ({
      ...turn,
      access: {
        ...turn.access,
        readRoots: [...turn.access.readRoots, dir],
        writeRoots: [...turn.access.writeRoots, calls],
      },
    }),
    async close() {
      over.abort();
      await listening;
      removeLeft(dir);
    },
  };

  async function listen(): Promise<void> {
    while (!over.signal.aborted) {
      // Without a sandbox it could be replaced; and where there are too many, nobody is answered any more.
      const entries = await entriesBelow(dir, CALLS, 1).catch(() => []);
      const names = entries.map(({ name }) => basename(name));
      for (const name of names.filter((one) => one.endsWith('.call') && !answered.has(one))) {
        answered.add(name);
        await answer(name);
      }
      await delay(LOOK_EVERY_MS, null, { signal: over.signal }).catch(() => null);
    }
  }

  async function answer(name: string): Promise<void> {
    const { data } = call.safeParse(await callIn(join(CALLS, name)));
    const said = data
      ? await tools.call(data.name, data.input)
      : { text: 'the call could not be read', isError: true };
    const aside = join(calls, randomUUID());
    try {
      const found = await lstat(calls);
      if (!found.isDirectory() || found.ino !== ino) return;
      await writeFile(aside, JSON.stringify(said), { flag: 'wx' });
      await rename(aside, join(calls, name.replace(/\.call$/, '.answer')));
    } catch {
      // Whoever has put something else there waits for ever, and nobody else does.
      await rm(aside, { force: true }).catch(() => {});
    }
  }

  /** Null for what is no plain file, too long, or no JSON. */
  async function callIn(name: string): Promise<unknown> {
    try {
      return JSON.parse((await textBelow(dir, name, LONGEST_CALL)) ?? 'null');
    } catch {
      return null;
    }
  }
}
