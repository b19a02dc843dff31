import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { type Compilable, sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { compiled } from '../../test/support/compiled.ts';
import {
  claimed,
  commit,
  everything,
  finding,
  LABEL,
  lease,
  mulberry32,
  spent,
  to,
  used,
} from '../../test/support/store-steps.ts';
import type { Action } from '../core/action.ts';
import { event } from '../core/event.ts';
import { fold } from '../core/fold.ts';
import { StoreUnavailable, UserError } from '../errors.ts';
import { storeContract } from './contract.ts';
import { backUp, restore } from './sqlite/backup.ts';
import { type Connection, openConnection, query } from './sqlite/connection.ts';
import { readEvents, unknownUsage } from './sqlite/journal.ts';
import { isEmpty, migrate, migrations, requireOurs } from './sqlite/migrations.ts';
import { endsOf, OUTCOMES } from './sqlite/task-ends.ts';
import { sqliteStore } from './sqlite/verbs.ts';
import { openSqliteStore } from './sqlite.ts';
import { INTAKE_LEASE, type Store, taskLease } from './store.ts';

let program: ReturnType<typeof compiled>;
beforeAll(() => {
  program = compiled('test/support/store-writer.ts');
});
afterAll(() => rmSync(program.folder, { recursive: true, force: true }));

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'forge store ü?#%-'));
  path = join(folder, 'forge.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

storeContract('sqlite', async (boot) => {
  const options = boot ? { boot } : {};
  let store = await openSqliteStore(path, options);
  return {
    store,
    async reopen() {
      await store.close();
      store = await openSqliteStore(path, options);
      return store;
    },
    cleanup: () => store.close(),
  };
});

describe('opening', () => {
  test('makes the folder and a database in WAL mode that is synced at every commit', async () => {
    const deep = join(folder, 'a', 'b', 'forge.db');
    await (await openSqliteStore(deep)).close();
    expect(openConnection(deep, { readOnly: true }).pragma('journal_mode')).toBe('wal');
  });

  test('to read changes nothing, and sees what a writer commits', async () => {
    const writer = await openSqliteStore(path);
    const reader = await openSqliteStore(path, { readOnly: true });
    await claimed(writer, 'a', 1);
    expect(await reader.task('a')).toEqual(await writer.task('a'));
    await expect(reader.updateLoop({ pausedBy: 'me' }, [], 1)).rejects.toThrow(StoreUnavailable);
    expect(await writer.loop()).toMatchObject({ pausedBy: null });
  });

  test('to read makes no database where there is none', async () => {
    await expect(openSqliteStore(path, { readOnly: true })).rejects.toThrow(UserError);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('names the file when it can’t be opened', async () => {
    const opening = openSqliteStore(folder);
    await expect(opening).rejects.toThrow(StoreUnavailable);
    await expect(opening).rejects.toThrow(folder);
  });
});

describe('the rows of tasks', () => {
  test('have the columns people query', async () => {
    const store = await openSqliteStore(path);
    const a = await claimed(store, 'a', 7);
    const session = { turn: 1, role: 'coder', sessionId: 's1', prompt: 'task' } as const;
    await commit(store, a, [
      to(a.task, 'dispatched'),
      event('turn_started', session),
      event('person_pushed', { head: { sha: 'abc', tree: 'def' } }),
      event('pull_ensured', { pull: 4, headSha: 'abc' }),
    ]);
    const [row] = rows('SELECT * FROM tasks');
    expect(row).toMatchObject({
      ...{ id: 'a', issue: 7, attempt: 1, state: 'dispatched', reason: null, turns: 1, critic_rounds: 0 },
      ...{
        session_id: 's1',
        pull: 4,
        head_sha: 'abc',
        slot: 1,
        judging: 0,
        ended: 0,
        version: 2,
        created_at: 10,
      },
    });
  });

  test('can’t be two for one issue, whoever inserts them (dispatch 13)', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 7);
    const connection = openConnection(path, { readOnly: false });
    const second =
      "INSERT INTO tasks SELECT 'b', issue, attempt, state, reason, turns, critic_rounds, session_id, pull,";
    const rest = 'head_sha, slot, judging, ended, version, created_at, data FROM tasks';
    expect(() => connection.exec(`${second} ${rest}`)).toThrow('UNIQUE');
  });

  test('are listed as they are now, whoever has written', async () => {
    const [store, other] = [await openSqliteStore(path), await openSqliteStore(path)];
    const live = async () =>
      (await store.tasks({ live: true })).map(({ task }) => `${task.id} ${task.state}`);
    const a = await claimed(store, 'a', 1);
    expect(await live()).toEqual(['a queued']);
    await claimed(other, 'b', 2);
    expect(await live()).toEqual(['a queued', 'b queued']);
    await commit(store, a, [to(a.task, 'dispatched')]);
    expect(await live()).toEqual(['a dispatched', 'b queued']);
    expect(await store.tasks({ live: true }), 'nothing was written meanwhile').toBe(
      await store.tasks({ live: true }),
    );
  });
});

test('nothing is found by looking through all that ever was', async () => {
  await (await openSqliteStore(path)).close();
  const connection = openConnection(path, { readOnly: false });
  const planOf = (asked: Compilable<unknown>): string => {
    const compiled = asked.compile();
    const explained = { ...compiled, sql: `EXPLAIN QUERY PLAN ${compiled.sql}` };
    return connection
      .all<{ detail: string }>({ compile: () => explained } as Compilable<{ detail: string }>)
      .map(({ detail }) => detail)
      .join(' | ');
  };
  const by = (index: string) =>
    expect.stringMatching(new RegExp(`^SEARCH \\w+ USING (COVERING )?INDEX ${index}[^|]*$`));
  expect(planOf(unknownUsage({ task: 'a' }))).toEqual(by('events_by_task'));
  expect(planOf(unknownUsage({ since: 5 }))).toEqual(by('events_of_unknown_usage'));
  expect(planOf(endsOf({ since: 5, limit: 20 }))).toEqual(by('tasks_by_end'));
  expect(planOf(endsOf({ limit: 20 }))).toEqual(by('tasks_by_end'));
  expect(planOf(OUTCOMES({}))).toEqual(by('tasks_by_outcome'));
});

test.each([
  [{ type: 'gate_completed', data: { scope: 'candidate' }, last: 9 }, 'gates_by_scope'],
  [{ type: 'turn_completed', data: { role: 'coder', status: 'finished' }, last: 9 }, 'turns_by_role'],
])('how long something took is not looked for among all events: %j', async (wanted, index) => {
  await (await openSqliteStore(path)).close();
  const connection = openConnection(path, { readOnly: false });
  const plans: string[] = [];
  const explained: Connection = {
    ...connection,
    all(select) {
      const { sql: text, parameters } = select.compile();
      const explain = { ...select.compile(), sql: `EXPLAIN QUERY PLAN ${text}`, parameters };
      const plan = connection.all<{ detail: string }>({ compile: () => explain } as never);
      plans.push(...plan.map(({ detail }) => detail));
      return [];
    },
  };
  readEvents(explained, wanted);
  expect(plans.join()).toContain(index);
  expect(plans.join()).not.toContain('B-TREE');
});

test('a list of tasks is read again when a task or its actions changed, and not for a lease or an event', async () => {
  const store = await openSqliteStore(path);
  const a = await claimed(store, 'a', 1, [LABEL]);
  const list = () => store.tasks({ live: true });
  const before = await list();
  const mine = await lease(store, taskLease('a'));
  await store.record({ events: [event('forge_answers', {})], at: 1 });
  expect(await list()).toBe(before);
  const ended = await commit(store, a, [to(a.task, 'abandoned')], { lease: mine });
  expect((await list()).map(({ task }) => task.state)).toEqual(['abandoned']);
  const [pending] = await store.pendingActions('a');
  await commit(store, ended, [], { lease: mine, finishActions: [pending!.id] });
  expect(await list()).toEqual([]);
});

test('after a change a list of hundreds reads the row that changed, and no other', async () => {
  await (await openSqliteStore(path)).close();
  const connection = openConnection(path, { readOnly: false });
  let rows = 0;
  const all: Connection['all'] = (select) => {
    const found = connection.all(select);
    rows += found.length;
    return found as never;
  };
  const counted: Connection = { ...connection, all, one: (select) => all(select)[0] as never };
  const store = sqliteStore(counted);
  let last = await claimed(store, 't1', 1);
  for (let number = 2; number <= 300; number++) last = await claimed(store, `t${number}`, number);
  const lists = async () => [await store.tasks({ live: true }), await store.tasks()];
  await lists();
  const mine = await lease(store, taskLease(last.task.id));
  for (const state of ['dispatched', 'abandoned'] as const) {
    last = await commit(store, last, [to(last.task, state)], { lease: mine, addActions: [LABEL] });
    rows = 0;
    expect((await lists()).map((list) => list.at(-1)?.task.state)).toEqual([state, state]);
    expect(rows).toBeLessThan(5);
  }
  connection.close();
});

test('lists that are kept up to date are what a new process reads, after any changes, of two processes and taken back', async () => {
  const [one, two] = [await openSqliteStore(path), await openSqliteStore(path)];
  const random = mulberry32(20);
  const pick = (most: number): number => Math.floor(random() * most);
  const asked = [{}, { live: true }, { issue: 2 }, { live: true, issue: 2 }];
  const lists = async (store: Store) => JSON.stringify(await Promise.all(asked.map((of) => store.tasks(of))));
  for (let step = 0; step < 150; step++) {
    const store = random() < 0.8 ? one : two;
    const tasks = await store.tasks();
    const stored = tasks[pick(tasks.length + 1)];
    if (!stored)
      await claimed(store, `t${step}`, pick(4), random() < 0.5 ? [LABEL] : [], pick(9)).catch(() => {});
    else {
      const mine = await lease(store, taskLease(stored.task.id));
      const [pending] = await store.pendingActions(stored.task.id);
      const state = (['queued', 'dispatched', 'abandoned'] as const)[pick(3)]!;
      const expected = { ...stored, version: stored.version + (random() < 0.1 ? 1 : 0) };
      await commit(store, expected, random() < 0.6 ? [to(stored.task, state)] : [], {
        lease: mine,
        ...(pending && random() < 0.6 && { finishActions: [random() < 0.2 ? 999 : pending.id] }),
        ...(random() < 0.3 && { addActions: [LABEL] }),
      }).catch(() => {});
    }
    const fresh = await openSqliteStore(path, { readOnly: true });
    const found = await lists(fresh);
    await fresh.close();
    expect(await lists(one), `of the first, after step ${step}`).toBe(found);
    expect(await lists(two), `of the second, after step ${step}`).toBe(found);
  }
});

describe('migrations', () => {
  test('bring an older database with data up to date and keep the data', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1, [LABEL]);
    const before = await everything(store, 'a');
    await store.close();

    const next = [
      ...migrations,
      'ALTER TABLE tasks ADD COLUMN note TEXT',
      "UPDATE tasks SET note = 'from ' || state",
    ];
    const connection = openConnection(path, { readOnly: false });
    migrate(connection, next);
    migrate(connection, next);
    expect(connection.pragma('user_version')).toBe(next.length);
    expect(rows('SELECT id, note FROM tasks')).toEqual([{ id: 'a', note: 'from queued' }]);
    expect(await everything(sqliteStore(connection), 'a')).toEqual(before);
  });

  test('of the first version on: what was spent and said stays, what is new is unknown', async () => {
    const connection = openConnection(path, { readOnly: false });
    migrate(connection, migrations.slice(0, 1));
    connection.exec("UPDATE loop SET paused_by = 'eva'");
    connection.exec("INSERT INTO usage VALUES ('a', 1, 'coder', 's1', 'k1', 'm', 1, 2, 4, 8, 16, 0.25, 100)");
    connection.close();
    const store = await openSqliteStore(path);
    const unknown = { commandsSince: null, deploy: null, deployAgain: null, trunk: null, accountLimits: [] };
    expect(await store.loop()).toMatchObject({ pausedBy: 'eva', ...unknown });
    expect(await store.spendSince(100)).toEqual({ tokens: 31, costUsd: 0.25, unpriced: 0, complete: true });
    await store.close();
  });

  test('what holds the loop, as the first versions wrote it, is read with its evidence', async () => {
    const earlier = [
      { key: 'untested_merge 7-a', reason: 'untested_merge', detail: 'abc landed with another tree' },
      { key: 'trunk develop', reason: 'trunk_changed', detail: 'trunk was main and is develop now: …' },
    ];
    await (await openSqliteStore(path)).close();
    const connection = openConnection(path, { readOnly: false });
    connection.run(query.updateTable('loop').set({ holds: JSON.stringify(earlier) }));
    connection.close();
    const store = await openSqliteStore(path);
    const develop = { reason: 'trunk_changed', was: 'main', is: 'develop' } as const;
    const untested = { reason: 'untested_merge', task: '7-a', why: 'abc landed with another tree' };
    expect((await store.loop()).holds).toEqual([untested, develop]);
    await store.record({ events: [event('loop_released', { ...develop, by: 'eva' })], at: 1 });
    expect((await store.loop()).holds).toEqual([untested]);
    await store.close();
  });

  test('a child of before belongs to the lease that its kind was started under', async () => {
    const connection = openConnection(path, { readOnly: false });
    migrate(connection, migrations.slice(0, 10));
    const old: [string, string][] = [
      ['a', 'gate: npm test'],
      ['8d6f2a31', 'deploy: ./deploy'],
      ['gate-trial-1', 'gate: npm test'],
      ['doctor-gate-1', 'gate: npm test'],
    ];
    old.forEach(([task, purpose], pid) => {
      connection.exec(`INSERT INTO processes VALUES ('b', ${pid}, '1', '${task}', '${purpose}')`);
    });
    connection.close();
    const store = await openSqliteStore(path);
    const leases = (await store.processes()).map(({ lease }) => lease);
    expect(leases).toEqual([taskLease('a'), INTAKE_LEASE, INTAKE_LEASE, 'doctor-gate']);
    await store.close();
  });

  test('a database from before requests could be about findings keeps its requests and findings', async () => {
    const before = openConnection(path, { readOnly: false });
    migrate(before, migrations.slice(0, 1));
    const old = {
      ...finding('a.1'),
      openedAtSha: 'c1',
      closedAtSha: null,
      closedBy: null,
      history: undefined,
    };
    before.exec(
      `INSERT INTO tasks VALUES ('a', 1, 1, 'queued', NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 1, 0, '{}')`,
    );
    const born = { kind: 'issue', issue: 1, attempt: 1, slug: 'x', branch: 'loop/1-x', contract: {} };
    before.exec(`INSERT INTO events VALUES (1, 0, 'a', 'task_created', '${JSON.stringify(born)}')`);
    before.exec(`INSERT INTO requests (task, kind, by, at) VALUES ('a', 'pause', 'eva', 7)`);
    before.exec(`INSERT INTO findings VALUES ('a', 'a.1', 'sev2', 'open', '${JSON.stringify(old)}')`);
    before.close();
    const store = await openSqliteStore(path);
    expect(await store.requests('a')).toMatchObject([{ kind: 'pause', by: 'eva', finding: null, why: null }]);
    expect(await store.findings('a')).toMatchObject([
      { id: 'a.1', status: 'open', history: [{ status: 'open', by: 'critic', sha: 'c1' }] },
    ]);
    await store.close();
  });

  test('that fail leave the database as it was', async () => {
    await (await openSqliteStore(path)).close();
    const connection = openConnection(path, { readOnly: false });
    const broken = [...migrations, 'CREATE TABLE extra (id INTEGER)', 'NOT SQL'];
    expect(() => migrate(connection, broken)).toThrow('syntax error');
    expect(connection.pragma('user_version')).toBe(migrations.length);
    expect(rows("SELECT name FROM sqlite_master WHERE name = 'extra'")).toEqual([]);
  });

  test('refuse a database of a newer version and leave it untouched', async () => {
    await (await openSqliteStore(path)).close();
    const connection = openConnection(path, { readOnly: false });
    connection.exec(`PRAGMA user_version = ${migrations.length + 1}; PRAGMA wal_checkpoint(TRUNCATE)`);
    const before = readFileSync(path);
    expect(() => migrate(connection)).toThrow('newer forge-loop');
    for (const readOnly of [false, true]) {
      const opening = openSqliteStore(path, { readOnly });
      await expect(opening).rejects.toThrow(UserError);
      await expect(opening).rejects.toThrow('newer forge-loop');
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('are not run by a reader, which says what to do', async () => {
    migrate(openConnection(path, { readOnly: false }), migrations.slice(0, 1));
    await expect(openSqliteStore(path, { readOnly: true })).rejects.toThrow('older forge-loop');
    expect(rows('PRAGMA user_version')).toEqual([{ user_version: 1 }]);
  });

  test('are never run on a database of somebody else', async () => {
    openConnection(path, { readOnly: false }).exec('CREATE TABLE early (id INTEGER)');
    for (const readOnly of [false, true])
      await expect(openSqliteStore(path, { readOnly })).rejects.toThrow('not a database of forge-loop');
    expect(rows('SELECT name FROM sqlite_master')).toEqual([{ name: 'early' }]);
  });
});

describe('after a clean exit', () => {
  test('the file alone holds everything: its log is empty', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1, [LABEL]);
    const before = await everything(store, 'a');
    await store.close();
    expect(sizeOf(`${path}-wal`)).toBe(0);
    const copy = join(folder, 'copy.db');
    copyFileSync(path, copy);
    expect(await everything(await openSqliteStore(copy, { readOnly: true }), 'a')).toEqual(before);
  });

  test('a reader in the middle of reading keeps its log, and closing neither waits nor fails', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1);
    const reader = openConnection(path, { readOnly: true });
    reader.exec('BEGIN');
    expect(reader.all(query.selectFrom('tasks').select('id'))).toHaveLength(1);
    await commit(store, (await store.task('a'))!, [
      event('answer_unusable', { role: 'critic', problem: 'x' }),
    ]);
    await store.close();
    expect(reader.all(query.selectFrom('events').select('seq'))).toHaveLength(2);
    reader.exec('ROLLBACK');
    await (await openSqliteStore(path)).close();
    expect(sizeOf(`${path}-wal`)).toBe(0);
  });

  test('and now and then before it', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const store = await openSqliteStore(path);
      await claimed(store, 'a', 1);
      expect(sizeOf(`${path}-wal`)).toBeGreaterThan(0);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(sizeOf(`${path}-wal`)).toBe(0);
      await store.close();
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a database that lost what was written', () => {
  /** Events up to the fourth in the file, the rest in the log. */
  async function killed(): Promise<void> {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1);
    openConnection(path, { readOnly: false }).exec('PRAGMA wal_checkpoint(TRUNCATE)');
    await claimed(store, 'b', 2);
    withoutLog();
  }

  /** Goes on with the file alone in another folder, as if its log had been removed. */
  function withoutLog(bytes = readFileSync(path)): void {
    const known = readFileSync(`${path}.known`);
    path = join(folder, 'alone', 'forge.db');
    mkdirSync(dirname(path));
    writeFileSync(path, bytes);
    writeFileSync(`${path}.known`, known);
  }

  async function expectRefused(words: RegExp): Promise<void> {
    const before = readFileSync(path);
    for (const readOnly of [true, false]) {
      const error = await openSqliteStore(path, { readOnly }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(UserError);
      expect((error as UserError).message).toMatch(words);
      expect((error as UserError).hint).toContain('forge-loop restore');
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  }

  test('with its log is refused: it ends before what is known to be written', async () => {
    await killed();
    await expectRefused(/older.*event 2.*event 4/s);
  });

  test('and is empty without its log is refused, not taken for version 0', async () => {
    const connection = openConnection(path, { readOnly: false });
    connection.exec('PRAGMA journal_mode = WAL');
    connection.close();
    const empty = readFileSync(path);
    expect(empty.length).toBe(4096);
    await claimed(await openSqliteStore(path), 'a', 1);
    withoutLog(empty);
    await expectRefused(/is empty.*event 2/s);
  });

  test('and is gone is refused by whoever would make a new one', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1);
    await store.close();
    rmSync(path);
    const error = await openSqliteStore(path).catch((e: unknown) => e);
    expect((error as UserError).message).toContain('There is no database');
    expect(existsSync(path)).toBe(false);
  });

  test('is refused too where only what the loop left elsewhere tells of it', async () => {
    const otherWork = async () => ['refs/forge/ab12/head'];
    const error = await openSqliteStore(path, { otherWork }).catch((e: unknown) => e);
    expect((error as UserError).message).toContain('refs/forge/ab12/head');
    expect(existsSync(path)).toBe(false);
    await (await openSqliteStore(path)).close();
    await (await openSqliteStore(path, { otherWork })).close();
  });

  test('is none where another process makes it while traces are looked for', async () => {
    const otherWork = async () => {
      await (await openSqliteStore(path)).close();
      return ['refs/forge/ab12/head'];
    };
    await (await openSqliteStore(path, { otherWork })).close();
  });

  test('or another one in its place is refused', async () => {
    await claimed(await openSqliteStore(path), 'a', 1);
    const other = join(folder, 'other.db');
    await (await openSqliteStore(other)).close();
    withoutLog(readFileSync(other));
    await expectRefused(/another database/);
  });

  test('from before this was noted is taken as it is', async () => {
    await claimed(await openSqliteStore(path), 'a', 1);
    rmSync(`${path}.known`);
    expect(await (await openSqliteStore(path)).tasks()).toHaveLength(1);
    expect(existsSync(`${path}.known`)).toBe(true);
  });
});

