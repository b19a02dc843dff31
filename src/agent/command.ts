/**
 * Any program as an agent: `agent.command`, run by the shell in the workspace. Its contract is in program-turn.ts.
 *
 * The session is the program's own affair, in FORGE_SESSION_DIR. All we know is whether it ever began: the shell that
 * becomes the program says so in the file `begun`, so that the answer is right whoever dies at whatever moment.
 */
import { execFile } from 'node:child_process';
import { constants, statSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { passedOn } from '../core/access/toolchains.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { type Agent, failed, type SessionProbe } from './agent.ts';
import { attachProgram, whyNoProgram } from './attach-program.ts';
import { credentialIn } from './held-keys.ts';
import { finishedProgram, runProgram } from './program-turn.ts';
import type { Programs } from './programs.ts';

const BEGIN = ': > "$FORGE_SESSION_DIR/begun" && exec /bin/sh -c "$1"';

export function commandAgent(parts: { programs: Programs; gateway: Gateway }): Agent {
  return {
    kind: 'command',

    async run(turn, hooks) {
      if (!turn.policy.command) return failed('could_not_start', NO_COMMAND);
      if (turn.resume && (await probe(turn.sessionDir)) !== 'resumable') {
        return failed(
          'session_lost',
          `session ${turn.sessionId} can't be resumed: ${turn.sessionDir} holds nothing of it`,
        );
      }
      const { command } = turn.policy;
      const program = { argv: ['/bin/sh', '-c', BEGIN, 'sh', command], reads: pathsIn(command) };
      return runProgram(parts, program, turn, hooks);
    },

    probeSession: ({ sessionDir }) => probe(sessionDir),

    attach: (turn, hooks) => attachProgram(parts, turn, hooks),
    unattachable: whyNoProgram,

    finished: finishedProgram,

    credential: async ({ env }) => credentialIn({ ...passedOn(process.env, env.pass), ...env.set }),

    unavailable: async ({ command }) => (command ? missingProgram(command) : NO_COMMAND),
  };
}

/** Files that the operator's command names: it could not be started without. */
export const pathsIn = (command: string): string[] =>
  [...command.matchAll(/(?:^|[\s"'=])(\/[^\s"';|&<>()$`*?]+)/g)].flatMap(([, path = '']) =>
    statSync(path, { throwIfNoEntry: false })?.isFile() ? [path] : [],
  );

const NO_COMMAND = 'agent.command is not set: give the shell command that runs your agent';

/**
 * A misspelt program would fail every issue of a night, one after another. Only a first word that says plainly what is
 * started is looked at: the shell knows what else may stand there, and a path inside the work tree may yet be written.
 */
export async function missingProgram(command: string): Promise<string | null> {
  const [, word] = /^\s*([\w.+/-]+)(?:\s|$)/.exec(command) ?? [];
  if (word === undefined || word.startsWith('-')) return null;
  const isPath = word.includes('/');
  if (isPath && !word.startsWith('/')) return null;
  const isThere = isPath ? await mayRun(word) : await isKnownToShell(word);
  return isThere ? null : `agent.command: ${word} not found or not executable`;
}

const mayRun = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

const isKnownToShell = (word: string): Promise<boolean> =>
  new Promise((resolve) => {
    execFile('/bin/sh', ['-c', 'command -v "$1"', 'sh', word], (error) => resolve(error === null));
  });

async function probe(sessionDir: string): Promise<SessionProbe> {
  if (!(await exists(sessionDir))) return 'lost';
  return (await exists(join(sessionDir, 'begun'))) ? 'resumable' : 'empty';
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
