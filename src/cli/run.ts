/** `run`: starts a runner, shows what happens, and stops it in two steps when asked. */

import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { event, type LoopEvent } from '../core/event.ts';
import { nameOfTask } from '../core/task.ts';
import { EVENT_HANG, eventLine } from '../core/words/event-line.ts';
import { ForgeUnavailable, UserError } from '../errors.ts';
import type { RunEnd, RunMode, Runner, RunTakes } from '../loop/runner.ts';
import { requireReady } from '../operations/doctor.ts';
import { ownHome } from '../operations/doctor-env.ts';
import { unprotected } from '../operations/doctor-sandbox.ts';
import { eventsAfter, follow } from '../operations/follow.ts';
import { readMetrics } from '../operations/metrics.ts';
import { type RunSummary, runStart, runSummary } from '../operations/run-summary.ts';
import { perform } from '../operations.ts';
import type { Store } from '../store/store.ts';
import { atWorkNow, commandsNow, iso } from '../view.ts';
import { createCommandLines } from './command-lines.ts';
import type { Session } from './commands.ts';
import { exitOfRun } from './exit.ts';
import { SUMMARY_HANG, summaryLines } from './summary-text.ts';
import { hasTerminal, type Terminal } from './terminal.ts';

export async function run(
  { context, terminal }: Session,
  mode: RunMode,
  { port = null, ...takes }: RunTakes & { port?: number | null } = {},
): Promise<number> {
  await context.refuseInTurn('run');
  // What is wrong with a database comes first, and an older one is brought up to date: it knows where work lands.
  if (existsSync(context.databasePath)) await context.writing();
  await readyOnceItAnswers(context, terminal, mode);
  const runner = await context.runner();
  const store = await context.writing();
  await greet(context, terminal, mode);
  await sayAsked(context, terminal, takes);
  const server = await serve(context, terminal, port);
  const progress = await showProgress(store, terminal, context);
  const endpoint = await listen(context, terminal);
  const reported = await reportFigures(context, terminal);
  const release = onSignals(runner, () => workingOf(context), terminal, hasTerminal());
  const start = await runStart(context);
  let end: RunEnd;
  try {
    end = await runner.run(mode, takes);
  } finally {
    release();
    await endpoint?.close();
    await server?.close();
    await reported();
    await progress.finish();
  }
  return farewell(await runSummary(context, start, end), terminal);
}

/** A forge that does not answer at the start is waited for, as it is later on; one pass is not worth a wait. */
async function readyOnceItAnswers(context: Context, terminal: Terminal, mode: RunMode): Promise<void> {
  let silentFor = 0;
  for (;;) {
    try {
      await requireReady(context);
      break;
    } catch (problem) {
      if (!(problem instanceof ForgeUnavailable) || problem.isRefusal || mode === 'once') throw problem;
      if (silentFor === 0) {
        terminal.note(`${terminal.paint.yellow('waiting:')} ${problem.message}`);
        terminal.note('Retrying until it answers. Press Ctrl-C to give up.');
        const unavailable = event('forge_unavailable', { problem: problem.message, until: problem.retryAt });
        await (await context.writing()).record({ events: [unavailable], at: context.now() });
      }
      const waitMs = Math.min(ASK_AGAIN_MS * 2 ** silentFor, LONGEST_WAIT_MS);
      silentFor += 1;
      await wait(waitMs);
    }
  }
  if (silentFor === 0) return;
  terminal.note('It answers again.');
  await (await context.writing()).record({ events: [event('forge_answers', {})], at: context.now() });
}

const ASK_AGAIN_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

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
  const risks = ownHome(settings.policy).map(({ what }) => what);
  const open = await unprotected(context);
  for (const warning of [...settings.warnings.map(({ message }) => message), ...risks, ...open])
    terminal.note(`${paint.yellow('warning:')} ${warning}`);
}

/** Whoever asks for one issue wants to know at once why it is not taken up. */
async function sayAsked(context: Context, terminal: Terminal, { only = [] }: RunTakes): Promise<void> {
  for (const issue of only)
    for (const line of (await perform(context, 'why', { issue })).issues)
      if (!terminal.json) terminal.note(`${[line.name, line.title].filter(Boolean).join(' ')}: ${line.why}`);
}

const receivedText = (url: string): string => `GitHub webhooks are received at ${url}`;

/** A runner that can't be told looks by itself; so does a second one, which learns from the first what that was told. */
async function listen(context: Context, terminal: Terminal): Promise<{ close(): Promise<void> } | null> {
  try {
    const endpoint = await context.webhook();
    if (endpoint && !terminal.json) terminal.print(receivedText(endpoint.url));
    return endpoint;
  } catch (problem) {
    const { code, message } = problem as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE'
        ? 'another process has the port; if that is another runner of this repository, nothing is wrong'
        : message;
    terminal.note(`${terminal.paint.yellow('warning:')} no webhooks are received (webhook.port): ${why}`);
    return null;
  }
}