describe('what is known to be written', () => {
  const known = (): number => JSON.parse(readFileSync(`${path}.known`, 'utf8')).event;

  test('is never ahead of the disk, whoever looks, commits or opens beside what may be lost', async () => {
    const store = await openSqliteStore(path);
    const a = await claimed(store, 'a', 1, [LABEL]);
    expect(known()).toBe(2);
    const other = await openSqliteStore(path);
    const finishActions = (await other.pendingActions('a')).map(({ id }) => id);
    await commit(other, a, [event('hold_cleared', { reason: 'retry_backoff', by: 'me' })], { finishActions });
    expect((await store.events()).length, 'everybody sees it').toBe(3);
    await spent(store, used({}));
    await store.acquireLease('doctor-gate', 'me', 0, 1, () => false);
    await (await openSqliteStore(path)).close();
    expect(known()).toBe(2);
    await claimed(store, 'b', 2);
    expect(known(), 'a commit that is on the disk has what came before it there too').toBe(5);
    await store.close();
    await other.close();
  });

  const HOOK: Action = { kind: 'hook', name: 'after_merge', sha: 'abc' };
  test.each<[string, Action[], Action[], boolean]>([
    ['of the last effect', [LABEL], [], false],
    ['of an effect before others are performed', [LABEL, LABEL], [], true],
    ['of an effect, and what to do next', [LABEL], [LABEL], true],
    ['of a run', [HOOK], [], true],
  ])('what came %s', async (_, actions, addActions, isWritten) => {
    const store = await openSqliteStore(path);
    const a = await claimed(store, 'a', 1, actions);
    const [first] = await store.pendingActions('a');
    await commit(store, a, [event('hold_cleared', { reason: 'retry_backoff', by: 'me' })], {
      finishActions: [first!.id],
      addActions,
    });
    expect(known()).toBe(isWritten ? 3 : 2);
    await store.close();
  });

  test('is found out anew where nobody noted it, after a commit that is on the disk', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1);
    rmSync(`${path}.known`);
    const before = sizeOf(`${path}-wal`);
    const other = await openSqliteStore(path);
    expect(known()).toBe(2);
    expect(sizeOf(`${path}-wal`)).toBeGreaterThan(before);
    await store.close();
    await other.close();
  });
});

