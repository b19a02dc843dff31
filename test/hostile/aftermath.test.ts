/**
 * What an agent can leave in its places for the loop itself, which reads them outside of any sandbox when the turn is over.
 * Whatever lies there, the loop ends within a time, of itself, and neither changes nor tells what is the operator's.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'libsql';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { CANARY } from '../../src/attack/machine.ts';
import { compiled } from '../support/compiled.ts';
import { hotJournal } from '../support/hot-journal.ts';
import type { Places } from './readers.ts';

let readers: ReturnType<typeof compiled>;
beforeAll(() => {
  readers = compiled('test/hostile/readers.ts');
  // Started as a program of its own, which nobody imports.
  const program = 'src/agent/opencode/record-program.js';
  cpSync(program, join(readers.folder, program));
});
afterAll(() => rmSync(readers.folder, { recursive: true, force: true }));

let root = '';
let at: Places;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'forge-aftermath-')));
  const place = (name: string): string => join(root, name);
  at = {
    session: place('state/sessions/s1'),
    home: place('state/home'),
    workspace: place('work'),
    operator: place('operator'),
    log: place('state/logs/coder-2.log'),
  };
  for (const folder of [at.session, at.home, at.workspace, dirname(at.log)])
    mkdirSync(folder, { recursive: true });
  writeFileSync(at.log, 'said\n');
  for (const path of OPERATORS) {
    mkdirSync(dirname(join(at.operator, path)), { recursive: true });
    writeFileSync(join(at.operator, path), `{"type":"user","says":"${CANARY}"}\n`);
  }
  database(
    join(at.operator, 'opencode/opencode.db'),
    `create table message (id, session_id, time_created, data);
    create table part (id, message_id, session_id, data);
    insert into message values ('${CANARY}', 'ses_1', 1, '{"role":"user"}')`,
  );
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const OPERATORS = [
  '.ssh/id_ed25519',
  '.npmrc',
  '.codex/auth.json',
  '.gemini/telemetry.log',
  '.gemini/tmp/x/chats/session-2026-11-18T10-00-aaaa.jsonl',
  'records/s1.jsonl',
  'folder/refused',
];

type Plant = () => void;
const s = (path: string): string => join(at.session, path);
const made = (path: string): string => {
  mkdirSync(dirname(path), { recursive: true });
  return path;
};
const write = (path: string, text: string): void => writeFileSync(made(path), text);
const link = (to: string, path: string): void => symlinkSync(to, made(path));
const fifo = (path: string): void => void execFileSync('mkfifo', [made(path)]);
const hole = (path: string, bytes: number): void => {
  write(path, '');
  truncateSync(path, bytes);
};
const THREAD = '00000000-0000-0000-0000-000000000001';
const codexThread = (): void => write(s('codex-thread.json'), JSON.stringify({ thread: THREAD }));
const opencodeSession = (): void => write(s('opencode-session.json'), JSON.stringify({ session: 'ses_1' }));

function database(path: string, sql: string): void {
  const made_ = new Database(made(path));
  made_.exec(sql);
  made_.close();
}

const TRANSCRIPT = 'claude/projects/x/s1.jsonl';
const ROLLOUT = `codex/sessions/2026/11/18/rollout-${THREAD}.jsonl`;
const JUNIT = 'reports/junit.xml';
const GIB = 1024 ** 3;

/** What is left, where, and who comes upon it. */
const ATTEMPTS: [string, string, Plant][] = [
  ['claude, probed', 'a transcript without end', () => link('/dev/zero', s(TRANSCRIPT))],
  ['claude, taken up', 'a transcript without end', () => link('/dev/zero', s(TRANSCRIPT))],
  ['claude, probed', 'a pipe as transcript', () => fifo(s(TRANSCRIPT))],
  ['claude, taken up', 'a pipe as transcript', () => fifo(s(TRANSCRIPT))],
  ['claude, probed', 'a hole of two gigabytes', () => hole(s(TRANSCRIPT), 2 * GIB)],
  ['claude, taken up', 'a line of 700 megabytes', () => hole(s(TRANSCRIPT), 700 * 1024 ** 2)],
  [
    'claude, probed',
    'records of somebody else',
    () => link(join(at.operator, 'records'), s('claude/projects/x')),
  ],
  ['claude, taken up', 'all of /proc as its records', () => link('/proc', s('claude/projects'))],
  ['claude, recorded', 'a transcript without end', () => link('/dev/zero', s(`acp/${TRANSCRIPT}`))],
  ['claude, recorded', 'another folder for its records', () => link('/proc', s('acp'))],
  ['codex, probed', 'a pipe as its thread', () => fifo(s('codex-thread.json'))],
  ['codex, probed', 'a record without end', () => [codexThread(), link('/dev/zero', s(ROLLOUT))]],
  ['codex, taken up', 'a record without end', () => [codexThread(), link('/dev/zero', s(ROLLOUT))]],
  ['codex, taken up', 'a pipe as its ledger', () => [fifo(s('codex-usage.json')), codexDone()]],
  ['codex, recorded', 'a record without end', () => link('/dev/zero', s(`acp/${ROLLOUT}`))],
  ['codex, signed in and out', 'the operator’s Codex', () => link(join(at.operator, '.codex'), s('codex'))],
  ['acp, probed', 'a pipe as its session', () => fifo(s('acp-session.json'))],
  ['acp, taken up', 'a pipe as its end', () => fifo(s('acp-end.json'))],
  ['acp, taken up', 'an end without end', () => link('/dev/zero', s('acp-end.json'))],
  ['the ledger', 'a pipe', () => fifo(s('usage-told.json'))],
  ['the ledger', 'a folder', () => write(s('usage-told.json/x'), '')],
  ['gemini, set up', 'the operator’s records', () => gemini('tmp')],
  ['gemini, set up', 'the operator’s Gemini', () => link(join(at.operator, '.gemini'), s('gemini/.gemini'))],
  [
    'gemini, recorded',
    'the operator’s Gemini',
    () => link(join(at.operator, '.gemini'), s('gemini/.gemini')),
  ],
  ['gemini, recorded', 'telemetry without end', () => link('/dev/zero', s('gemini/.gemini/telemetry.log'))],
  ['gemini, recorded', 'a pipe as telemetry', () => fifo(s('gemini/.gemini/telemetry.log'))],
  ['gemini, recorded', 'a record without end', () => link('/dev/zero', s('gemini/.gemini/tmp/x/a.jsonl'))],
  ['opencode, probed', 'a pipe as its session', () => fifo(s('opencode-session.json'))],
  ['opencode, probed', 'a journal that names the operator’s key', hot],
  ['opencode, taken up', 'a journal that names the operator’s key', hot],
  [
    'opencode, probed',
    'a table that never ends',
    () =>
      endless(
        "create view message as with recursive n(id, session_id, time_created, data) as (select 'a', 'b', 1, '{}' union all select id, session_id, time_created, data from n) select * from n",
      ),
  ],
  [
    'opencode, probed',
    'a part that never ends',
    () =>
      endless(
        "create table message (id, session_id, time_created, data); create view part as with recursive n(id, message_id, session_id, data) as (select 'a', 'b', 'c', '{}' union all select id, message_id, session_id, data from n) select * from n",
      ),
  ],
  [
    'opencode, probed',
    'a database of somebody else',
    () => [opencodeSession(), link(join(at.operator, 'opencode/opencode.db'), s('opencode/opencode.db'))],
  ],
  [
    'opencode, probed',
    'the folder of somebody else’s',
    () => [opencodeSession(), link(join(at.operator, 'opencode'), s('opencode'))],
  ],
  ['opencode, probed', 'a pipe as database', () => [opencodeSession(), fifo(s('opencode/opencode.db'))]],
  ['opencode, probed', 'a pipe as log of the database', () => [usual(), fifo(s('opencode/opencode.db-wal'))]],
  [
    'opencode, its log',
    'a log without end',
    () => link('/dev/zero', join(at.home, '.local/share/opencode/log/opencode.log')),
  ],
  ['opencode, its log', 'a pipe as log', () => fifo(join(at.home, '.local/share/opencode/log/opencode.log'))],
  ['opencode, its plugins', 'a pipe as settings', () => fifo(join(at.workspace, 'opencode.json'))],
  [
    'opencode, its plugins',
    'settings without end',
    () => link('/dev/zero', join(at.workspace, 'opencode.json')),
  ],
  ['stand-ins', 'a link as profile', () => link(join(at.operator, '.npmrc'), join(at.home, '.profile'))],
  ['stand-ins', 'a pipe as profile', () => fifo(join(at.home, '.profile'))],
  ['stand-ins', 'a folder as profile', () => write(join(at.home, '.profile/x'), '')],
  [
    'the home',
    'a link where a file is offered',
    () => link(join(at.operator, '.codex/auth.json'), join(at.home, '.npmrc')),
  ],
  ['the home', 'a pipe where a file is offered', () => fifo(join(at.home, '.npmrc'))],
  ['the home', 'a folder where a file is offered', () => write(join(at.home, '.npmrc/x'), '')],
  ['the last sign', 'very many files', () => many(s('many'), 130_000)],
  ['the last sign', 'a way in a circle', () => link('..', s('circle'))],
  ['test reports', 'a report without end', () => link('/dev/zero', join(at.workspace, JUNIT))],
  ['test reports', 'a pipe as report', () => fifo(join(at.workspace, JUNIT))],
  ['test reports', 'a hole of two gigabytes', () => hole(join(at.workspace, JUNIT), 2 * GIB)],
  ['a command’s end', 'a pipe as result', () => ended(fifo)],
  ['a command’s end', 'a result without end', () => ended((path) => link('/dev/zero', path))],
];

