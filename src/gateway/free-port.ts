/** A port of loopback that nobody has right now, and that the kernel gives to nobody by itself. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const [FIRST, LAST] = [17_000, 31_999];

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
