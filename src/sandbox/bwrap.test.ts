import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { PATH, sandboxStage } from '../../test/support/sandbox-stage.ts';
import { HOST, secureHosts } from '../../test/support/secure-hosts.ts';
import { installHint } from '../agent/install-hint.ts';
import { openGateway } from '../gateway/server.ts';
import { bwrap } from './bwrap.ts';
import { containers } from './container.ts';
import { sandboxContract } from './contract.ts';
import { openSandbox } from './open.ts';
import { srt } from './srt.ts';

const stage = sandboxStage({ name: 'bubblewrap', kind: 'bwrap', open: bwrap });
const { at, options, access, inside } = stage;

const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing) console.warn('SKIPPED: confinement by bubblewrap. Install the package bubblewrap to run it.');

// A machine without bubblewrap can't confine; that it says so is tested below.
describe.skipIf(missing)('a command confined by bubblewrap', () => {
  sandboxContract(stage);

  test('has no more memory than it may use, where a cgroup can be had', async ({ skip }) => {
    const sandbox = bwrap({ ...options(), memoryBytes: 256 * 1024 ** 2 });
    const why = await sandbox.unlimited();
    if (why !== null) {
      console.warn(`SKIPPED: a limit on memory under bubblewrap: ${why}.`);
      skip();
    }
    const greedy = `node -e 'const all = []; for (;;) all.push(Buffer.alloc(8e6, 1))'; echo "ended with $?"`;
    const confined = await sandbox.confine(stage.command(greedy), access());
    const [program = '', ...args] = confined.argv;
    const { stdout, status } = spawnSync(program, args, { env: confined.env, encoding: 'utf8' });
    await confined.dispose();
    // In the first version of cgroups the greedy one is killed, in the second all of it.
    expect([stdout.trim(), status]).toEqual(stdout === '' ? ['', 137] : ['ended with 137', 0]);
  });

  // Nobody else could make a file there.
  test.skipIf(process.getuid?.() !== 0)('reads nothing in /etc that not everybody may', async () => {
    const folder = `/etc/forge-loop-test-${process.pid}`;
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(`${folder}/closed`, { recursive: true });
    writeFileSync(`${folder}/open`, 'open');
    writeFileSync(`${folder}/secret`, 'secret', { mode: 0o640 });
    writeFileSync(`${folder}/closed/secret`, 'secret');
    chmodSync(`${folder}/closed`, 0o700);
    // It looks once a minute.
    const later = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 120_000);
    onTestFinished(() => later.mockRestore());
    const look = `cat ${folder}/open ${folder}/secret ${folder}/closed/secret`;
    expect((await inside(look)).said).toBe('open');
    expect((await inside(look, { readRoots: [`${folder}/secret`] })).said).toBe('opensecret');
  });

  test('makes no file in its /dev', async () => {
    expect((await inside('touch /dev/x 2>/dev/null && echo made; :')).said).toBe('');
  });

  test('has a name', async () => {
    expect((await inside('id -un')).said).toBe('forge');
  });

  test('that is no program is told from one that failed', async () => {
    const command = { argv: ['/nonexistent'], env: {}, cwd: at('workspace') };
    const confined = await bwrap(options()).confine(command, access({ writeRoots: [at('workspace')] }));
    const [program = '', ...args] = confined.argv;
    const { status } = spawnSync(program, args, { env: { PATH: process.env.PATH ?? '' } });
    expect(confined.problem({ code: status })).toBe('bubblewrap could not confine it');
    await confined.dispose();
  });

  test.each([
    ['the session keyring', 'syscall(250, 0, -3, 0)', 1],
    ['io_uring', 'syscall(425, 1, 0)', 38],
    ['mounts', 'syscall(165, $text, $text, $text, 0, 0)', 1],
    ['other namespaces', 'syscall(308, 0, 0)', 1],
    ['sockets to the host of a virtual machine', 'syscall(41, 40, 1, 0)', 97],
    ['typing into its terminal', 'syscall(16, 0, 0x5412, $text)', 1],
    ['calls by the other table', 'syscall(0x40000000 + 39)', 38],
  ])('is refused %s', async (_, call, errno) => {
    if (process.arch !== 'x64') return;
    const { said } = await inside(`perl -e 'my $text = "x" x 64; my $x = ${call}; print $!+0'`);
    expect(said).toBe(String(errno));
  });

  test('sees nothing that is hidden below a folder of the system', async () => {
    const hidden = ['/usr/share/doc'];
    expect((await inside('ls /usr/share/doc | wc -l')).said).not.toBe('0');
    expect(await inside('ls /usr/share/doc | wc -l; touch /usr/share/doc/x', { hidden })).toMatchObject({
      said: '0',
      code: 1,
    });
  });

  test('sees nothing of what is hidden by the name of a link', async () => {
    symlinkSync(at('operator'), at('link'));
    const env = { PATH: `${at('operator')}:${PATH}` };
    expect((await inside(`ls '${at('operator')}'`, { env, hidden: [at('link')] })).said).toBe('');
  });

  test('of a killed runner leaves nothing for ever', async () => {
    mkdirSync(at('state/sandbox/launch-4194305-x'), { recursive: true });
    mkdirSync(at(`state/sandbox/launch-${process.pid}-x`), { recursive: true });
    expect(await bwrap(options()).unavailable()).toBeNull();
    expect(readdirSync(at('state/sandbox')).sort()).toEqual([`launch-${process.pid}-x`]);
  });

  test('what comes in between is no proof that nothing can be confined', async () => {
    writeFileSync(at('state/sandbox'), 'in the way');
    const sandbox = openSandbox({
      bwrap: bwrap(options()),
      containers: containers(options()),
      srt: srt({ ...options(), installHint }),
    });
    expect(await sandbox.choose({ kind: 'auto', image: null })).toEqual({
      kind: null,
      why: expect.stringMatching(/EEXIST|ENOTDIR/),
    });
  });

  test('uses a secret with a program of the system, and sees only what takes its place', async () => {
    const hosts = await secureHosts();
    const VALUE = 'a-value-nobody-sees';
    hosts.answer = ({ headers }, response) => response.end(`heard ${headers.authorization}`);
    const door = await openGateway({ ...hosts.operator, KEY: VALUE }).open({
      at: 'inside',
      network: [],
      secrets: [{ name: 'API_KEY', from: { env: 'KEY' }, hosts: [`${HOST}:443`] }],
      advice: 'grant it',
    });
    const script = `curl -sS -H "authorization: Bearer $API_KEY" https://${HOST}/`;
    const { said, code } = await inside(script, { network: door.way! });
    expect({ said, code }).toEqual({ said: `heard Bearer ${'*'.repeat(VALUE.length)}`, code: 0 });
    expect(hosts.heard).toMatchObject([{ headers: { authorization: `Bearer ${VALUE}` } }]);
    await door.close();
    await hosts.close();
  });
});

