/** Smart HTTP by git's own CGI program. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename, dirname, join } from 'node:path';
import type { World } from './world.ts';

/** What git answers, not yet sent; `rest` is the path below `<name>.git`. */
export async function askGit(
  world: World,
  request: IncomingMessage,
  input: { rest: string; query: string; user: string | null; body: Buffer },
): Promise<Buffer> {
  const { gitDir } = world.git;
  const child = spawn('git', ['http-backend'], {
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
export async function branches(world: World): Promise<Map<string, string>> {
  const listed = await world.git([
    'for-each-ref',
    '--format=%(objectname) %(refname:lstrip=2)',
    'refs/heads/',
  ]);
  const pairs = listed.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(41), line.slice(0, 40)] as const);
  return new Map(pairs);
}
