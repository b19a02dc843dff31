/**
 * The YAML that we write ourselves, read without a parser: one `key: value` a line, short lists in brackets, one level of
 * indented keys. Null for anything else, which the parser has to read. A folder of issues is read on every command, and the
 * parser takes milliseconds for each.
 */
export function plainValues(yaml: string): Record<string, unknown> | null {
  const values: Record<string, unknown> = {};
  let inner: Record<string, unknown> | null = null;
  for (const line of yaml.split('\n')) {
    const [, indent = '', key, text = ''] = LINE.exec(line) ?? [];
    if (key === undefined) return null;
    const map: Record<string, unknown> | null = indent === '' ? values : inner;
    if (map === null || key in map) return null;
    if (text === '') {
      if (indent !== '') return null;
      inner = {};
      values[key] = inner;
      continue;
    }
    if (indent === '' && isEmpty(inner)) return null;
    if (indent === '') inner = null;
    const value = listIn(text) ?? scalar(text);
    if (value === undefined) return null;
    map[key] = value;
  }
  return isEmpty(inner) ? null : values;
}

const LINE = /^( {2})?([a-z][a-z_]*):(?: (\S.*)?)?$/;
/** What stands for nothing, or for a truth, unless it is in quotes. */
const RESERVED = /^(?:null|true|false)$/i;
const INTEGER = /^(?:0|[1-9]\d{0,14})$/;
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
/** With a letter that no number has. */
const HASH = /^(?=[0-9e]*[a-df])[0-9a-f]{40,64}$/;
const WORDS = /^\p{L}(?:[\p{L}\p{M}\p{N}\p{P}\p{S} ]*[\p{L}\p{M}\p{N}\p{P}\p{S}])?$/u;
const QUOTED = /^"([\p{L}\p{M}\p{N}\p{P}\p{S} ]*)"$/u;
const ITEM = /^\p{L}[\p{L}\p{N}_./-]*(?::[\p{L}\p{N}_./-]+)*$/u;

const isEmpty = (map: Record<string, unknown> | null): boolean =>
  map !== null && Object.keys(map).length === 0;

function scalar(text: string): string | number | null | undefined {
  if (text === 'null') return null;
  if (RESERVED.test(text)) return undefined;
  if (INTEGER.test(text)) return Number(text);
  if (MOMENT.test(text) || HASH.test(text)) return text;
  const quoted = QUOTED.exec(text)?.[1];
  if (quoted !== undefined) return /["\\]/.test(quoted) ? undefined : quoted;
  return WORDS.test(text) && !/: | #|:$/.test(text) ? text : undefined;
}

function listIn(text: string): (string | number)[] | undefined {
  const inside = /^\[(.*)\]$/.exec(text)?.[1];
  if (inside === undefined) return undefined;
  if (inside === '') return [];
  const items = inside.split(', ');
  const isPlain = (item: string): boolean => INTEGER.test(item) || (ITEM.test(item) && !RESERVED.test(item));
  return items.every(isPlain) ? items.map((item) => (INTEGER.test(item) ? Number(item) : item)) : undefined;
}
