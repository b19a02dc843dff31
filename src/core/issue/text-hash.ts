/** What was agreed to is title and body together: either of them edited is another text. */

import type { Contract } from '../event.ts';
import { digestOf } from '../text/digest.ts';

export function textHash({ title, body }: { title: string; body: string }): string {
  return sha256(JSON.stringify([title, body]));
}

/**
 * The hash of the text a task works to. Older rows have pinned the body alone; what they agreed to is their own title
 * with that body.
 */
export function agreedHash(contract: Contract): string {
  return contract.hash === bodyOnlyHash(contract.body) ? textHash(contract) : contract.hash;
}

/** As it was pinned before titles were. */
export const bodyOnlyHash = (body: string): string => sha256(body);

const sha256 = (text: string): string => digestOf(text, 64);