const codexDone = (): void => {
  codexThread();
  const line = (payload: object) => JSON.stringify({ timestamp: '2026-11-18T10:00:00Z', payload });
  const prompt = { type: 'UserMessage', content: [{ text: 'p' }] };
  write(
    s(ROLLOUT),
    [
      line({ type: 'item_completed', item: prompt }),
      line({ type: 'task_complete', last_agent_message: 'done' }),
      '',
    ].join('\n'),
  );
};
const gemini = (folder: string): void =>
  link(join(at.operator, '.gemini', folder), s(`gemini/.gemini/${folder}`));
const TABLES = `create table message (id, session_id, time_created, data);
  create table part (id, message_id, session_id, data)`;
function usual(): void {
  opencodeSession();
  database(s('opencode/opencode.db'), TABLES);
}
function hot(): void {
  usual();
  const precious = join(at.operator, '.ssh/id_ed25519');
  writeFileSync(s('opencode/opencode.db-journal'), hotJournal(s('opencode/opencode.db'), precious));
}
function endless(sql: string): void {
  opencodeSession();
  database(s('opencode/opencode.db'), sql);
}
function many(folder: string, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const first = index - (index % 30_000);
    if (index === first) write(join(folder, String(index)), '');
    else linkSync(join(folder, String(first)), join(folder, String(index)));
  }
}
function ended(plant: (path: string) => void): void {
  const folder = `${at.session}-results/2`;
  write(join(folder, 'kept.json'), JSON.stringify({ launch: 'a', logAt: 0, reported: [] }));
  write(join(folder, 'exit.json'), '{"code":0}');
  plant(join(folder, 'result/result.json'));
}

