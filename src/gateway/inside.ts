/**
 * From outside to a port that a confined program listens on. Nothing can be opened into its network, so the program that
 * keeps the door inside (src/sandbox/door-program.js) offers connections, and each is taken for one.
 */
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';

/** What it asks its door for. */
export const OFFERED = 'inside.invalid:1';

interface Inside {
  offered(connection: Duplex): void;
  /** A port of this machine that leads to that one. */
  reach(port: number): Promise<number>;
  close(): void;
}

export function inside(): Inside {
  const idle = new Set<Duplex>();
  const wanting: ((connection: Duplex) => void)[] = [];
  const servers: Server[] = [];
  return {
    offered(connection) {
      connection.on('error', () => {});
      connection.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      const take = wanting.shift();
      if (take) return take(connection);
      idle.add(connection);
      const gone = (): void => {
        if (idle.delete(connection)) connection.destroy();
      };
      // Only who reads hears of an end; nothing is said before it is taken.
      connection.resume().once('end', gone).once('close', gone);
    },
    async reach(port) {
      const server = createServer({ allowHalfOpen: true }, (client) => {
        client.on('error', () => {});
        const join = (connection: Duplex): void => {
          connection.write(`${port}\n`);
          connection.pipe(client);
          client.pipe(connection);
          client.once('close', () => client.readableEnded || connection.destroy());
          connection.once('close', () => connection.readableEnded || client.destroy());
        };
        const [connection] = idle;
        if (!connection) return void wanting.push(join);
        idle.delete(connection);
        join(connection);
      });
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return (server.address() as AddressInfo).port;
    },
    close() {
      for (const server of servers) server.close();
      for (const connection of idle) connection.destroy();
    },
  };
}
