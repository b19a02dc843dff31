/**
 * The MCP servers that a role was granted, for an agent to start: each as one program of ours with the path of a file, which
 * says what to run, with which environment, and which of its tools the agent may see. So no agent's own settings, command
 * line or record hold a value of `env`, and a single tool is granted to each of them alike.
 *
 * The files are beside the session's folder, where a confined agent can't write. A server starts in the role's home: in the
 * workspace, `npx` and the like would first look at what the branch brought along.
 */
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { looksSecret } from '../core/access/toolchains.ts';
import type { McpServer } from '../core/policy.ts';
import type { TurnHooks, TurnRequest } from './agent.ts';
import { plainText, removeLeft } from './replace-file.ts';
import { turnEnvironment } from './turn-place.ts';

/** What an agent is told of one. */
export interface GrantedServer {
  name: string;
  command: string;
  args: string[];
}

const PROGRAM = fileURLToPath(new URL('./mcp-server-program.js', import.meta.url));

/** `take` gets the turn with what its servers may touch besides; they are gone with all it started when it resolves. */
export async function withServers<T>(
  turn: TurnRequest,
  { onProgress }: Pick<TurnHooks, 'onProgress'>,
  take: (turn: TurnRequest, servers: readonly GrantedServer[]) => Promise<T>,
): Promise<T> {
  const { policy, access } = turn;
  if (policy.mcp.length === 0) return take(turn, []);
  // The same place in every turn of a session, since the agent may show its settings to the model.
  const folder = folderOf(turn);
  const [described, notes] = [join(folder, 'servers'), join(folder, 'notes')];
  removeLeft(folder);
  for (const path of [described, notes]) mkdirSync(path, { recursive: true, mode: 0o700 });
  try {
    const servers = policy.mcp.map((server) => {
      const file = join(described, `${server.name}.json`);
      writeFileSync(file, JSON.stringify(descriptionOf(server, turn, notes)), { mode: 0o600 });
      return { name: server.name, command: process.execPath, args: [PROGRAM, file] };
    });
    writeFileSync(serversFileOf(turn), asMcpConfig(servers));
    const readRoots = [...access.readRoots, folder, ...policy.mcp.flatMap(filesIn)];
    const writeRoots = [...access.writeRoots, notes];
    return await take({ ...turn, access: { ...access, readRoots, writeRoots } }, servers);
  } finally {
    for (const { name } of policy.mcp) tellEnd(name, join(notes, name), onProgress);
    removeLeft(folder);
  }
}

const folderOf = ({ sessionDir }: Pick<TurnRequest, 'sessionDir'>): string => `${sessionDir}-mcp`;

/** Where a program that is told nothing else finds its servers, in the shape that `claude --mcp-config` and others take. */
export const serversFileOf = (turn: Pick<TurnRequest, 'sessionDir'>): string =>
  join(folderOf(turn), 'mcp.json');

const asMcpConfig = (servers: readonly GrantedServer[]): string =>
  JSON.stringify({
    mcpServers: Object.fromEntries(servers.map(({ name, command, args }) => [name, { command, args }])),
  });

function descriptionOf({ name, command, env, tools }: McpServer, turn: TurnRequest, notes: string) {
  const { network } = turn.access;
  return {
    command,
    tools,
    env: { ...env, FORGE_WORKSPACE: turn.cwd },
    // Agents hand on some of their environment, or all of it.
    around: { ...harmlessEnvironment(turn), ...(typeof network === 'object' && network.env) },
    cwd: turn.home,
    note: join(notes, name),
  };
}

/** Of a key that `env` passes on, the agent itself may have a placeholder. A server that needs one is given it by name. */
function harmlessEnvironment(turn: TurnRequest): Record<string, string> {
  const { env } = turn.policy;
  const isHarmless = (name: string): boolean => !looksSecret(name);
  const pass = env.pass.filter(isHarmless);
  const set = Object.fromEntries(Object.entries(env.set).filter(([name]) => isHarmless(name)));
  return turnEnvironment({ ...turn, policy: { ...turn.policy, env: { ...env, pass, set } } });
}

/** Files that its command names: it could not be started without. */
const filesIn = ({ command }: McpServer): string[] =>
  command.filter((word) => isAbsolute(word) && statSync(word, { throwIfNoEntry: false })?.isFile());

const LONGEST_NOTE = 500;

function tellEnd(name: string, note: string, onProgress: TurnHooks['onProgress']): void {
  const said = plainText(note);
  if (said === null) return;
  const why = `the MCP server ${name} did not stay: its tools were missing`;
  onProgress({ kind: 'refused', code: 'tool_missing', tool: name, detail: said.slice(0, LONGEST_NOTE), why });
}
