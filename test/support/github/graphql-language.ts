/**
 * As much of GraphQL as our queries use: operations, fields, aliases, arguments, variables, inline fragments and named
 * ones. A field that the schema does not have is an error, as it is on GitHub.
 */

export interface Field {
  name: string;
  alias: string;
  args: Record<string, Value>;
  selection: Selection[];
}

type Selection = { field: Field } | { on: string; selection: Selection[] } | { spread: string };
type Value =
  | { literal: unknown }
  | { variable: string }
  | { list: Value[] }
  | { object: Record<string, Value> };

export interface Document {
  operation: 'query' | 'mutation';
  selection: Selection[];
  fragments: Map<string, { on: string; selection: Selection[] }>;
}

/** A node of the answer: its type, and its fields as values or as functions of their arguments. */
export interface Node {
  __typename: string;
  [field: string]: unknown;
}

/** Stands for a null in the answer, and the error beside it that says why. */
export class LeftOut {
  readonly type: string;
  readonly message: string;
  constructor(type: string, message: string) {
    this.type = type;
    this.message = message;
  }
}

export class GraphqlProblem extends Error {
  override name = 'GraphqlProblem';
  readonly type: string;
  constructor(message: string, type = 'undefinedField') {
    super(message);
    this.type = type;
  }
}

export function parseDocument(source: string): Document {
  const tokens = source.match(TOKEN) ?? [];
  let at = 0;
  const peek = () => tokens[at] ?? '';
  const take = (wanted?: string): string => {
    const token = peek();
    if (token === '' || (wanted !== undefined && token !== wanted))
      throw new GraphqlProblem(
        `Parse error on ${JSON.stringify(token)}, expected ${wanted ?? 'more'}`,
        'parse',
      );
    at += 1;
    return token;
  };

  const value = (): Value => {
    const token = take();
    if (token === '$') return { variable: take() };
    if (token === '[') {
      const items: Value[] = [];
      while (peek() !== ']') items.push(value());
      take(']');
      return { list: items };
    }
    if (token === '{') {
      const entries: Record<string, Value> = {};
      while (peek() !== '}') {
        const key = take();
        take(':');
        entries[key] = value();
      }
      take('}');
      return { object: entries };
    }
    if (/^["\d-]/.test(token) || ['true', 'false', 'null'].includes(token))
      return { literal: JSON.parse(token) };
    return { literal: token };
  };
  const args = (): Record<string, Value> => {
    const found: Record<string, Value> = {};
    if (peek() !== '(') return found;
    take('(');
    while (peek() !== ')') {
      const name = take();
      take(':');
      found[name] = value();
    }
    take(')');
    return found;
  };
  const selection = (): Selection[] => {
    const found: Selection[] = [];
    take('{');
    while (peek() !== '}') {
      if (peek() === '...') {
        take('...');
        const name = take();
        if (name === 'on') found.push({ on: take(), selection: selection() });
        else found.push({ spread: name });
        continue;
      }
      const first = take();
      const renamed = peek() === ':';
      if (renamed) take(':');
      const name = renamed ? take() : first;
      const given = args();
      found.push({
        field: { name, alias: first, args: given, selection: peek() === '{' ? selection() : [] },
      });
    }
    take('}');
    return found;
  };

  let document: Document | null = null;
  const fragments: Document['fragments'] = new Map();
  while (at < tokens.length) {
    if (peek() === 'fragment') {
      take('fragment');
      const name = take();
      take('on');
      fragments.set(name, { on: take(), selection: selection() });
      continue;
    }
    const operation = peek() === '{' ? 'query' : (take() as 'query' | 'mutation');
    while (peek() !== '{') take();
    document = { operation, selection: selection(), fragments };
  }
  if (!document) throw new GraphqlProblem('A query is needed', 'parse');
  return document;
}

const TOKEN = /"(?:[^"\\]|\\.)*"|\.\.\.|[A-Za-z_]\w*|-?\d+(?:\.\d+)?|[{}()[\]:$!=@]/g;

/** Variable definitions are skipped by the parser: this server takes what it is given. */
export async function execute(
  document: Document,
  root: Node,
  variables: Record<string, unknown>,
  problems: unknown[],
): Promise<unknown> {
  const plain = (value: Value): unknown => {
    if ('literal' in value) return value.literal;
    if ('variable' in value) return variables[value.variable];
    if ('list' in value) return value.list.map(plain);
    return Object.fromEntries(Object.entries(value.object).map(([key, one]) => [key, plain(one)]));
  };
  const fieldsOf = (selection: readonly Selection[], type: string): Field[] =>
    selection.flatMap((one) => {
      if ('field' in one) return [one.field];
      const fragment = 'spread' in one ? document.fragments.get(one.spread) : one;
      if (!fragment) throw new GraphqlProblem('Fragment is not defined');
      return fragment.on === type || fragment.on === 'Node' ? fieldsOf(fragment.selection, type) : [];
    });
  type Path = readonly (string | number)[];
  const complete = async (value: unknown, field: Field, path: Path): Promise<unknown> => {
    const settled = await value;
    if (settled instanceof LeftOut) {
      problems.push({ type: settled.type, path, message: settled.message });
      return null;
    }
    if (settled === null || settled === undefined) return null;
    if (Array.isArray(settled))
      return Promise.all(settled.map((one, index) => complete(one, field, [...path, index])));
    if (typeof settled !== 'object') return settled;
    return resolveNode(settled as Node, field.selection, path);
  };
  const resolveNode = async (node: Node, selection: readonly Selection[], path: Path): Promise<unknown> => {
    const answer: Record<string, unknown> = {};
    for (const field of fieldsOf(selection, node.__typename)) {
      if (!(field.name in node))
        throw new GraphqlProblem(`Field '${field.name}' doesn't exist on type '${node.__typename}'`);
      const raw = node[field.name];
      const given = Object.fromEntries(Object.entries(field.args).map(([key, one]) => [key, plain(one)]));
      answer[field.alias] = await complete(
        typeof raw === 'function' ? (raw as (args: unknown) => unknown)(given) : raw,
        field,
        [...path, field.alias],
      );
    }
    return answer;
  };
  return resolveNode(root, document.selection, []);
}

/** How many rows a query could answer with: of a connection its size, and as often what is asked of each row. */
export function countNodes({ selection, fragments }: Document): number {
  const within = (parts: readonly Selection[]): number =>
    parts.reduce((sum, part) => {
      if ('spread' in part) return sum + within(fragments.get(part.spread)?.selection ?? []);
      if (!('field' in part)) return sum + within(part.selection);
      const { args, selection: inner } = part.field;
      const size = args.first ?? args.last;
      const rows = size && 'literal' in size ? Number(size.literal) : null;
      return sum + (rows === null ? within(inner) : rows * (1 + within(inner)));
    }, 0);
  return within(selection);
}
