/**
 * A scratch repository with a home and a state directory of its own, in a folder whose name has spaces and letters
 * beyond ASCII; and the real program at work on it.
 *
 * Nothing here calls the loop. The program is started as a user starts it, and what came of it is read from git, from
 * the database, from files and from /proc.
 */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test as plainTest } from 'vitest';
import type { EventData, EventType, LoopEvent } from '../../../src/core/event.ts';
import type { Role } from '../../../src/core/role.ts';
import type { Task } from '../../../src/core/task.ts';
import { openSqliteStore } from '../../../src/store/sqlite.ts';
import type { Store, TurnRow } from '../../../src/store/store.ts';
import type { Snapshot } from '../../../src/view.ts';
import { type Halt, haltAt } from './halt.ts';
import { called, isShort } from './in-process.ts';
import { processesAbout } from './proc.ts';
import { type Ended, type Program, startProgram } from './program.ts';
import { until } from './until.ts';

export type Json = Record<string, unknown>;
export type Step = Json;
export interface Rule {
  when: { issue?: number; title?: string; role?: Role; turn?: number; round?: number };
  steps: Step[];
}

export interface Happened<T extends EventType> {
  seq: number;
  at: number;
  task: string | null;
  data: EventData[T];
}

export interface World {
  /** Everything of this world is below it. */
  readonly folder: string;
  /** The operator's checkout, on `main`. */
  readonly root: string;
  readonly stateHome: string;
  readonly env: Record<string, string>;
  git(...args: string[]): string;
  /** Writes into the checkout. */
  write(path: string, text: string): void;
  read(path: string): string;
  commit(message: string): string;
  /** WORKFLOW.md with these settings over the usual ones, committed. */
  settings(settings: Json): void;
  /** What the scripted agent plays; without a matching rule it does the issue, and the critic approves. */
  script(...rules: Rule[]): void;
  /** A shell command that waits to be let go; for catching the loop at a place of the test's choice. */
  halt(name: string): Halt;
  issue(issue: { title?: string; body?: string; ready?: boolean; args?: string[] }): Promise<number>;
  /** A person edits the issue's file. */
  editIssue(issue: number, edit: (text: string) => string): void;
  labels(issue: number): Promise<string[]>;
  /** Everything said on the issue, as one text. */
  comments(issue: number): string;
  cli(...args: string[]): Promise<Ended>;
  /** The answer of a command that must succeed. Only what is short has no process of its own. */
  json<T = Json>(...args: string[]): Promise<T>;
  status(): Promise<Snapshot>;
  run(...args: string[]): Program;
  /** Another program, in the checkout as the loop is. */
  start(program: string, ...args: string[]): Program;
  /** Waits until a runner has ended by itself; its exit code must be this one. */
  finished(runner: Program, code?: number): Promise<Ended>;
  /** Runs until idle. */
  settle(code?: number): Promise<Ended>;
  events(): Promise<LoopEvent[]>;
  /** The first such event after `after`, awaited. */
  event<T extends EventType>(
    type: T,
    match?: (data: EventData[T], event: LoopEvent) => boolean,
    after?: number,
  ): Promise<Happened<T>>;
  state(issue: number, ...states: string[]): Promise<Task>;
  task(issue: number): Promise<Task>;
  turns(issue: number): Promise<TurnRow[]>;
  store(): Promise<Store>;
  /** Closes the test's own look at the database, for tests that tamper with the file. */
  lookAway(): Promise<void>;
  /** Undone before the world goes, the last one first. */
  atEnd(undo: () => void): void;
  /** The pull requests of an issue, as their files. */
  pulls(issue: number): string[];
  /** Where a task keeps its prompts and logs. */
  logs(task: string): string;
  until<T>(what: string, look: () => Promise<T> | T): Promise<NonNullable<Exclude<T, false>>>;
  report(): Promise<string>;
  dispose(): Promise<void>;
}

/** Each test has a world of its own; a failing one tells what happened in it. */
export const test = plainTest.extend<{ world: World }>({
  world: async ({ task }, use) => {
    const world = makeWorld();
    await use(world);
    if (task.result?.errors?.length) console.error(await world.report());
    await world.dispose();
  },
});

