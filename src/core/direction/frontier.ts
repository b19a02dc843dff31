/** The stated direction of the product, from `.forge/frontier.yaml`. It is advice: it orders work and informs coders, and decides nothing. */
export interface Frontier {
  goal: string | null;
  currentProblem: string | null;
  /** What comes next; issues about it go first among those as urgent. */
  nextExpansion: readonly string[];
  /** Dead ends; issues about them go last among those as urgent. */
  rejected: readonly RejectedApproach[];
  /** Files and folders that many changes touch. */
  hotFiles: readonly string[];
}

interface RejectedApproach {
  approach: string;
  why: string | null;
}

export const NO_FRONTIER: Frontier = {
  goal: null,
  currentProblem: null,
  nextExpansion: [],
  rejected: [],
  hotFiles: [],
};

/** A path is a hot one, or lies in a hot folder. */
export const hotFileOf = (path: string, { hotFiles }: Frontier): string | null =>
  hotFiles.find((hot) => path === hot || path.startsWith(`${hot.replace(/\/+$/, '')}/`)) ?? null;
