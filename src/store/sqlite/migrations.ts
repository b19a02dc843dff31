/**
 * Forward-only migrations. A database's version (`user_version`) is how many of them it has had; one that was released
 * is never edited, a change is a new one at the end.
 */

import { fold } from '../../core/fold.ts';
import { UserError } from '../../errors.ts';
import { type Connection, query } from './connection.ts';
import { readEvents } from './journal.ts';
import { updateTask } from './task-row.ts';

/**
 * Brings the database to the newest version, in one transaction; two processes may try at once. Tasks are folded anew
 * from their events, so no migration has to know what a task looked like.
 */
export function migrate(connection: Connection, list: readonly string[] = migrations): void {
  if (version(connection) === list.length) return;
  connection.immediate(() => {
    requireKnownVersion(connection, list);
    for (const migration of list.slice(version(connection))) connection.exec(migration);
    connection.exec(`PRAGMA user_version = ${list.length}`);
    if (list === migrations) foldAnew(connection);
  });
}

function foldAnew(connection: Connection): void {
  for (const { id, version } of connection.all(query.selectFrom('tasks').select(['id', 'version']))) {
    const events = readEvents(connection, { task: id });
    try {
      updateTask(connection, { task: fold(id, events), version });
    } catch (problem) {
      throw new UserError(
        `The task ${id} in ${connection.path} can't be brought up to date: ${(problem as Error).message}.`,
        'The database was not changed: keep using the forge-loop that wrote it, and report this with `forge-loop events --json`.',
      );
    }
  }
}

export function requireKnownVersion(connection: Connection, list: readonly string[] = migrations): void {
  const found = version(connection);
  if (found <= list.length) return;
  throw new UserError(
    `The database ${connection.path} was made by a newer forge-loop (its version is ${found}, this one knows ${list.length}).`,
    'Update forge-loop. The database was not changed.',
  );
}

/** Nothing was ever kept in it, or its log is gone that had everything. */
export function isEmpty(connection: Connection): boolean {
  return connection.snapshot(() => version(connection) === 0 && hasNoTables(connection));
}

export function requireOurs(connection: Connection): void {
  // Of one moment: another process may be making the first tables just now.
  if (connection.snapshot(() => version(connection) > 0 || hasNoTables(connection))) return;
  throw new UserError(
    `${connection.path} is not a database of forge-loop. It was not changed.`,
    'Move it away, or name another file.',
  );
}

/** What a reader can't put right itself. */
export function requireCurrentVersion(connection: Connection, list: readonly string[] = migrations): void {
  requireKnownVersion(connection, list);
  const found = version(connection);
  if (found === list.length) return;
  throw new UserError(
    `The database ${connection.path} was made by an older forge-loop (its version is ${found}, this one reads ${list.length}).`,
    'Run `forge-loop run` once: it brings the database up to date and keeps everything in it.',
  );
}

function hasNoTables(connection: Connection): boolean {
  return Number(connection.pragma('schema_version')) === 0;
}

function version(connection: Connection): number {
  return Number(connection.pragma('user_version'));
}

