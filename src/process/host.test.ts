import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { compiled } from '../../test/support/compiled.ts';
import { BARE } from '../../test/support/policy.ts';
import { startRunner } from '../../test/support/start-runner.ts';
import type { Child } from '../store/store.ts';
import { childEnvironment } from './environment.ts';
import { hostProcesses } from './host.ts';
import type { LaunchRequest } from './process.ts';
import { processAt } from './table.ts';

const processes = hostProcesses();
let dir: string;
let task: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forge-host-'));
  task = `task-${Math.random().toString(36).slice(2)}`;
});
afterEach(async () => {
  await processes.stop(task, []);
  await rm(dir, { recursive: true, force: true });
});

const sh = (script: string, change: Partial<LaunchRequest> = {}): LaunchRequest => ({
  argv: ['/bin/sh', '-c', script],
  cwd: dir,
  env: childEnvironment({
    home: dir,
    mark: task,
    identity: { name: 'A', email: 'a@example.com' },
    env: BARE,
  }),
  stdin: '',
  logPath: join(dir, 'logs', 'child.log'),
  timeoutMs: null,
  signal: new AbortController().signal,
  onHeld: async () => {},
  ...change,
});

/** The same, for a runner that brings its own signal and record. */
function launchOf(script: string) {
  const { signal: _, onHeld: __, ...launch } = sh(script);
  return launch;
}

/** Resolves with the numbers in a file once it has that many lines. */
async function pidsIn(file: string, count: number): Promise<number[]> {
  for (;;) {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
    if (lines.length >= count) return lines.map(Number);
    await delay(10);
  }
}

async function gone(pid: number): Promise<void> {
  while (processAt(pid)) await delay(10);
}

const aliveOf = (pids: number[]) => pids.filter((pid) => processAt(pid));

