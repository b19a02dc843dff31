/**
 * `demo`: the whole story on a small real project in a scratch folder. Git, the database, the processes and the runner
 * are those of every other command; only the model is a script.
 */
import type { Context } from '../context.ts';
import { UserError } from '../errors.ts';
import { requireReady } from '../operations/doctor.ts';
import type { Surface } from './commands.ts';
import { readBoard } from './demo/board.ts';
import { courseOf, differences } from './demo/course.ts';
import { ISSUES } from './demo/issues.ts';
import { openLive } from './demo/live.ts';
import { makeProject } from './demo/project.ts';
import { type DemoReport, type IssueReport, reportText } from './demo/report.ts';
import { makeScratch, type Scratch } from './demo/scratch.ts';
import { showProgress } from './run.ts';
import type { Terminal } from './terminal.ts';

export async function playDemo(
  surface: Surface,
  terminal: Terminal,
  { keep }: { keep: boolean },
): Promise<number> {
  const stop = onSignals();
  const scratch = await makeScratch();
  try {
    const report = await play(surface, terminal, scratch, keep, stop);
    terminal.print(terminal.json ? JSON.stringify(report, null, 2) : reportText(report, scratch, terminal));
    return report.ok ? 0 : 1;
  } catch (error) {
    if (stop.asked() === null) throw error;
    const left = keep ? `What there is so far is in ${scratch.folder}.` : 'The scratch folder is removed.';
    throw new UserError(`Stopped by ${stop.asked()} before the end.`, left, { cause: error });
  } finally {
    if (!keep) await scratch.remove();
    stop.release();
  }
}

async function play(
  surface: Surface,
  terminal: Terminal,
  scratch: Scratch,
  keep: boolean,
  stop: Stop,
): Promise<DemoReport> {
  const startedAt = Date.now();
  await makeProject(scratch.project, surface.newRepository);
  const context = await surface.open(scratch.project, {});
  try {
    await requireReady(context);
    const forge = await context.forge();
    const by = await context.operator();
    for (const { title, body } of ISSUES) await forge.newIssue({ title, body, ready: true, by });
    const { late } = await runToTheEnd(context, terminal, stop);
    const issues = await Promise.all(ISSUES.map((_, at) => reportOn(context, at)));
    return {
      ok: !late && issues.every((issue) => issue.differed.length === 0),
      durationMs: Date.now() - startedAt,
      folder: keep ? scratch.folder : null,
      project: keep ? scratch.project : null,
      late,
      issues,
    };
  } finally {
    await context.close();
  }
}

/** Far more than it takes: what is still not done by then will not be. */
const DEADLINE_MS = 120_000;

async function runToTheEnd(context: Context, terminal: Terminal, stop: Stop): Promise<{ late: boolean }> {
  const runner = await context.runner();
  const progress = await show(context, terminal);
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    runner.stopNow('the demo takes too long');
  }, DEADLINE_MS);
  try {
    stop.onAsked((signal) => runner.stopNow(signal));
    await runner.run('until_idle');
  } finally {
    clearTimeout(deadline);
    await progress.finish();
  }
  if (stop.asked() !== null) throw new Error('stopped');
  return { late };
}

/** A board that is drawn over itself where somebody watches; the lines of `run` elsewhere; nothing beside JSON. */
async function show(context: Context, terminal: Terminal): Promise<{ finish(): Promise<void> }> {
  if (terminal.json) return { finish: async () => {} };
  const store = await context.writing();
  const title = `forge-loop demo: ${ISSUES.length} issues of a small project`;
  if (!terminal.isTty || process.env.TERM === 'dumb') {
    terminal.print(title);
    const events = await showProgress(store, terminal);
    return {
      async finish() {
        await events.finish();
        terminal.print('');
      },
    };
  }
  const live = openLive(title, terminal, (before) => readBoard(store, ISSUES, before, context.now()));
  const events = await showProgress(store, { ...terminal, print: live.say });
  return {
    async finish() {
      await events.finish();
      await live.close();
    },
  };
}

async function reportOn(context: Context, at: number): Promise<IssueReport> {
  const issue = at + 1;
  const { title, story, told } = ISSUES[at]!;
  const { task, course } = await courseOf(context, issue);
  return {
    issue,
    title,
    story,
    outcome: course.outcome,
    turns: task?.turns ?? 0,
    rounds: task?.criticRounds ?? 0,
    sessionId: task?.sessionId ?? null,
    sessions: course.sessions,
    costUsd: task?.costUsd ?? null,
    mergedSha: task?.mergedSha ?? null,
    course,
    differed: differences(told, course),
  };
}

interface Stop {
  /** The signal that came, if one did. */
  asked(): string | null;
  /** At once when it has come already. */
  onAsked(act: (signal: string) => void): void;
  release(): void;
}

/** Whoever interrupts the demo wants to be rid of it: there is nothing to finish, only to clean up. */
function onSignals(): Stop {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  let asked: string | null = null;
  let act: (signal: string) => void = () => {};
  const onSignal = (signal: string): void => {
    asked ??= signal;
    act(signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    asked: () => asked,
    onAsked(wanted) {
      act = wanted;
      if (asked !== null) act(asked);
    },
    release() {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
