/**
 * JSON of strangers. A text of nothing but brackets takes the parser a minute and gigabytes of memory, and meanwhile nothing
 * else goes on: so its parts are counted first.
 */

/** More than any call of a model or record of an agent has. */
const MOST_PARTS = 500_000;

/** Throws as `JSON.parse` does. */
export function strangeJson(text: string, most = MOST_PARTS): unknown {
  if (hasMoreParts(text, most)) throw new SyntaxError(`this JSON has more than ${most} parts`);
  return JSON.parse(text);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Of `,`, `:`, `[` and `{`: each comes before a value or a name. */
const BEFORE_PART = new Uint8Array(128);
for (const sign of ',:[{') BEFORE_PART[sign.charCodeAt(0)] = 1;

function hasMoreParts(text: string, most: number): boolean {
  let parts = 0;
  let isText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isText && code === BACKSLASH) at += 1;
    else if (code === QUOTE) isText = !isText;
    else if (!isText && code < 128 && BEFORE_PART[code] === 1 && ++parts > most) return true;
  }
  return false;
}
