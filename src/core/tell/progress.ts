/** What an agent does inside a turn, in words that are the same for all of them; every surface shows these. */

/**
 * Why a call was not let through, for programs. `input_requested`: it asked a person. `tool_missing`: nobody has that tool.
 * `forge_budget`: the forge is not asked for it now.
 */
export type RefusalCode =
  | 'publish'
  | 'history'
  | 'forge'
  | 'loop'
  | 'path'
  | 'permission'
  | 'input_requested'
  | 'tool_missing'
  | 'forge_budget';

export type Progress =
  | { kind: 'said'; text: string }
  /** A call begins. `call` names it until it is over, `same` is equal for calls of the same tool with the same input. */
  | { kind: 'tool'; tool: string; detail: string; call?: string; same?: string }
  /** `result` is equal for equal results; null where the agent does not tell it. `output` is its beginning, for people. */
  | { kind: 'tool_over'; call: string; result: string | null; output?: string }
  /** A call that was not let through, and what the agent was told instead. */
  | { kind: 'refused'; code: RefusalCode; tool: string; detail: string; why: string }
  | { kind: 'retrying'; why: string }
  /** The conversation was shortened by the agent itself, because it came near the model's limit. */
  | { kind: 'compacted'; why: string }
  /** The agent's own names for the conversation and for this turn of it. */
  | { kind: 'session'; thread: string; turn: string }
  /** How much of its account's windows is used up, as the provider says. */
  | { kind: 'limits'; windows: readonly LimitWindow[] };

export interface LimitWindow {
  name: string;
  usedPercent: number;
  /** Unix time in seconds; null where it is not told. */
  resetsAt: number | null;
}

/** What there is to show of it: what the agent does, not what is only kept. */
export type ShownProgress = Exclude<Progress, { kind: 'tool_over' | 'session' | 'limits' }>;

export const isShown = (progress: Progress): progress is ShownProgress =>
  progress.kind !== 'tool_over' && progress.kind !== 'session' && progress.kind !== 'limits';

export function progressText(progress: ShownProgress): string {
  switch (progress.kind) {
    case 'said':
      return `says: ${progress.text}`;
    case 'tool':
      return progress.detail === '' ? progress.tool : `${progress.tool}: ${progress.detail}`;
    case 'refused':
      return `was refused ${progress.tool}: ${progress.why}`;
    case 'retrying':
      return `tries again: ${progress.why}`;
    case 'compacted':
      return `compacted its conversation: ${progress.why}`;
    default:
      return progress satisfies never;
  }
}
