/** A commit as people read it: always this long. */
export const shortSha = (sha: string | null | undefined, none = 'none'): string => sha?.slice(0, 10) ?? none;
