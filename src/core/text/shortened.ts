/** A text that has room for so many characters: cut between words, and it shows that it goes on. */
export function shortened(text: string, room: number): string {
  if (text.length <= room) return text;
  const cut = text.slice(0, room - 1).replace(/[\uD800-\uDBFF]$/, '');
  const wholeWords = /\s/.test(text[room - 1]!) ? cut : cut.replace(/\s+\S*$/, '');
  // One long word, a path or a hash, is better cut than left out.
  return `${(wholeWords.length > room / 2 ? wholeWords : cut).trimEnd()}…`;
}

/** The first line of a message, which says the most. */
export const firstLine = (text: string, room: number): string =>
  shortened(text.trim().split('\n', 1)[0]!, room);
