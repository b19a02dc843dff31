/**
 * Readiness: can this issue be discharged by checking something, or does it ask for taste?
 *
 * An issue is declined only when it asks for taste and names nothing that could be checked. Length never counts.
 * The text is a stranger's and may be long: it is cut into sentences, and each is looked at on its own.
 */

export type Readiness = { ready: true } | { ready: false; questions: string[] };

export function readiness(title: string, body: string): Readiness {
  const sentences = [...sentencesOf(title), ...sentencesOf(body)];
  if (isFormal(body) || sentences.some(isCheckable)) return { ready: true };
  const taste = [...new Set([...tasteWords(title), ...sentences.filter(isAsk).flatMap(tasteWords)])];
  if (taste.length === 0) return { ready: true };
  const subject = title.trim().slice(0, 200) || 'this issue';
  const words = taste.slice(0, 3).map((word) => `"${word}"`);
  return {
    ready: false,
    questions: [
      `What can be observed when "${subject}" is done that can't be observed today? Name an input and the expected output, status, text or state.`,
      'Which test or command would fail before the change and pass after it?',
      `What does ${words.join(', ')} mean here: which screen, function or number, and what value should it have?`,
    ],
  };
}

const MAX_SENTENCE = 500;

function sentencesOf(body: string): string[] {
  return body
    .split(/\n|(?<=[.;!?])\s/)
    .flatMap((sentence) => sentence.match(new RegExp(`.{1,${MAX_SENTENCE}}`, 'g')) ?? []);
}

/** A list of criteria, a heading that promises one, a line that names its check, or given/when/then. */
function isFormal(body: string): boolean {
  return (
    /^ {0,9}[-*] {1,4}\[[ xX]\] {0,4}\S/m.test(body) ||
    /^#{1,6} *acceptance/im.test(body) ||
    /^ {0,9}verify: *\S/im.test(body) ||
    (/^ {0,9}(given|when)\b/im.test(body) && /^ {0,9}then\b/im.test(body))
  );
}

/** A post-condition that names a concrete value, place or symbol. A wish about such a thing is still a wish. */
function isCheckable(sentence: string): boolean {
  const isWish = tasteWords(sentence).length > 0;
  if (CONCRETE.test(sentence) && (OBSERVED.test(sentence) || (STATED.test(sentence) && !isWish))) return true;
  return /\b(given|when)\b/i.test(sentence) && /\bthen\b/i.test(sentence) && !isWish;
}

const CONCRETE =
  /`[^`]+`|"[^"]+"|“[^”]+”|\b\d+\b|(^|\s)\/[\w<:.-]+|\b[\w-]+=[\w-]+|\b\w+\([^)]*\)|\b\w+\.[a-z]\w{0,4}\b/;

const OBSERVED =
  /\b(returns?|exits?|prints?|throws?|raises?|rejects?|accepts?|responds?|redirects?|posts?|gets?|opens?|closes?|contains?|equals?|outputs?|writes?|asserts?|fails?|pass(es)?|logs|shows?|displays?|renders?|creates?|deletes?|removes?|finds?|renames?|retries|parses)\b/i;

const STATED = /\b(must|should|is|are|becomes?|adds?|supports?|reads?)\b/i;

const TASTE =
  /\b(nicer|nice|cleaner|clean(?: |-)?up|clean (?:it|them|this) up|better|prettier|pretty|beautiful|modern(?:i[sz]e)?|polish(?:ed)?|improve[ds]?|tidy|elegant|sleek|snappy|intuitive|user[- ]friendly|refactor|simplify|more readable|feels? (?:right|good|off)|looks? (?:good|nice))\b/gi;

function tasteWords(text: string): string[] {
  return [...text.matchAll(TASTE)].map((match) => match[0].toLowerCase());
}

/** Taste that is asked for, not merely spoken of: "make it nicer", not "it would be nicer for me". */
const isAsk = (sentence: string): boolean =>
  /\b(make|should|must|please|need|want)\b/i.test(sentence) ||
  /^\W*(improve|polish|tidy|clean|refactor|simplify|moderni[sz]e)\b/i.test(sentence);
