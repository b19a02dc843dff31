import { expect, test } from 'vitest';
import { ordinal } from './ordinal.ts';

test('every number has its ending', () => {
  expect([1, 2, 3, 4, 10, 11, 12, 13, 21, 102, 111, 1003].map(ordinal).join(' ')).toBe(
    '1st 2nd 3rd 4th 10th 11th 12th 13th 21st 102nd 111th 1003rd',
  );
});
