/**
 * The lines of an issue that may state a criterion: list items with what is indented below them, and lines that begin
 * with given, when, then, and. Code blocks (except Gherkin) and comments are skipped.
 *
 * One pass, no look back further than the open item: the text may be long and hostile.
 */
import { markdownLines, replaceComments } from './markdown.ts';

export interface Entry {
  words: string[];
  /** The commands after `verify:`, at the end of one of its lines or on lines of their own. */
  verify: string[];
  /** It is a checkbox or an item of an acceptance section. */
  isCriterion: boolean;
  step: 'given' | 'when' | 'then' | 'and' | null;
  isAfterBlank: boolean;
}

export function entriesOf(body: string): Entry[] {
  const entries: Entry[] = [];
  /** The entry that lines below still belong to. */
  let open = null as { entry: Entry; indent: number; isAdjacent: boolean } | null;
  /** The level of the acceptance heading we are below; null elsewhere. */
  let section: number | null = null;
  let sectionHasItems = false;
  let isAfterBlank = false;

  for (const line of markdownLines(withoutHiddenCommands(body))) {
    const { kind, indent } = line;
    const text = plainVerify(line.text);
    if (kind === 'comment') continue;
    if (kind === 'code') {
      if (!line.isFence && /^(gherkin|cucumber|feature)\b/i.test(line.info)) readStep(text, indent);
    } else if (text === '') {
      if (open) open.isAdjacent = false;
      isAfterBlank = true;
    } else if (kind === 'heading') readHeading(text, line.level);
    else if (isTitleLine(text)) readHeading(text, TITLE_LINE);
    else if (readVerify(text, indent)) continue;
    else if (kind === 'item') readItem(plainVerify(line.said), indent);
    else readStep(text, indent);
  }
  return entries;

  function add(said: string, indent: number, isCriterion: boolean): void {
    const { words, command } = withoutVerify(said);
    const entry: Entry = {
      words: words === '' ? [] : [words],
      verify: command === '' ? [] : [command],
      isCriterion,
      step: stepOf(words),
      isAfterBlank,
    };
    entries.push(entry);
    open = { entry, indent, isAdjacent: true };
    isAfterBlank = false;
  }

  function append(entry: Entry, said: string): void {
    const { words, command } = withoutVerify(said);
    if (words !== '') entry.words.push(words);
    if (command !== '') entry.verify.push(command);
  }

  function readHeading(text: string, level: number): void {
    if (/^\W{0,8}acceptance\b/i.test(text)) {
      section = level;
      sectionHasItems = false;
    } else if (section !== null && level <= section) section = null;
    open = null;
  }

  function readVerify(text: string, indent: number): boolean {
    const command = /^(?:[-*+]\s+)?verify:\s*(\S.*)$/i.exec(text)?.[1];
    if (command === undefined) return false;
    if (open && (open.isAdjacent || indent > open.indent)) open.entry.verify.push(bare(command));
    else add(text, indent, true);
    return true;
  }

  function readItem(said: string, indent: number): void {
    const isCheckbox = /^\[[ xX]\](\s|$)/.test(said);
    const words = isCheckbox ? said.slice(3).trim() : said;
    if (!isCheckbox && open && indent > open.indent && open.entry.isCriterion)
      append(open.entry, `• ${words}`);
    else {
      add(words, indent, isCheckbox || section !== null);
      sectionHasItems = true;
    }
  }

  /** A line that is neither heading nor item: more of the open item, a step of a scenario, or mere prose. */
  function readStep(text: string, indent: number): void {
    const step = stepOf(text);
    if (open && (indent > open.indent || (open.isAdjacent && step === null))) append(open.entry, text);
    else if (step !== null) add(text, indent, false);
    else {
      if (section === TITLE_LINE && sectionHasItems) section = null;
      if (entries.length > 0) isAfterBlank = true;
      entries.push({ words: [], verify: [], isCriterion: false, step: null, isAfterBlank });
      open = null;
    }
  }
}

/**
 * Whoever makes an issue ready agrees to the commands they see. Inside a comment or a tag, wherever in a line it begins,
 * nobody sees one; inside backticks both are only spoken of.
 */
function withoutHiddenCommands(body: string): string {
  const mute = (span: string): string => (span.startsWith('`') ? span : span.replace(/verify:/gi, 'verify'));
  return replaceComments(body, mute).replace(TAG, mute);
}

const TAG =
  /`[^`\n]*`|<[a-z][a-z\d-]*(?:\s+[a-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*\s*\/?>/gi;

/** Below every heading of Markdown. */
const TITLE_LINE = 7;

/** `**Acceptance**`, `Acceptance criteria:`, or the word alone: headings that people write without a #. */
const isTitleLine = (text: string): boolean =>
  /^(\*\*|__)[^*_]{1,80}(\*\*|__):?$/.test(text) ||
  /^acceptance( (criteria|tests?|conditions?))?:?$/i.test(text);

function stepOf(text: string): Entry['step'] {
  const word = /^[*_]{0,2}(given|when|then|and|but)\b/i.exec(text)?.[1]?.toLowerCase();
  return word === 'but' ? 'and' : ((word ?? null) as Entry['step']);
}

/** `verify:` as people dress it up: in bold, or within the backticks of its command. */
const plainVerify = (text: string): string =>
  text
    .replace(/(\*\*|__)verify(?::\1|\1:)/gi, 'verify:')
    .replace(/`verify:([^`]+)`/gi, (_, command: string) => `verify: \`${command}\``);

/** "It revokes (verify: `npm test -- revoke`)" is a statement and a command. */
function withoutVerify(said: string): { words: string; command: string } {
  const last = [...said.matchAll(/(?<![\w-])verify:/gi)].at(-1);
  if (!last) return { words: said, command: '' };
  const before = said.slice(0, last.index).trimEnd();
  const after = said.slice(last.index + last[0].length).trim();
  const isBracketed = before.endsWith('(') && after.endsWith(')');
  const words = before.replace(/[\s(,;–—-]{1,8}$/, '');
  return { words, command: bare(isBracketed ? after.slice(0, -1) : after) };
}

const bare = (command: string): string =>
  /^`+([^`]+)`+\.?$/.exec(command.trim())?.[1]?.trim() ?? command.trim();
