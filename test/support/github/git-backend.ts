/** Smart HTTP by git's own CGI program. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname, join, relative } from 'node:path';
import type { World } from './world.ts';

interface Asked {
  /** The path below `<name>.git`. */
  rest: string;
  query: string;
  user: string | null;
  body: Buffer;
}

/**
 * What git answers, not yet sent. Which refs there are and what it can do it is asked once while they stay the same: most
 * fetches of a test find nothing new, and each would start three programs to say so.
 */
export async function askGit(world: World, request: IncomingMessage, asked: Asked): Promise<Buffer> {
  const { rest, query, body } = asked;
  const isOfRefs =
    rest === '/info/refs' || body.subarray(4).toString('latin1').startsWith('command=ls-refs\n');
  if (!isOfRefs) return run(world, request, asked);
  const { gitDir } = world.git;
  const keyNow = (): string => {
    const files = ['config', 'HEAD'].map((name) => readFileSync(join(gitDir, name), 'utf8'));
    const protocol = request.headers['git-protocol'] ?? '';
    return JSON.stringify([rest, query, protocol, body.toString('latin1'), files, [...refsIn(gitDir)]]);
  };
  const key = keyNow();
  const before = known.get(key);
  if (before) return before;
  const answer = await run(world, request, asked);
  // A push may have come in between.
  if (keyNow() === key) known.set(key, answer);
  return answer;
}

const known = new Map<string, Buffer>();

let program: string | undefined;

async function run(world: World, request: IncomingMessage, input: Asked): Promise<Buffer> {
  const { gitDir } = world.git;
  program ??= join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  const child = spawn(program, [], {
    env: {
      PATH: process.env.PATH,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_PROJECT_ROOT: dirname(gitDir),
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: `/${basename(gitDir)}${input.rest}`,
      QUERY_STRING: input.query,
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      CONTENT_LENGTH: String(input.body.length),
      REMOTE_ADDR: '127.0.0.1',
      ...(input.user === null ? {} : { REMOTE_USER: input.user }),
      ...(lacksWorkflows(world, input.user) ? { LACKS_WORKFLOWS: '1' } : {}),
      ...(world.pushProtection ? { PUSH_PROTECTION: '1' } : {}),
      ...(request.headers['git-protocol'] ? { GIT_PROTOCOL: String(request.headers['git-protocol']) } : {}),
      ...(request.headers['content-encoding']
        ? { HTTP_CONTENT_ENCODING: String(request.headers['content-encoding']) }
        : {}),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => {});
  child.stdin.end(input.body);
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
  return withReason(Buffer.concat(chunks), join(gitDir, 'declined'));
}

const lacksWorkflows = (world: World, user: string | null): boolean =>
  [...world.tokens.values()].some(({ login, lacks }) => login === user && lacks.includes('workflows=write'));

/** The report of a push with the reason that the hook gave, in place of git's "hook declined". */
function withReason(output: Buffer, file: string): Buffer {
  if (!existsSync(file)) return output;
  const reason = readFileSync(file, 'utf8');
  rmSync(file);
  const gap = output.indexOf('\r\n\r\n') + 4;
  const packets = packetsIn(output.subarray(gap)).flatMap((packet) => {
    if (packet?.includes('error: hook declined to update')) return [];
    // Of the bands, the first is the report: packets within the packet.
    if (packet?.[0] !== 1) return packet;
    const report = packetsIn(packet.subarray(1)).map(
      (line) => line && Buffer.from(line.toString('utf8').replace('hook declined', reason)),
    );
    return Buffer.concat([packet.subarray(0, 1), ...report.map(asPacket)]);
  });
  return Buffer.concat([output.subarray(0, gap), ...packets.map(asPacket)]);
}

/** git's pkt-lines; null is a flush. */
function packetsIn(bytes: Buffer): (Buffer | null)[] {
  const packets: (Buffer | null)[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number.parseInt(bytes.subarray(at, at + 4).toString('latin1'), 16);
    packets.push(length === 0 ? null : bytes.subarray(at + 4, at + length));
    at += Math.max(length, 4);
  }
  return packets;
}

const asPacket = (packet: Buffer | null): Buffer =>
  packet === null
    ? Buffer.from('0000')
    : Buffer.concat([Buffer.from((packet.length + 4).toString(16).padStart(4, '0')), packet]);

/** A CGI answer: headers, an empty line, the body. Says which status it was. */
export function relay(output: Buffer, response: ServerResponse): number {
  const gap = output.indexOf('\r\n\r\n');
  if (gap < 0) {
    response.writeHead(500).end();
    return 500;
  }
  let status = 200;
  const headers: Record<string, string> = {};
  for (const line of output.subarray(0, gap).toString('latin1').split('\r\n')) {
    const colon = line.indexOf(':');
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()];
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10);
    else headers[name] = value;
  }
  response.writeHead(status, headers).end(output.subarray(gap + 4));
  return status;
}

/** Every branch and where it is. */
export function branches(world: World): Map<string, string> {
  const heads = [...refsIn(world.git.gitDir)].filter(([name]) => name.startsWith('refs/heads/'));
  return new Map(heads.map(([name, sha]) => [name.slice('refs/heads/'.length), sha]));
}

/** As files, in the order of their names: a loose one counts before a packed one. */
function refsIn(gitDir: string): Map<string, string> {
  const lines = (textOf(join(gitDir, 'packed-refs')) ?? '').split('\n');
  const found = lines
    .filter((line) => /^[0-9a-f]{40} /.test(line))
    .map((line) => [line.slice(41), line.slice(0, 40)] as const);
  const loose = readdirSync(join(gitDir, 'refs'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.lock'))
    .map((entry) => join(entry.parentPath, entry.name))
    .flatMap((path) => {
      const sha = textOf(path);
      return sha === null ? [] : [[relative(gitDir, path), sha.trim()] as const];
    });
  const all = [...new Map([...found, ...loose])];
  return new Map(all.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Null when somebody has just deleted it. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (problem) {
    if ((problem as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw problem;
  }
}
