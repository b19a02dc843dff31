import { describe, expect, test } from 'vitest';
import { HARMLESS, PLANTED } from '../../../test/support/planted-secrets.ts';
import { knownValues, redact, redactCommand, redactShapes, redactValue } from './redact.ts';
import { KEY_SHAPES, LOOSE_SHAPES } from './secret-shapes.ts';

/** How a secret is met: alone, in a sentence, coloured, in quotes, in JSON, in JSON that is quoted in JSON. */
const PLACES: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `before ${text} after`,
  (text) => `\x1b[31m${text}\x1b[39m`,
  (text) => `"${text}"`,
  (text) => JSON.stringify({ said: `first\n${text}\nlast` }),
  (text) => JSON.stringify({ line: JSON.stringify({ said: `first\n${text}` }) }),
];

test('at least thirty kinds are planted, and each shape among them', () => {
  expect(PLANTED.length).toBeGreaterThan(60);
  const unplanted = [...KEY_SHAPES, ...LOOSE_SHAPES].filter(
    ({ shape }) => !PLANTED.some(({ text }) => shape.test(text)),
  );
  expect(unplanted).toEqual([]);
});

describe.each(PLANTED)('$kind', ({ text, secret }) => {
  test.each(PLACES.map((place, at) => [at, place(text)] as const))(
    'is struck out at place %i',
    (_at, said) => {
      const shown = redact(said);
      expect(shown).toContain('[redacted]');
      expect(shown).not.toContain(secret);
      expect(redact(shown)).toBe(shown);
      expect(redactCommand(said)).not.toContain(secret);
      expect(redact(redactCommand(said))).toBe(redactCommand(said));
    },
  );

  test('JSON stays JSON, with the same names', () => {
    const value = { a: [text, { b: `x ${text} y`, n: 1 }], token: text, done: true };
    for (const indent of [0, 2]) {
      const shown = JSON.parse(redact(JSON.stringify(value, null, indent))) as typeof value;
      expect(Object.keys(shown)).toEqual(Object.keys(value));
      expect(shown.a[1]).toMatchObject({ n: 1 });
      expect(JSON.stringify(shown)).not.toContain(JSON.stringify(secret).slice(1, -1));
    }
  });

  test('what is around it stays', () => {
    expect(redact(`before ${text} after`)).toMatch(/^before .* after$/s);
  });
});

test.each(HARMLESS)('left as it is: %s', (text) => {
  for (const place of PLACES) expect(redact(place(text))).toBe(place(text));
});

test('a key that was cut in the middle goes as far as it is there', () => {
  const { text } = PLANTED[0]!;
  expect(redact(`${text.slice(0, 90)}`)).toBe('[redacted]');
  expect(redact('it says -----BEGIN PRIVATE KEY----- in a.ts, which is no key')).toBe(
    'it says [redacted] in a.ts, which is no key',
  );
});

test('of a command every value of a secret name goes, however short', () => {
  expect(redactCommand(`TOKEN=x PASSWORD='a b' run --api-key k --model m sk-abcdefgh "$TOKEN"`)).toBe(
    'TOKEN=[redacted] PASSWORD=[redacted] run --api-key [redacted] --model m [redacted] "$TOKEN"',
  );
  expect(redactCommand('MY_TOKEN=$MY_TOKEN run --token "$T"')).toBe('MY_TOKEN=$MY_TOKEN run --token "$T"');
});

test('of a prompt only keys go', () => {
  const { text } = PLANTED.find(({ kind }) => kind === 'a GitHub token')!;
  expect(redactShapes(`Never print API_KEY=abcdef12 or ${text}`)).toBe(
    'Never print API_KEY=abcdef12 or [redacted]',
  );
});

test('known values go whatever they look like, also in JSON and in addresses', () => {
  const known = knownValues(['pass word/1', 'quo"te\\d', 'pass word/1 and more']);
  const said = `a pass word/1 b pass word/1 and more ${encodeURIComponent('pass word/1')} ${JSON.stringify('quo"te\\d')}`;
  expect(redact(said, known)).toBe('a [redacted] b [redacted] [redacted] "[redacted]"');
});

test('a value keeps its form', () => {
  const at = new Date(0);
  const text = (said: string) => said.replaceAll('x', '-');
  const value = { a: ['x', 1, null, undefined], b: { command: ['x'] }, at, x: true };
  expect(redactValue(value, { text, command: () => 'c' })).toEqual({
    a: ['-', 1, null, undefined],
    b: { command: ['c'] },
    at,
    x: true,
  });
});

test('a long line takes no longer than its length', () => {
  for (const line of [
    'a'.repeat(300_000),
    '://'.repeat(100_000),
    'token='.repeat(50_000),
    '--api-'.repeat(50_000),
    '-----BEGIN PRIVATE KEY-----\n'.repeat(10_000),
  ])
    expect(redact(line).length).toBeLessThanOrEqual(line.length);
});
