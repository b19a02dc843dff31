// @ts-check
/**
 * Prints the messages in a copy of opencode's database, as JSON. A stranger may have written that database: nothing in it is
 * trusted to be run, and whoever starts this ends it when it takes long.
 */
import { pathToFileURL } from 'node:url';
import Database from 'libsql';

const [path = ''] = process.argv.slice(2);
const MOST_MEMORY_BYTES = 512 * 1024 ** 2;

const database = new Database(`${pathToFileURL(path).href}?mode=ro`);
for (const setting of [
  'trusted_schema = OFF',
  'cell_size_check = ON',
  'mmap_size = 0',
  'temp_store = MEMORY',
  `hard_heap_limit = ${MOST_MEMORY_BYTES}`,
])
  database.prepare(`pragma ${setting}`).all();

/**
 * A view would run what it says, and a virtual table what it is made of: neither has a page of its own.
 * @type {any[]}
 */
const schema = database.prepare("select name from sqlite_schema where type = 'table' and rootpage > 0").all();
for (const name of ['message', 'part'])
  if (!schema.some((one) => one.name === name)) throw new Error(`${name} is not a table`);

/** @param {string} sql @returns {any[]} */
const rows = (sql) => database.prepare(sql).all();

/**
 * What a tool was given and gave back, which is most of it, nobody asks for.
 * @type {Map<string, object[]>}
 */
const parts = new Map();
for (const { id, message, session, data } of rows(
  'select id, message_id message, session_id session, data from part order by id',
)) {
  const { type, text, tokens, cost } = JSON.parse(data);
  const part = { id, messageID: message, sessionID: session, type, text, tokens, cost };
  const known = parts.get(message);
  if (known) known.push(part);
  else parts.set(message, [part]);
}
const told = rows(
  'select id, id message, session_id session, data from message order by time_created, id',
).map(({ id, session, data }) => ({
  info: { ...JSON.parse(data), id, sessionID: session },
  parts: parts.get(id) ?? [],
}));
process.stdout.write(JSON.stringify(told));
