/** Reports of real commands' trees: which are read, and what project code can't make of it. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { watchTestReports } from './test-reports.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'forge-reports-'));
  mkdirSync(join(dir, 'tree'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const tree = () => join(dir, 'tree');
const logPath = () => join(dir, 'log');

function put(path: string, text: string): void {
  mkdirSync(dirname(join(tree(), path)), { recursive: true });
  writeFileSync(join(tree(), path), text);
}

/** The failing tests that are found of a command that does this. */
async function found(does: () => void, ...patterns: string[]): Promise<string[] | null> {
  const report = await watchTestReports({ tree: tree(), logPath: logPath(), patterns });
  does();
  return (await report())?.failing ?? null;
}

const junit = (...failing: string[]): string =>
  `<testsuite><testcase name="good"/>${failing.map((name) => `<testcase name="${name}"><failure/></testcase>`).join('')}</testsuite>`;
const TAP = 'TAP version 13\nok 1 - good\nnot ok 2 - bad\n1..2\n';

describe('TAP', () => {
  test('in the output of this run, not of an earlier one in the same log', async () => {
    expect(await found(() => writeFileSync(logPath(), TAP))).toEqual(['bad']);
    expect(await found(() => appendFileSync(logPath(), 'cc: fatal error\n'))).toBeNull();
    expect(await found(() => appendFileSync(logPath(), TAP.replace('bad', 'worse')))).toEqual(['worse']);
  });

  test('as node writes it', async () => {
    put(
      'a.test.mjs',
      "import test from 'node:test'; test('good', () => {}); test('bad', () => { throw new Error('x'); });",
    );
    const run = () => {
      const argv = ['-c', `"${process.execPath}" --test --test-reporter=tap > "${logPath()}" 2>&1 || true`];
      execFileSync('/bin/sh', argv, { cwd: tree(), env: { PATH: process.env.PATH } });
    };
    expect(await found(run)).toEqual([expect.stringMatching(/(^|: )bad$/)]);
  });

  test('of a file that node can’t even load names no test: nothing passed', async () => {
    put('a.test.mjs', "import 'no-such-module';");
    const run = () => {
      const argv = ['-c', `"${process.execPath}" --test --test-reporter=tap > "${logPath()}" 2>&1 || true`];
      execFileSync('/bin/sh', argv, { cwd: tree(), env: { PATH: process.env.PATH } });
    };
    expect(await found(run)).toBeNull();
  });

  test('no output at all', async () => {
    expect(await found(() => {})).toBeNull();
  });
});

describe('JUnit', () => {
  test('every file that the command wrote, wherever the patterns lead', async () => {
    put('old/stale.xml', junit('stale'));
    const does = () => {
      put('a/target/reports/x.xml', junit('one'));
      put('b/target/reports/deep/y.xml', junit('two'));
      put('b/target/other.xml', junit('three'));
    };
    expect(await found(does, '**/reports/**/*.xml', 'old/*.xml')).toEqual(['one', 'two']);
  });

  test('one that is written again with the same words is of this run', async () => {
    put('out/r.xml', junit('a'));
    expect(await found(() => put('out/r.xml', junit('a')), 'out/*.xml')).toEqual(['a']);
    expect(await found(() => {}, 'out/*.xml')).toBeNull();
  });

  test('goes before TAP', async () => {
    const does = () => {
      writeFileSync(logPath(), TAP);
      put('out/r.xml', junit('a'));
    };
    expect(await found(does, 'out/*.xml')).toEqual(['a']);
  });

  test.each([
    ['one that is broken', () => put('out/b.xml', '<testsuite>')],
    ['one that is too large', () => put('out/b.xml', `${junit()}${' '.repeat(9 * 1024 * 1024)}`)],
  ])('beside %s tells nothing', async (_what, also) => {
    const does = () => {
      put('out/a.xml', junit('a'));
      also();
    };
    expect(await found(does, 'out/*.xml')).toBeNull();
  });

  test('is not read through a link, neither file nor folder', async () => {
    mkdirSync(join(dir, 'elsewhere'));
    const does = () => {
      writeFileSync(join(dir, 'elsewhere', 'r.xml'), junit('a'));
      mkdirSync(join(tree(), 'out'));
      symlinkSync(join(dir, 'elsewhere', 'r.xml'), join(tree(), 'out', 'r.xml'));
      symlinkSync(join(dir, 'elsewhere'), join(tree(), 'out', 'deep'));
    };
    expect(await found(does, 'out/**/*.xml')).toBeNull();
    rmSync(join(tree(), 'out'), { recursive: true });
    const folder = () => symlinkSync(join(dir, 'elsewhere'), join(tree(), 'out'));
    expect(await found(folder, 'out/*.xml')).toBeNull();
  });
});
