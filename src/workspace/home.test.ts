/** A private home on a real file system: what is offered in it, and what project code can't turn that into. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { offersIn, prepareHome, takeBack } from './home.ts';

let dir: string;
let operator: string;
let home: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'forge-home-')));
  operator = join(dir, 'operator');
  home = join(dir, 'tasks', 't1', 'home');
  put(operator, '.rustup/settings.toml', 'default_toolchain = "stable"\n');
  put(operator, '.cargo/config.toml', '[net]\n');
  put(operator, '.npmrc', '//registry/:_authToken=x\n');
});
afterEach(() => rmSync(dir, { recursive: true }));

function put(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const anything = (): boolean => true;
const offer = (...homeEntries: string[]) =>
  prepareHome(home, { home: 'private', homeEntries }, operator, anything);
const at = (path: string): string => join(home, path);
const isLink = (path: string): boolean => lstatSync(path).isSymbolicLink();

test('a folder is a link, a small file a copy, and what the operator does not have is not there', async () => {
  await offer('.rustup', '.cargo/config.toml', '.nvm');
  expect(readlinkSync(at('.rustup'))).toBe(join(operator, '.rustup'));
  expect(isLink(at('.cargo')), 'cargo writes beside its settings').toBe(false);
  expect(isLink(at('.cargo/config.toml'))).toBe(false);
  expect(readFileSync(at('.cargo/config.toml'), 'utf8')).toBe('[net]\n');
  expect(readdirSync(home).sort()).toEqual(['.cargo', '.rustup']);
  expect(statSync(at('.cargo/config.toml')).mode & 0o777).toBe(0o600);
});

test('a second time changes nothing, and a changed file is copied anew', async () => {
  await offer('.rustup', '.cargo/config.toml');
  const seen = () => ['.rustup', '.cargo/config.toml'].map((path) => lstatSync(at(path)).ino);
  const before = seen();
  await offer('.rustup', '.cargo/config.toml');
  expect(seen()).toEqual(before);
  writeFileSync(join(operator, '.cargo/config.toml'), '[http]\n');
  await offer('.rustup', '.cargo/config.toml');
  expect(readFileSync(at('.cargo/config.toml'), 'utf8')).toBe('[http]\n');
});

test('an entry that is no longer offered, or that the operator removed, is taken back', async () => {
  await offer('.rustup', '.cargo/config.toml', '.npmrc');
  await offer('.rustup', '.cargo/config.toml');
  expect(existsSync(at('.npmrc'))).toBe(false);
  rmSync(join(operator, '.rustup'), { recursive: true });
  await offer('.rustup', '.cargo/config.toml');
  expect(readdirSync(home)).toEqual(['.cargo']);
  expect(offersIn(home)).toEqual(['.cargo/config.toml']);
});

test.each(['', '[".rus', '{}'])(
  'a note of offers that reads %j: all that is known is taken as offered',
  async (left) => {
    await offer('.rustup', '.npmrc');
    put(home, '.mine', 'x');
    writeFileSync(`${home}.offers.json`, left);
    await offer('.cargo/config.toml');
    expect(readdirSync(home).sort()).toEqual(['.cargo', '.mine']);
    expect(offersIn(home)).toEqual(['.cargo/config.toml']);
  },
);

test('what a tool made in a private home of its own stays', async () => {
  await offer('.cargo/config.toml');
  put(home, '.cargo/registry/index', 'x');
  await offer();
  expect(readFileSync(at('.cargo/registry/index'), 'utf8')).toBe('x');
});

test('a home from before there were offers gets them, in place of what a tool had put there', async () => {
  put(home, '.rustup/settings.toml', 'version = "12"\n');
  await offer('.rustup');
  expect(readFileSync(at('.rustup/settings.toml'), 'utf8')).toContain('stable');
});

test('an entry below another one comes with it', async () => {
  await offer('.cargo', '.cargo/config.toml');
  expect(readlinkSync(at('.cargo'))).toBe(join(operator, '.cargo'));
  expect(readdirSync(join(operator, '.cargo')), 'nothing was written into it').toEqual(['config.toml']);
});

test('with the operator’s own home nothing is offered in the private one', async () => {
  await offer('.rustup');
  await prepareHome(home, { home: 'operator', homeEntries: ['.rustup'] }, operator, anything);
  expect(readdirSync(home)).toEqual([]);
});

test('what an agent may have led elsewhere is not offered, and taken back', async () => {
  await offer('.rustup', '.cargo/config.toml');
  const stays = (path: string): boolean => path !== join(operator, '.cargo/config.toml');
  await prepareHome(
    home,
    { home: 'private', homeEntries: ['.rustup', '.cargo/config.toml'] },
    operator,
    stays,
  );
  expect(readdirSync(at('.cargo'))).toEqual([]);
  expect(readdirSync(home).sort()).toEqual(['.cargo', '.rustup']);
});

describe('a link that project code planted is replaced, never followed:', () => {
  const elsewhere = () => join(dir, 'elsewhere');
  beforeEach(() => {
    mkdirSync(elsewhere());
    mkdirSync(home, { recursive: true });
  });

  test('above an offer', async () => {
    symlinkSync(elsewhere(), at('.cargo'));
    await offer('.cargo/config.toml');
    expect(readdirSync(elsewhere())).toEqual([]);
    expect(readFileSync(at('.cargo/config.toml'), 'utf8')).toBe('[net]\n');
  });

  test('at the place of a copy', async () => {
    put(dir, 'elsewhere/victim', 'keep me');
    symlinkSync(join(elsewhere(), 'victim'), at('.npmrc'));
    await offer('.npmrc');
    expect(readFileSync(join(elsewhere(), 'victim'), 'utf8')).toBe('keep me');
    expect(isLink(at('.npmrc'))).toBe(false);
  });

  test('at the place of a link', async () => {
    put(dir, 'elsewhere/settings.toml', 'evil');
    symlinkSync(elsewhere(), at('.rustup'));
    await offer('.rustup');
    expect(readlinkSync(at('.rustup'))).toBe(join(operator, '.rustup'));
    expect(existsSync(join(elsewhere(), 'settings.toml'))).toBe(true);
  });

  test('in place of the home', async () => {
    rmSync(home, { recursive: true });
    symlinkSync(elsewhere(), home);
    await offer('.npmrc');
    expect(readdirSync(elsewhere())).toEqual([]);
    expect(readFileSync(at('.npmrc'), 'utf8')).toContain('registry');
  });

  test('above an offer that is taken back', async () => {
    await offer('.cargo/config.toml');
    rmSync(at('.cargo'), { recursive: true });
    put(dir, 'elsewhere/config.toml', 'keep me');
    symlinkSync(elsewhere(), at('.cargo'));
    await takeBack(home, ['.cargo/config.toml']);
    expect(readFileSync(join(elsewhere(), 'config.toml'), 'utf8')).toBe('keep me');
  });
});
