/** WORKFLOW.md cut into its two parts: YAML between `---` lines, and the Markdown body. Lines are those of the file. */
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { ConfigError, type ConfigProblem } from '../errors.ts';
import { configError } from './problems.ts';

export type Path = readonly (string | number)[];

export interface FrontMatter {
  values: Record<string, unknown>;
  /** Without the blank lines around it. */
  body: string;
  /** The file's line on which `body` begins. */
  bodyLine: number;
  /** The line of the key at this path, or of the nearest one above it that exists. */
  lineOf(path: Path): number;
  /** The file's line of one line of the text that stands at this path. */
  lineOfText(path: Path, line: number): number;
}

export function readFrontMatter(file: string, source: string): FrontMatter {
  const text = source.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const lines = text.split('\n');
  if (lines[0]?.trimEnd() !== '---') {
    return { values: {}, ...bodyFrom(lines, 0), lineOf: () => 1, lineOfText: (_path, line) => line };
  }
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === '---');
  if (end === -1) {
    const hint = 'Write a line with only --- after the settings.';
    throw new ConfigError('yaml', `${file}:1: the front matter is never closed`, { file, line: 1 }, hint);
  }

  const counter = new LineCounter();
  const document = parseDocument(lines.slice(1, end).join('\n'), {
    lineCounter: counter,
    prettyErrors: false,
  });
  /** The YAML begins on the file's second line. */
  const lineAt = (offset: number): number => counter.linePos(offset).line + 1;
  if (document.errors.length > 0) throw configError(file, 'yaml', yamlProblems(document, lineAt));
  return {
    values: valuesOf(file, document, lineAt),
    ...bodyFrom(lines, end + 1),
    lineOf: (path) => {
      const offset = keyOffset(document, path);
      return offset === null ? 1 : lineAt(offset);
    },
    lineOfText: (path, line) => {
      const node = document.getIn(path, true);
      const start = isScalar(node) && node.range ? lineAt(node.range[0]) : 1;
      // Only a literal block keeps its lines; its text begins below the `|`.
      return isScalar(node) && node.type === 'BLOCK_LITERAL' ? start + line : start;
    },
  };
}

/** One a line: what the parser stumbles over next on the same line follows from it. */
function yamlProblems(document: Document.Parsed, lineAt: (offset: number) => number): ConfigProblem[] {
  const byLine = new Map<number, ConfigProblem>();
  for (const { pos, message } of document.errors) {
    const line = lineAt(pos[0]);
    const text = `the front matter is not valid YAML: ${message}`;
    if (!byLine.has(line)) byLine.set(line, { level: 'error', line, key: null, text, hint: null });
  }
  return [...byLine.values()];
}

function valuesOf(
  file: string,
  document: Document,
  lineAt: (offset: number) => number,
): Record<string, unknown> {
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) return {};
  if (!isMap(root)) {
    const line = root.range ? lineAt(root.range[0]) : 2;
    const message = `${file}:${line}: the front matter must be a map of settings (key: value)`;
    throw new ConfigError(
      'not_a_map',
      message,
      { file, line },
      'Write for example "agent:" and below it "  max_turns: 20".',
    );
  }
  try {
    return document.toJS({ maxAliasCount: 100 }) as Record<string, unknown>;
  } catch (cause) {
    const message = `${file}:2: the front matter is not valid YAML: ${(cause as Error).message}`;
    throw new ConfigError('yaml', message, { file, line: 2 }, null, { cause });
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

function bodyFrom(lines: readonly string[], start: number): { body: string; bodyLine: number } {
  const first = lines.findIndex((line, index) => index >= start && line.trim() !== '');
  if (first === -1) return { body: '', bodyLine: lines.length };
  return { body: lines.slice(first).join('\n').trimEnd(), bodyLine: first + 1 };
}
