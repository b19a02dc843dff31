/**
 * Pipes of the kernel. Node has none to give, so `mkfifo` makes them as files, which are opened and lose their names.
 *
 * A few are made at a time, because starting the program costs more than all of them. Each is used once: whoever still
 * has an end of an earlier child's pipe has nothing of the next one's.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tempFolder } from './temp-folder.ts';

interface Pipe {
  readerFd: number;
  writerFd: number;
}

/** Both ends are the caller's to close. Neither is inherited by a child that is not given it. */
export async function takePipe(): Promise<Pipe> {
  const kept = ready.pop();
  if (kept) return kept;
  const [first, ...rest] = await makePipes();
  ready.push(...rest);
  return first!;
}

const ready: Pipe[] = [];
const AT_A_TIME = 4;
const execute = promisify(execFile);

async function makePipes(): Promise<Pipe[]> {
  const names = Array.from({ length: AT_A_TIME }, (_, at) => `${at}`);
  const folder = tempFolder('pipe');
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const fd = openSync(path, flags);
    opened.push(fd);
    return fd;
  };
  try {
    const env = { PATH: process.env.PATH, LC_ALL: 'C' };
    await execute('mkfifo', ['-m', '600', ...names], { cwd: folder.path, env }).catch((error) => {
      throw new Error(`a pipe for a child's output could not be made: ${error.message.trim()}`);
    });
    return names.map((name) => {
      // The reader first and without waiting: opening either end alone would block until the other is open.
      const readerFd = open(join(folder.path, name), constants.O_RDONLY | constants.O_NONBLOCK);
      return { readerFd, writerFd: open(join(folder.path, name), constants.O_WRONLY) };
    });
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  } finally {
    folder.remove(names);
  }
}
