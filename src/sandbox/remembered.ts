const TRIED_AGAIN_AFTER_MS = 60_000;

/** What works goes on working; what does not may be mended while we wait. */
export function remembered<T>(attempt: () => Promise<T>, works: (result: T) => boolean): () => Promise<T> {
  let last: { at: number; result: Promise<T> } | null = null;
  return async () => {
    const isOld = last !== null && Date.now() - last.at > TRIED_AGAIN_AFTER_MS;
    if (last === null || (isOld && !works(await last.result))) last = { at: Date.now(), result: attempt() };
    return last.result;
  };
}
