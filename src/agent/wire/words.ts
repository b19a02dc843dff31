/**
 * What a person is shown of an error: words. Programs hand on their provider's answer as it came, after words of their
 * own or instead of them, sometimes one inside the other, sometimes cut off.
 */
export function wordsOf(text: string): string {
  const page = text.search(/<!doctype html|<html/i);
  if (page >= 0) return `${text.slice(0, page)}a page instead of an answer`;
  // An object, or a list of some, that goes on to the end: what stands inside a sentence is part of it.
  const at = text.search(/(?:\[\s*)?\{\s*"/);
  if (at < 0) return text;
  const before = text.slice(0, at);
  const rest = text.slice(at).trim();
  const given = parsed(rest);
  if (given !== undefined) return after(before, messageIn(given));
  return isCutOff(rest) ? after(before, messageInHalf(rest)) : text;
}

const isCutOff = (rest: string): boolean =>
  /^(?:\[\s*)?\{\s*"(?:error|type|message|detail|code|status|request_id)"\s*:/.test(rest) &&
  rest.split('{').length > rest.split('}').length;

function after(before: string, words: string | null): string {
  return words === null ? before.replace(/[\s:]+$/, '') || 'an error without words' : `${before}${words}`;
}

/** Errors are objects in objects; the innermost that says something says what happened. */
function messageIn(given: unknown): string | null {
  if (typeof given === 'string') return given === '' ? null : wordsOf(given);
  if (typeof given !== 'object' || given === null) return null;
  if (Array.isArray(given)) return messageIn(given[0]);
  const fields = given as Record<string, unknown>;
  for (const name of ['error', 'message', 'detail', 'error_description', 'errorMessage', 'title', 'data']) {
    const said = messageIn(fields[name]);
    if (said !== null) return said;
  }
  return null;
}

/** As far as it goes. */
function messageInHalf(rest: string): string | null {
  const [, cut] = /"message"\s*:\s*"((?:[^"\\]|\\.)+)/.exec(rest) ?? [];
  return cut === undefined ? null : wordsOf(cut.replaceAll('\\"', '"').replaceAll('\\n', ' '));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
