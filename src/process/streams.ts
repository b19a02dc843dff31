/**
 * A child's stdin, stdout and stderr as a file and a pipe of the kernel.
 *
 * Node's own pipes are sockets, and a socket can't be opened by name: under them `cat /dev/stdin` and
 * `echo > /dev/stderr`, common in agents' and gates' scripts, fail. One pipe for both outputs also keeps them in the
 * order in which they were written.
 */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { takePipe } from './pipe.ts';
import { tempFolder } from './temp-folder.ts';

export interface Streams {
  stdinFd: number;
  outputFd: number;
  /** The other end of its output, for a child that reads it on when we no longer do. */
  readerFd: number;
  /** Ends when the last process that can write to `outputFd` is gone. */
  output: Readable;
  /** Closes our copies of the child's ends, once the child has its own or will never be. */
  handOver(): void;
}

export async function openStreams(stdin: string): Promise<Streams> {
  const stdinFd = fileOf(stdin);
  try {
    const { readerFd, writerFd: outputFd } = await takePipe();
    const output = new Socket({ fd: readerFd, readable: true, writable: false });
    const handOver = () => {
      closeSync(stdinFd);
      closeSync(outputFd);
    };
    return { stdinFd, outputFd, readerFd, output, handOver };
  } catch (error) {
    closeSync(stdinFd);
    throw error;
  }
}

/** Without a name as soon as it is open. */
function fileOf(content: string): number {
  if (content === '') return openSync('/dev/null', 'r');
  const folder = tempFolder('child');
  try {
    const path = join(folder.path, 'stdin');
    writeFileSync(path, content, { mode: 0o600 });
    return openSync(path, 'r');
  } finally {
    folder.remove(['stdin']);
  }
}