describe('the exit of a launch', () => {
  const exitPath = () => join(dir, 'exit.json');
  const recorded = async () => JSON.parse(await readFile(exitPath(), 'utf8'));
  const written = () => expect.poll(() => existsSync(exitPath()), { timeout: 60_000 }).toBe(true);

  test.each([
    ['exit 0', { code: 0, signal: null }, 0],
    ['echo words; exit 3', { code: 3, signal: null }, 3],
    ['kill -KILL $$', { code: null, signal: 'SIGKILL' }, 137],
  ])('%s: is written down, and told as it is', async (script, told, code) => {
    expect(await processes.launch(sh(script, { exitPath: exitPath() }))).toMatchObject(told);
    expect(await recorded()).toEqual({ code });
  });

  test('its output is heard by the runner, and nothing of it is left behind', async () => {
    const request = sh('cat; echo said >&2', { exitPath: exitPath(), stdin: 'a prompt\n' });
    expect(await processes.launch(request)).toMatchObject({ tail: 'a prompt\nsaid\n' });
    expect(await readFile(request.logPath, 'utf8')).toBe('a prompt\nsaid\n');
    expect(await processes.stop(task, [])).toEqual([]);
  });

  test('is written when no runner lives by then, and what was said meanwhile is in the log', async () => {
    const script = 'echo before; touch begun; until [ -e go ]; do sleep 0.02; done; seq 100000; echo after';
    const launch = { ...launchOf(script), exitPath: exitPath() };
    const runner = await startRunner({ release: true, launch });
    await expect.poll(() => existsSync(join(dir, 'begun')), { timeout: 60_000 }).toBe(true);
    // What a runner has read and not written yet dies with it.
    const logged = () => readFile(launch.logPath, 'utf8').catch(() => '');
    await expect.poll(logged, { timeout: 60_000 }).toBe('before\n');
    runner.kill();
    await gone(runner.pid);
    await writeFile(join(dir, 'go'), '');
    await written();
    expect(await recorded()).toEqual({ code: 0 });
    expect(await readFile(launch.logPath, 'utf8')).toMatch(/^before\n1\n2\n[\s\S]*\n100000\nafter\n$/);
  });

  test('what was said just before the runner died is in the log, though nobody could know of its death yet', async () => {
    const script = 'touch begun; until [ -e go ]; do sleep 0.02; done; echo after';
    const launch = { ...launchOf(script), exitPath: exitPath() };
    const runner = await startRunner({ release: true, launch });
    await expect.poll(() => existsSync(join(dir, 'begun')), { timeout: 60_000 }).toBe(true);
    process.kill(runner.pid, 'SIGSTOP');
    await writeFile(join(dir, 'go'), '');
    await written();
    runner.kill();
    await expect.poll(() => readFile(launch.logPath, 'utf8'), { timeout: 60_000 }).toBe('after\n');
  });

  describe('of one that ends with its runner', () => {
    const launchWithRunner = (script: string) => ({
      ...launchOf(script),
      exitPath: exitPath(),
      endsWithRunner: true,
    });

    test.each([
      ['', 'as any program'],
      ["trap '' TERM;", 'whatever it ignores'],
    ])('is not written, and it is gone with all of its group, by nobody’s doing: %s', async (trap) => {
      const script = `${trap} echo said; echo $$ >pids; (${trap} while :; do sleep 0.1; done) & echo $! >>pids; wait`;
      const launch = launchWithRunner(script);
      const runner = await startRunner({ release: true, launch });
      const pids = await pidsIn(join(dir, 'pids'), 2);
      const said = () => expect.poll(() => readFile(launch.logPath, 'utf8')).toBe('said\n');
      // A runner that is killed between reading and writing takes that with it.
      await said();
      runner.kill();
      for (const pid of [...pids, runner.child.pid]) await gone(pid);
      expect(existsSync(exitPath())).toBe(false);
      await said();
    });

    test('is written when it had ended, and its runner dies only then', async () => {
      const launch = launchWithRunner('touch begun; until [ -e go ]; do sleep 0.02; done; echo after');
      const runner = await startRunner({ release: true, launch });
      await expect.poll(() => existsSync(join(dir, 'begun')), { timeout: 60_000 }).toBe(true);
      process.kill(runner.pid, 'SIGSTOP');
      await writeFile(join(dir, 'go'), '');
      await written();
      runner.kill();
      await expect.poll(() => readFile(launch.logPath, 'utf8'), { timeout: 60_000 }).toBe('after\n');
      expect(await recorded()).toEqual({ code: 0 });
    });

    test('is told as it is to a runner that lives', async () => {
      const request = sh('cat; exit 3', { exitPath: exitPath(), endsWithRunner: true, stdin: 'a prompt\n' });
      expect(await processes.launch(request)).toMatchObject({ code: 3, signal: null, tail: 'a prompt\n' });
      expect(await recorded()).toEqual({ code: 3 });
      expect(await processes.stop(task, [])).toEqual([]);
    });
  });

  test('of one that was stopped is not: it came to none by itself', async () => {
    const cancel = new AbortController();
    const running = processes.launch(
      sh("trap 'exit 0' TERM; touch begun; while :; do sleep 0.01; done", {
        exitPath: exitPath(),
        signal: cancel.signal,
      }),
    );
    await expect.poll(() => existsSync(join(dir, 'begun')), { timeout: 60_000 }).toBe(true);
    cancel.abort();
    expect(await running).toMatchObject({ cancelled: true });
    expect(existsSync(exitPath())).toBe(false);
  });
});

