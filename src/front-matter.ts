/** A Markdown file cut into its two parts: YAML between `---` lines, and the body. Lines are those of the file. */
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { plainValues } from './plain-yaml.ts';

export type Path = readonly (string | number)[];

export interface FrontMatter {
  values: Record<string, unknown>;
  /** With plain newlines, without the blank lines around it. */
  body: string;
  /** The file's line on which `body` begins. */
  bodyLine: number;
  /** The line of the key at this path, or of the nearest one above it that exists. */
  lineOf(path: Path): number;
  /** The file's line of one line of the text that stands at this path. */
  lineOfText(path: Path, line: number): number;
}

/** What is wrong with a file, and on which of its lines. */
export class BadMarkdown extends Error {
  override name = 'BadMarkdown';
  readonly line: number;
  constructor(line: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.line = line;
  }
}

/** The front matter can't be read; the message is that of the first problem. */
export class BadFrontMatter extends BadMarkdown {
  override name = 'BadFrontMatter';
  readonly kind: 'unclosed' | 'yaml' | 'not_a_map';
  readonly problems: readonly FrontMatterProblem[];
  constructor(kind: BadFrontMatter['kind'], problems: readonly FrontMatterProblem[], options?: ErrorOptions) {
    super(problems[0]!.line, problems[0]!.text, options);
    this.kind = kind;
    this.problems = problems;
  }
}

interface FrontMatterProblem {
  line: number;
  text: string;
}

export function readFrontMatter(source: string): FrontMatter {
  const { front, rest } = splitFrontMatter(source);
  // Without the last newline what is wrong at the end is told of the last line, not of the `---` below it.
  const yaml = (front ?? '').replaceAll('\r\n', '\n').replace(/\n$/, '');
  const plain = plainValues(yaml);
  let parsed = plain === null ? parseYaml(yaml) : null;
  const parse = (): ParsedYaml => {
    parsed ??= parseYaml(yaml);
    return parsed;
  };
  const below = rest.replaceAll('\r\n', '\n');
  const body = below.replace(/^(?:[ \t]*\n)+/, '');
  const before = source.slice(0, source.length - rest.length) + below.slice(0, below.length - body.length);
  return {
    values: plain ?? valuesOf(parse()),
    body: body.trimEnd(),
    bodyLine: before.split('\n').length,
    lineOf: (path) => {
      const { document, lineAt } = parse();
      const offset = keyOffset(document, path);
      return offset === null ? 1 : lineAt(offset);
    },
    lineOfText: (path, line) => {
      const { document, lineAt } = parse();
      const node = document.getIn(path, true);
      const start = isScalar(node) && node.range ? lineAt(node.range[0]) : 1;
      // Only a literal block keeps its lines; its text begins below the `|`.
      return isScalar(node) && node.type === 'BLOCK_LITERAL' ? start + line : start;
    },
  };
}

interface ParsedYaml {
  document: Document.Parsed;
  lineAt(offset: number): number;
}

function parseYaml(yaml: string): ParsedYaml {
  const counter = new LineCounter();
  const document = parseDocument(yaml, { lineCounter: counter, prettyErrors: false });
  /** The YAML begins on the file's second line. */
  const lineAt = (offset: number): number => counter.linePos(offset).line + 1;
  if (document.errors.length > 0) throw new BadFrontMatter('yaml', yamlProblems(document, lineAt));
  return { document, lineAt };
}

/** Each part as it stands; `front` is null when the file has none. */
export function splitFrontMatter(source: string): { bom: string; front: string | null; rest: string } {
  const bom = source.startsWith('\uFEFF') ? '\uFEFF' : '';
  const text = source.slice(bom.length);
  const opening = /^---[ \t]*(?:\r?\n|$)/.exec(text);
  if (!opening) return { bom, front: null, rest: text };
  const inside = text.slice(opening[0].length);
  const closing = /(?:^|\n)---[ \t]*(?:\r?\n|$)/.exec(inside);
  if (!closing) {
    const problem = 'the front matter is never closed; write a line with only --- after it';
    throw new BadFrontMatter('unclosed', [{ line: 1, text: problem }]);
  }
  const end = closing.index + (closing[0].startsWith('\n') ? 1 : 0);
  return { bom, front: inside.slice(0, end), rest: inside.slice(closing.index + closing[0].length) };
}

/** One a line: what the parser stumbles over next on the same line follows from it. */
function yamlProblems(document: Document.Parsed, lineAt: (offset: number) => number): FrontMatterProblem[] {
  const byLine = new Map<number, FrontMatterProblem>();
  for (const { pos, message } of document.errors) {
    const line = lineAt(pos[0]);
    if (!byLine.has(line)) byLine.set(line, { line, text: notYaml(message) });
  }
  return [...byLine.values()];
}

const notYaml = (why: string): string => `the front matter is not valid YAML: ${why}`;

function valuesOf({ document, lineAt }: ParsedYaml): Record<string, unknown> {
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return {};
  if (!isMap(root)) {
    const line = root.range ? lineAt(root.range[0]) : 2;
    const text = 'the front matter must be lines of "key: value"';
    throw new BadFrontMatter('not_a_map', [{ line, text }]);
  }
  try {
    return document.toJS({ maxAliasCount: 100 }) as Record<string, unknown>;
  } catch (cause) {
    throw new BadFrontMatter('yaml', [{ line: 2, text: notYaml((cause as Error).message) }], { cause });
  }
}

function keyOffset(document: Document, path: Path): number | null {
  let node: unknown = document.contents;
  let offset: number | null = null;
  for (const step of path) {
    let named: unknown;
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step));
      named = pair?.key;
      node = pair?.value;
    } else if (isSeq(node)) {
      named = node = node.items[Number(step)];
    }
    if (!isNode(named) || !named.range) break;
    offset = named.range[0];
  }
  return offset;
}
