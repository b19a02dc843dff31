import { expect, test } from 'vitest';
import { strangeJson } from './strange-json.ts';

test.each(['[1, 2, 3, 4]', '{"a": 1, "b": [2]}', '[[[[1]]]]'])(
  '%s has four parts at the least, and is read within five',
  (text) => {
    expect(strangeJson(text, 5)).toEqual(JSON.parse(text));
    expect(() => strangeJson(text, 3)).toThrow(/more than 3 parts/);
  },
);

test('what stands in a string is no part', () => {
  const value = ['[{,:\\"[{,:', 'a\\', '[[[[[['];
  expect(strangeJson(JSON.stringify(value), 3)).toEqual(value);
});

test('what is not JSON is an error, as ever', () => {
  expect(() => strangeJson('{"a"')).toThrow(SyntaxError);
});
