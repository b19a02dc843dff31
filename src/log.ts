/** The runner's own log, for whoever looks into a problem later. The file is opened by the first line. */
import type { Logger } from 'pino';
import type { Log } from './loop/ports.ts';

export function fileLog(path: string): Log {
  let opened: Promise<{ logger: Logger }> | null = null;
  return (level, message, fields = {}) => {
    opened ??= open(path);
    void opened.then(({ logger }) => logger[level](fields, message));
  };
}

async function open(path: string): Promise<{ logger: Logger }> {
  const { pino } = await import('pino');
  const destination = pino.destination({ dest: path, mkdir: true });
  return { logger: pino({ level: 'debug', base: { pid: process.pid } }, destination) };
}
