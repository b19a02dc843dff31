/** Waits for a fact about other processes, which can't call us: it is looked at again and again, never slept for. */
import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 20;
/** Only a broken loop comes near it. */
const GIVE_UP_MS = 540_000;

/** The first value that is neither null, undefined nor false. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  report: () => Promise<string> = async () => '',
): Promise<NonNullable<Exclude<T, false>>> {
  for (const giveUpAt = performance.now() + GIVE_UP_MS; performance.now() < giveUpAt; ) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen as NonNullable<Exclude<T, false>>;
    await pause(LOOK_EVERY_MS);
  }
  throw new Error(`waited in vain for ${what}\n${await report()}`);
}
