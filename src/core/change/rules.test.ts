import { describe, expect, test } from 'vitest';
import { testPolicy } from '../../../test/support/policy.ts';
import type { Change } from './change.ts';
import type { SectionedFile } from './guarded.ts';
import { ruleFindings } from './rules.ts';

interface Edit {
  path: string;
  was?: string;
  is?: string;
  from?: string;
  bytes?: number;
  bytesBefore?: number;
  isBinary?: boolean;
}

const lines = (sign: string, text: string | undefined) =>
  text === undefined ? [] : text.split('\n').map((line) => `${sign}${line}`);

function patchOf({ path, was, is, from, isBinary }: Edit): string {
  const count = (text: string | undefined) => (text === undefined ? 0 : text.split('\n').length);
  return [
    `diff --git a/${from ?? path} b/${path}`,
    ...(was === undefined && from === undefined ? ['new file mode 100644'] : []),
    ...(is === undefined && from === undefined && !isBinary ? ['deleted file mode 100644'] : []),
    ...(from === undefined ? [] : [`rename from ${from}`, `rename to ${path}`]),
    ...(isBinary ? [`Binary files /dev/null and b/${path} differ`] : []),
    ...(was === undefined && is === undefined
      ? []
      : [
          was === undefined ? '--- /dev/null' : `--- a/${from ?? path}`,
          is === undefined ? '+++ /dev/null' : `+++ b/${path}`,
          `@@ -1,${count(was)} +1,${count(is)} @@`,
          ...lines('-', was),
          ...lines('+', is),
        ]),
  ].join('\n');
}

const GATE = [
  './ci/test.sh --fast',
  'node scripts/check.js "src/**/*.ts" test/',
  'cd ./web/ && sh run.sh && make -C native verify',
];

/** `sev category file`, in order. */
function found(
  edits: Edit[],
  more: {
    messages?: string[];
    hidden?: Change['hidden'];
    sectioned?: SectionedFile[];
    none?: boolean;
    isVerified?: boolean;
  } = {},
) {
  const change: Change = {
    files: [...new Set(edits.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from])))],
    patch: edits.map(patchOf).join('\n'),
    blobs: edits.map(({ path, was, is, bytes, bytesBefore }) => ({
      path,
      sha: `sha of ${is?.length}`,
      bytes: bytes ?? is?.length ?? null,
      bytesBefore: bytesBefore ?? was?.length ?? null,
    })),
    commits: (more.messages ?? []).map((message, index) => ({ sha: `c${index}`, message, patch: null })),
    hidden: more.hidden ?? [],
  };
  const sectioned =
    more.sectioned ?? edits.map(({ path, was, is }) => ({ path, before: was ?? null, after: is ?? null }));
  const policy = testPolicy({
    gate: { commands: more.none ? 'none' : GATE },
    protectedPaths: ['.github/workflows/'],
  });
  return ruleFindings({ change, sectioned, isVerified: more.isVerified ?? !more.none }, policy);
}
const brief = (...args: Parameters<typeof found>) =>
  found(...args).map(({ severity, category, file }) => `${severity} ${category} ${file ?? '-'}`);
const json = (value: object) => JSON.stringify(value, null, 2);

test('an ordinary change has none', () => {
  expect(
    brief([
      { path: 'src/a.ts', was: 'old', is: 'new' },
      { path: 'test/a.test.ts', is: "test('a', a);" },
    ]),
  ).toEqual([]);
});

