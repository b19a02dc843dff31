/** Something of WORKFLOW.md that was left out, or read otherwise: where, what, and what to do about it. */
export type Warn = (at: readonly string[], message: string, hint: string | null) => void;
