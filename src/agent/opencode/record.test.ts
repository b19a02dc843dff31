import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hotJournal } from '../../../test/support/hot-journal.ts';
import { StrangeFile } from '../../errors.ts';
import { recordOf } from './record.ts';
import { databaseOf, probeSession, writeSession } from './session.ts';

let root = '';
let session = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'forge-opencode-record-'));
  session = join(root, 'session');
  mkdirSync(dirname(databaseOf(session)), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const TABLES = `create table message (id text primary key, session_id text, time_created integer, data text);
  create table part (id text primary key, message_id text, session_id text, data text);`;

/** As opencode keeps it; a server that was killed leaves what is not closed. */
function kept(sql: string): Database.Database {
  const database = new Database(databaseOf(session));
  database.exec(`pragma journal_mode = wal; ${TABLES} ${sql}`);
  return database;
}

const SPOKEN = `
  insert into message values ('m2', 'ses_1', 2, '{"role":"assistant","finish":"stop"}'), ('m1', 'ses_1', 1, '{"role":"user"}');
  insert into part values ('p1', 'm1', 'ses_1', '{"type":"text","text":"hello"}'),
    ('p3', 'm2', 'ses_1', '{"type":"tool","state":{"status":"completed","output":"secret"}}'),
    ('p2', 'm2', 'ses_1', '{"type":"step-finish","cost":1,"tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}}}');`;

test('the record is read of a server that was killed, and left as it is', async () => {
  const database = kept(SPOKEN);
  expect(existsSync(`${databaseOf(session)}-wal`)).toBe(true);
  expect(await recordOf(session)).toEqual([
    {
      info: { id: 'm1', sessionID: 'ses_1', role: 'user' },
      parts: [{ id: 'p1', messageID: 'm1', sessionID: 'ses_1', type: 'text', text: 'hello' }],
    },
    {
      info: { id: 'm2', sessionID: 'ses_1', role: 'assistant', finish: 'stop' },
      parts: [
        {
          ...{ id: 'p2', messageID: 'm2', sessionID: 'ses_1', type: 'step-finish', cost: 1 },
          tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } },
        },
        { id: 'p3', messageID: 'm2', sessionID: 'ses_1', type: 'tool' },
      ],
    },
  ]);
  await writeSession(session, 'ses_1');
  expect(await probeSession({ sessionDir: session })).toBe('resumable');
  database.close();
  expect(readdirSync(root)).toEqual(['session']);
});

test('without a database nothing was said', async () => {
  expect(await recordOf(session)).toEqual([]);
});

test('a journal is not rolled back, and what it names stays', async () => {
  kept(`pragma journal_mode = delete; ${SPOKEN}`).close();
  const precious = join(root, 'precious');
  writeFileSync(precious, 'as it was\n');
  writeFileSync(`${databaseOf(session)}-journal`, hotJournal(databaseOf(session), precious));
  expect(await recordOf(session)).toHaveLength(2);
  expect(existsSync(precious)).toBe(true);
  // It would have been: this is what opening it does.
  new Database(databaseOf(session)).exec('select * from message');
  expect(existsSync(precious)).toBe(false);
});

const STRANGE: [string, () => void][] = [
  [
    'a view',
    () => replaced("create view message as select 'a' id, 'b' session_id, 1 time_created, '{}' data"),
  ],
  [
    'a virtual table',
    () => replaced('create virtual table message using fts5(id, session_id, time_created, data)'),
  ],
  ['another file', () => writeFileSync(databaseOf(session), 'x'.repeat(10_000))],
  ['no JSON', () => kept("insert into message values ('m', 's', 1, 'x')").close()],
  ['other fields', () => kept(`insert into message values ('m', 's', 1, '{"role":"king"}')`).close()],
  [
    'more than can be read',
    () => {
      kept('').close();
      truncateSync(databaseOf(session), 2 * 1024 ** 3);
    },
  ],
];
const replaced = (sql: string) => kept(`drop table message; ${sql}`).close();

test.each(STRANGE)('with %s in its place the session is lost', async (_, plant) => {
  plant();
  await writeSession(session, 'ses_1');
  await expect(recordOf(session)).rejects.toThrow(StrangeFile);
  expect(await probeSession({ sessionDir: session })).toBe('lost');
  expect(readdirSync(root)).toEqual(['session']);
});
