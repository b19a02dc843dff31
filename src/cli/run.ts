/** `run`: starts a runner, shows what happens, and stops it in two steps when asked. */
import type { Context } from '../context.ts';
import type { LoopEvent } from '../core/event.ts';
import { UserError } from '../errors.ts';
import type { RunEnd, RunMode, Runner } from '../loop/runner.ts';
import { preflight } from '../operations/doctor.ts';
import { type RunSummary, runStart, runSummary } from '../operations/run-summary.ts';
import type { Store } from '../store/store.ts';
import { iso } from '../view.ts';
import type { Session } from './commands.ts';
import { eventLine } from './event-line.ts';
import { exitOfRun } from './exit.ts';
import { summaryLines } from './summary-text.ts';
import type { Terminal } from './terminal.ts';

export async function run({ context, terminal }: Session, mode: RunMode): Promise<number> {
  const failed = await preflight(context);
  if (failed.length > 0) throw notReady(failed);
  const runner = await context.runner();
  const store = await context.writing();
  await greet(context, terminal, mode);
  const progress = await followEvents(store, terminal);
  const endpoint = await listen(context, terminal);
  const release = onSignals(runner, store, terminal);
  const start = await runStart(context);
  let end: RunEnd;
  try {
    end = await runner.run(mode);
  } finally {
    release();
    await endpoint?.close();
    await progress.finish();
  }
  return farewell(await runSummary(context, start, end), terminal);
}

/** What several roles lack alike is said once. */
export function notReady(failed: { what: string; fix: string | null }[]): UserError {
  const once = (texts: (string | null)[]): string => [...new Set(texts.filter(Boolean))].join('; ');
  return new UserError(
    `Not ready to run: ${once(failed.map(({ what }) => what.replace(/\.$/, '')))}.`,
    once(failed.map(({ fix }) => fix)) || null,
  );
}

async function greet(context: Context, terminal: Terminal, mode: RunMode): Promise<void> {
  if (terminal.json) return;
  const { settings } = await context.settings();
  const { branch } = await (await context.forge()).trunk();
  const { paint } = terminal;
  const until = {
    forever: 'until you stop it (Ctrl-C)',
    until_idle: 'until nothing is left to do',
    once: 'one pass',
  };
  terminal.print(
    `${paint.bold('forge-loop')} on ${context.root} (${branch}), ${settings.policy.maxConcurrent} slots, ${until[mode]}`,
  );
  for (const { message } of settings.warnings) terminal.note(`${paint.yellow('warning:')} ${message}`);
}

/** A runner that can't be told looks by itself; so does a second one, which learns from the first what that was told. */
async function listen(context: Context, terminal: Terminal): Promise<{ close(): Promise<void> } | null> {
  try {
    const endpoint = await context.webhook();
    if (endpoint && !terminal.json) terminal.print(`Deliveries of GitHub are taken at ${endpoint.url}`);
    return endpoint;
  } catch (problem) {
    const { code, message } = problem as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE'
        ? 'another process has the port; where that is another runner of this repository, all is well'
        : message;
    terminal.note(`${terminal.paint.yellow('warning:')} no deliveries are taken (webhook.port): ${why}`);
    return null;
  }
}

const LOOK_EVERY_MS = 200;

/** Prints what was recorded since now, by whichever runner. */
export async function followEvents(store: Store, terminal: Terminal): Promise<{ finish(): Promise<void> }> {
  let seen = (await store.events({ last: 1 }))[0]?.seq ?? 0;
  const names = new Map<string, { issue: number | null; title: string }>();
  const show = async (): Promise<void> => {
    for (const one of await store.events({ after: seen })) {
      seen = one.seq;
      if (one.task !== null && !names.has(one.task)) await learn(store, names, one.task);
      const line = terminal.json ? jsonLine(one) : eventLine(one, (task) => names.get(task), terminal.paint);
      if (line !== null) terminal.print(line);
    }
  };
  let showing = Promise.resolve();
  // A database that can't be read now is the runner's to report.
  const timer = setInterval(() => {
    showing = showing.then(show).catch(() => {});
  }, LOOK_EVERY_MS);
  return {
    async finish() {
      clearInterval(timer);
      await showing;
      await show().catch(() => {});
    },
  };
}

async function learn(
  store: Store,
  names: Map<string, { issue: number | null; title: string }>,
  id: string,
): Promise<void> {
  const stored = await store.task(id);
  if (stored) names.set(id, { issue: stored.task.issue, title: stored.task.contract.title });
}

const jsonLine = ({ seq, at, type, task, data }: LoopEvent): string =>
  JSON.stringify({ seq, at: iso(at), type, task, data });

/** The first signal lets turns end, the second does not. */
function onSignals(runner: Runner, store: Store, terminal: Terminal): () => void {
  let asked = 0;
  const { paint, note } = terminal;
  const onSignal = (signal: NodeJS.Signals): void => {
    asked += 1;
    if (asked > 1) {
      note(paint.yellow('Stopping now. What is cut off is resumed by the next run.'));
      runner.stopNow(`${signal}, twice`);
      return;
    }
    runner.drain(signal);
    void inFlight(store).then((work) =>
      note(
        paint.yellow(
          work.length === 0
            ? 'Stopping: nothing is at work.'
            : `Finishing ${work.join(', ')}, starting nothing new. Once more (Ctrl-C) stops at once; nothing is lost either way.`,
        ),
      ),
    );
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

async function inFlight(store: Store): Promise<string[]> {
  const live = (await store.tasks({ live: true })).map(({ task }) => task);
  return live.flatMap(({ turn, issue, id }) =>
    turn
      ? [`${turn.role === 'coder' ? 'turn' : turn.role} ${turn.turn} of ${issue === null ? id : `#${issue}`}`]
      : [],
  );
}

function farewell(summary: RunSummary, terminal: Terminal): number {
  const { paint } = terminal;
  const { needsPerson } = summary;
  const exitCode = exitOfRun(summary);
  const waiting = needsPerson.length > 0;
  if (terminal.json) {
    if (waiting) terminal.note(JSON.stringify({ needsPerson }));
    terminal.print(JSON.stringify({ summary: { ...summary, exitCode } }));
    return exitCode;
  }
  for (const line of summaryLines(summary, paint)) terminal.print(line);
  if (waiting) {
    terminal.note(paint.bold('Waiting for you:'));
    for (const line of needsPerson) terminal.note(`  ${line}`);
  }
  terminal.print(
    paint.dim(
      {
        idle: waiting ? 'Nothing left to do without you.' : 'Nothing left to do.',
        once: 'One pass done.',
        stopped: 'Stopped.',
      }[summary.ended],
    ),
  );
  return exitCode;
}
