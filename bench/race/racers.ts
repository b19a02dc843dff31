/** Who runs: our loop, and the plain shell loop with as many issues at a time as ours has, and with one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scratch } from '../scratch.ts';
import type { Issue } from './issues.ts';

export interface Racer {
  name: string;
  /** Gives it its issues. */
  prepare(place: Scratch, issues: readonly Issue[]): void;
  /** Started first, and after each kill. */
  start(place: Scratch): ChildProcess;
  /** kill -9 of the runner and of nothing it started for others. */
  kill(runner: ChildProcess): void;
  /** Its own last word on an issue. */
  lastWord(place: Scratch, issue: number): Promise<string>;
}

const here = (name: string): string => fileURLToPath(new URL(`../../../bench/race/${name}`, import.meta.url));
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export const raceFolder = (place: Scratch): string => join(place.root, 'race');
const agentCommand = (place: Scratch): string =>
  `RACE=${quoted(raceFolder(place))} bash ${quoted(here('agent.sh'))}`;
const testCommand = (place: Scratch): string => `RACE=${quoted(raceFolder(place))} sh ./check.sh`;
export const TESTS = here('check.sh');
const SLOTS = 3;

export const LOOP: Racer = {
  name: 'forge-loop',
  prepare(place, issues) {
    const settings = {
      agent: { kind: 'command', command: agentCommand(place), max_concurrent: SLOTS },
      gate: { commands: [testCommand(place)] },
      polling: { interval_ms: 200 },
    };
    writeFileSync(join(place.repo, 'WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n`);
    for (const { number, title, body } of issues) place.issue(number, JSON.stringify(title), body);
  },
  start: (place) => place.start(['run', '--until-idle']),
  kill: (runner) => void runner.kill('SIGKILL'),
  async lastWord(place, issue) {
    const tasks = JSON.parse(await place.loop(['task', 'list', '--all', '--json'])) as {
      issue: number;
      state: string;
      reason: string | null;
      hold: { reason: string } | null;
    }[];
    const task = tasks.filter((one) => one.issue === issue).at(-1);
    if (!task) return 'never begun';
    return [task.state, task.reason ?? task.hold?.reason].filter(Boolean).join(': ');
  },
};

export const shellLoop = (jobs: number): Racer => ({
  name: jobs === 1 ? 'shell loop, one at a time' : `shell loop, ${jobs} at a time`,
  prepare(place, issues) {
    for (const { number, title, body } of issues)
      writeFileSync(join(place.root, 'issues', `${number}.md`), `# ${title}\n\n${body}\n`);
  },
  start(place) {
    const numbers = Array.from({ length: 10 }, (_, index) => `${index + 1}`);
    const args = [
      here('shell-loop.sh'),
      place.repo,
      `${jobs}`,
      agentCommand(place),
      testCommand(place),
      ...numbers,
    ];
    const log = join(place.root, 'shell.log');
    return spawn('bash', ['-c', `exec bash "$@" >>${quoted(log)} 2>&1`, 'bash', ...args], {
      env: place.env,
      stdio: 'ignore',
    });
  },
  // Its jobs are shells of its own.
  kill: (runner) => {
    for (const pid of shellsBelow(runner.pid as number)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself just now.
      }
    }
  },
  async lastWord(place, issue) {
    const said = readFileSync(join(place.root, 'shell.log'), 'utf8').split('\n');
    return (
      said
        .filter((line) => line.startsWith(`#${issue} `))
        .at(-1)
        ?.replace(/^#\d+ /, '') ?? 'never begun'
    );
  },
});

/** The process and those below it that run the same script; the agent's are others. */
function shellsBelow(pid: number): number[] {
  const read = (file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8');
    } catch {
      return '';
    }
  };
  if (!read('cmdline').includes('shell-loop.sh')) return [];
  const children = read(`task/${pid}/children`).trim().split(' ').filter(Boolean);
  return [pid, ...children.flatMap((child) => shellsBelow(Number(child)))];
}

export const RACERS: readonly Racer[] = [LOOP, shellLoop(SLOTS), shellLoop(1)];
