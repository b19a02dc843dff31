/** A log that grows without end fills the disk: past its limit it becomes `.1`, and the oldest of a few goes. */
import { renameSync, statSync } from 'node:fs';

const LIMIT_BYTES = 10 * 1024 ** 2;
const KEPT = 3;
const LOOK_EVERY = 200;

interface Destination {
  /** Opens the file of its name anew, at once. */
  reopen(): void;
}

/** To be called before each line. Several runners write one log: whoever finds it moved follows. */
export function createRotation(
  path: string,
  destination: Destination,
  limitBytes = LIMIT_BYTES,
  lookEvery = LOOK_EVERY,
): () => void {
  let lines = 0;
  let own = statAt(path)?.ino;
  return () => {
    if (lines++ % lookEvery !== 0) return;
    const named = statAt(path);
    const isOurs = named !== undefined && named.ino === own;
    if (isOurs && named.size < limitBytes) return;
    if (isOurs) shift(path);
    destination.reopen();
    own = statAt(path)?.ino;
  };
}

const statAt = (path: string) => statSync(path, { throwIfNoEntry: false });

function shift(path: string): void {
  for (let n = KEPT - 1; n >= 0; n -= 1) {
    const from = n === 0 ? path : `${path}.${n}`;
    if (statAt(from)) renameSync(from, `${path}.${n + 1}`);
  }
}
