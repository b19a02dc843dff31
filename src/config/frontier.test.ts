import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { NO_FRONTIER } from '../core/direction/frontier.ts';
import { FRONTIER_SCAFFOLD, frontierSchema, openFrontier, readFrontier } from './frontier.ts';

const said = (source: string): string[] =>
  readFrontier(source).problems.map(
    ({ level, line, text, hint }) => `${level} ${line}: ${text}${hint ? ` (${hint})` : ''}`,
  );

describe('reading', () => {
  test('all keys, in all their forms', () => {
    const source = `goal: A loop to trust
current_problem: Sessions are lost
next_expansion:
  - session recovery
rejected_approaches:
  - a cluster of our own
  - approach: rewrite in Rust
    why: nobody would maintain it
hot_files: [src/core/decide.ts, src/store]
`;
    expect(readFrontier(source)).toEqual({
      frontier: {
        goal: 'A loop to trust',
        currentProblem: 'Sessions are lost',
        nextExpansion: ['session recovery'],
        rejected: [
          { approach: 'a cluster of our own', why: null },
          { approach: 'rewrite in Rust', why: 'nobody would maintain it' },
        ],
        hotFiles: ['src/core/decide.ts', 'src/store'],
      },
      problems: [],
    });
    expect(readFrontier('next_expansion: session recovery').frontier.nextExpansion).toEqual([
      'session recovery',
    ]);
  });

  test.each([
    ['nothing', ''],
    ['only comments', '# later\n'],
    ['what a new file says', FRONTIER_SCAFFOLD],
    ['a document mark above it', '---\ngoal:\n'],
  ])('%s is no direction, and no mistake', (_what, source) => {
    expect(readFrontier(source)).toEqual({ frontier: NO_FRONTIER, problems: [] });
  });
});

describe('mistakes', () => {
  test('a key that is misspelt is named, with what was meant, and the others hold', () => {
    expect(said('goal: x\nnext_expansions: [a]')).toEqual([
      'warning 2: unknown key next_expansions (Did you mean next_expansion?)',
    ]);
    expect(readFrontier('goal: x\nnext_expansions: [a]').frontier.goal).toBe('x');
  });

  test.each<[string, string, string]>([
    [
      'a map for a text',
      'goal: { a: b }',
      '1: goal is left out: it must be a text of at most 500 characters',
    ],
    [
      'a number in a list',
      'goal: x\nnext_expansion:\n  - a\n  - 7',
      '4: next_expansion is left out: it must be a text or a list of at most 50 texts',
    ],
    [
      'a path out of the repository',
      'hot_files:\n  - a\n  - ../b',
      '3: hot_files is left out: it must be a list of at most 50 paths from the top of the repository',
    ],
    [
      'too much of it',
      `next_expansion: [${'a,'.repeat(51)}]`,
      '1: next_expansion is left out: it must be a text or a list of at most 50 texts',
    ],
  ])('%s: that key is left out, with its line', (_what, source, problem) => {
    expect(said(source)).toEqual([`error ${problem}`]);
  });

  test('no map at all', () => {
    expect(said('- a\n- b')).toEqual(['error 1: must be a map (goal: …)']);
  });

  test('no YAML: the line is that of the file', () => {
    const [problem] = said('goal: x\nhot_files: [a\n');
    expect(problem).toMatch(/^error [23]: /);
    expect(readFrontier('goal: x\nhot_files: [a\n').frontier).toEqual(NO_FRONTIER);
  });

  test('a file that is too large is not read', () => {
    expect(said(`goal: ${'x'.repeat(70_000)}`)).toEqual(['error 1: is larger than 64 KiB']);
  });
});

test('the file is read again when it changed; without one there is no direction', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'forge-frontier-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'frontier.yaml');
  const read = openFrontier(file);
  expect(await read()).toEqual({ frontier: NO_FRONTIER, problems: [] });
  writeFileSync(file, 'goal: one');
  expect((await read()).frontier.goal).toBe('one');
  expect(await read(), 'the same answer').toBe(await read());
  writeFileSync(file, 'goal: another');
  expect((await read()).frontier.goal).toBe('another');
});

test('schema/frontier.schema.json is what the code reads (UPDATE_DOCS=1 rewrites it)', () => {
  const file = new URL('../../schema/frontier.schema.json', import.meta.url);
  const schema = z.toJSONSchema(frontierSchema, { io: 'input' });
  const text = `${JSON.stringify(schema, null, 2)}\n`;
  if (process.env.UPDATE_DOCS) writeFileSync(file, text);
  expect(readFileSync(file, 'utf8')).toBe(text);
});
