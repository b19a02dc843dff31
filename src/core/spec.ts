/**
 * Readiness: can this issue be discharged by checking something, or does it ask for taste?
 *
 * An issue is declined only when it speaks of taste and names nothing that could be checked. Length never counts.
 */

export type Readiness = { ready: true } | { ready: false; questions: string[] };

export function readiness(title: string, body: string): Readiness {
  const text = `${title}\n${body}`;
  if (isCheckable(text)) return { ready: true };
  const taste = tasteWords(text);
  if (taste.length === 0) return { ready: true };
  const subject = title.trim() || 'this issue';
  return {
    ready: false,
    questions: [
      `What can be observed when "${subject}" is done that can't be observed today? Name an input and the expected output, status, text or state.`,
      `Which test or command would fail before the change and pass after it?`,
      `What does ${taste.map((word) => `"${word}"`).join(', ')} mean here: which screen, function or number, and what value should it have?`,
    ],
  };
}

const TASTE =
  /\b(nicer|nice|cleaner|clean(?:\s|-)?up|better|prettier|pretty|beautiful|modern(?:i[sz]e)?|polish(?:ed)?|improve[ds]?|tidy(?:\s?up)?|elegant|sleek|intuitive|user[- ]friendly|refactor|simplify|more readable|feels? (?:right|good|off)|look(?:s)? (?:good|better|nicer))\b/gi;

/** Things one can check: a criterion list, or a post-condition that names a concrete value, place or symbol. */
const CHECKABLE: readonly RegExp[] = [
  /^\s*[-*]\s+\[[ xX]\]\s+\S/m,
  /^#{1,6}\s*acceptance/im,
  /\b(given|when)\b[\s\S]{1,200}\bthen\b/i,
  /\b(returns?|exits?|prints?|throws?|raises?|rejects?|accepts?|responds?|redirects?|POSTs?|GETs?|opens?|closes?|contains?|equals?|outputs?|writes?|reads?|asserts?|fails?|passes|logs?|shows?|displays?|renders?|creates?|deletes?|removes?|adds?|supports?|must|should)\b[^\n]*(`[^`\n]+`|"[^"\n]+"|\b\d+\b|\/[\w<:.-]+|\b[\w-]+=[\w-]+|\b\w+\(\)|\b\w+\.\w{1,5}\b)/i,
  /(`[^`\n]+`|"[^"\n]+"|\b\w+\(\))[^\n]*\b(returns?|exits?|prints?|throws?|raises?|must|should|is|are|equals?|becomes?)\b/i,
  /^\s*verify:\s*\S/im,
];

const isCheckable = (text: string): boolean => CHECKABLE.some((pattern) => pattern.test(text));

function tasteWords(text: string): string[] {
  return [...new Set([...text.matchAll(TASTE)].map((match) => match[0].toLowerCase()))].slice(0, 3);
}
