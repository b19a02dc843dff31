/**
 * The stand-ins of a turn (stand-in-scripts.ts): a folder that is first in the PATH of the agent's program, and what it refused
 * there, told as it happens.
 *
 * The folder is beside the session's, where a confined agent can't write; only that of the notes is its own. It has the same
 * place in every turn of a session, since the agent may show its settings to the model. The notes are a stranger's: whoever
 * writes there can say only that a command of a known kind was refused.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TurnHooks, TurnRequest } from './agent.ts';
import { REFUSALS, type Refusal } from './refusal.ts';
import { plainText, removeLeft } from './replace-file.ts';
import { bashEnv, firstInPath, standInScripts } from './stand-in-scripts.ts';

interface StandIns {
  /** The given environment, in which the stand-ins are found first. */
  env: Record<string, string>;
  /** What a sandbox must let them read, and write to. */
  readRoot: string;
  writeRoot: string;
  /** After everything of the turn is gone: tells what is left to tell. */
  close(): void;
}

type StandInTurn = Pick<TurnRequest, 'cwd' | 'sessionDir' | 'home' | 'access'>;

const LOOK_EVERY_MS = 500;

export function openStandIns(
  { cwd, sessionDir, home, access }: StandInTurn,
  env: Record<string, string>,
  onProgress: TurnHooks['onProgress'],
): StandIns {
  const folder = `${sessionDir}-stand-ins`;
  const bin = join(folder, 'bin');
  const writeRoot = join(folder, 'notes');
  const notes = notesIn(sessionDir);
  removeLeft(folder);
  for (const path of [bin, writeRoot]) mkdirSync(path, { recursive: true, mode: 0o700 });
  const ownRoots = [cwd, ...access.writeRoots, env.TMPDIR || '/tmp'].map(real);
  const scripts = standInScripts({ workspace: cwd, ownRoots, notes });
  for (const [name, text] of Object.entries(scripts)) writeFileSync(join(bin, name), text, { mode: 0o700 });
  const bash = join(folder, 'bash-env');
  writeFileSync(bash, bashEnv(bin, env.BASH_ENV));
  if (env.HOME === home) writeProfiles(home, bin);

  let told = 0;
  const tell = () => {
    for (const { kind, command } of noted(notes).slice(told)) {
      told += 1;
      onProgress({ kind: 'refused', code: kind, tool: 'shell', detail: command, why: REFUSALS[kind] });
    }
  };
  const looking = setInterval(tell, LOOK_EVERY_MS);
  looking.unref();
  return {
    env: { ...env, PATH: env.PATH ? `${bin}${delimiter}${env.PATH}` : bin, BASH_ENV: bash },
    readRoot: folder,
    writeRoot,
    close() {
      clearInterval(looking);
      tell();
      removeLeft(folder);
    },
  };
}

const notesIn = (sessionDir: string): string => join(`${sessionDir}-stand-ins`, 'notes', 'refused');

/** As a stand-in notes it: for our own program, which may be started by its path. A turn that has none is told nothing. */
export function noteRefusal(sessionDir: string, kind: Refusal, command: string): void {
  try {
    appendFileSync(notesIn(sessionDir), `${kind} ${command.slice(0, 500)}\0`);
  } catch {}
}

/** As git tells it; what is not there yet has no links. */
function real(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

const PROFILE =
  '# Made by forge-loop for each turn: its own git, gh … are found first in a login shell too.\n';

/** For login shells that are not bash. Whoever has a profile already, by an offer or by a setup, keeps it. */
function writeProfiles(home: string, bin: string): void {
  for (const name of ['.profile', '.zprofile']) {
    const path = join(home, name);
    const found = plainText(path);
    if (found !== null && !found.startsWith(PROFILE)) continue;
    // Project code writes here: nothing is written through what it may have left.
    const draft = `${path}.${randomBytes(6).toString('hex')}`;
    writeFileSync(draft, PROFILE + firstInPath(bin), { flag: 'wx' });
    renameSync(draft, path);
  }
}

function noted(path: string): { kind: Refusal; command: string }[] {
  // The last one may not be whole yet.
  const whole = (plainText(path) ?? '').split('\0').slice(0, -1);
  return whole.flatMap((note) => {
    const [, kind = '', command = ''] = /^(\w+) ([\s\S]*)$/.exec(note) ?? [];
    return Object.hasOwn(REFUSALS, kind) ? [{ kind: kind as Refusal, command }] : [];
  });
}
