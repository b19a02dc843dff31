/** What a demo plays: what it begins with, what is shown of it meanwhile, and how it is told whether all went as planned. */
import type { Context } from '../../context.ts';
import type { Paint } from '../../core/words/paint.ts';
import type { Store } from '../../store/store.ts';
import type { Terminal } from '../terminal.ts';
import type { BoardRow } from './board.ts';
import type { Scratch } from './scratch.ts';
import { quoted } from './shell.ts';

/** How the playing went, whatever was played. */
export interface Played {
  durationMs: number;
  /** Where it can be looked at; null when nothing was kept. */
  folder: string | null;
  project: string | null;
  /** It was not done in time and was cut short. */
  late: boolean;
}

export interface Story<Report extends Played & { ok: boolean }> {
  title: string;
  /** What the rows of the board are. */
  column: string;
  /** Of the project: what its agent plays, and settings beside the usual. */
  scriptFor(project: string): string;
  settings: string;
  begin(context: Context): Promise<void>;
  board(store: Store, before: readonly BoardRow[], now: number): Promise<BoardRow[]>;
  report(context: Context, played: Played): Promise<Report>;
  text(report: Report, scratch: Scratch, terminal: Terminal): string;
}

export function whereToLook(
  { folder }: Played,
  scratch: Scratch,
  paint: Paint,
  commands: readonly string[],
  demo = 'demo',
): string[] {
  const own = process.env.npm_command === 'exec' ? 'npx forge-loop' : 'forge-loop';
  if (folder === null) {
    return [
      `The project is removed; ${paint.cyan(`${own} ${demo} --keep`)} keeps it to look at.`,
      `On your own repository: ${paint.cyan(`${own} init`)}`,
    ];
  }
  const project = quoted(scratch.project);
  return [
    `Kept in ${scratch.folder}. Where to look:`,
    ...[
      `git -C ${project} log --stat --all`,
      `export XDG_STATE_HOME=${quoted(scratch.state)}`,
      ...commands.map((command) => `${own} -C ${project} ${command}`),
    ].map((command) => `  ${paint.cyan(command)}`),
  ];
}