/*
 * Usage and processes name a task without a foreign key: money is spent and children are started on behalf of the
 * loop too, and neither may ever be refused for want of a row.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE tasks (
    id            TEXT PRIMARY KEY,
    issue         INTEGER,
    attempt       INTEGER NOT NULL,
    state         TEXT NOT NULL,
    reason        TEXT,
    turns         INTEGER NOT NULL,
    critic_rounds INTEGER NOT NULL,
    session_id    TEXT,
    pull          INTEGER,
    head_sha      TEXT,
    slot          INTEGER NOT NULL,
    judging       INTEGER NOT NULL,
    ended         INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    data          TEXT NOT NULL
  );
  CREATE UNIQUE INDEX tasks_one_live_per_issue ON tasks (issue) WHERE ended = 0;
  CREATE INDEX tasks_by_issue ON tasks (issue);
  CREATE INDEX tasks_by_state ON tasks (state);
  CREATE INDEX tasks_with_slot ON tasks (slot) WHERE slot = 1;
  CREATE INDEX tasks_judging ON tasks (judging) WHERE judging = 1;

  CREATE TABLE events (
    seq  INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    task TEXT REFERENCES tasks (id),
    type TEXT NOT NULL,
    data TEXT NOT NULL
  );
  CREATE INDEX events_by_task ON events (task, seq);
  CREATE INDEX events_by_type ON events (type, seq);

  CREATE TABLE actions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task       TEXT REFERENCES tasks (id),
    action     TEXT NOT NULL,
    started_at INTEGER,
    attempts   INTEGER NOT NULL,
    not_before INTEGER NOT NULL
  );
  CREATE INDEX actions_by_task ON actions (task, id);

  CREATE TABLE leases (
    key        TEXT PRIMARY KEY,
    owner      TEXT,
    fencing    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  );
  CREATE INDEX leases_by_owner ON leases (owner);

  CREATE TABLE turns (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task       TEXT NOT NULL REFERENCES tasks (id),
    turn       INTEGER NOT NULL,
    role       TEXT NOT NULL,
    session    TEXT NOT NULL,
    prompt     TEXT NOT NULL,
    status     TEXT,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER
  );
  CREATE INDEX turns_by_task ON turns (task, id);

  CREATE TABLE usage (
    task        TEXT NOT NULL,
    turn        INTEGER NOT NULL,
    role        TEXT NOT NULL,
    session     TEXT NOT NULL,
    key         TEXT NOT NULL,
    model       TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost_usd    REAL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (task, turn, role, session, key)
  );

  CREATE TABLE findings (
    task     TEXT NOT NULL REFERENCES tasks (id),
    id       TEXT NOT NULL,
    severity TEXT NOT NULL,
    status   TEXT NOT NULL,
    data     TEXT NOT NULL,
    PRIMARY KEY (task, id)
  );

  CREATE TABLE requests (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL REFERENCES tasks (id),
    kind TEXT NOT NULL,
    by   TEXT NOT NULL,
    at   INTEGER NOT NULL
  );
  CREATE INDEX requests_by_task ON requests (task, id);

  CREATE TABLE processes (
    boot_id    TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    start_time TEXT NOT NULL,
    task       TEXT NOT NULL,
    purpose    TEXT NOT NULL,
    PRIMARY KEY (boot_id, pid, start_time)
  );
  CREATE INDEX processes_by_task ON processes (task);

  CREATE TABLE loop (
    id             INTEGER PRIMARY KEY CHECK (id = 1),
    paused_by      TEXT,
    stop           TEXT NOT NULL,
    config_problem TEXT
  );
  INSERT INTO loop (id, paused_by, stop, config_problem) VALUES (1, NULL, 'no', NULL);
  `,
  `
  ALTER TABLE loop ADD COLUMN commands_since INTEGER;
  CREATE INDEX usage_by_time ON usage (at);
  `,
  // A request may be about one finding of its task.
  `
  ALTER TABLE requests ADD COLUMN finding TEXT;
  ALTER TABLE requests ADD COLUMN why TEXT;
  `,
  `
  ALTER TABLE loop ADD COLUMN deploy TEXT;
  ALTER TABLE loop ADD COLUMN deploy_again TEXT;
  `,
  `
  ALTER TABLE loop ADD COLUMN account_limits TEXT;
  `,
  // An approval is for one head.
  `
  ALTER TABLE requests ADD COLUMN head TEXT;
  `,
  // An answer nobody could use is one event, whichever role gave it. A delivery is a webhook's.
  `
  UPDATE events SET type = 'answer_unusable', data = json_set(data, '$.role', 'specifier')
    WHERE type = 'specifier_failed';
  UPDATE events SET type = 'answer_unusable', data = json_remove(json_set(data, '$.role', 'critic'), '$.unusable')
    WHERE type = 'critic_failed' AND json_extract(data, '$.unusable');
  UPDATE events SET type = 'feedback_acknowledged' WHERE type = 'feedback_delivered';
  `,
  // The loop may be held for several reasons at once, beside a person's pause. The gate is tried on trunk.
  `
  ALTER TABLE loop ADD COLUMN holds TEXT;
  ALTER TABLE loop ADD COLUMN trials TEXT;
  UPDATE actions SET action = json_object('kind', 'hold_loop', 'hold', json_object(
      'key', 'untested_merge ' || coalesce(task, ''), 'reason', 'untested_merge', 'detail', json_extract(action, '$.by')))
    WHERE json_extract(action, '$.kind') = 'hold_loop';
  UPDATE actions SET action = json_object('kind', 'release_loop', 'key', 'untested_merge ' || coalesce(task, ''),
      'why', json_extract(action, '$.why'))
    WHERE json_extract(action, '$.kind') = 'release_loop';
  `,
  // Leases lapse by the clock of their owner's boot, which nobody sets; `bound_at` is for onlookers without it.
  `
  ALTER TABLE leases ADD COLUMN boot TEXT;
  ALTER TABLE leases ADD COLUMN boot_expires_at INTEGER;
  ALTER TABLE leases ADD COLUMN bound_at INTEGER;
  `,
  // Trunk is chosen once.
  'ALTER TABLE loop ADD COLUMN trunk TEXT',
  // A child names the lease it was started under.
  `
  ALTER TABLE processes ADD COLUMN lease TEXT NOT NULL DEFAULT '';
  UPDATE processes SET lease = CASE
    WHEN purpose LIKE 'deploy:%' OR task LIKE 'gate-trial-%' THEN 'intake'
    WHEN task LIKE 'doctor-gate-%' THEN 'doctor-gate'
    ELSE 'task:' || task END;
  `,
  // Lists of tasks are read far more often than tasks.
  'CREATE INDEX tasks_in_order ON tasks (ended, created_at, id, version)',
  // Plans are kept before somebody starts them.
  `
  CREATE TABLE plans (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    title      TEXT NOT NULL,
    text       TEXT NOT NULL,
    hash       TEXT NOT NULL UNIQUE,
    source     TEXT NOT NULL,
    status     TEXT NOT NULL,
    by         TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
  );
  `,
  // What people are still to be told.
  'ALTER TABLE loop ADD COLUMN notify TEXT',
  // How far a collector has the log.
  'ALTER TABLE loop ADD COLUMN telemetry INTEGER',
  // Rows are folded anew: why a workspace is not ready, and what kept a landing, are one value each.
  '',
  // How long gates and turns took lately is asked at every poll.
  `
  CREATE INDEX gates_by_scope ON events (json_extract(data, '$.scope'), seq) WHERE type = 'gate_completed';
  CREATE INDEX turns_by_role ON events (json_extract(data, '$.role'), json_extract(data, '$.status'), seq)
    WHERE type = 'turn_completed';
  `,
  // After years, what has just ended and what was spent is found without looking through all that ever was.
  `
  CREATE INDEX tasks_by_end ON tasks (ended, json_extract(data, '$.endedAt'));
  CREATE INDEX tasks_by_outcome ON tasks (ended, state, reason);
  CREATE INDEX events_of_unknown_usage ON events (type, at)
    WHERE type IN ('turn_completed', 'detached') AND json_extract(data, '$.usage') = 'unknown';
  CREATE TABLE spent_by_hour (
    hour     INTEGER PRIMARY KEY,
    cost     REAL NOT NULL,
    tokens   INTEGER NOT NULL,
    blind    INTEGER NOT NULL,
    unpriced INTEGER NOT NULL
  );
  INSERT INTO spent_by_hour
    SELECT at / 3600000, coalesce(sum(cost_usd), 0), sum(input + output + cache_read + cache_write + reasoning),
      count(*) - count(cost_usd),
      coalesce(sum(CASE WHEN cost_usd IS NULL THEN input + output + cache_read + cache_write + reasoning END), 0)
    FROM usage GROUP BY 1;
  CREATE TRIGGER usage_by_hour AFTER INSERT ON usage BEGIN
    INSERT OR IGNORE INTO spent_by_hour VALUES (NEW.at / 3600000, 0, 0, 0, 0);
    UPDATE spent_by_hour SET
      cost = cost + coalesce(NEW.cost_usd, 0),
      tokens = tokens + NEW.input + NEW.output + NEW.cache_read + NEW.cache_write + NEW.reasoning,
      blind = blind + (NEW.cost_usd IS NULL),
      unpriced = unpriced + CASE WHEN NEW.cost_usd IS NULL
        THEN NEW.input + NEW.output + NEW.cache_read + NEW.cache_write + NEW.reasoning ELSE 0 END
      WHERE hour = NEW.at / 3600000;
  END;
  `,
];
