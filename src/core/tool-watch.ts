/**
 * The tools of a turn in flight: which calls are under way, and whether one is made again and again with the same result.
 * A call under way is no silence, and a row of the same calls is no progress however busy it looks.
 */
import type { Progress } from './tell/progress.ts';

export interface ToolWatch {
  /** Calls under way, with what each is the same as. */
  open: Readonly<Record<string, string>>;
  row: { same: string; tool: string; detail: string; result: string | null; times: number } | null;
}

export const NO_TOOLS: ToolWatch = { open: {}, row: null };

export function afterProgress(watch: ToolWatch, progress: Progress): ToolWatch {
  if (progress.kind === 'tool') {
    const { call, same, tool, detail } = progress;
    // Told without a name, or told before: asked for and then begun is one call.
    if (call === undefined || same === undefined || call in watch.open) return watch;
    const isSame = watch.row?.same === same;
    const { result = null, times = 0 } = isSame && watch.row ? watch.row : {};
    return {
      open: { ...watch.open, [call]: same },
      row: { same, tool, detail, result, times: times + 1 },
    };
  }
  if (progress.kind !== 'tool_over') return watch;
  const { [progress.call]: same, ...open } = watch.open;
  const { row } = watch;
  if (same === undefined) return watch;
  if (row?.same !== same || progress.result === null) return { ...watch, open };
  const isNew = row.result !== null && row.result !== progress.result;
  return { open, row: { ...row, result: progress.result, times: isNew ? 1 : row.times } };
}

export const isInTool = ({ open }: ToolWatch): boolean => Object.keys(open).length > 0;
