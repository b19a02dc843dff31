import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { quoted } from './shell.ts';

test.each(['plain/path-1.txt', 'with a space', "it's", '$(rm) `x` "y" \\ *', 'ünïcode', ''])(
  'a shell reads %j back as it was',
  (word) => {
    expect(execFileSync('/bin/sh', ['-c', `printf %s ${quoted(word)}`], { encoding: 'utf8' })).toBe(word);
  },
);

test('what needs no quotes has none, so that people can read it', () => {
  expect(quoted('/tmp/forge-loop-demo-x/tally')).toBe('/tmp/forge-loop-demo-x/tally');
});
