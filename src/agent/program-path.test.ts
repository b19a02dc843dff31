import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isOlder, newerNodeFor, versionOf } from './program-path.ts';

test.each([
  ['20.20.2', '>=22', true],
  ['22.0.0', '>=22', false],
  ['20.18.3', '>=20.19', true],
  ['20.19.0', '>=20.19', false],
  ['20.19.0', '>= 20.19.1', true],
  ['24.1.0', '>=20.19', false],
  // What we can't read, nobody is warned of.
  ['20.0.0', '^22 || >=24', false],
  ['20.0.0', '', false],
])('Node %s is older than what "%s" asks for: %s', (version, range, expected) => {
  expect(isOlder(version, range)).toBe(expected);
});

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'forge-program-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a program of a package has its version, and asks for a Node', async () => {
  const home = join(dir, 'node_modules', '@some', 'adapter');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'package.json'), '{"version":"1.2.3","engines":{"node":">=22"}}');
  writeFileSync(join(home, 'main.js'), '');
  const argv = [process.execPath, join(home, 'main.js')];
  expect(await versionOf(argv)).toBe('1.2.3');
  expect(await newerNodeFor(argv, '20.20.2')).toBe('>=22');
  expect(await newerNodeFor(argv, '22.1.0')).toBeNull();
  expect(await newerNodeFor([join(dir, 'own')], '20.20.2')).toBeNull();
});
