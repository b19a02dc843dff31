import { closeSync, readFileSync, writeSync } from 'node:fs';
import { expect, test } from 'vitest';
import { takePipe } from './pipe.ts';

test('pipes are apart from each other, also when many are wanted at once, and end with their writer', async () => {
  const pipes = await Promise.all(Array.from({ length: 10 }, takePipe));
  for (const [at, { writerFd }] of pipes.entries()) writeSync(writerFd, `to ${at}`);
  for (const { writerFd } of pipes) closeSync(writerFd);
  expect(pipes.map(({ readerFd }) => readFileSync(readerFd, 'utf8'))).toEqual(
    pipes.map((_, at) => `to ${at}`),
  );
  for (const { readerFd } of pipes) closeSync(readerFd);
});