/** `program`: another installation than this checkout. `env`: what the operator has besides. */
export function makeWorld(given: { program?: string; env?: Record<string, string> } = {}): World {
  const folder = mkdtempSync(join(tmpdir(), 'forge loop å∂ 世界-'));
  const root = join(folder, 'my répo');
  const stateHome = join(folder, 'state home');
  const home = join(folder, 'home');
  const scriptPath = join(folder, 'script.json');
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_STATE_HOME: stateHome,
    GIT_CONFIG_NOSYSTEM: '1',
    NO_COLOR: '1',
    LANG: 'C.UTF-8',
    ...given.env,
  };
  const programs: Program[] = [];
  const undone: (() => void)[] = [];
  let store: Store | null = null;

  for (const path of [root, stateHome, home]) mkdirSync(path, { recursive: true });
  git('init', '--quiet', '--initial-branch=main');
  git('config', 'user.name', 'Öperator O’Hara');
  git('config', 'user.email', 'op@example.com');

  const world: World = {
    folder,
    root,
    stateHome,
    env,
    git,
    write,
    read: (path) => readFileSync(join(root, path), 'utf8'),
    commit,
    settings,
    script,
    halt: (name) => haltAt(join(folder, 'halts'), name),
    issue,
    editIssue: (number, edit) => {
      const path = issueFile(number);
      writeFileSync(path, edit(readFileSync(path, 'utf8')));
    },
    labels: async (number) => (await json<{ labels: string[] }>('issue', 'show', String(number))).labels,
    comments: (number) => readFileSync(issueFile(number, '.comments.md'), 'utf8'),
    cli,
    json,
    status: () => json<Snapshot>('status'),
    run,
    start: (program, ...args) => start(args, undefined, program),
    finished,
    settle: (code) => finished(run('--until-idle'), code),
    events: async () => (await opened()).events(),
    event: awaitEvent,
    state: (issue, ...states) =>
      look(`#${issue} to be ${states.join(' or ')}`, async () => {
        const found = await task(issue).catch(() => null);
        return found && states.includes(found.state) ? found : null;
      }),
    task,
    turns: async (issue) => (await opened()).turns((await task(issue)).id),
    store: opened,
    lookAway,
    atEnd: (undo) => void undone.unshift(undo),
    pulls,
    logs: (id) => {
      const repositories = readdirSync(join(stateHome, 'forge-loop')).filter((name) => name !== 'workspaces');
      return join(stateHome, 'forge-loop', repositories[0] ?? '', 'tasks', id, 'logs');
    },
    until: look,
    report,
    dispose,
  };
  write('README.md', '# A project\n');
  script();
  settings({});
  return world;

  function git(...args: string[]): string {
    return execFileSync('git', args, { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }

  function commit(message: string): string {
    git('add', '--all');
    git('commit', '--quiet', '--allow-empty', '--message', message);
    return git('rev-parse', 'HEAD').trim();
  }

  function settings(changed: Json): void {
    const usual: Json = {
      polling: { interval_ms: 100 },
      agent: { kind: 'scripted', script: scriptPath },
      gate: { commands: ['ls done-*.txt'], criteria_commands: 'always' },
      // Agents and gates of these tests reach out, to be caught at a place of the test's choice: see `halt`.
      sandbox: 'none',
    };
    for (const [key, value] of Object.entries(changed)) {
      const before = usual[key];
      usual[key] = isMap(before) && isMap(value) ? { ...before, ...value } : value;
    }
    write('WORKFLOW.md', `---\n${JSON.stringify(usual, null, 2)}\n---\n`);
    commit('Configure the loop');
  }

  function script(...rules: Rule[]): void {
    writeFileSync(
      scriptPath,
      JSON.stringify({
        rules: [...rules, { when: { role: 'critic' }, steps: [APPROVE] }],
        default: DO_THE_ISSUE,
      }),
    );
  }

  async function issue(asked: Parameters<World['issue']>[0]): Promise<number> {
    const { title = 'Write the file', body = 'It must contain `done`.', ready = true, args = [] } = asked;
    const text = join(folder, 'issue.md');
    writeFileSync(text, body);
    const command = ['issue', 'new', '--title', title, '--body-file', text, ...args];
    return (await json<{ number: number }>(...command, ...(ready ? ['--ready'] : []))).number;
  }

  function issueFile(number: number, ending = '.md'): string {
    const folder = join(root, '.forge', 'issues');
    const names = readdirSync(folder).filter((name) => Number.parseInt(name, 10) === number);
    const found = names.find(
      (name) => name.endsWith(ending) && name.includes('.comments.') === (ending !== '.md'),
    );
    if (!found) throw new Error(`#${number} has no file that ends in ${ending}`);
    return join(folder, found);
  }

  function start(args: readonly string[], input?: string, program = given.program): Program {
    const started = startProgram(args, {
      cwd: root,
      env,
      ...(input === undefined ? {} : { input }),
      ...(program === undefined ? {} : { program }),
    });
    programs.push(started);
    return started;
  }

  function cli(...args: string[]): Promise<Ended> {
    return isShort(args) && given.program === undefined
      ? called(args, { cwd: root, env })
      : start(args).ended;
  }

  async function json<T>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await cli(...args, '--json');
    if (code !== 0) throw new Error(`forge-loop ${args.join(' ')} exited with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  function run(...args: string[]): Program {
    return start(['run', ...args]);
  }

  async function finished(runner: Program, code = 0): Promise<Ended> {
    let ended: Ended | null = null;
    void runner.ended.then((end) => {
      ended = end;
    });
    const end = await look<Ended | null>('the runner to end', () => ended);
    if (end.code !== code) throw new Error(`the runner exited with ${end.code ?? end.signal}, not ${code}`);
    return end;
  }

  async function opened(): Promise<Store> {
    const path = join(root, '.forge', 'forge.db');
    if (!existsSync(path)) throw new Error('there is no database yet');
    store ??= await openSqliteStore(path, { readOnly: true });
    return store;
  }

  async function lookAway(): Promise<void> {
    await store?.close();
    store = null;
  }

  async function task(issue: number): Promise<Task> {
    const found = (await (await opened()).tasks({ issue })).at(-1);
    if (!found) throw new Error(`#${issue} has no task`);
    return found.task;
  }

  async function awaitEvent<T extends EventType>(
    type: T,
    match: (data: EventData[T], event: LoopEvent) => boolean = () => true,
    after = 0,
  ): Promise<Happened<T>> {
    const found = await look(`the event ${type}`, async () => {
      const events = await opened()
        .then((from) => from.events({ type, after }))
        .catch(() => []);
      return events.find((one) => match(one.data as EventData[T], one));
    });
    return found as unknown as Happened<T>;
  }

  function pulls(issue: number): string[] {
    const path = join(root, '.forge', 'pulls');
    const files = existsSync(path) ? readdirSync(path).filter((name) => name.endsWith('.md')) : [];
    return files
      .map((name) => readFileSync(join(path, name), 'utf8'))
      .filter((text) => new RegExp(`^issue: ${issue}$`, 'm').test(text));
  }

  function look<T>(what: string, seen: () => Promise<T> | T): Promise<NonNullable<Exclude<T, false>>> {
    return until(what, seen, report);
  }

  async function report(): Promise<string> {
    const lines = await opened()
      .then((from) => from.events({ last: 40 }))
      .then((events) =>
        events.map(({ seq, type, data }) => `${seq} ${type} ${JSON.stringify(data).slice(0, 300)}`),
      )
      .catch((error: Error) => [error.message]);
    const said = programs.map((program) => program.said().slice(-1500));
    return ['--- events', ...lines, '--- programs', ...said].join('\n');
  }

  async function dispose(): Promise<void> {
    await Promise.all(programs.map((program) => program.kill()));
    await lookAway();
    for (const pid of processesAbout(folder)) kill(pid);
    await until('what was left to be gone', () => processesAbout(folder).length === 0);
    for (const undo of undone) undo();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Whatever was found before is addressed: the numbers of findings that are not there are passed over. */
const addressed = [1, 2, 3, 4, 5].map((number) => ({ id: String(number), addressed: 'yes' }));
export const APPROVE = { answer: { verdict: 'APPROVE', findings: [], earlier: addressed } };
const DO_THE_ISSUE: Step[] = [{ shell: 'echo done > "done-$FORGE_ISSUE.txt"' }];

const isMap = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone by itself.
  }
}
