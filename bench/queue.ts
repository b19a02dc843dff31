/**
 * What a merge costs while hundreds of approved tasks wait for theirs, against a few: time, processor time of the runner and
 * its children, gits, and questions to the git that stays open. The gate holds every candidate back until all wait; what is
 * measured is the landing of the first twenty. The few land before the many and after them, since the load of a machine changes.
 */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Task } from '../src/core/task.ts';
import { READER } from '../src/git/reader.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { cpuOf, type Measured, ms } from './measure.ts';
import { CHEAP_AGENT, type Scratch, scratch } from './scratch.ts';

const LANDED = 20;
const FEW = 23;
const MANY = Number(process.env.WAITING ?? 300) + LANDED;

interface Cost {
  wall: number;
  cpu: number;
  gits: number;
  questions: number;
}

export async function queue(): Promise<Measured[]> {
  const [before, many, after] = [await costOf(FEW), await costOf(MANY), await costOf(FEW)];
  const few = (what: keyof Cost): number => (before[what] + after[what]) / 2;
  const row = (name: string, what: keyof Cost, unit: (value: number) => string, goal: number): Measured => ({
    name,
    value: unit(many[what]),
    against: `with ${FEW - LANDED} waiting: ${unit(few(what))}`,
    ratio: many[what] / few(what),
    goal: `≤ ${goal}`,
    met: many[what] / few(what) <= goal,
  });
  return [
    row(`time per merge with ${MANY - LANDED} waiting`, 'wall', ms, 1.2),
    row('… in processor time', 'cpu', ms, 1.2),
    row('… in gits', 'gits', count, 1.1),
    row('… in questions to the git that stays open', 'questions', count, 1.2),
  ];
}

const count = (some: number): string => some.toFixed(1);

async function costOf(tasks: number): Promise<Cost> {
  const place = await scratch(WORKFLOW);
  const logs = countGits(place);
  const letGo = holdBack(place);
  for (let number = 1; number <= tasks; number++)
    place.issue(number, `Issue ${number}`, `Creates \`work-${number}.txt\`.`);
  const runner = place.start(['--json', 'run', '--until-idle']);
  runner.stdout!.resume();
  try {
    const store = await opened(place);
    await until(async () => (await store.tasks()).filter(({ task }) => isApproved(task)).length === tasks);
    const merges = async (): Promise<number> => (await store.events({ type: 'merge_observed' })).length;
    const before = costNow(runner, logs);
    letGo();
    await until(async () => (await merges()) >= LANDED);
    const after = costNow(runner, logs);
    const landed = await merges();
    await store.close();
    return {
      wall: (after.wall - before.wall) / landed,
      cpu: (after.cpu - before.cpu) / landed,
      gits: (after.gits - before.gits) / landed,
      questions: (after.questions - before.questions) / landed,
    };
  } finally {
    await stopped(runner);
    place.dispose();
  }
}

const isApproved = ({ verdict, state }: Task): boolean =>
  verdict?.verdict === 'APPROVE' && (state === 'awaiting_critic' || state === 'merging');

/**
 * Where the candidate is tested, HEAD is on no branch; where the gate is tried on trunk, nobody has worked yet. It waits for
 * the end of a pipe: a gate that looked now and then would use processor time all the while, which counts when it ends.
 */
const HELD_BACK =
  'if ! git symbolic-ref -q HEAD >/dev/null && ls work-* >/dev/null 2>&1; then cat "$HELD_BY" 2>/dev/null; true; fi';

/** Lets all go when it is called, and whoever comes later. */
function holdBack(place: Scratch): () => void {
  const pipe = join(place.root, 'held-by');
  place.env.HELD_BY = pipe;
  execFileSync('mkfifo', [pipe]);
  const end = openSync(pipe, 'r+');
  return () => {
    rmSync(pipe);
    closeSync(end);
  };
}

const WORKFLOW = `---
agent:
  kind: command
  command: ${JSON.stringify(CHEAP_AGENT)}
  max_concurrent: 4
  max_waiting: 100000
critic:
  parallel: 4
env:
  pass: [HELD_BY]
gate:
  timeout_ms: 3600000
  commands: [${JSON.stringify(HELD_BACK)}]
polling:
  interval_ms: 30000
sandbox: none
---
`;

interface Logs {
  gits: string;
  questions: string;
}

/** A `git` before the real one on the path, which leaves a line for each start, and for each question of the one that stays open. */
function countGits(place: Scratch): Logs {
  const folder = join(place.root, 'bin');
  const [gits, questions] = [join(place.root, 'gits'), join(place.root, 'questions')];
  mkdirSync(folder);
  writeFileSync(gits, '');
  writeFileSync(questions, '');
  const real = (process.env.PATH ?? '').split(':').map((one) => join(one, 'git'));
  const found = `for git in ${real.join(' ')}; do [ -x "$git" ] && break; done`;
  writeFileSync(
    join(folder, 'git'),
    `#!/bin/sh\necho >> '${gits}'\n${found}\nif [ "$1 $2" = '${READER.join(' ')}' ]; then\n  tee -a '${questions}' | "$git" "$@"\nelse\n  exec "$git" "$@"\nfi\n`,
  );
  chmodSync(join(folder, 'git'), 0o755);
  place.env.PATH = `${folder}:${place.env.PATH}`;
  return { gits, questions };
}

const costNow = (runner: ChildProcess, { gits, questions }: Logs): Cost => ({
  wall: performance.now(),
  cpu: cpuOf(runner.pid!),
  gits: linesOf(gits),
  questions: linesOf(questions),
});

const linesOf = (path: string): number => readFileSync(path, 'utf8').split('\n').length - 1;

async function opened(place: Scratch) {
  const path = join(place.repo, '.forge', 'forge.db');
  for (;;) {
    try {
      return await openSqliteStore(path, { readOnly: true });
    } catch {
      await wait(200);
    }
  }
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await wait(50);
}

async function stopped(runner: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => runner.once('exit', resolve));
  runner.kill('SIGTERM');
  runner.kill('SIGTERM');
  if (runner.exitCode === null) await gone;
}
