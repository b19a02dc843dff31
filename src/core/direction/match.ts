/** Is a text about a phrase? By its words alone, so that everybody can see why. */

/** From 0 to 1: how many of the phrase's words the text has, those of its title in full and those of its body by half. */
export function likeness(phrase: string, { title, body }: { title: string; body: string }): number {
  const wanted = wordsOf(phrase);
  if (wanted.length === 0) return 0;
  const [inTitle, inBody] = [wordsIn(title), wordsIn(body.slice(0, READ_CHARS))];
  const worth = wanted.map((word) => (has(inTitle, word) ? 1 : has(inBody, word) ? 0.5 : 0));
  const found = worth.filter((one) => one > 0).length;
  // One word of several is a coincidence.
  const isAbout = found >= Math.min(2, wanted.length) && found >= wanted.length / 2;
  return isAbout ? worth.reduce<number>((sum, one) => sum + one, 0) / wanted.length : 0;
}

/** Of a text of any length, its beginning says what it is about. */
const READ_CHARS = 4000;
/** From so many letters on, one word that begins another is the same: "recover" and "recovery". */
const STEM_LETTERS = 5;

const STOP_WORDS = new Set(
  'a an and are as at be by can do for from has have in into is it its no not of on or our so that the them then there they this to up use via was we when which will with without you your add fix make new'.split(
    ' ',
  ),
);

const wordsOf = (text: string): string[] => [...wordsIn(text)];

const wordsIn = (text: string): ReadonlySet<string> =>
  new Set(
    (
      text
        .normalize('NFKD')
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu) ?? []
    )
      .map((word) => (word.length > 3 ? word.replace(/s$/, '') : word))
      .filter((word) => word.length > 1 && !STOP_WORDS.has(word)),
  );

function has(words: ReadonlySet<string>, word: string): boolean {
  if (words.has(word)) return true;
  if (word.length < STEM_LETTERS) return false;
  for (const other of words)
    if (other.length >= STEM_LETTERS && (other.startsWith(word) || word.startsWith(other))) return true;
  return false;
}