describe('a backup', () => {
  test('made beside a writer is whole, and is never written over another file', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1, [LABEL]);
    const to = join(folder, 'backup.db');
    expect(backUp(path, to)).toMatchObject({ path: to, events: 2 });
    const before = await everything(store, 'a');
    await claimed(store, 'b', 2);
    expect(await everything(await openSqliteStore(to, { readOnly: true }), 'a')).toEqual(before);
    const bytes = readFileSync(to);
    expect(() => backUp(path, to)).toThrow(UserError);
    expect(readFileSync(to).equals(bytes)).toBe(true);
    expect(() => backUp(path, join(folder, 'no such folder', 'x.db'))).toThrow(UserError);
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
  });

  test('of no database is an error', () => {
    expect(() => backUp(path, join(folder, 'b.db'))).toThrow('There is no database');
  });

  test('that is restored is the database from then on; what it replaced is kept', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1);
    const to = join(folder, 'backup.db');
    backUp(path, to);
    await claimed(store, 'b', 2);
    await store.close();
    const { aside } = restore(path, to, at);
    const restored = await openSqliteStore(path);
    expect((await restored.tasks()).map(({ task }) => task.id)).toEqual(['a']);
    await restored.close();
    expect(
      openConnection(aside!, { readOnly: true }).all(query.selectFrom('tasks').select('id')),
    ).toHaveLength(2);
  });

  test('the file in its place can be taken as it is, or an empty one instead', async () => {
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1);
    const copy = join(folder, 'copy.db');
    backUp(path, copy);
    await claimed(store, 'b', 2);
    await store.close();
    // Another file, not other contents: libsql's handles of this process keep their locks until they are collected.
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true });
    copyFileSync(copy, path);
    await expect(openSqliteStore(path)).rejects.toThrow('older');
    restore(path, path, at);
    const taken = await openSqliteStore(path);
    expect(await taken.tasks()).toHaveLength(1);
    await taken.close();
    restore(path, null, at);
    const otherWork = async () => ['refs/forge/ab12/head'];
    expect(await (await openSqliteStore(path, { otherWork })).tasks()).toEqual([]);
  });

  test('is not restored under anybody who has the database open to write, idle or not', async () => {
    const to = join(folder, 'backup.db');
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1);
    for (const lease of await store.leases()) await store.releaseLease(lease);
    backUp(path, to);
    const { child, lines } = await writer('idle', 0, 'stay');
    child.stdin.write('go');
    for await (const line of lines) if (JSON.parse(line).open) break;
    for (const from of [to, path, null])
      expect(() => restore(path, from, at)).toThrow('A runner, or another command, works with');
    await store.close();
    expect(() => restore(path, to, at), 'another process').toThrow('works with');
    const looking = await openSqliteStore(path, { readOnly: true });
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    expect(restore(path, to, at), 'who only looks is in nobody’s way').toMatchObject({ events: 2 });
    await looking.close();
  });

  test('that is restored is known from then on, whatever a process of before still writes', async () => {
    const to = join(folder, 'backup.db');
    const store = await openSqliteStore(path);
    await claimed(store, 'a', 1);
    backUp(path, to);
    await store.close();
    const before = openSync(`${path}.known`, 'r+');
    restore(path, to, at);
    writeSync(before, readFileSync(`${path}.known`, 'utf8').replace(/\d+/, '12345'), 0);
    closeSync(before);
    expect(await (await openSqliteStore(path)).tasks()).toHaveLength(1);
  });

  test('is refused when it is damaged, empty or none of ours, and nothing is touched', async () => {
    await claimed(await openSqliteStore(path), 'a', 1);
    const letter = join(folder, 'letter.db');
    writeFileSync(letter, 'this is a letter, not a database. '.repeat(200));
    const empty = join(folder, 'empty.db');
    writeFileSync(empty, '');
    for (const from of [letter, empty, join(folder, 'missing.db')])
      expect(() => restore(path, from, at)).toThrow(UserError);
    expect(await (await openSqliteStore(path)).tasks()).toHaveLength(1);
  });

  const at = new Date(0);
});

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

