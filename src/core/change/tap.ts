/**
 * The Test Anything Protocol in a command's output: `TAP version 13`, `not ok 3 - name`, subtests indented by four.
 *
 * Only a whole report counts: each document has its plan at the end or the beginning, and as many results as it says.
 */
import { fileIn, type TestCase } from './test-report.ts';

export function readTap(output: string, root: string): TestCase[] | null {
  const lines = output.replace(ANSI, '').split(/\r?\n/);
  const starts = lines.flatMap((line, index) => (/^TAP version 1[34]\s*$/.test(line) ? [index] : []));
  const documents = starts.map((start, at) => readDocument(lines.slice(start + 1, starts[at + 1]), root));
  const cases: TestCase[] = [];
  for (const document of documents) {
    if (document === null) return null;
    cases.push(...document);
  }
  return cases.length === 0 ? null : cases;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal colours begin with one
const ANSI = /\x1b\[[0-9;?]*[A-Za-z]/g;
const RESULT = /^((?: {4})*)(not )?ok (\d+)(?: -)?(?: (.*))?$/;
const PLAN = /^1\.\.(\d+)(?:\s+#.*)?\s*$/;
const DIRECTIVE = /(?<!\\)#\s*(skip|todo)\b.*$/i;

function readDocument(lines: readonly string[], root: string): TestCase[] | null {
  /** By depth: results whose parent has not come yet. */
  const open: TestCase[][] = [[]];
  let planned: number | null = null;
  let results = 0;
  let last: { test: TestCase; indent: string } | null = null;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index]!;
    if (/^\s*Bail out!/.test(line)) return null;
    const plan = PLAN.exec(line);
    const result = RESULT.exec(line);
    if (plan) planned = Number(plan[1]);
    if (result) {
      const [, indent = '', not, , said = ''] = result;
      const depth = indent.length / 4;
      if (depth === 0) results += 1;
      const test = caseOf(said, not !== undefined);
      addTo(open, depth, test);
      last = { test, indent };
    } else if (last && line === `${last.indent}  ---`) {
      // What a test says about itself may look like a result.
      const end = lines.indexOf(`${last.indent}  ...`, index);
      if (end < 0) return null;
      addFile(last.test, lines.slice(index, end), root);
      index = end;
      last = null;
    }
  }
  return planned === results ? open[0]! : null;
}

function caseOf(said: string, not: boolean): TestCase {
  const directive = DIRECTIVE.exec(said)?.[1]?.toLowerCase();
  const name = said.replace(DIRECTIVE, '').trim();
  if (directive !== undefined) return { name, outcome: 'skipped' };
  return { name, outcome: not ? 'failed' : 'passed' };
}

/** The results of subtests come before their parent's, which says nothing more unless it failed by itself. */
function addTo(open: TestCase[][], depth: number, test: TestCase): void {
  const below = open[depth + 1] ?? [];
  open.length = depth + 1;
  for (let above = 0; above <= depth; above++) open[above] ??= [];
  open[depth]!.push(...below.map((one) => ({ ...one, name: `${test.name} > ${one.name}` })));
  const isTold = below.length > 0 && (test.outcome !== 'failed' || below.some(isFailed));
  if (!isTold) open[depth]!.push(test);
}

const isFailed = ({ outcome }: TestCase): boolean => outcome === 'failed';

/** Two files may have a test of the same name. Node tells the file of a failure only. */
function addFile(test: TestCase, block: readonly string[], root: string): void {
  const location = block.map((line) => /^\s*location: ['"]?(.+?)['"]?$/.exec(line)?.[1]).find(Boolean);
  if (location) test.file = fileIn(root, location);
}
