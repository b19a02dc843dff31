/** What a call gave, as text for people, in whatever form an agent's program tells it. */

const MOST_CHARS = 4000;

export function toolOutput(...told: unknown[]): string {
  const text = told.map(textOf).filter(Boolean).join('\n');
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text;
}

/** Wires nest it: lists of parts, parts with content, content with text. */
function textOf(told: unknown): string {
  if (typeof told === 'string') return told;
  if (Array.isArray(told)) return told.map(textOf).filter(Boolean).join('\n');
  if (typeof told !== 'object' || told === null)
    return told === undefined || told === null ? '' : String(told);
  const { text, content, output, message } = told as Record<string, unknown>;
  const inner = text ?? content ?? output ?? message;
  return inner === undefined ? JSON.stringify(told) : textOf(inner);
}
