/** A person works in a task's place, at a real terminal: how they get there, what becomes of what they did, who dies meanwhile. */
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import {
  type ContainerEngine,
  IMAGE,
  openEngine,
  skippedWithoutEngine,
} from '../support/container-engine.ts';
import { isLiving } from '../support/e2e/proc.ts';
import { hasTmux, openWindow, type Window } from '../support/e2e/window.ts';
import { test as inWorld, type World } from '../support/e2e/world.ts';

const test = hasTmux ? inWorld : inWorld.skip;
const hasBwrap = spawnSync('bwrap', ['--version']).status === 0;

const SIZE = { columns: 120, rows: 30 };
/** A program that a person talks to. */
const SHELL = { kind: 'scripted', attach_command: `exec env PS1='ready> ' bash --norc --noprofile` };

const attach = (world: World, ...args: string[]): Window => openWindow(world, ['attach', ...args], SIZE);

/** One line of the person's, once the program is ready for it. */
async function enter(window: Window, line: string): Promise<void> {
  await window.shows(/ready>\s*$/);
  window.write(line);
  window.type('Enter');
}

/** A task whose first turn is over and which waits for a person's approval. */
async function waiting(world: World, settings: object = {}): Promise<number> {
  world.settings({ critic: { enabled: false }, agent: SHELL, ...settings });
  const issue = await world.issue({ title: 'Write the file' });
  await world.settle(3);
  expect(await world.task(issue)).toMatchObject({ state: 'awaiting_critic' });
  return issue;
}

const hasEngine = !skippedWithoutEngine('attaching in containers');

describe.each([['none'], ...(hasBwrap ? [['bwrap']] : []), ...(hasEngine ? [['container']] : [])])(
  'with `sandbox: %s`',
  (kind) => {
    const sandbox = kind === 'container' ? { kind, image: IMAGE } : kind;
    let engine: ContainerEngine | null = null;
    beforeAll(() => {
      if (kind === 'container') engine = openEngine();
    });
    afterAll(() => engine?.dispose());

    test('a person waits for the turn, works on in its session and worktree, and what they did is merged', async ({
      world,
    }) => {
      Object.assign(world.env, engine?.env);
      world.settings({ sandbox, agent: SHELL });
      // What is confined reaches nobody outside, but its worktree is seen.
      world.script({
        when: { role: 'coder' },
        steps: [
          { shell: 'touch begun; while ! [ -e go ]; do sleep 0.05; done; rm begun go' },
          { shell: 'echo done > done-1.txt' },
        ],
      });
      const issue = await world.issue({ title: 'Write the file' });
      const runner = world.run();
      const inWorktree = async (name: string): Promise<string> =>
        join((await world.task(issue)).workspace ?? '/none', name);
      await world.event('turn_started');
      await world.until('the turn to be at work', async () => existsSync(await inWorktree('begun')));
      const window = attach(world, '1');
      await window.shows('waiting for turn 1 of the coder to end');
      writeFileSync(await inWorktree('go'), '');
      await enter(window, 'echo "in $FORGE_SESSION_ID of turn; $(cat done-1.txt)"; stty size; tty');
      const shown = await window.shows('/dev/');
      const { roles, id, hold } = await world.task(issue);
      expect(shown).toContain(`in ${roles.coder.session} of turn; done`);
      expect(shown).toContain('30 120');
      expect(hold).toMatchObject({ reason: 'attached' });
      expect((await world.cli('why', '1')).stdout).toMatch(/attached.*until they exit|held \(attached\)/s);
      window.resize(90, 20);
      await enter(window, 'sleep 600');
      window.type('C-c');
      await enter(window, 'stty size; echo person > person.txt');
      await window.shows('20 90');

      const second = attach(world, '1');
      expect(await second.shows('LEFT WITH 1')).toContain('is attached to by');

      await enter(window, 'exit');
      expect(await window.shows('LEFT WITH 0')).toContain('Left #1 after');
      await world.state(issue, 'merged');
      expect(world.git('show', 'main:person.txt')).toBe('person\n');
      expect(world.git('show', 'main:done-1.txt')).toBe('done\n');
      const turns = await world.turns(issue);
      expect(turns.filter(({ role }) => role === 'coder')).toHaveLength(1);
      const story = (await world.events()).filter(({ task }) => task === id).map(({ type }) => type);
      expect(story.slice(story.indexOf('attached')).slice(0, 4)).toEqual([
        'attached',
        'hold_set',
        'detached',
        'hold_released',
      ]);
      runner.send('SIGTERM');
      await world.finished(runner);
    });

    test('the person’s process is killed: the next run stops what is left, saves what they changed, and goes on', async ({
      world,
    }) => {
      Object.assign(world.env, engine?.env);
      const issue = await waiting(world, { sandbox });
      const before = await world.task(issue);
      const window = attach(world, '1');
      await enter(window, 'echo person > person.txt; (setsid sleep 6543 &) ; echo $FORGE_TASK begun');
      await window.shows(`${before.id} begun`);
      const [record] = await (await world.store()).processes(before.id);
      const [lease] = await (await world.store()).leases(`task:${before.id}`);
      process.kill(Number.parseInt(lease!.owner, 10), 'SIGKILL');
      await window.shows('LEFT WITH 137');
      expect((await world.cli('why', '1')).stdout).toContain('their terminal is gone');

      await world.settle(3);
      expect(isLiving(record!.pid)).toBe(false);
      expect(spawnSync('pgrep', ['-f', 'sleep 6543']).status).toBe(1);
      const after = await world.task(issue);
      expect(after).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'needs_approval' } });
      expect(after.headSha).not.toBe(before.headSha);
      expect(world.git('show', `${after.branch}:person.txt`)).toBe('person\n');
      const ended = await world.event('detached');
      expect(ended.data).toMatchObject({ how: 'cut_off', usage: 'unknown' });
    });
  },
);

