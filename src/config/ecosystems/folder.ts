/** A folder of trunk as the table of ecosystems sees it. Nothing here reads a disk: it is a listing and some contents. */

export interface Listing {
  /** Paths on trunk. */
  files: readonly string[];
  /** Of the manifests among them. */
  contents: ReadonlyMap<string, string>;
  /** Lockfiles of the checkout that are not on trunk, such as one that git ignores: they tell the tool, and lock nothing. */
  unlocked?: ReadonlySet<string>;
}

export interface Folder {
  /** Empty for the root; else it ends with a slash. */
  prefix: string;
  /** Is any of these here? */
  has(...names: string[]): boolean;
  /** Paths in it and below it that match. */
  below(pattern: RegExp): string[];
  /** Empty when it is not here. */
  text(...names: string[]): string;
  /** A JSON file that is a map; comments are fine. Empty when it is not here, or is no such file. */
  json(...names: string[]): Record<string, unknown>;
  /** In the checkout, and not on trunk. */
  isUnlocked(name: string): boolean;
}

export function folderOf({ files, contents, unlocked }: Listing, prefix: string): Folder {
  const inside = files.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
  const known = new Set(inside);
  const text = (...names: string[]): string =>
    contents.get(`${prefix}${names.find((name) => known.has(name))}`) ?? '';
  return {
    prefix,
    has: (...names) => names.some((name) => known.has(name)),
    below: (pattern) => inside.filter((path) => pattern.test(path)),
    text,
    json: (...names) => parsed(text(...names)),
    isUnlocked: (name) => unlocked?.has(`${prefix}${name}`) ?? false,
  };
}

function parsed(source: string): Record<string, unknown> {
  try {
    return mapOf(JSON.parse(plainJson(source)));
  } catch {
    return {};
  }
}

/** Without comments and the commas that end a list; what is inside a string stays. */
const plainJson = (source: string): string =>
  source
    .replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '$1')
    .replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, '$1');

/** Empty when it is no map. */
export const mapOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