// Elsewhere it is not even tried.
describe.skipIf(process.platform !== 'linux')('a bubblewrap', () => {
  const before = process.env.PATH;
  afterEach(() => {
    process.env.PATH = before;
  });

  /** One that makes everything but a network of its own. */
  function withoutNetwork(says: string): void {
    mkdirSync(at('bin'), { recursive: true });
    const script = [
      '#!/bin/sh',
      `if tr '\\0' '\\n' <&7 | grep -qx -e --unshare-net; then echo '${says}' >&2; exit 1; fi`,
      `echo '{ "exit-code": 0 }' >&9`,
    ];
    writeFileSync(at('bin/bwrap'), `${script.join('\n')}\n`, { mode: 0o755 });
    process.env.PATH = `${at('bin')}:${before}`;
  }

  test('that can make no network is no sandbox, and what mends it is named', async () => {
    withoutNetwork('bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted');
    expect(await bwrap(options()).unavailable()).toEqual({
      why: expect.stringMatching(/RTM_NEWADDR.*AppArmor.*NET_ADMIN/),
      isSure: true,
    });
  });

  test('is tried in a folder for temporary files with a long name, too', async ({ skip }) => {
    if (missing) skip();
    const [temporary] = [process.env.TMPDIR];
    process.env.TMPDIR = at('x'.repeat(100));
    mkdirSync(process.env.TMPDIR, { recursive: true });
    try {
      expect(await bwrap(options()).unavailable()).toBeNull();
    } finally {
      if (temporary === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = temporary;
    }
  });
});

test('without bubblewrap there is no sandbox, and the package is named', async () => {
  const [path] = [process.env.PATH];
  process.env.PATH = dirname('/nonexistent/x');
  try {
    expect(await bwrap(options()).unavailable()).toEqual({
      why: 'prlimit is not installed: install the package util-linux',
      isSure: true,
    });
  } finally {
    process.env.PATH = path;
  }
});
