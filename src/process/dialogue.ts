/**
 * A child that is talked to while it works.
 *
 * Like a launch it is born held, runs only when its record is durable, leads its own process group and leaves nothing
 * behind. Unlike a launch its stdin and stdout belong to the caller, who speaks a protocol over them; what it says on
 * stderr goes to the log. Opening does not wait: what is written before the child runs waits in its pipe. A runner that dies
 * takes the child with it.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { BY_SHAPE, type Redact } from '../core/access/redact.ts';
import { extinguish } from './extinguish.ts';
import { HELD_AND_HEARD, type Introduction, introduced } from './held.ts';
import { withoutInherited } from './inherited.ts';
import { collectOutput, type Output } from './output.ts';
import { LAUNCH } from './process.ts';

export interface DialogueRequest {
  argv: readonly string[];
  cwd: string;
  /** The whole environment: built, never inherited. */
  env: Record<string, string>;
  logPath: string;
  /** Committed before the child is let go; when it rejects, the child never runs. */
  onHeld(child: Introduction): Promise<void>;
  /** What is not told of its stderr, in the log or in its end. */
  redact?: Redact;
  /** Something came on stderr. */
  onOutput?(): void;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Dialogue {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Rejects, with what to tell a person, when the child was not let go; it is dead then. */
  readonly begun: Promise<void>;
  /** The child itself has ended; what it started may live on until `end`. */
  readonly exited: Promise<Exit>;
  /** To the child alone; `end` is the way to be rid of all of it. */
  send(signal: NodeJS.Signals): void;
  /** Terminates, then kills what is left of the child and of everything it started. Returns the end of its stderr. */
  end(): Promise<string>;
}

export function openDialogue(request: DialogueRequest): Dialogue {
  const launch = randomUUID();
  const child = spawn('/bin/sh', ['-c', HELD_AND_HEARD, 'sh', ...request.argv], {
    cwd: request.cwd,
    env: { ...request.env, [LAUNCH]: launch },
    detached: true,
    stdio: withoutInherited(['pipe', 'pipe', 'pipe', 'pipe']),
  });
  const gate = child.stdio[3] as Writable;
  // Whoever died has nobody to read what we say; that it died is told by `exited`.
  for (const stream of [child.stdin, gate]) stream?.on('error', () => {});
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
  let output: Output | null = null;
  let since: string | undefined;
  const begun = letGo();
  // Whoever awaits it hears of its failure; until then nobody listens, which must not count as unhandled.
  begun.catch(() => {});
  let ending: Promise<string> | null = null;

  return {
    stdin: child.stdin,
    stdout: child.stdout,
    begun,
    exited,
    send: (signal) => void child.kill(signal),
    end() {
      ending ??= end();
      return ending;
    },
  };

  async function letGo(): Promise<void> {
    try {
      const introduction = introduced(child);
      introduction.catch(() => {});
      output = await collectOutput(
        child.stderr,
        request.logPath,
        () => request.onOutput?.(),
        request.redact ?? BY_SHAPE.text,
      );
      const held = await introduction;
      since = held.startTime;
      try {
        await request.onHeld(held);
      } catch (error) {
        throw new Error(`not started, because it could not be recorded: ${(error as Error).message}`);
      }
      if (ending === null) gate.write('go\n');
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  async function end(): Promise<string> {
    await begun.catch(() => {});
    gate.end('over\n');
    const groups = child.pid === undefined ? [] : [child.pid];
    const { survivors } = await extinguish({
      groups,
      mark: `${LAUNCH}=${launch}`,
      ...(since !== undefined && { since }),
    });
    if (survivors.length > 0) await output?.note(`still running after SIGKILL: ${survivors.join(', ')}`);
    await exited;
    return (await output?.finish()) ?? '';
  }
}
