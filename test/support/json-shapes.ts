/** The shapes of JSON as docs/cli.md writes them down, and how a value differs from one. */

/** A leaf is null: whatever stands there. */
type Shape = null | { each: Shape } | { keys: Record<string, Shape>; optional: string[] };
export type Shapes = Readonly<Record<string, Shape>>;

/**
 * Every `name: { … }` at the beginning of a line in a fenced block; further lines are indented. Several names share a shape:
 * `pause, stop: { … }`.
 */
export function shapesIn(markdown: string): Shapes {
  const written: Record<string, string> = {};
  for (const [, block] of markdown.matchAll(/^```\n([\s\S]*?)^```$/gm))
    for (const [, names, text] of block!.matchAll(/^(\S.*?):(\s[\s\S]*?)(?=^\S|$(?![\s\S]))/gm))
      for (const name of names!.split(', ')) written[name] = text!;
  const read = (name: string): Shape =>
    parse(written[name]!, (other) => (other in written ? read(other) : null));
  return Object.fromEntries(Object.keys(written).map((name) => [name, read(name)]));
}

/** What is in the value and not in the shape, or the other way round; what is null or empty tells nothing. */
export function differences(value: unknown, shape: Shape, path = ''): string[] {
  if (shape === null || value === null || value === undefined) return [];
  if ('each' in shape)
    return Array.isArray(value)
      ? value.flatMap((one) => differences(one, shape.each, `${path}[]`))
      : [`${path} is no list`];
  const found = Object.keys(value);
  const { keys, optional } = shape;
  return [
    ...found.filter((key) => !(key in keys)).map((key) => `${path}.${key} is not on the page`),
    ...Object.keys(keys)
      .filter((key) => !found.includes(key) && !optional.includes(key))
      .map((key) => `${path}.${key} is not in the result`),
    ...Object.entries(keys).flatMap(([key, inner]) =>
      differences((value as Record<string, unknown>)[key], inner, `${path}.${key}`),
    ),
  ];
}

function parse(text: string, named: (name: string) => Shape): Shape {
  const tokens = text.match(/[{}[\],:|?]|\.\.\.|[\w-]+(?: [\w-]+)*/g) ?? [];
  let at = 0;
  const take = (token: string): boolean => tokens[at] === token && ++at > 0;
  const shape = (): Shape => {
    const found = take('{') ? object() : take('[') ? list() : named(tokens[at++]!);
    if (take('|')) at++;
    return found;
  };
  const list = (): Shape => {
    const each = shape();
    if (!take(']')) throw new Error(`no ] in ${text}`);
    return { each };
  };
  const object = (): Shape => {
    const keys: Record<string, Shape> = {};
    const optional: string[] = [];
    while (!take('}')) {
      if (at >= tokens.length) throw new Error(`no } in ${text}`);
      if (take(',')) continue;
      if (take('...')) {
        const other = named(tokens[at++]!);
        if (!other || !('keys' in other)) throw new Error(`nothing to spread in ${text}`);
        Object.assign(keys, other.keys);
        optional.push(...other.optional);
        continue;
      }
      const key = tokens[at++]!;
      if (take('?')) optional.push(key);
      keys[key] = take(':') ? shape() : null;
    }
    return { keys, optional };
  };
  return shape();
}