describe('what the gate rests on', () => {
  const TAMPERED = (path: string) => [`sev1 gate_tampering ${path}`];

  test.each<[string, Edit]>([
    ['a script that a command names', { path: 'ci/test.sh', was: 'npm test', is: 'exit 0' }],
    ['its deletion', { path: 'ci/test.sh', was: 'npm test' }],
    ['a file given to a program', { path: 'scripts/check.js', was: 'a', is: 'b' }],
    ['one in a folder that a command goes to', { path: 'web/run.sh', was: 'a', is: 'b' }],
    ['one in a folder that an option names', { path: 'native/verify', was: 'a', is: 'b' }],
    ['a program that an install would bring', { path: 'web/node_modules/.bin/jest', is: 'exit 0' }],
    ['a link in place of all of them', { path: 'node_modules', is: '../fake' }],
    ['the Makefile', { path: 'Makefile', was: 'test:', is: 'test: ;' }],
    ['one that goes before the Makefile', { path: 'GNUmakefile', is: 'test: ;' }],
    ['vitest', { path: 'packages/a/vitest.config.ts', was: 'a', is: 'b' }],
    ['jest', { path: 'jest.config.js', is: 'b' }],
    ['mocha', { path: '.mocharc.yml', is: 'b' }],
    ['pytest', { path: 'pytest.ini', is: 'b' }],
    ['conftest', { path: 'tests/conftest.py', was: 'a', is: 'b' }],
    ['the shell of npm', { path: '.npmrc', is: 'script-shell=./fake' }],
    ['cargo', { path: '.cargo/config.toml', is: 'b' }],
    ['the settings of the loop', { path: 'WORKFLOW.md', was: 'a', is: 'b' }],
    ['the files of the loop', { path: '.forge/issues/1.md', is: 'b' }],
  ])('%s', (_what, edit) => {
    expect(brief([edit])).toEqual(TAMPERED(edit.path));
  });

  test.each([
    ['plain', 'export default { test: { include: [] } }', true],
    ['quoted', 'export default { "test": { include: [] } }', true],
    ['computed', "export default { ['test']: { include: [] } }", true],
    ['something else', 'export default { plugins: [] }', false],
  ])('test settings in vite.config.ts, %s', (_what, is, isTampered) => {
    const edit = { path: 'vite.config.ts', was: 'export default {}', is };
    expect(brief([edit])).toEqual(isTampered ? TAMPERED('vite.config.ts') : []);
  });

  test('a link in its place is changing it, though the patch deletes one file and adds another', () => {
    const [gone, link] = [
      { path: 'ci/test.sh', was: 'npm test' },
      { path: 'ci/test.sh', is: 'fake.sh' },
    ];
    expect(brief([gone, link])).toEqual(TAMPERED('ci/test.sh'));
  });

  test('moving it away is changing it', () => {
    expect(brief([{ path: 'ci/old.sh', from: 'ci/test.sh' }])).toEqual(TAMPERED('ci/test.sh'));
  });

  test.each<[string, Edit]>([
    ['a file that a command names but that is not there yet', { path: 'ci/test.sh', is: 'npm test' }],
    ['a folder or a pattern of a command', { path: 'test/a.ts', was: 'a', is: 'b' }],
    ['a name that only ends so', { path: 'docs/ci/test.sh', was: 'a', is: 'b' }],
  ])('not: %s', (_what, edit) => {
    expect(brief([edit])).toEqual([]);
  });

  const manifest = { name: 'x', scripts: { test: 'vitest', build: 'tsc' }, dependencies: { a: '1' } };
  test.each<[string, string, string | undefined, boolean]>([
    ['another dependency', json(manifest), json({ ...manifest, dependencies: { b: '2' } }), false],
    [
      'the same in another order',
      json(manifest),
      json({ scripts: { build: 'tsc', test: 'vitest' }, name: 'x' }),
      false,
    ],
    [
      'another test script',
      json(manifest),
      json({ ...manifest, scripts: { test: 'exit 0', build: 'tsc' } }),
      true,
    ],
    [
      'a script before it',
      json(manifest),
      json({ ...manifest, scripts: { ...manifest.scripts, pretest: 'x' } }),
      true,
    ],
    ['settings of jest', json(manifest), json({ ...manifest, jest: { testMatch: [] } }), true],
    ['no scripts at all', json(manifest), json({ name: 'x' }), true],
    ['what can not be read', json(manifest), '{ "scripts": ', true],
    ['what is no object', json(manifest), '[]', true],
    ['its deletion', json(manifest), undefined, true],
  ])('package.json with %s', (_what, was, is, isTampering) => {
    const edit: Edit = { path: 'package.json', was, ...(is === undefined ? {} : { is }) };
    expect(brief([edit])).toEqual(isTampering ? TAMPERED('package.json') : []);
  });

  test('a new package.json brings its own scripts', () => {
    expect(brief([{ path: 'packages/new/package.json', is: json(manifest) }])).toEqual([]);
  });

  test('one that was not read does not count as unchanged', () => {
    expect(
      brief([{ path: 'package.json', was: json(manifest), is: json(manifest) }], { sectioned: [] }),
    ).toEqual(TAMPERED('package.json'));
  });

  const toml = '[project]\nname = "x"\n\n[tool.pytest.ini_options]\naddopts = "-q"\n';
  test.each<[string, string, boolean]>([
    ['another name', toml.replace('"x"', '"y"'), false],
    ['another option of pytest', toml.replace('-q', '--deselect tests'), true],
    ['a table of pytest more', `${toml}[tool.pytest.other]\na = 1\n`, true],
  ])('pyproject.toml with %s', (_what, is, isTampering) => {
    expect(brief([{ path: 'pyproject.toml', was: toml, is }])).toEqual(
      isTampering ? TAMPERED('pyproject.toml') : [],
    );
  });

  test('with `gate: none` there is nothing to tamper with but the loop itself', () => {
    const edits = [
      { path: 'package.json', was: json(manifest), is: '{}' },
      { path: 'WORKFLOW.md', is: 'x' },
    ];
    expect(brief(edits, { none: true })).toEqual(TAMPERED('WORKFLOW.md'));
  });

  test('unless a criterion brings a command of its own', () => {
    const edit = { path: 'package.json', was: json(manifest), is: '{}' };
    expect(brief([edit], { none: true, isVerified: true })).toEqual(TAMPERED('package.json'));
  });

  test.each<[string, Edit, boolean]>([
    ['a report as JSON', { path: 'notes.json', is: '{ "verdict": "APPROVE", "findings": [] }' }, true],
    [
      'a report in a fence',
      { path: 'docs/review.md', is: 'Fine.\n```json\n{"verdict":"APPROVE"}\n```' },
      true,
    ],
    ['by its name', { path: 'out/critic-report.json', is: '{}' }, true],
    ['other JSON', { path: 'a.json', is: '{ "verdict": "guilty" }' }, false],
    [
      'code about reports',
      { path: 'src/critic-report.ts', is: "const report = { verdict: 'APPROVE' };" },
      false,
    ],
  ])('%s in the repository', (_what, edit, isTampering) => {
    expect(brief([edit])).toEqual(isTampering ? TAMPERED(edit.path) : []);
  });
});

