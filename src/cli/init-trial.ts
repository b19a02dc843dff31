/** The trial of the proposed gate, as somebody sees it: one line that changes on a terminal, a line for each elsewhere. */
import type { Context } from '../context.ts';
import { lasting } from '../core/words/words.ts';
import { UserError } from '../errors.ts';
import { type FoundGate, type TriedCommand, tryGateOnce, untried } from '../operations/init-gate.ts';
import { cut } from './layout.ts';
import type { Terminal } from './terminal.ts';

/** Null when somebody interrupted it: then nothing is to be written. */
export async function showTrial(
  context: Context,
  { sha, proposals }: FoundGate,
  terminal: Terminal,
): Promise<TriedCommand[] | null> {
  if (proposals.length === 0) return [];
  if (sha === null) {
    terminal.note(
      'The proposed gate was not run: there is no commit yet. `forge-loop doctor --gate` runs it.',
    );
    return [];
  }
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  const lines = trialLines(terminal);
  terminal.note(`Trying each command once on trunk, for at most ${TRIAL_MINUTES} minutes; Ctrl-C stops.`);
  try {
    const tried = await tryGateOnce(
      context,
      { sha, proposals },
      { minutes: TRIAL_MINUTES, signal: stop.signal, ...lines },
    );
    return stop.signal.aborted ? null : tried;
  } catch (problem) {
    if (stop.signal.aborted) return null;
    if (!(problem instanceof UserError)) throw problem;
    return untried(proposals, [problem.message, problem.hint].filter(Boolean).join(' '));
  } finally {
    lines.close();
    for (const signal of signals) process.off(signal, interrupt);
  }
}

function trialLines({ note, paint, columns }: Terminal) {
  const isDrawn = Boolean(process.stderr.isTTY) && columns !== null;
  let timer: NodeJS.Timeout | undefined;
  const clear = (): void => {
    clearInterval(timer);
    if (isDrawn && timer) process.stderr.write('\r\x1b[2K');
    timer = undefined;
  };
  return {
    onStart(command: string, lastLine: () => Promise<string | null>): void {
      if (!isDrawn) {
        note(`  ${command} …`);
        return;
      }
      const startedAt = Date.now();
      const draw = async (): Promise<void> => {
        const last = await lastLine();
        const line = `  … ${command}  ${lasting(Date.now() - startedAt)}${last === null ? '' : `  ${last}`}`;
        if (timer) process.stderr.write(`\r\x1b[2K${paint.dim(cut(line, columns - 1))}`);
      };
      timer = setInterval(() => void draw(), DRAW_EVERY_MS);
      void draw();
    },
    onEnd({ command, why, durationMs }: TriedCommand): void {
      clear();
      const line =
        why === null
          ? `  ${paint.green('ok')} ${command}  ${paint.dim(lasting(durationMs))}`
          : `  ${paint.yellow('!')} ${command}  ${why}`;
      note(columns === null ? line : cut(line, columns));
    },
    close: clear,
  };
}

/** Nobody is to wait for `init` longer than that. */
const TRIAL_MINUTES = 10;
const DRAW_EVERY_MS = 250;