describe('a launch', () => {
  test('runs argv in cwd with exactly the environment given, stdin fed and both streams kept in order', async () => {
    const request = sh('pwd; env; echo to-stderr >&2; cat; echo last');
    const result = await processes.launch({ ...request, stdin: 'a prompt\n' });
    expect(result).toMatchObject({
      code: 0,
      signal: null,
      timedOut: false,
      cancelled: false,
      spawnError: null,
    });
    expect(result.tail.split('\n')[0]).toBe(dir);
    expect(result.tail).toMatch(/to-stderr\na prompt\nlast\n$/);
    expect(await readFile(request.logPath, 'utf8')).toBe(result.tail);
    const seen = result.tail.split('\n').flatMap((line) => /^([A-Z_]+)=/.exec(line)?.[1] ?? []);
    const shells = ['PWD', 'OLDPWD', 'SHLVL', '_'];
    const given = [...Object.keys(request.env), 'FORGE_LAUNCH'];
    expect(seen.filter((name) => !shells.includes(name)).sort()).toEqual(given.sort());
  });

  test('gives the child streams that can be opened by name', async () => {
    const result = await processes.launch(sh('cat /dev/stdin > /dev/stderr', { stdin: 'by name' }));
    expect(result).toMatchObject({ code: 0, tail: 'by name' });
  });

  test('passes arguments on without a shell reading them', async () => {
    const hostile = '$(touch owned); `touch owned` "\' \\';
    const result = await processes.launch(sh('', { argv: ['printf', '%s', hostile] }));
    expect(result.tail).toBe(hostile);
    expect(existsSync(join(dir, 'owned'))).toBe(false);
  });

  test('a child that does not read its stdin ends like any other', async () => {
    expect(await processes.launch(sh('exit 3', { stdin: 'x'.repeat(1_000_000) }))).toMatchObject({ code: 3 });
  });

  test('reports exit codes, signals and a missing program as they are', async () => {
    expect(await processes.launch(sh('exit 42'))).toMatchObject({ code: 42, signal: null });
    expect(await processes.launch(sh('kill -SEGV $$'))).toMatchObject({ code: null, signal: 'SIGSEGV' });
    expect(await processes.launch(sh('', { argv: ['no-such-program'] }))).toMatchObject({ code: 127 });
  });

  test('never throws: what can not start is reported', async () => {
    const noPlace = await processes.launch(sh('true', { cwd: join(dir, 'missing') }));
    expect(noPlace.spawnError).toContain(`${join(dir, 'missing')} does not exist`);
    const noLog = await processes.launch(sh('true', { logPath: '/dev/null/child.log' }));
    expect(noLog.spawnError).toContain('/dev/null');
    const badArgument = await processes.launch(sh('', { argv: ['echo', 'a\0b'] }));
    expect(badArgument.spawnError).toContain('null bytes');
    const tooLong = await processes.launch(sh('', { argv: ['echo', 'x'.repeat(10_000_000)] }));
    expect(tooLong.spawnError).toContain('E2BIG');
  });
});

describe('a held child', () => {
  test('does not run before its record is durable, and keeps its pid when it does', async () => {
    const held: { pid: number; startTime: string; bootId: string }[] = [];
    const result = await processes.launch(
      sh('echo $$; touch ran', {
        onHeld: async (child) => {
          held.push(child);
          await delay(50);
          expect(await processes.isAlive({ ...child, task, purpose: 'test' })).toBe(true);
          expect(existsSync(join(dir, 'ran'))).toBe(false);
        },
      }),
    );
    expect(existsSync(join(dir, 'ran'))).toBe(true);
    expect(result.tail).toBe(`${held[0]?.pid}\n`);
    expect(await processes.isAlive({ ...held[0]!, task, purpose: 'test' })).toBe(false);
  });

  test('never runs when its record is refused', async () => {
    let pid = 0;
    const result = await processes.launch(
      sh('touch ran', {
        onHeld: async (child) => {
          pid = child.pid;
          throw new Error('the lease is lost');
        },
      }),
    );
    expect(result).toMatchObject({ code: null, cancelled: false });
    expect(result.spawnError).toContain('the lease is lost');
    expect(aliveOf([pid])).toEqual([]);
    expect(existsSync(join(dir, 'ran'))).toBe(false);
  });

  test('never runs when it was cancelled before or while it was held', async () => {
    const cancel = new AbortController();
    const onHeld = async () => cancel.abort();
    expect(await processes.launch(sh('touch ran', { signal: cancel.signal, onHeld }))).toMatchObject({
      cancelled: true,
      spawnError: null,
    });
    const never = () => Promise.reject(new Error('started'));
    expect(await processes.launch(sh('touch ran', { signal: cancel.signal, onHeld: never }))).toMatchObject({
      cancelled: true,
      spawnError: null,
    });
    expect(existsSync(join(dir, 'ran'))).toBe(false);
  });

  test('never runs when the runner is killed before it lets go', async () => {
    const runner = await startRunner({ release: false, launch: launchOf('touch ran') });
    expect(aliveOf([runner.child.pid])).toEqual([runner.child.pid]);
    runner.kill();
    await gone(runner.child.pid);
    expect(existsSync(join(dir, 'ran'))).toBe(false);
  });
});

