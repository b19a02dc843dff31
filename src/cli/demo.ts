/**
 * `demo`: the whole story on a small real project in a scratch folder. Git, the database, the processes and the runner
 * are those of every other command; only the model is a script.
 */
import type { Context } from '../context.ts';
import { UserError } from '../errors.ts';
import { requireReady } from '../operations/doctor.ts';
import type { Surface } from './commands.ts';
import { ISSUE_STORY } from './demo/issue-story.ts';
import { openLive } from './demo/live.ts';
import { PLAN_STORY } from './demo/plan-story.ts';
import { makeProject } from './demo/project.ts';
import { makeScratch, type Scratch } from './demo/scratch.ts';
import type { Played, Story } from './demo/story.ts';
import { showProgress } from './run.ts';
import type { Terminal } from './terminal.ts';

interface Wanted {
  keep: boolean;
  plan: boolean;
}

export const playDemo = (surface: Surface, terminal: Terminal, { keep, plan }: Wanted): Promise<number> =>
  plan ? playStory(PLAN_STORY, surface, terminal, keep) : playStory(ISSUE_STORY, surface, terminal, keep);

async function playStory<Report extends Played & { ok: boolean }>(
  story: Story<Report>,
  surface: Surface,
  terminal: Terminal,
  keep: boolean,
): Promise<number> {
  const stop = onSignals();
  const scratch = await makeScratch();
  try {
    const report = await play(story, surface, terminal, scratch, keep, stop);
    terminal.print(terminal.json ? JSON.stringify(report, null, 2) : story.text(report, scratch, terminal));
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

async function play<Report extends Played & { ok: boolean }>(
  story: Story<Report>,
  surface: Surface,
  terminal: Terminal,
  scratch: Scratch,
  keep: boolean,
  stop: Stop,
): Promise<Report> {
  const startedAt = Date.now();
  const { project } = scratch;
  await makeProject(project, surface.newRepository, {
    script: story.scriptFor(project),
    settings: story.settings,
  });
  const context = await surface.open(project, {});
  try {
    await requireReady(context);
    await story.begin(context);
    const { late } = await runToTheEnd(story, context, terminal, stop);
    return await story.report(context, {
      durationMs: Date.now() - startedAt,
      folder: keep ? scratch.folder : null,
      project: keep ? project : null,
      late,
    });
  } finally {
    await context.close();
  }
}

/** Far more than it takes: what is still not done by then will not be. */
const DEADLINE_MS = 120_000;

async function runToTheEnd(
  story: Shown,
  context: Context,
  terminal: Terminal,
  stop: Stop,
): Promise<{ late: boolean }> {
  const runner = await context.runner();
  const progress = await show(story, context, terminal);
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

type Shown = Pick<Story<never>, 'title' | 'column' | 'board'>;

/** A board that is drawn over itself where somebody watches; the lines of `run` elsewhere; nothing beside JSON. */
async function show(
  story: Shown,
  context: Context,
  terminal: Terminal,
): Promise<{ finish(): Promise<void> }> {
  if (terminal.json) return { finish: async () => {} };
  const store = await context.writing();
  if (!terminal.isTty || process.env.TERM === 'dumb') {
    terminal.print(story.title);
    const events = await showProgress(store, terminal);
    return {
      async finish() {
        await events.finish();
        terminal.print('');
      },
    };
  }
  const live = openLive(story, terminal, (before) => story.board(store, before, context.now()));
  const events = await showProgress(store, { ...terminal, print: live.say });
  return {
    async finish() {
      await events.finish();
      await live.close();
    },
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
