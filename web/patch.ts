/** Its types are those of a module that exports its parser as `default`; what it exports is the parser. */
import gitdiff, { type File, type Hunk } from 'gitdiff-parser';

export type { Hunk };

export const parse: (patch: string) => File[] = (gitdiff as unknown as { parse: (patch: string) => File[] })
  .parse;
