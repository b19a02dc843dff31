/** What a head changes since it left its base, as git tells it. All of it is the agent's text: data, never commands. */

export interface Change {
  /** Every path touched; a rename touches both of its names. */
  files: string[];
  patch: string;
  blobs: ChangedBlob[];
  /** Those of the head that are not the base's, oldest first. */
  commits: ChangeCommit[];
  /** Files that git calls binary and shows nothing of, where they are small. */
  hidden: HiddenFile[];
}

/** Larger ones are not searched. */
export const SEARCHED_BYTES = 1_000_000;

/** One of them as text, at the head or as a commit on the way left it. */
export interface HiddenFile {
  path: string;
  /** Null for the head. */
  commit: string | null;
  /** As the base has it; null where it is not there, too large, or the file is of a commit on the way. */
  before: string | null;
  after: string;
}

export interface ChangeCommit {
  sha: string;
  message: string;
  /** What it does by itself; null for the only one, which is the whole change. */
  patch: string | null;
}

/** One changed path at the head; null where it is deleted or no file with content (a submodule). */
export interface ChangedBlob {
  path: string;
  sha: string | null;
  bytes: number | null;
  /** As the base has it; null where it is not there, or no file. */
  bytesBefore: number | null;
}
