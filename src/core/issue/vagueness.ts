/** What can't be checked: taste that is asked for, and work without an end. */
import { excerpt, NAMED, type Prose, type Sentence } from './prose.ts';
import type { RuleScore } from './readiness.ts';

export function taste({ sentences }: Prose): RuleScore | null {
  const [title, ...others] = sentences;
  const asked = [...(title ? [title] : []), ...others.filter(({ text }) => isAsk(text))];
  const words = [...new Set(asked.flatMap(({ text }) => tasteWords(text)))];
  if (words.length > 0) return { rule: 'taste', points: -3, because: quoted(words) };
  const reworked = asked.filter(({ text }) => REWORK.test(text));
  if (reworked.length === 0) return null;
  const isNamed = reworked.some(({ text }) => NAMED.test(text));
  return { rule: 'taste', points: isNamed ? -1 : -3, because: quoted(reworked.map(reworkWord)) };
}

const TASTE =
  /\b(nicer|nice|cleaner|clean (?:it|them|this|that) up|better|prettier|pretty|beautiful|modern(?:i[sz]e)?|polish(?:ed)?|improve[ds]?|improvements?|tidy|elegant|sleek|snappy|intuitive|user[- ]friendly|friendlier|faster|quicker|easier|simpler|smoother|clearer|leaner|more (?:readable|robust|reliable|efficient|flexible|maintainable|scalable|consistent|professional|responsive|user[- ]friendly|usable)|feels? (?:right|good|off)|looks? (?:good|nice)|clean[ -]?up(?! (?:\w+ ){0,2}(?:temp\w*|files?|folders?|director\w+|resources?|sessions?|connections?|listeners?|handles?|process\w*|branch\w*|worktrees?|caches?|cookies|locks?)))\b/gi;

/** Rework is taste unless it says of what and into what; then somebody has to read it. */
const REWORK = /\b(refactor\w*|simplify|restructure|reorgani[sz]e|rework|optimi[sz]e)\b/i;
const reworkWord = ({ text }: Sentence): string => REWORK.exec(text)?.[0].toLowerCase() ?? '';

/** Words inside code and quotation marks are names; so is the formatter that is called prettier. */
export function tasteWords(text: string): string[] {
  const said = text
    .replace(/`[^`]*`|"[^"]*"|“[^”]*”/g, ' ')
    .replace(/\b(?:use|add|with|via|install|configure|run|npx|set up|upgrade|bump) prettier\b/gi, ' ')
    .replace(/\bpretty[- ]print\w*|(?<!\w)--?\w+/gi, ' ');
  return [...said.matchAll(TASTE)].map((match) => match[0].toLowerCase());
}

/** Asked for, not merely spoken of: "make it nicer", not "it would be nicer for me". */
export const isAsk = (sentence: string): boolean =>
  /\b(make|should|must|please|need|want)\b/i.test(sentence) || IMPERATIVE.test(sentence);

const IMPERATIVE =
  /^\W*(add|allow|avoid|bump|change|clean|convert|cover|create|delete|document|drop|enable|expose|extend|fix|handle|implement|improve|introduce|log|migrate|moderni[sz]e|move|optimi[sz]e|polish|port|prevent|provide|refactor|remove|rename|replace|restructure|return|rewrite|show|simplify|speed|stop|support|switch|test|tidy|translate|update|upgrade|use|validate|write)\b/i;

export function unbounded({ sentences }: Prose): RuleScore | null {
  const asked = sentences.filter(
    ({ text }) => isAsk(text) && !/\b(pass|stay|remain|same|unchanged)/i.test(text),
  );
  for (const { text } of asked) {
    const found = ENDLESS.exec(text);
    if (found) return { rule: 'unbounded', points: -3, because: quoted([found[0].toLowerCase()]) };
  }
  const wide = asked.find(({ text }) => /\b(all|every)\b/i.test(text));
  return wide ? { rule: 'unbounded', points: -1, because: excerpt(wide.text) } : null;
}

const ENDLESS =
  /\b(everything|everywhere|anything|across the (?:board|code ?base|app|project)|from scratch|(?:whole|entire) (?:\w+ )?(?:code ?base|project|app|application|repo|repository|site|website|system|product|ui|api|code|stack)|all (?:of )?(?:the |our )?(?:code|files|modules|pages|screens|things|features|components|bugs|issues|errors|warnings|problems))\b/i;

const quoted = (words: readonly string[]): string =>
  [...new Set(words)]
    .slice(0, 3)
    .map((word) => `"${word}"`)
    .join(', ');