describe('a damaged database', () => {
  test('that is no database is moved aside, and where nothing was written the next run starts empty (dispatch 43)', async () => {
    const text = 'this is a letter, not a database. '.repeat(200);
    writeFileSync(path, text);
    const error = await openSqliteStore(path).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(UserError);
    const [aside] = readdirSync(folder).filter((name) => name.startsWith('forge.db.corrupt-'));
    expect(readFileSync(join(folder, aside!), 'utf8')).toBe(text);
    expect((error as UserError).message).toContain(path);
    expect((error as UserError).message).toContain(join(folder, aside!));
    expect((error as UserError).hint).toContain('loop:running');
    expect(existsSync(path)).toBe(false);
    expect(await (await openSqliteStore(path)).tasks()).toEqual([]);
  });

  test('that had work in it is not followed by an empty one until a person says so', async () => {
    await damagePages();
    const error = (await openSqliteStore(path).catch((e: unknown) => e)) as UserError;
    expect(error.hint).toContain('forge-loop restore');
    await expect(openSqliteStore(path)).rejects.toThrow('There is no database');
    restore(path, null, new Date(0));
    expect(await (await openSqliteStore(path)).tasks()).toEqual([]);
  });

  test('with broken pages is moved aside with its log (dispatch 43)', async () => {
    await damagePages();
    const error = await openSqliteStore(path).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(UserError);
    expect(readdirSync(folder).filter((name) => !name.includes('.corrupt-'))).toEqual([
      'forge.db.known',
      'forge.db.open',
    ]);
    expect(readdirSync(folder).filter((name) => name.endsWith('-wal'))).toHaveLength(1);
  });

  test('that was emptied beside its log is moved aside, the log with it (dispatch 43)', async () => {
    await filled();
    const log = readFileSync(`${path}-wal`);
    expect(log.length).toBeGreaterThan(0);
    truncateSync(path, 0);
    await expect(openSqliteStore(path)).rejects.toThrow(UserError);
    const [aside] = readdirSync(folder).filter((name) => name.endsWith('-wal'));
    expect(aside).toContain('.corrupt-');
    expect(readFileSync(join(folder, aside!)).equals(log)).toBe(true);
  });

  test('is left where it is by a reader (dispatch 43)', async () => {
    await damagePages();
    const before = readdirSync(folder);
    await expect(openSqliteStore(path, { readOnly: true })).rejects.toThrow('Nothing was changed');
    expect(readdirSync(folder)).toEqual(before);
  });

  /** A file whose tasks are gone bad, with a log beside it. */
  async function damagePages(): Promise<void> {
    await (await filled()).close();
    await sqliteStore(openConnection(path, { readOnly: false })).updateLoop({ pausedBy: 'me' }, [], 1);
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4096, bytes.length);
    writeFileSync(path, bytes);
  }

  async function filled(): Promise<Store> {
    const store = await openSqliteStore(path);
    for (let issue = 1; issue <= 20; issue++) await claimed(store, `t${issue}`, issue, [LABEL]);
    return store;
  }
});

