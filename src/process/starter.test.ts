import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { CompanionEnded } from './companion.ts';
import { createStarter, type Starter } from './starter.ts';

let dir: string;
let starter: Starter;

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'forge-starter ü-')));
  starter = createStarter(() => ({ PATH: process.env.PATH ?? '', LC_ALL: 'C', GIVEN: 'base' }));
});
afterEach(async () => {
  await starter.close();
  await rm(dir, { recursive: true, force: true });
});

const run = (argv: string[], more: { env?: Record<string, string>; input?: string; cwd?: string } = {}) =>
  starter.run({ argv, cwd: more.cwd ?? dir, env: more.env ?? {}, input: more.input });
const node = (code: string, ...args: string[]): string[] => [process.execPath, '-e', code, '--', ...args];

describe('a starter', () => {
  it('hands over arguments, environment, directory and input exactly as they are', async () => {
    const args = [
      '',
      ' a  b ',
      '$(touch x)',
      '`id`',
      '"\'\\n',
      '*',
      '-n',
      'ü\u0081\u00ff 漢',
      '\t',
      '&& exit 3',
    ];
    expect(starter.canStart({ argv: args, cwd: dir, env: {}, input: 'x' })).toBe(true);
    const said = await run(
      node(
        'const e=process.env;console.log(JSON.stringify([process.argv.slice(1),e.GIVEN,e.MORE,e.PWD,process.cwd(),require("fs").readFileSync(0,"utf8")]))',
        ...args,
      ),
      { env: { MORE: ' $HOME ; x=\'"' }, input: 'line one\nline two, without an end' },
    );
    expect(said.stderr.toString()).toBe('');
    const [argv, given, more, pwd, cwd, input] = JSON.parse(said.stdout.toString());
    expect(argv).toEqual(args);
    expect([given, more, cwd]).toEqual(['base', ' $HOME ; x=\'"', dir]);
    expect(pwd).toBeNull();
    expect(input).toBe('line one\nline two, without an end');
  });

  it('adds to the environment of one program only', async () => {
    await run(['true'], { env: { GIVEN: 'other', LATER: 'yes' } });
    const said = await run(['/bin/sh', '-c', 'echo "$GIVEN $LATER"']);
    expect(said.stdout.toString()).toBe('base \n');
  });

  test.each([
    ['a program that succeeds', ['true'], 0],
    ['one that fails', ['/bin/sh', '-c', 'exit 3'], 3],
    ['git’s own failure', ['/bin/sh', '-c', 'exit 128'], 128],
    ['one that is killed', ['/bin/sh', '-c', 'kill -9 $$'], null],
    ['one that is not there', ['no-such-program-anywhere'], 127],
  ])('%s', async (_, argv, code) => {
    expect((await run(argv)).code).toBe(code);
    expect((await run(['echo', 'and on'])).stdout.toString()).toBe('and on\n');
  });

  it('says 126 for a directory that is not there, and goes on', async () => {
    expect((await run(['true'], { cwd: join(dir, 'nowhere') })).code).toBe(126);
    expect((await run(['true'])).code).toBe(0);
  });

  it('carries much and binary output on both streams, also without a last line break', async () => {
    const code =
      'const b=Buffer.alloc(3e6,0xff);process.stdout.write(b);process.stderr.write(b);process.stdout.write("end")';
    const said = await run(node(code));
    expect(said.stdout.length).toBe(3e6 + 3);
    expect(said.stderr.length).toBe(3e6);
    expect(said.stdout.subarray(-3).toString()).toBe('end');
  });

  it('is not misled by output that looks like an end', async () => {
    const text = `${'0'.repeat(32)} 0\n`;
    const said = await run(['cat'], { input: text.repeat(3) });
    expect(said).toMatchObject({ code: 0 });
    expect(said.stdout.toString()).toBe(text.repeat(3));
  });

  it('runs several at once: one waits for what another does', async () => {
    await mkdir(join(dir, 'in'));
    const waits = run(['/bin/sh', '-c', 'until [ -e in/there ]; do sleep 0.01; done; echo seen']);
    await run(['touch', 'in/there']);
    expect((await waits).stdout.toString()).toBe('seen\n');
  });

  it('refuses what can’t be said in lines', () => {
    const program = { argv: ['echo', 'a'], cwd: dir, env: {}, input: undefined };
    expect(starter.canStart({ ...program, argv: ['echo', 'a\nb'] })).toBe(false);
    expect(starter.canStart({ ...program, cwd: `${dir}\n` })).toBe(false);
    expect(starter.canStart({ ...program, env: { A: 'b\nc' } })).toBe(false);
    expect(starter.canStart({ ...program, env: { 'A B': 'c' } })).toBe(false);
  });

  it('fails what was under way when its shell is killed, and starts another for the next', async () => {
    const lost = run(['/bin/sh', '-c', 'kill -9 "$PPID"; exec sleep 5']);
    await expect(lost).rejects.toBeInstanceOf(CompanionEnded);
    expect((await run(['echo', 'again'])).stdout.toString()).toBe('again\n');
  });

  it('leaves no process behind when it is closed', async () => {
    const { stdout } = await run(['/bin/sh', '-c', 'echo $PPID']);
    await starter.close();
    const alive = () => execFileSync('/bin/sh', ['-c', `kill -0 ${stdout.toString().trim()} 2>&1 || true`]);
    expect(alive().toString()).toMatch(/No such process/);
  });
});
