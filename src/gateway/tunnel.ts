/** Both ways between a client that asked for CONNECT and the host: each may fall silent first, and go on listening. */
import type { Socket } from 'node:net';
import { type Duplex, finished } from 'node:stream';

/** Why it ended, when not by both saying so. An error of one ends the other. */
export async function tunnel(client: Duplex, socket: Socket): Promise<string | null> {
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  client.pipe(socket).pipe(client);
  let why: string | null = null;
  const over = (one: Duplex, other: Duplex, words: string): Promise<void> =>
    new Promise((resolve) => {
      finished(one, (error) => {
        if (error) {
          why ??= words;
          other.destroy();
        }
        resolve();
      });
    });
  await Promise.all([over(client, socket, COMMAND_LEFT), over(socket, client, HOST_LEFT)]);
  return why;
}

export const COMMAND_LEFT = 'the command hung up';
export const HOST_LEFT = 'the connection to the host broke';
