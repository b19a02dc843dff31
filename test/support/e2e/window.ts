/** The program in a real terminal (tmux): what a person sees there, and what they type. */
import { execFileSync, spawnSync } from 'node:child_process';
import { quoted } from './halt.ts';
import { PROGRAM } from './program.ts';
import type { World } from './world.ts';

/** CI installs it. */
export const hasTmux = spawnSync('tmux', ['-V']).status === 0;
if (!hasTmux) console.warn('NO TERMINAL: the full screen is not tested. Install tmux.');

export interface Window {
  screen(): string;
  /** Awaited: what the screen shows. */
  shows(text: string | RegExp): Promise<string>;
  type(...keys: string[]): void;
  write(text: string): void;
  resize(columns: number, rows: number): void;
  /** As when somebody closes its window. */
  close(): void;
}

let windows = 0;

export function openWindow(
  world: Pick<World, 'folder' | 'root' | 'env' | 'atEnd' | 'until'>,
  args: readonly string[],
  { columns, rows, program = PROGRAM }: { columns: number; rows: number; program?: string },
): Window {
  windows += 1;
  const socket = `forge-${process.pid}-${windows}-${world.folder.slice(-6)}`;
  const tmux = (...args: string[]): string =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8', env: world.env });
  const command = [process.execPath, program, ...args].map(quoted).join(' ');
  const size = ['-x', String(columns), '-y', String(rows)];
  const shell = `echo BEFORE; ${command}; echo "LEFT WITH $?"; sleep 600`;
  tmux('new-session', '-d', '-s', 'w', '-c', world.root, ...size, shell);
  world.atEnd(() => void spawnSync('tmux', ['-L', socket, 'kill-server']));
  const screen = (): string => tmux('capture-pane', '-p', '-t', 'w');
  const unwrapped = (): string => tmux('capture-pane', '-p', '-J', '-t', 'w');
  return {
    screen,
    async shows(text) {
      const isIn = (shown: string) => (typeof text === 'string' ? shown.includes(text) : text.test(shown));
      // A line that is wrapped, wherever the screen ends, is still one.
      await world.until(`the screen to show ${text}`, () => isIn(screen()) || isIn(unwrapped()));
      return screen();
    },
    type: (...keys) => void tmux('send-keys', '-t', 'w', ...keys),
    write: (text) => void tmux('send-keys', '-t', 'w', '-l', text),
    resize: (x, y) => void tmux('resize-window', '-t', 'w', '-x', String(x), '-y', String(y)),
    close: () => void tmux('kill-session', '-t', 'w'),
  };
}
