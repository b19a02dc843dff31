import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type ContainerEngine,
  IMAGE,
  openEngine,
  skippedWithoutEngine,
} from '../../test/support/container-engine.ts';
import { sandboxStage, started } from '../../test/support/sandbox-stage.ts';
import { installHint } from '../agent/install-hint.ts';
import { SandboxFailed } from '../errors.ts';
import { hostProcesses } from '../process/host.ts';
import { bwrap } from './bwrap.ts';
import { containers } from './container.ts';
import { sandboxContract } from './contract.ts';
import { beginningOf } from './machine.ts';
import { openSandbox } from './open.ts';
import type { Confined } from './sandbox.ts';
import { srt } from './srt.ts';

const PATH = '/usr/bin:/bin';

const stage = sandboxStage({
  name: 'podman',
  kind: { image: IMAGE },
  open(options) {
    const all = containers(options);
    return {
      unavailable: () => all.unavailable(IMAGE),
      confine: (command, access) => all.confine(command, access, IMAGE),
    };
  },
  path: PATH,
  // Its environment, which the first process inside reads.
  shows: /\/state\/sandbox\/forge-loop-none-\w+\/(environment|status)$/,
});
const { at, options, confinement, access, command, inside } = stage;

/** An ordinary user may have no cgroups, and is then told so. */
const UNLIMITED =
  process.getuid?.() === 0
    ? null
    : expect.toBeOneOf([null, { what: 'memory and processes', why: expect.stringMatching(/limit/i) }]);

test('what a runner left half written is in nobody’s way', async () => {
  mkdirSync(join(options().folder, 'forge-loop-t-1'), { recursive: true });
  writeFileSync(join(options().folder, 'forge-loop-t-1', 'record'), '{"mark":"t"');
  await expect(containers(options()).clear('t')).resolves.toBeUndefined();
});

test.each([
  ['a file', 'ran\nand more', 'ran'],
  ['half a file', 'r', 'r'],
])('of %s that it may write to, only the start is read', (_, text, start) => {
  writeFileSync(at('status'), text);
  expect(beginningOf(at('status'), 3)).toBe(start);
});

test('what was put in its place is not read, and not waited for', () => {
  symlinkSync(at('operator/given/notes'), at('link'));
  execFileSync('mkfifo', [at('pipe')]);
  for (const name of ['link', 'pipe', 'none']) expect(beginningOf(at(name), 3), name).toBe('');
});