describe('a child that must end', () => {
  test('is stopped by its time limit, with its whole group (dispatch 28)', async () => {
    const pids = join(dir, 'pids');
    const begun = () => (existsSync(pids) ? readFileSync(pids, 'utf8').split('\n').length > 2 : false);
    // A limit that a busy machine spends on starting them shows nothing of their end.
    for (let timeoutMs = 500; !begun(); timeoutMs *= 2) {
      const result = await processes.launch(
        sh('sleep 1000 & echo $! > pids; echo $$ >> pids; wait', { timeoutMs }),
      );
      expect(result).toMatchObject({ timedOut: true, cancelled: false });
    }
    expect(aliveOf(await pidsIn(pids, 2))).toEqual([]);
  });

  test('is killed when it ignores the request, with whoever left its group (dispatch 25)', async () => {
    const cancel = new AbortController();
    const stubborn = "trap '' TERM; echo $$ >> pids; while :; do sleep 0.1; done";
    await writeFile(join(dir, 'stubborn.sh'), stubborn);
    const running = processes.launch(
      sh('setsid sh stubborn.sh & sh stubborn.sh & sh stubborn.sh', { signal: cancel.signal }),
    );
    const pids = await pidsIn(join(dir, 'pids'), 3);
    expect(aliveOf(pids)).toEqual(pids);
    cancel.abort();
    expect(await running).toMatchObject({ cancelled: true });
    expect(aliveOf(pids)).toEqual([]);
  });

  test('ends at once when it listens', async () => {
    const cancel = new AbortController();
    const running = processes.launch(
      sh("trap 'echo goodbye; exit 0' TERM; echo $$ > pids; while :; do sleep 0.01; done", {
        signal: cancel.signal,
      }),
    );
    await pidsIn(join(dir, 'pids'), 1);
    cancel.abort();
    const result = await running;
    expect(result).toMatchObject({ cancelled: true, code: 0 });
    expect(result.tail).toContain('goodbye');
  });

  test('leaves nothing behind when it ends by itself: no background process, no one holding its output', async () => {
    const result = await processes.launch(
      sh(
        'sleep 1000 & echo $! > pids; setsid sh -c "echo \\$\\$ >> pids; exec sleep 1000" & while [ $(wc -l < pids) -lt 2 ]; do sleep 0.01; done; exit 5',
      ),
    );
    expect(result).toMatchObject({ code: 5, cancelled: false, timedOut: false });
    expect(aliveOf(await pidsIn(join(dir, 'pids'), 2))).toEqual([]);
  });

  test('does not keep us waiting when a process without a mark holds its output', async () => {
    const result = await processes.launch(
      sh(
        'setsid env -i sh -c "echo \\$\\$ > pids; exec sleep 1000" & while ! [ -s pids ]; do sleep 0.01; done; echo done',
      ),
    );
    expect(result).toMatchObject({ code: 0, tail: 'done\n' });
    const [escaped] = await pidsIn(join(dir, 'pids'), 1);
    process.kill(escaped!, 'SIGKILL');
  });
});

describe('output', () => {
  test('a flood is cut in the log, kept short in the tail, and does not fill memory', async () => {
    const before = process.memoryUsage().rss;
    let peak = 0;
    const request = sh('head -c 200000000 /dev/zero | tr "\\0" x; echo the end', {
      onOutput: () => {
        peak = Math.max(peak, process.memoryUsage.rss());
      },
    });
    const result = await processes.launch(request);
    expect(result.code).toBe(0);
    expect(result.tail.length).toBe(16 * 1024);
    expect(result.tail).toMatch(/xthe end\n$/);
    const { size } = statSync(request.logPath);
    expect(size).toBeGreaterThan(64 * 1024 * 1024);
    expect(size).toBeLessThan(64 * 1024 * 1024 + 200);
    expect(readFileSync(request.logPath, 'utf8').slice(-200)).toContain('the log was cut here');
    expect(peak - before).toBeLessThan(120_000_000);
  });

  test('is appended to what the log holds, and a tail never begins with half a character', async () => {
    await processes.launch(sh('echo first'));
    const request = sh(`yes 'äöü€' | head -n 5000`);
    const result = await processes.launch(request);
    expect(result.tail).not.toContain('\uFFFD');
    expect(await readFile(request.logPath, 'utf8')).toMatch(/^first\näöü€\n/);
  });
});