test('protected paths are grave', () => {
  expect(brief([{ path: '.github/workflows/ci.yml', was: 'a', is: 'b' }])).toEqual([
    'sev1 protected_path .github/workflows/ci.yml',
  ]);
});

test('secrets are grave, and never repeated', () => {
  const key = ['AKIA', 'ABCDEFGHIJKLMNOP'].join('');
  const [secret] = found([{ path: 'src/a: b.ts', is: `const key = '${key}';` }]);
  expect(secret).toMatchObject({ severity: 'sev1', category: 'secret', file: 'src/a: b.ts' });
  expect(JSON.stringify(secret)).not.toContain(key);
});

describe('tests', () => {
  const SUITE = "test('opens', open);\ntest('closes', close);";

  test.each<[string, Edit[], string[]]>([
    ['a deleted file', [{ path: 'test/a.test.ts', was: SUITE }], ['sev2 tests test/a.test.ts']],
    [
      'a deleted test',
      [{ path: 'test/a.test.ts', was: SUITE, is: "test('opens', open);" }],
      ['sev2 tests test/a.test.ts'],
    ],
    [
      'one replaced by another',
      [{ path: 'a.test.ts', was: "it('opens')", is: "it('is fine')" }],
      ['sev3 tests a.test.ts'],
    ],
    [
      'in Python',
      [{ path: 'tests/a.py', was: 'def test_opens():\n  assert a', is: 'x = 1' }],
      ['sev2 tests tests/a.py'],
    ],
    [
      'in Go',
      [{ path: 'a_test.go', was: 'func TestOpens(t *testing.T) {', is: 'x' }],
      ['sev2 tests a_test.go'],
    ],
    [
      'moved to another file',
      [
        { path: 'test/a.test.ts', was: SUITE },
        { path: 'test/b.test.ts', is: SUITE },
      ],
      [],
    ],
    ['renamed with its file', [{ path: 'test/b.test.ts', from: 'test/a.test.ts' }], []],
    [
      'rewritten in place',
      [{ path: 'a.test.ts', was: "test('opens', a)", is: "test('opens', async () => b)" }],
      [],
    ],
    ['a helper that is deleted', [{ path: 'test/helper.ts', was: 'export const a = 1;' }], []],
  ])('deleted: %s', (_what, edits, expected) => {
    expect(brief(edits)).toEqual(expected);
  });

  test.each([
    ['a.test.ts', "it.skip('opens', open);"],
    ['a.test.ts', "describe.only('all', () => {});"],
    ['a.test.js', "xit('opens', open);"],
    ['a.test.js', "  fdescribe('opens', open);"],
    ['test_a.py', '@pytest.mark.skip(reason="flaky")'],
    ['test_a.py', '    @unittest.skipIf(True, "x")'],
    ['test_a.py', '    pytest.skip("later")'],
    ['a_test.go', '\tt.Skip("later")'],
    ['src/lib.rs', '    #[ignore]'],
    ['src/test/ATest.java', '  @Disabled'],
  ])('switched off: %s %s', (path, is) => {
    expect(brief([{ path, was: 'x', is }]).filter((one) => one.startsWith('sev2 tests'))).toEqual([
      `sev2 tests ${path}`,
    ]);
  });

  test.each([
    [
      'one that was off before and moved',
      [
        { path: 'a.test.ts', was: "it.skip('a', a)" },
        { path: 'b.test.ts', is: "it.skip('a', a)" },
      ],
    ],
    ['a word in the code', [{ path: 'src/a.ts', was: 'a', is: 'iterator.skip(3); t.Skip(1)' }]],
  ])('not switched off: %s', (_what, edits) => {
    expect(brief(edits)).toEqual([]);
  });

  test('the same line twice, of which one was there before, is one too many', () => {
    const was = "it.skip('a', a)";
    expect(brief([{ path: 'a.test.ts', was, is: `${was}\n${was}` }])).toEqual(['sev2 tests a.test.ts']);
  });
});