/** A collector that is not there must not stop the night. The answer reports for a last time. */
async function reportFigures(context: Context, terminal: Terminal): Promise<() => Promise<void>> {
  const { telemetry, problem } = await context.telemetry();
  if (problem) terminal.note(`${terminal.paint.yellow('warning:')} ${problem.what}. ${problem.fix}`);
  const stop = (await telemetry?.report(() => readMetrics(context))) ?? (async () => {});
  return () =>
    stop().catch((error) => terminal.note(`The last figures were not taken: ${(error as Error).message}`));
}

/** Whoever asked for a port in this very command wants to know that it is taken; a setting must not stop the night. */
async function serve(
  context: Context,
  terminal: Terminal,
  port: number | null,
): Promise<{ close(): Promise<void> } | null> {
  try {
    const server = await context.server(port);
    if (server && !terminal.json) terminal.printLink(`Dashboard at ${server.link}`);
    if (server?.webhook && !terminal.json) terminal.print(receivedText(server.webhook));
    return server;
  } catch (problem) {
    const { code, message } = problem as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'another process has the port' : message;
    if (port !== null) throw new UserError(`Can't listen on port ${port}: ${why}.`, 'Give another `--port`.');
    terminal.note(`${terminal.paint.yellow('warning:')} no HTTP API (server.port): ${why}`);
    return null;
  }
}

const LOOK_EVERY_MS = 200;

/** Prints what was recorded since now, by whichever runner; with a context also which commands run. */
export async function showProgress(
  store: Store,
  terminal: Terminal,
  context: Context | null = null,
): Promise<{ finish(): Promise<void> }> {
  const newest = (await store.events({ last: 1 }))[0]?.seq ?? 0;
  const names = new Map<string, { name: string; issue: number | null }>();
  const show = async (one: LoopEvent): Promise<void> => {
    if (one.task !== null && !names.has(one.task)) await learn(store, names, one.task);
    const line = terminal.json ? jsonLine(one) : eventLine(one, (task) => names.get(task), terminal.paint);
    if (line !== null) terminal.print(line, EVENT_HANG);
  };
  // A database that can't be read now is the runner's to report.
  const look = eventsAfter(newest, (after) => store.events({ after }).catch(() => []));
  const showAll = async (news: readonly LoopEvent[]): Promise<void> => {
    for (const one of news) await show(one).catch(() => {});
  };
  const stop = new AbortController();
  const commands =
    context && !terminal.json ? createCommandLines(() => commandsNow(context, store), terminal) : null;
  const showing = (async () => {
    for await (const news of follow(look, LOOK_EVERY_MS, stop.signal)) {
      await showAll(news);
      await commands?.(context!.now()).catch(() => {});
    }
    await showAll(await look());
  })();
  return {
    async finish() {
      stop.abort();
      await showing;
    },
  };
}

async function learn(
  store: Store,
  names: Map<string, { name: string; issue: number | null }>,
  id: string,
): Promise<void> {
  const stored = await store.task(id);
  if (stored) names.set(id, { name: nameOfTask(stored.task), issue: stored.task.issue });
}

const jsonLine = ({ seq, at, type, task, data }: LoopEvent): string =>
  JSON.stringify({ seq, at: iso(at), type, task, data });

/**
 * The first signal lets what is at work end, the second does not. A terminal that closes is such a signal, however often
 * it is told; without a terminal (nohup, a service) there is none to close, and the runner goes on.
 */
function onSignals(
  runner: Runner,
  working: () => Promise<string[]>,
  terminal: Terminal,
  hasTerminal: boolean,
): () => void {
  const { paint, note } = terminal;
  const onSignal = (signal: NodeJS.Signals): void => {
    const again = runner.isDraining();
    if (signal === 'SIGHUP' && (again || !hasTerminal)) return;
    if (again) {
      note(paint.yellow('Stopping now. The next run continues what is interrupted.'));
      runner.stopNow(`${signal}, twice`);
      return;
    }
    runner.drain(signal === 'SIGHUP' ? 'its terminal was closed (SIGHUP)' : signal);
    void working().then((work) =>
      note(
        paint.yellow(
          work.length === 0
            ? 'Stopping. Nothing is running.'
            : `Finishing ${work.join(', ')}, starting nothing new. Press Ctrl-C again to stop now; nothing is lost.`,
        ),
      ),
    );
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** What this very runner has at work, in words. */
async function workingOf(context: Context): Promise<string[]> {
  const { store, owner } = await context.ports();
  const mine = (await store.leases()).filter((lease) => lease.owner === owner);
  const work = await atWorkNow(context, store, new Set(mine.map(({ key }) => key)));
  return work.map(({ text }) => text);
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
  for (const line of summaryLines(summary, paint)) terminal.print(line, SUMMARY_HANG);
  if (waiting) {
    terminal.note(paint.bold('Waiting for you:'));
    for (const line of needsPerson) terminal.note(`  ${line}`, SUMMARY_HANG);
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
