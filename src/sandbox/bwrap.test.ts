import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
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
    const unlimited = await sandbox.unlimited();
    if (unlimited?.what === 'memory and processes') {
      console.warn(`SKIPPED: a limit on memory under bubblewrap: ${unlimited.why}.`);
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

  describe('behind a door that nothing comes in by', () => {
    const opened = (network: string[] = []) =>
      openGateway({}).open({ at: 'inside', network, advice: '', isOneWay: true });

    // Where there is no perl, Node is the door from the start.
    test.runIf(existsSync('/usr/bin/perl'))('starts before Node, which it may never need', async () => {
      const door = await opened();
      const { said } = await inside('cat /proc/[0-9]*/comm', { network: door.way! });
      expect(said.split('\n').sort()).toEqual(['bwrap', 'perl', 'sh']);
      await door.close();
    });

    test('has no child that it did not start, and none of our variables', async () => {
      const door = await opened();
      const script = `exec perl -e 'print wait, " ", grep { /^PERL/ } keys %ENV'`;
      expect((await inside(script, { network: door.way! })).said).toBe('-1');
      await door.close();
    });

    test.each([
      ['NODE_OPTIONS', '--require /nonexistent'],
      ['PERL5OPT', '-MOf::Nobody'],
    ])('goes out by it whatever %s says', async (name, value) => {
      const service = createServer((_, response) => response.end('of this machine'));
      await once(service.listen(0, '127.0.0.1'), 'listening');
      const { port } = service.address() as AddressInfo;
      const door = await opened([`127.0.0.1:${port}`]);
      const script = `env -u ${name} node -e 'const { hostname: host, port } = new URL(process.env.http_proxy);
        require("http").get({ host, port, path: "http://127.0.0.1:${port}/" }, (r) => r.pipe(process.stdout))'; echo " $${name}"`;
      const { said } = await inside(script, { network: door.way!, env: { [name]: value } });
      expect(said).toBe(`of this machine ${value}`);
      await door.close();
      service.close();
    });

    test.each([
      ['/nonexistent', 127],
      ['/etc/passwd', 126],
    ])('says that it can’t run %s', async (program, code) => {
      const door = await opened();
      const { argv, ...rest } = stage.command('');
      const way = access({ network: door.way! });
      const confined = await bwrap(options()).confine({ ...rest, argv: [program] }, way);
      const [first = '', ...args] = confined.argv;
      const ended = spawnSync(first, args, { env: confined.env, encoding: 'utf8' });
      expect([ended.status, ended.stderr]).toEqual([code, expect.stringContaining(program)]);
      await confined.dispose();
      await door.close();
    });
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

  test.each([
    'bwrap: Can’t fork for pid 1: Resource temporarily unavailable',
    'bwrap: Creating new namespace failed: Cannot allocate memory',
    'bwrap: Can’t write data to file /newroot/etc/passwd: No space left on device',
    '/bin/sh: 1: Cannot fork',
  ])('that fails on a machine that is full may yet work, so nothing goes without: %s', async (says) => {
    withoutNetwork(says);
    expect(await bwrap(options()).unavailable()).toEqual({
      why: expect.stringContaining(says),
      isSure: false,
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