test.each(ATTEMPTS)('%s: %s', async (reader, _, plant) => {
  plant();
  const before = operators();
  const { said, code } = await read(reader);
  expect(said).not.toContain(CANARY);
  // What is somebody else's is no session.
  expect(said).not.toContain('resumable');
  expect(operators()).toEqual(before);
  expect(code, said).toBe(0);
  expect(readdirSync(join(root, 'state/sessions')).filter((name) => name.includes('-record-'))).toEqual([]);
});

test('there is somebody who reads for each of them, and each reads what is as usual', async () => {
  const names = [...new Set(ATTEMPTS.map(([reader]) => reader))];
  codexDone();
  usual();
  for (const name of names) expect(await read(name), name).toMatchObject({ code: 0 });
  expect((await read('codex, probed')).said).toContain('empty');
  expect((await read('codex, taken up')).said).toBe('true\n');
});

/** Killed when it hangs, which is no exit of its own. */
async function read(reader: string): Promise<{ said: string; code: number | null }> {
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=1024', readers.script, reader, JSON.stringify(at)],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    },
  );
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  const [code] = await once(child, 'close');
  return { said, code };
}

/** Each path of the operator's, with what is in it. */
const operators = (): string[] =>
  readdirSync(at.operator, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/-(wal|shm)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => `${path} ${readFileSync(path, 'base64')}`);