describe('when the file can’t be written', () => {
  test('a full disk refuses the commit whole, and the store works again once there is space (dispatch 43)', async () => {
    await (await openSqliteStore(path)).close();
    const connection = openConnection(path, { readOnly: false });
    const store = sqliteStore(connection);
    const a = await claimed(store, 'a', 1);
    const before = await everything(store, 'a');
    connection.exec(`PRAGMA max_page_count = ${connection.pragma('page_count')}`);

    const large = event('answer_unusable', { role: 'critic', problem: 'x'.repeat(100_000) });
    const full = commit(store, a, [large], { addActions: [LABEL] });
    await expect(full).rejects.toThrow(StoreUnavailable);
    await expect(full).rejects.toThrow(/forge\.db.*disk is full/);
    expect(await everything(store, 'a')).toEqual(before);

    connection.exec('PRAGMA max_page_count = 100000');
    expect(await commit(store, a, [large])).toMatchObject({ version: 2 });
    expect((await store.events()).map((e) => e.seq)).toEqual([1, 2, 3]);
  });

  test('a read-only file says so, and what is in it stays readable (dispatch 43)', async () => {
    const setup = await writer('setup', 1);
    setup.child.stdin.end('go');
    await ended(setup);
    chmodSync(path, 0o444);
    await asOrdinaryUser(async () => {
      const store = await openSqliteStore(path);
      expect(await store.tasks()).toHaveLength(1);
      const write = spent(store, used({}));
      await expect(write).rejects.toThrow(StoreUnavailable);
      await expect(write).rejects.toThrow(/forge\.db.*read-only/);
    });
  });

  test('a lock that somebody keeps is named as such (dispatch 43)', async () => {
    await (await openSqliteStore(path)).close();
    const impatient = openConnection(path, { readOnly: false });
    impatient.exec('PRAGMA busy_timeout = 1');
    const store = sqliteStore(impatient);
    const other = openConnection(path, { readOnly: false });
    other.exec('BEGIN IMMEDIATE');
    await expect(spent(store, used({}))).rejects.toThrow(/forge\.db.*another process has kept it locked/);
    other.exec('ROLLBACK');
    await spent(store, used({}));
  });

  /** The superuser may write everywhere, so there is nothing to see as one. */
  async function asOrdinaryUser(work: () => Promise<void>): Promise<void> {
    if (process.getuid?.() !== 0) return work();
    chmodSync(folder, 0o777);
    process.seteuid?.(65534);
    try {
      await work();
    } finally {
      process.seteuid?.(0);
    }
  }
});

