/**
 * A JUnit report, as most test runners can write one: `<testcase>` elements, with `<failure>` or `<error>` inside.
 *
 * It was written by project code, so it is read with suspicion: no document type and so no entities but XML's own, no
 * name is looked up anywhere, and a file that is not whole is no report. The time it takes grows with its length only.
 */
import { fileIn, type TestCase } from './test-report.ts';

export function readJUnit(xml: string, root: string): TestCase[] | null {
  const cases: TestCase[] = [];
  const path: string[] = [];
  let current: TestCase | null = null;
  let seenRoot = false;
  for (let at = xml.indexOf('<'); at >= 0; at = xml.indexOf('<', at)) {
    const skipped = skip(xml, at);
    if (skipped === null) return null;
    if (skipped > at) {
      at = skipped;
      continue;
    }
    TAG.lastIndex = at;
    const tag = TAG.exec(xml);
    if (!tag) return null;
    at = TAG.lastIndex;
    const [, closes, name = '', attributes = '', empty] = tag;
    if (closes) {
      if (path.pop() !== name) return null;
      if (name === 'testcase') current = null;
      continue;
    }
    if (path.length === 0 && (seenRoot || !ROOTS.has(name))) return null;
    seenRoot = true;
    if (name === 'testcase') {
      current = caseOf(attributes, root);
      cases.push(current);
    }
    if (name === 'skipped' && current?.outcome === 'passed') current.outcome = 'skipped';
    if (name === 'failure' || name === 'error') {
      if (current) current.outcome = 'failed';
      else cases.push({ name: `(${path.at(-1)})`, outcome: 'failed', isSuite: true });
    }
    if (!empty) path.push(name);
    else if (name === 'testcase') current = null;
  }
  return seenRoot && path.length === 0 ? cases : null;
}

const ROOTS = new Set(['testsuites', 'testsuite']);
const TAG = /<(\/?)([\w:.-]+)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>/y;

/** Behind what is no element; `at` itself when it is one; null when it never ends, or may not be there. */
function skip(xml: string, at: number): number | null {
  for (const [begins, ends] of SKIPPED) {
    if (!xml.startsWith(begins, at)) continue;
    const end = xml.indexOf(ends, at + begins.length);
    return end < 0 ? null : end + ends.length;
  }
  return xml.startsWith('<!', at) ? null : at;
}

const SKIPPED = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const;

function caseOf(attributes: string, root: string): TestCase {
  const of = (name: string): string => decoded(attributeOf(attributes, name));
  const where = of('file') ? fileIn(root, of('file')) : of('classname');
  return { name: where ? `${where}: ${of('name')}` : of('name'), outcome: 'passed' };
}

function attributeOf(attributes: string, wanted: string): string {
  for (const [, name, double, single] of attributes.matchAll(ATTRIBUTE))
    if (name === wanted) return double ?? single ?? '';
  return '';
}

const ATTRIBUTE = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

const NAMED: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decoded(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex, decimal, name) => {
    if (name) return NAMED[name] ?? whole;
    const point = hex ? Number.parseInt(hex, 16) : Number(decimal);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
