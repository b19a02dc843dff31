import { describe, expect, test } from 'vitest';
import { filesIn } from './apart.ts';

describe('the files an issue names', () => {
  const told: [string, string, string[]][] = [
    ['in code', 'Rename `parse` in `parse.ts`.', ['parse.ts']],
    ['with its folder', 'See src/core/parse.ts.', ['src/core/parse.ts']],
    ['within a command', 'Runs `node ./bin/tool.js --all`', ['bin/tool.js']],
    ['once', '`a.ts`, and `a.ts` again', ['a.ts']],
    ['no abbreviation, no product', 'Parses, e.g. what Node.js prints, i.e. 1.2.3.', []],
    ['no property', 'Returns `list.length`.', []],
    ['no address', 'https://example.com/page.html', []],
    ['nothing hostile takes long', `${'a/'.repeat(50_000)}${'.a'.repeat(50_000)}`, []],
  ];
  test.each(told)('%s', (_what, text, files) => {
    expect(filesIn(text)).toEqual(files);
  });
});
