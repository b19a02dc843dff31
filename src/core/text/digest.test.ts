import { expect, test } from 'vitest';
import { digestOf, digestOfValue } from './digest.ts';

test('what was stored yesterday is known again: the beginning of SHA-256, in hexadecimal', () => {
  expect(digestOf('a', 12)).toBe('ca978112ca1b');
  expect(digestOf('a', 64)).toBe('ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb');
  expect(digestOfValue('a')).toBe(digestOf('"a"', 16));
});