describe('several processes', () => {
  test('one that looks while another makes the first tables sees a database of ours', () => {
    const [one, other] = [0, 1].map(() => openConnection(path, { readOnly: false })) as [
      Connection,
      Connection,
    ];
    one.exec('PRAGMA journal_mode = WAL');
    const interrupted: Connection = {
      ...one,
      pragma(source) {
        const answer = one.pragma(source);
        if (source === 'user_version') migrate(other);
        return answer;
      },
    };
    requireOurs(interrupted);
    expect(isEmpty(one)).toBe(false);
    for (const connection of [one, other]) connection.close();
  });

  test('open, claim and commit at once: each issue once, no event lost, no gap (dispatch 13)', async () => {
    const writers = await Promise.all(['one', 'two', 'three'].map((owner) => writer(owner, 12)));
    for (const { child } of writers) child.stdin.end('go');
    const lines = (await Promise.all(writers.map(ended))).flat();
    expect(lines).toHaveLength(12 * 10);
    const store = await openSqliteStore(path);
    expect((await store.tasks()).map(({ task }) => task.issue).sort((a, b) => a! - b!)).toEqual(
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
    await expectOneStory(store);
    expect(await store.events({ type: 'runner_started' })).toHaveLength(3 * 12);
    expect(await store.events()).toHaveLength(3 * 12 + 12 * (2 + 10 * 2));
  });

  test('killed while they write leave a whole database with everything they were told is written (dispatch 36)', async () => {
    for (let kill = 1; kill <= 3; kill++) {
      const { child, lines } = await writer(`killed-${kill}`, 1000 * kill);
      child.stdin.end('go');
      const told: Line[] = [];
      for await (const line of lines) {
        told.push(JSON.parse(line));
        if (told.length === 25 * kill) child.kill('SIGKILL');
      }
      expect(told.length).toBeGreaterThanOrEqual(25 * kill);
      const store = await openSqliteStore(path);
      for (const { task, version } of told) {
        expect((await store.task(task))?.version).toBeGreaterThanOrEqual(version);
      }
      await expectOneStory(store);
      for (const lease of await store.leases()) await store.releaseLease(lease);
      await store.close();
    }
  });
});

interface Line {
  task: string;
  issue: number;
  version: number;
}

interface Writer {
  child: ChildProcessByStdio<Writable, Readable, null>;
  lines: AsyncIterable<string>;
}

/** Loaded and waiting for its `go`, so that several of them really start together. */
async function writer(owner: string, issues: number, ...more: string[]): Promise<Writer> {
  const args = [program.script, path, owner, String(issues), ...more];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  expect(await lines.next()).toMatchObject({ value: 'ready' });
  return { child, lines: { [Symbol.asyncIterator]: () => lines } };
}

async function ended({ child, lines }: Writer): Promise<Line[]> {
  const exit = once(child, 'exit');
  const told: Line[] = [];
  for await (const line of lines) told.push(JSON.parse(line));
  expect(await exit).toEqual([0, null]);
  return told;
}

async function expectOneStory(store: Store): Promise<void> {
  const events = await store.events();
  expect(events.map((e) => e.seq)).toEqual(events.map((_, index) => index + 1));
  for (const { task } of await store.tasks()) expect(fold(task.id, events)).toEqual(task);
}

test('what dies with the machine does not wait for the disk; whatever comes next does', () => {
  const connection = openConnection(path, { readOnly: false });
  connection.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  migrate(connection);
  const [NORMAL, FULL] = [1, 2];
  const level = (): unknown => connection.pragma('synchronous');
  expect(connection.unhurried(level)).toBe(NORMAL);
  expect(connection.immediate(level)).toBe(FULL);
  const failing = (): never => {
    connection.exec("UPDATE loop SET paused_by = 'eva'");
    throw new Error('refused');
  };
  expect(() => connection.unhurried(failing)).toThrow('refused');
  expect(level()).toBe(FULL);
  expect(connection.one(query.selectFrom('loop').select('paused_by'))).toEqual({ paused_by: null });
  connection.close();
});

function rows(text: string): unknown[] {
  const connection = openConnection(path, { readOnly: true });
  return connection.all({ compile: () => sql.raw(text).compile(query) });
}