describe('recovery', () => {
  test('the end of one launch of a task does not touch another launch of it (dispatch 39)', async () => {
    const abort = new AbortController();
    const lasting = processes.launch(sh('echo $$ > lasting; sleep 1000', { signal: abort.signal }));
    const pids = await pidsIn(join(dir, 'lasting'), 1);
    expect(await processes.launch(sh('exit 0'))).toMatchObject({ code: 0 });
    expect(aliveOf(pids)).toEqual(pids);
    abort.abort();
    expect(await lasting).toMatchObject({ cancelled: true });
  });

  test('who takes off the mark when it is asked to end is ended all the same', async () => {
    const script = `trap 'exec env -i /bin/sleep 1000' TERM; echo > ready; while :; do sleep 0.05; done`;
    const { env } = sh('');
    const child = spawn('setsid', ['/bin/sh', '-c', script], { cwd: dir, env, stdio: 'ignore' });
    await expect.poll(() => existsSync(join(dir, 'ready')), { timeout: 60_000 }).toBe(true);
    await processes.stop(task, []);
    expect(processAt(child.pid as number)).toBeNull();
  });

  test('stops what a dead runner left, in its group and out of it, and nobody else (dispatch 37)', async () => {
    const script = `echo $$ > pids; setsid sh -c "trap '' TERM; echo \\$\\$ >> pids; while :; do sleep 0.1; done" & sleep 1000`;
    const runner = await startRunner({ release: true, launch: launchOf(script) });
    const pids = await pidsIn(join(dir, 'pids'), 2);
    runner.kill();
    await gone(runner.pid);
    expect(aliveOf(pids)).toEqual(pids);
    const record: Child = { ...runner.child, task, purpose: 'turn' };
    expect(await processes.isAlive(record)).toBe(true);

    const bystander = spawn('sleep', ['1000'], {
      env: { FORGE_MARK: `${task}-2`, OTHER: `FORGE_MARK=${task}` },
    });
    expect([...(await processes.marked())]).toEqual(expect.arrayContaining([task, `${task}-2`]));
    const stopped = await processes.stop(task, [record]);
    expect(stopped).toEqual(expect.arrayContaining(pids));
    expect(aliveOf(pids)).toEqual([]);
    expect(await processes.isAlive(record)).toBe(false);
    expect(aliveOf([bystander.pid!])).toEqual([bystander.pid]);
    bystander.kill('SIGKILL');
    expect(await processes.marked()).not.toContain(task);
    expect(await processes.stop(task, [record])).toEqual([]);
  });

  test('leaves a process alone whose pid was used again, or that belongs to another boot', async () => {
    const other = spawn('sleep', ['1000'], { detached: true });
    const { startTime } = processAt(other.pid!)!;
    const record = { task, pid: other.pid!, purpose: 'turn' };
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    expect(
      await processes.stop(task, [{ ...record, startTime: `${Number(startTime) - 1}`, bootId }]),
    ).toEqual([]);
    expect(await processes.stop(task, [{ ...record, startTime, bootId: 'another boot' }])).toEqual([]);
    expect(aliveOf([other.pid!])).toEqual([other.pid]);
    expect(await processes.stop(task, [{ ...record, startTime, bootId }])).toEqual([other.pid]);
  });

  test('never stops the runner itself, even when it carries the mark', async () => {
    const { folder } = compiled('src/process/host.ts');
    const program = join(folder, 'runner.js');
    await writeFile(
      program,
      `import { hostProcesses } from './src/process/host.js';
      console.log('stopped', JSON.stringify(await hostProcesses().stop(${JSON.stringify(task)}, [])));`,
    );
    const runner = spawn(process.execPath, [program], { env: { FORGE_MARK: task } });
    const { value } = await createInterface(runner.stdout)[Symbol.asyncIterator]().next();
    expect(value).toBe('stopped []');
    await rm(folder, { recursive: true });
  });
});
