/**
 * Text from strangers on a terminal: what would move its cursor, retitle it, fill its clipboard or turn its letters round is
 * spelled out (`\u001b`), as JSON has it too. Line breaks and tabs stay.
 */
export const visible = (text: string, isOurs: (sequence: string) => boolean = () => false): string =>
  text
    .replace(/\r\n?/g, '\n')
    .replace(STEERING, (found) => (isOurs(found) ? found : `${spelled(found)}${found.slice(1)}`));

/** A sequence for colours is taken whole. Of the rest its first character is enough: nothing that follows means anything then. */
const STEERING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /\x1b\[\d+m|[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

const spelled = (text: string): string => `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`;
