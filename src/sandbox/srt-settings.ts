/** What srt is told of a command: what it reads and writes, and its way out. */
import type { Access } from '../core/role.ts';

interface View {
  platform: NodeJS.Platform;
  read: readonly string[];
  write: readonly string[];
  /** Of what is read, what is nobody's business. */
  masked: readonly string[];
  /** Places that srt lets everybody write to. */
  shared: readonly string[];
  network: Access['network'];
}

export function srtSettings({ platform, read, write, masked, shared, network }: View) {
  return {
    network: {
      ...(network !== 'host' && { allowedDomains: [], deniedDomains: [] }),
      ...wayOut(),
    },
    filesystem: {
      // It reads what is not denied. So everything is, and what is given is taken out of that.
      denyRead: ['/', ...masked],
      allowRead: [...read, ...write],
      allowWrite: [...write],
      denyWrite: [...shared],
    },
  };

  /**
   * On Linux a network of its own, in which sockets lead to what it sees. On macOS there is only the network of the machine:
   * a command may use the port of its own door, as if that were srt's proxy, and no other; whoever may listen on
   * any port there may also connect to any.
   */
  function wayOut(): Record<string, unknown> {
    if (platform !== 'darwin') return { allowAllUnixSockets: true };
    if (typeof network === 'string') return { allowUnixSockets: [...write] };
    const { socket, port } = network;
    return { allowUnixSockets: [socket, ...write], httpProxyPort: port, socksProxyPort: port };
  }
}
