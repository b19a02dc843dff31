/**
 * The specification people can read: each *.txt is a story, told in commands and in what the core decided. Rewrite them
 * with UPDATE_TRANSCRIPTS=1 and review the difference.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { narrate } from './language.ts';

const folder = new URL('.', import.meta.url);

test.each(readdirSync(folder).filter((name) => name.endsWith('.txt')))('%s', (name) => {
  const file = new URL(name, folder);
  const told = readFileSync(file, 'utf8');
  const happened = narrate(told);
  if (process.env.UPDATE_TRANSCRIPTS) writeFileSync(file, happened);
  else expect(happened).toBe(told);
});
