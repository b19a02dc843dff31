import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { compiled } from '../../test/support/compiled.ts';
import { claimed, commit, everything, finding, LABEL, to, used } from '../../test/support/store-steps.ts';
import { event } from '../core/event.ts';
import { fold } from '../core/fold.ts';
import { StoreUnavailable, UserError } from '../errors.ts';
import { storeContract } from './contract.ts';
import { openConnection, query } from './sqlite/connection.ts';
import { migrate, migrations } from './sqlite/migrations.ts';
import { sqliteStore } from './sqlite/verbs.ts';
import { openSqliteStore } from './sqlite.ts';
import type { Store } from './store.ts';

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

storeContract('sqlite', async () => {
  let store = await openSqliteStore(path);
  return {
    store,
    async reopen() {
      await store.close();
      store = await openSqliteStore(path);
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
    const unknown = { commandsSince: null, deploy: null, deployAgain: null, accountLimits: [] };
    expect(await store.loop()).toMatchObject({ pausedBy: 'eva', ...unknown });
    expect(await store.spendSince(100)).toEqual({ tokens: 31, costUsd: 0.25, complete: true });
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
    openConnection(path, { readOnly: false }).exec('CREATE TABLE early (id INTEGER)');
    await expect(openSqliteStore(path, { readOnly: true })).rejects.toThrow('older forge-loop');
    expect(rows('PRAGMA user_version')).toEqual([{ user_version: 0 }]);
  });
});

describe('a damaged database', () => {
  test('that is no database is moved aside, and the next run starts empty (dispatch 43)', async () => {
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

  test('with broken pages is moved aside with its log (dispatch 43)', async () => {
    await damagePages();
    const error = await openSqliteStore(path).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(UserError);
    expect(readdirSync(folder).filter((name) => !name.includes('.corrupt-'))).toEqual([]);
    expect(readdirSync(folder).filter((name) => name.endsWith('-wal'))).toHaveLength(1);
    expect(await (await openSqliteStore(path)).tasks()).toEqual([]);
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
    const store = await filled();
    const connection = openConnection(path, { readOnly: false });
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    await store.updateLoop({ pausedBy: 'me' }, [], 1);
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

    const large = event('critic_failed', { problem: 'x'.repeat(100_000) });
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
      const write = store.addUsage([used({})]);
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
    await expect(store.addUsage([used({})])).rejects.toThrow(/forge\.db.*another process has kept it locked/);
    other.exec('ROLLBACK');
    await store.addUsage([used({})]);
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
async function writer(owner: string, issues: number): Promise<Writer> {
  const args = [program.script, path, owner, String(issues)];
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
