/** Whoever answers at the port of the server may be a program of the agent's that took its place. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { opencodeServer } from './server.ts';

const MIB = 1024 * 1024;

test('an answer without end is left', async () => {
  let sent = 0;
  const server = createServer((_, response) => {
    const more = (): void => {
      while (!response.destroyed && sent < 256 * MIB) {
        sent += MIB;
        if (!response.write(Buffer.alloc(MIB, ' '))) return;
      }
      response.end('{}');
    };
    response.on('drain', more);
    more();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const asked = opencodeServer(`http://127.0.0.1:${port}`, 'secret').get('/session');
  await expect(asked).rejects.toThrow('opencode answered GET /session with more than');
  server.closeAllConnections();
  server.close();
  expect(sent).toBeLessThan(128 * MIB);
});

test('events arrive, wherever their stream is cut', async () => {
  const said = ['one', 'two', 'three'].map((type) => `data: {"type":"${type}"}\n\n`).join('');
  const server = createServer(async (_, response) => {
    for (const letter of said) {
      response.write(letter);
      await setImmediate();
    }
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const heard: string[] = [];
  await new Promise<void>((ended, failed) => {
    const each = ({ type }: { type: string }) => void heard.push(type);
    opencodeServer(`http://127.0.0.1:${port}`, 'secret').listen(each, ended).catch(failed);
  });
  server.close();
  expect(heard).toEqual(['one', 'two', 'three']);
});
