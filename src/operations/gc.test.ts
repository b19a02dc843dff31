/** What ended tasks left is removed. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { MINUTE, moved, openedRepository } from '../../test/support/opened-repository.ts';
import { runCli } from '../cli/program.ts';
import type { Terminal } from '../cli/terminal.ts';
import { TEXT } from '../cli/text.ts';
import { event } from '../core/event.ts';
import { digestOf } from '../core/text/digest.ts';
import { openContext } from '../main.ts';
import { perform } from '../operations.ts';
import { prepareHome } from '../workspace/home.ts';

const here = openedRepository();

describe('gc', () => {
  async function offerIn(home: string): Promise<void> {
    const operator = join(here.root, 'operator');
    mkdirSync(operator, { recursive: true });
    writeFileSync(join(operator, '.npmrc'), '');
    await prepareHome(home, { home: 'private', homeEntries: ['.npmrc'] }, operator, () => true);
  }

  test('removes what ended tasks left, follows no link, and touches nothing of a live one', async () => {
    await here.ready('Merged');
    await here.ready('Live');
    await here.commit(await here.taskOf(1, 'aaaa0001'), moved('queued', 'merged'));
    await here.taskOf(2, 'aaaa0002');
    const places = await here.context.places();
    const precious = join(here.root, 'precious');
    mkdirSync(precious);
    writeFileSync(join(precious, 'file'), '');
    for (const id of ['aaaa0001', 'aaaa0002']) {
      for (const path of [places.home(id, 'coder'), places.session(id, 's1'), places.log(id, 'turn')])
        mkdirSync(path, { recursive: true });
      symlinkSync(precious, join(places.home(id, 'coder'), 'link'));
    }
    symlinkSync(precious, places.home('aaaa0001', 'critic'));
    await offerIn(places.home('aaaa0001', 'coder'));
    const removed = [{ task: 'aaaa0001', issue: 1, parts: ['private'] }];
    const nothing = { trees: [], logs: [] };
    expect(await perform(here.context, 'gc', { dryRun: true })).toEqual({
      dryRun: true,
      removed,
      ...nothing,
    });
    expect(existsSync(places.home('aaaa0001', 'coder'))).toBe(true);
    expect(await perform(here.context, 'gc')).toEqual({ dryRun: false, removed, ...nothing });
    expect(readdirSync(dirname(places.home('aaaa0001', 'coder')))).toEqual(['logs']);
    for (const path of [
      places.log('aaaa0001', 'turn'),
      places.session('aaaa0002', 's1'),
      join(precious, 'file'),
    ])
      expect(existsSync(path), path).toBe(true);
    expect((await perform(here.context, 'gc')).removed).toEqual([]);
  });

  test('`run` does the same at its start, and says of which issue (symphony 13, 14)', async () => {
    await here.ready('Merged');
    const task = await here.commit(await here.taskOf(1, 'aaaa0001'), moved('queued', 'merged'));
    expect(task.task.state).toBe('merged');
    const places = await here.context.places();
    mkdirSync(places.session('aaaa0001', 's1'), { recursive: true });
    await (await here.context.runner()).run('once');
    expect(existsSync(places.session('aaaa0001', 's1'))).toBe(false);
    const lines = () =>
      readFileSync(join(here.root, '.forge', 'logs', 'runner.log'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    await expect
      .poll(() => lines().find(({ msg }) => String(msg).startsWith('removed what it left')))
      .toMatchObject({ task: 'aaaa0001', issue_id: '1', issue_identifier: '#1', session_id: null });
  });

  test('leaves nothing of a task whose logs are old', async () => {
    await here.ready('Merged');
    await here.commit(await here.taskOf(1, 'aaaa0001'), moved('queued', 'merged'));
    const places = await here.context.places();
    const home = places.home('aaaa0001', 'coder');
    await offerIn(home);
    mkdirSync(places.log('aaaa0001', ''), { recursive: true });
    here.git('update-ref', 'refs/forge/aaaa0001/replay/c1', 'HEAD');
    writeFileSync(join(here.root, 'WORKFLOW.md'), '---\nkeep: {abandoned_days: 0, logs_days: 0}\n---\n');
    const later = await openContext(here.root);
    expect((await perform(later, 'gc', { dryRun: true })).removed).toHaveLength(1);
    expect(here.git('for-each-ref', 'refs/forge')).not.toBe('');
    expect((await perform(later, 'gc')).removed).toMatchObject([{ parts: ['private', 'logs'] }]);
    expect(existsSync(dirname(home))).toBe(false);
    expect(here.git('for-each-ref', 'refs/forge')).toBe('');
    await later.close();
  });

  test('removes old logs of gates tried on trunk and of deploys, which are of no task', async () => {
    const yesterday = here.context.now() - 24 * 60 * MINUTE;
    await (await here.context.writing()).record({ events: [event('swept', { removed: 0 })], at: yesterday });
    const places = await here.context.places();
    const logs = ['gate-trial', 'deploy'].flatMap((of) =>
      ['old.log', 'new.log'].map((name) => places.log(of, name)),
    );
    for (const path of logs) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, '');
      if (path.endsWith('old.log')) utimesSync(path, 1, 1);
    }
    const old = logs.filter((path) => path.endsWith('old.log'));
    expect((await perform(here.context, 'gc', { dryRun: true })).logs).toEqual(old);
    expect(old.map((path) => existsSync(path))).toEqual([true, true]);
    expect((await perform(here.context, 'gc')).logs).toEqual(old);
    expect(logs.filter((path) => existsSync(path))).toEqual(logs.filter((path) => path.endsWith('new.log')));
  });

  test('shows and removes throwaway trees that a killed runner left', async () => {
    await here.ready('One');
    const { workspaces } = await here.context.ports();
    const path = workspaces.path({ task: 'aaaa0001', issue: 1, slug: 'x' });
    const host = digestOf(hostname(), 8);
    const left = join(dirname(path), 'exports', `gate.abc.${host}.999999999.x`);
    mkdirSync(left, { recursive: true });
    const shown = await perform(here.context, 'gc', { dryRun: true });
    expect([shown.trees, existsSync(left)]).toEqual([[left], true]);
    expect(TEXT.gc(shown, {} as Terminal)).toBe(
      `would remove ${left}\nNothing was removed. \`forge-loop gc\` removes it.`,
    );
    await prune();
    expect(existsSync(left)).toBe(true);
    await prune('--yes');
    expect(existsSync(left)).toBe(false);
    expect((await perform(here.context, 'gc')).trees).toEqual([]);
  });
});

/** On the command line, which shows first what `gc` would remove. */
async function prune(...args: string[]): Promise<void> {
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const nowhere = () => Promise.reject(new Error('not here'));
  const open = () => Promise.resolve({ ...here.context, close: () => Promise.resolve() });
  const surface = {
    version: '0',
    open,
    newRepository: nowhere,
    edit: nowhere,
    redact: String,
    serveMcp: nowhere,
  };
  try {
    expect(await runCli(['node', 'forge-loop', 'prune', ...args], surface)).toBe(0);
  } finally {
    printed.mockRestore();
  }
}

describe('gc and clocks', () => {
  const DAY = 24 * 60 * MINUTE;

  test('a clock that is a month ahead removes nothing; what two sweeps found old goes', async () => {
    const { context } = here;
    await here.ready('Given up');
    await here.commit(await here.taskOf(1, 'aaaa0001'), moved('queued', 'abandoned'));
    const home = (await context.places()).home('aaaa0001', 'coder');
    mkdirSync(home, { recursive: true });
    const start = context.now();
    const gcAt = async (days: number, dryRun = false) => {
      const ports = await context.ports();
      const clock = { ...ports.clock, now: () => start + days * DAY };
      const then = { ...context, ports: async () => ({ ...ports, clock }) };
      return (await perform(then, 'gc', { dryRun })).removed.length;
    };
    expect(await gcAt(1)).toBe(0);
    expect(await gcAt(31), 'the clock is wrong').toBe(0);
    expect(await gcAt(2), 'it is right again').toBe(0);
    expect(await gcAt(40), 'nobody looked for long').toBe(0);
    expect(await gcAt(41, true), 'a preview').toBe(1);
    expect(existsSync(home)).toBe(true);
    expect(await gcAt(41)).toBe(1);
    expect(existsSync(home)).toBe(false);
  });
});