test('what is under review is verified, pushed and reviewed anew when a person has changed it', async ({
  world,
}) => {
  const issue = await waiting(world);
  const before = await world.task(issue);
  const window = attach(world, '1');
  await enter(window, 'echo person > person.txt; git add person.txt; git commit -qm "Mine"; exit');
  expect(await window.shows('LEFT WITH 0')).toContain('will be verified and judged');
  await world.settle(3);
  const after = await world.task(issue);
  expect(after).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'needs_approval' }, turns: 1 });
  expect(after.published?.sha).toBe(after.headSha);
  expect(after.headSha).not.toBe(before.headSha);
  expect(after.gate?.tree).toBe(after.head?.tree);
  expect(world.git('log', '--format=%s', after.branch)).toContain('Mine');
  await world.json('task', 'approve', '1');
  await world.settle();
  expect(world.git('show', 'main:person.txt')).toBe('person\n');
});

test('a person who changes nothing leaves all as it was', async ({ world }) => {
  const issue = await waiting(world);
  const before = await world.task(issue);
  const window = attach(world, '1');
  await enter(window, 'exit');
  expect(await window.shows('LEFT WITH 0')).toContain('nothing changed');
  await world.settle(3);
  const { headSha, verdict, published, hold, attached } = await world.task(issue);
  expect({ headSha, verdict, published, hold: hold?.reason, attached }).toEqual({
    ...{ headSha: before.headSha, verdict: before.verdict, published: before.published },
    ...{ hold: 'needs_approval', attached: null },
  });
});

test('`--now` stops the turn, which counts for nothing; `--keep-paused` keeps the task until it is resumed', async ({
  world,
}) => {
  const halt = world.halt('turn');
  world.settings({ agent: SHELL });
  world.script(
    { when: { role: 'coder', turn: 1 }, steps: [{ write: { 'a.txt': 'a\n' } }, { shell: 'exit 0' }] },
    { when: { role: 'coder' }, steps: [{ shell: halt.shell }, { shell: 'echo done > done-1.txt' }] },
  );
  world.settings({ agent: SHELL, gate: { commands: ['test -e done-1.txt'] } });
  const issue = await world.issue({ title: 'Write the file' });
  const runner = world.run();
  const [pid] = await halt.arrived();
  const window = attach(world, '1', '--now', '--keep-paused');
  await enter(window, 'echo done > done-1.txt; exit');
  expect(isLiving(pid!)).toBe(false);
  expect(await window.shows('LEFT WITH 0')).toContain('forge-loop resume 1');
  expect(await world.task(issue)).toMatchObject({ hold: { reason: 'operator_pause' }, turns: 1 });
  const stopped = await world.event('turn_completed', ({ status }) => status === 'interrupted');
  expect(stopped.data).toMatchObject({ code: 'attached' });
  halt.lift();
  await world.json('resume', '1');
  await world.state(issue, 'merged');
  runner.send('SIGTERM');
  await world.finished(runner);
});

test('closing the window ends the program, and what was changed is saved at once', async ({ world }) => {
  const issue = await waiting(world);
  const window = attach(world, '1');
  await enter(window, 'echo person > person.txt; echo begun');
  await window.shows(/^begun/m);
  window.close();
  const left = await world.event('detached');
  expect(left.data).toMatchObject({ how: 'cut_off' });
  const after = await world.state(issue, 'awaiting_critic');
  await world.event('checkpointed', ({ changed }) => changed, left.seq);
  expect(world.git('show', `${after.branch}:person.txt`)).toBe('person\n');
  expect(existsSync(join(after.workspace!, 'person.txt'))).toBe(true);
});

test('it is refused, in words, where there is nothing to attach to or no terminal', async ({ world }) => {
  await waiting(world);
  const said = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await world.cli('attach', ...args);
    expect(code).not.toBe(0);
    return stderr;
  };
  expect(await said('1')).toContain('There is no terminal here');
  expect(await said('9')).toContain('There is no task 9');
  world.settings({ critic: { enabled: false }, agent: { kind: 'scripted' } });
  expect(await said('1')).toContain('agent.attach_command is not set');
  expect((await world.events()).filter(({ type }) => type === 'attached')).toEqual([]);
  await world.json('task', 'abandon', '1');
  await world.settle();
  expect(await said('1')).toContain('has ended: abandoned');
});
