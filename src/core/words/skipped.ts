/** Issues and pull requests that can't be read. */
export const skippedText = (problems: readonly string[]): string => `skipped: ${problems.join('; ')}`;