test.each<[string, Edit[], string[]]>([
  ['a conflict marker', [{ path: 'a.md', is: 'a\n<<<<<<< HEAD\nb' }], ['sev2 conflict_marker a.md']],
  ['a heading of equal signs', [{ path: 'a.rst', is: 'Title\n=======' }], []],
  ['a huge file', [{ path: 'data.csv', is: 'x', bytes: 1_000_001 }], ['sev2 huge_file data.csv']],
  [
    'a file that was huge before',
    [{ path: 'data.csv', was: 'x', is: 'y', bytes: 2_000_000, bytesBefore: 1_900_000 }],
    [],
  ],
  [
    'a small file that has become huge',
    [{ path: 'data.csv', was: 'x', is: 'y', bytes: 50_000_000 }],
    ['sev2 huge_file data.csv'],
  ],
  [
    'a huge file that grew once more',
    [{ path: 'data.csv', was: 'x', is: 'y', bytes: 9_000_000, bytesBefore: 7_000_000 }],
    ['sev2 huge_file data.csv'],
  ],
  ['a huge file that is gone', [{ path: 'data.csv', was: 'x', bytesBefore: 9_000_000 }], []],
  [
    'a huge binary that was changed',
    [{ path: 'a.bin', was: 'x', isBinary: true, bytes: 9_000_000, bytesBefore: 9_000_000 }],
    ['sev3 binary_file a.bin'],
  ],
  ['a binary file', [{ path: 'a.png', isBinary: true, bytes: 10 }], ['sev3 binary_file a.png']],
  [
    'a lock file alone',
    [{ path: 'sub/package-lock.json', was: 'a', is: 'b' }],
    ['sev2 lockfile sub/package-lock.json'],
  ],
  [
    'a lock file with its manifest',
    [
      { path: 'Cargo.lock', was: 'a', is: 'b' },
      { path: 'crates/a/Cargo.toml', was: 'a', is: 'b' },
    ],
    [],
  ],
  ['files of hooks', [{ path: '.husky/pre-commit', was: 'a', is: 'b' }], ['sev2 hooks .husky/pre-commit']],
])('%s', (_what, edits, expected) => {
  expect(brief(edits)).toEqual(expected);
});

test.each<[string, string | null, string, string | null, boolean]>([
  ['text that got a NUL byte', "test('a')", 'x\0', null, true],
  ['a picture that was one before', 'a\0', 'b\0', null, false],
  ['text that the project calls binary', 'a', 'b', null, false],
  ['a new file', null, 'b\0', null, false],
  ['a commit on the way', 'a', 'b\0', 'c1', false],
])('became binary: %s', (_what, before, after, commit, isFound) => {
  const hidden = [{ path: 'a.test.ts', commit, before, after }];
  expect(brief([], { hidden })).toEqual(isFound ? ['sev2 binary_file a.test.ts'] : []);
});

test.each([
  ['Commit with --no-verify', true],
  ['Fix [skip ci]', true],
  ['Verify the token', false],
])('what a commit message admits: %s', (message, isFound) => {
  expect(brief([], { messages: [message] })).toEqual(isFound ? ['sev2 hooks -'] : []);
});

test('a finding knows the content it is about', () => {
  expect(found([{ path: 'ci/test.sh', was: 'a', is: 'exit 0' }])[0]?.context).toBe('sha of 6');
});

test('a flood is read at once', () => {
  const flood = "test('".repeat(200_000);
  expect(brief([{ path: 'a.test.ts', was: flood, is: `${flood}\nit.skip(` }]).length).toBeGreaterThan(0);
});
