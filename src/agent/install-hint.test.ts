import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installHint } from './install-hint.ts';

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'forge-install-')));
});
afterEach(() => rmSync(dir, { recursive: true }));

function file(path: string, text = '{}'): string {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
  return join(dir, path);
}
/** What a forge-loop says that lies in this folder. */
function hint(folder: string): string {
  file(`${folder}/package.json`, '{ "name": "forge-loop" }');
  return installHint(['a@1', 'b@2'], pathToFileURL(file(`${folder}/dist/main.js`)).href);
}

test('installed for everybody', () => {
  expect(hint('lib/node_modules/forge-loop')).toBe('run `npm install -g a@1 b@2`');
});

test('a dependency of a project', () => {
  file('project/package.json');
  expect(hint('project/node_modules/forge-loop')).toBe(`run \`npm install a@1 b@2\` in ${dir}/project`);
});

test('a dependency in a store of pnpm', () => {
  file('project/package.json');
  const store = 'project/node_modules/.pnpm/forge-loop@0.1.0/node_modules/forge-loop';
  expect(hint(store)).toBe(`run \`npm install a@1 b@2\` in ${dir}/project`);
});

test('by npx, which makes a project of its own for each list of packages', () => {
  file('.npm/_npx/1f2e/package.json');
  expect(hint('.npm/_npx/1f2e/node_modules/forge-loop')).toBe(
    'start it with `npx -p a@1 -p b@2 -p forge-loop forge-loop …`',
  );
});

test('a checkout, whose package.json stays as it is', () => {
  expect(hint('checkout')).toBe(
    `run \`npm install --no-save -D a@1 b@2\` in ${dir}/checkout, and again after each \`npm install\` there`,
  );
  expect(installHint(['a@1'])).toMatch(/^run `npm install --no-save -D a@1` in \S+, and again/);
});