// It needs podman, which CI installs. As an ordinary user with ranges in /etc/subuid it runs without root.
describe.skipIf(skippedWithoutEngine('confinement by containers'))('a command in a container', () => {
  let engine: ContainerEngine;
  beforeAll(() => {
    engine = openEngine();
    for (const [name, value] of Object.entries(engine.env)) vi.stubEnv(name, value);
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    engine.dispose();
  });
  const running = (): string[] =>
    engine.podman('ps', '--all', '--format', '{{.Names}}').split('\n').filter(Boolean);

  sandboxContract(stage);
  afterEach(() => expect(running()).toEqual([]));

  test('is limited where it can be, and trying it leaves nothing', async () => {
    const all = containers(options());
    expect(await all.unlimited(IMAGE)).toEqual(UNLIMITED);
    expect(readdirSync(options().folder)).toEqual([]);
    expect(running()).toEqual([]);
  });

  test('finds the tools of its image after its own', async () => {
    expect((await inside('echo "$PATH"')).said).toBe(`${PATH}:/opt/image/bin`);
  });

  test('can gain no capability', async () => {
    expect((await inside("grep CapBnd /proc/self/status | tr -d '\\t'")).said).toBe(
      'CapBnd:0000000000000000',
    );
  });

  test('has none of its environment on the command line, nor with the engine', async () => {
    const confined = await confinement().confine(command('sleep 1000', { TOKEN: 'secret-7' }), access());
    expect(JSON.stringify([confined.argv, confined.env])).not.toMatch('secret-7');
    const child = started(confined);
    const ended = once(child, 'exit');
    const [name = ''] = /forge-loop-none-\w+/.exec(confined.argv.join(' ')) ?? [];
    await expect.poll(() => engine.podman('ps', '--format', '{{.Names}}')).toMatch(name);
    expect(engine.podman('inspect', name)).not.toMatch('secret-7');
    await confined.dispose();
    await ended;
    expect(running()).toEqual([]);
  });

  describe('started as children are', () => {
    const launched = (confined: Confined, task: string, signal: AbortSignal, onHeld = async () => {}) =>
      hostProcesses().launch({
        argv: confined.argv,
        env: confined.env,
        cwd: confined.cwd,
        stdin: '',
        logPath: at(`${task}.log`),
        timeoutMs: null,
        signal,
        onHeld,
      });

    test('is not there while it is held, and is gone when it is cancelled, whatever it ignores', async () => {
      const script = `trap '' TERM; setsid env -i /usr/bin/sleep 1001.${process.pid} & touch begun; while :; do sleep 1; done`;
      const confined = await confinement().confine(command(script, { FORGE_MARK: 'task-1' }), access());
      const cancel = new AbortController();
      const ending = launched(confined, 'task-1', cancel.signal, async () => {
        expect(running()).toEqual([]);
      });
      await expect.poll(() => existsSync(at('workspace/begun'))).toBe(true);
      expect(engine.podman('ps', '--filter', 'label=forge-loop.task=task-1', '--quiet')).not.toBe('');
      cancel.abort();
      expect(await ending).toMatchObject({ cancelled: true });
      await confined.dispose();
      expect(running()).toEqual([]);
      expect(spawnSync('pgrep', ['-f', `sleep 1001.${process.pid}`]).status).toBe(1);
    });

    test('is found by whoever takes over its task, and removed; that of another task is not', async () => {
      const script = `setsid env -i /usr/bin/sleep 1002.${process.pid} & touch "begun-$FORGE_MARK"; wait`;
      const names = ['task-2', 'task-3'];
      const both = await Promise.all(
        names.map((mark) => confinement().confine(command(script, { FORGE_MARK: mark }), access())),
      );
      const clients = both.map(started);
      for (const mark of names) await expect.poll(() => existsSync(at(`workspace/begun-${mark}`))).toBe(true);
      for (const client of clients) client.kill('SIGKILL');
      // As another runner would.
      await containers(options()).clear('task-2');
      expect(running()).toEqual([expect.stringMatching(/^forge-loop-task-3-/)]);
      await containers(options()).clear('task-3');
      expect(running()).toEqual([]);
      expect(readdirSync(options().folder)).toEqual([]);
      expect(spawnSync('pgrep', ['-f', `sleep 1002.${process.pid}`]).status).toBe(1);
    });
  });

  test('of a doctor that was killed is removed by whoever tries containers next; of one that lives it is not', async () => {
    const marks = ['doctor-5f0c', 'doctor-gate', 'doctor-71aa', 'task-4'];
    const all = await Promise.all(
      marks.map((mark) =>
        confinement().confine(
          command('touch "begun-$FORGE_MARK"; sleep 1000', { FORGE_MARK: mark }),
          access(),
        ),
      ),
    );
    const clients = all.map(started);
    for (const mark of marks) await expect.poll(() => existsSync(at(`workspace/begun-${mark}`))).toBe(true);
    for (const client of clients) client.kill('SIGKILL');
    const folderOf = (mark: string): string =>
      readdirSync(options().folder).find((name) => name.startsWith(`forge-loop-${mark}-`)) ?? '';
    for (const mark of marks.filter((one) => one !== 'doctor-71aa')) {
      const path = join(options().folder, folderOf(mark), 'record');
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), pid: 4194305 }));
    }
    expect(await containers(options()).unavailable(IMAGE)).toBeNull();
    const left = [
      expect.stringMatching(/^forge-loop-doctor-71aa-/),
      expect.stringMatching(/^forge-loop-task-4-/),
    ];
    expect(running().sort()).toEqual(left);
    expect(readdirSync(options().folder).sort()).toEqual(left);
    for (const mark of ['doctor-71aa', 'task-4']) await containers(options()).clear(mark);
    expect(running()).toEqual([]);
  });

  test('is chosen where it is asked for, and where bubblewrap does not work', async () => {
    const without = bwrap({ ...options(), never: 'bwrap is not for this test' });
    const sandbox = openSandbox({
      bwrap: without,
      containers: containers(options()),
      srt: srt({ ...options(), installHint }),
    });
    for (const kind of ['container', 'auto', 'required'] as const)
      expect(await sandbox.choose({ kind, image: IMAGE })).toEqual({
        kind: { image: IMAGE },
        why: null,
        unlimited: UNLIMITED,
      });
    expect(await sandbox.choose({ kind: 'bwrap', image: IMAGE })).toMatchObject({ kind: null });
    expect(await sandbox.choose({ kind: 'auto', image: null })).toEqual({
      kind: 'none',
      why: 'bwrap is not for this test',
      unlimited: null,
    });
  });

  test('of an image that is not here is not started, and how to get it is said', async () => {
    const sandbox = openSandbox({
      bwrap: bwrap(options()),
      containers: containers(options()),
      srt: srt({ ...options(), installHint }),
    });
    const image = 'localhost/missing:1';
    expect(await sandbox.choose({ kind: 'container', image })).toEqual({
      kind: null,
      why: expect.stringMatching(
        /podman has no image localhost\/missing:1: get it with `podman pull localhost\/missing:1`/,
      ),
    });
    await expect(sandbox.confine(command(':'), access({ sandbox: { image } }))).rejects.toThrow(
      SandboxFailed,
    );
  });

  test('of an image that our Node does not run in is not started, and what it needs is said', async () => {
    const libraries = execFileSync('ldd', ['/bin/sh'], { encoding: 'utf8' }).match(/\/\S+(?= \(0x)/g) ?? [];
    const files = ['/bin/sh', ...libraries];
    execFileSync('tar', ['-C', '/', '-chf', at('image.tar'), ...files.map((file) => file.slice(1))]);
    engine.podman('import', at('image.tar'), 'localhost/bare:1');
    expect(await containers(options()).unavailable('localhost/bare:1')).toEqual({
      why: expect.stringMatching(/the Node of this machine does not run in localhost\/bare:1/),
      isSure: true,
    });
  });
});

test('without an engine there is no container, and the package is named', async () => {
  const [path] = [process.env.PATH];
  process.env.PATH = dirname('/nonexistent/x');
  try {
    expect(await containers(options()).unavailable(IMAGE)).toEqual({
      why: 'neither podman nor docker is installed: install the package podman',
      isSure: true,
    });
  } finally {
    process.env.PATH = path;
  }
});
