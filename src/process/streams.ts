/**
 * A child's stdin, stdout and stderr as a file and a pipe of the kernel.
 *
 * Node's own pipes are sockets, and a socket can't be opened by name: under them `cat /dev/stdin` and
 * `echo > /dev/stderr`, common in agents' and gates' scripts, fail. One pipe for both outputs also keeps them in the
 * order in which they were written.
 */
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { hostStarter } from './host-starter.ts';

export interface Streams {
  stdinFd: number;
  outputFd: number;
  /** Ends when the last process that can write to `outputFd` is gone. */
  output: Readable;
  /** Closes our copies of the child's ends, once the child has its own or will never be. */
  handOver(): void;
}

export async function openStreams(stdin: string): Promise<Streams> {
  const dir = mkdtempSync(join(tmpdir(), 'forge-child-'));
  const opened: number[] = [];
  const hold = (fd: number) => {
    opened.push(fd);
    return fd;
  };
  try {
    const inputPath = join(dir, 'stdin');
    const pipePath = join(dir, 'output');
    writeFileSync(inputPath, stdin, { mode: 0o600 });
    await makePipe(dir, pipePath);
    const stdinFd = hold(openSync(inputPath, 'r'));
    // The reader first and without waiting: opening either end alone would block until the other is open.
    const readerFd = hold(openSync(pipePath, constants.O_RDONLY | constants.O_NONBLOCK));
    const outputFd = hold(openSync(pipePath, 'w'));
    const output = new Socket({ fd: readerFd, readable: true, writable: false });
    const handOver = () => {
      closeSync(stdinFd);
      closeSync(outputFd);
    };
    return { stdinFd, outputFd, output, handOver };
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function makePipe(cwd: string, path: string): Promise<void> {
  const program = { argv: ['mkfifo', '-m', '600', path], cwd, env: {}, input: undefined };
  const { code, stderr } = await hostStarter.run(program);
  if (code !== 0)
    throw new Error(`a pipe for a child's output could not be made: ${stderr.toString().trim()}`);
}
