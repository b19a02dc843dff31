/** A line that is tested at its last: who is tested next, who is proven by whom, and whose red it is. */
import { describe, expect, test } from 'vitest';
import { landing, merging } from '../../../test/support/play.ts';
import { testPolicy } from '../../../test/support/policy.ts';
import { type Evidence, type GateOutcome, gateDigest } from '../gate.ts';
import { batchOf, batchStep, type InBatch, testOf } from './batch.ts';

const { gate } = testPolicy();
const { contract } = landing().task;

const evidence = (tree: string, outcome: GateOutcome): Evidence => ({
  tree,
  outcome,
  results: [],
  at: 0,
  digest: gateDigest(gate, contract),
});

const MARKS = { '+': 'pass', '-': 'fail', '!': 'could_not_run' } as const;

/** `a b+ c-? d?`: in line in this order; green, red, could not run, being tested; `(c)` has no candidate, `/c` one on another commit. */
function line(told: string): InBatch[] {
  const names = told.split(' ').map((word) => /\w/.exec(word)![0]);
  return told.split(' ').map((word, index) => {
    const name = names[index]!;
    const trunk = word.startsWith('/') ? 'elsewhere' : index === 0 ? 'trunk' : `of-${names[index - 1]}`;
    const mark = /[-+!]/.exec(word)?.[0] as keyof typeof MARKS | undefined;
    const candidate = { sha: `of-${name}`, tree: `tree-${name}`, trunk, headSha: name };
    return {
      task: name,
      issue: null,
      contract,
      candidate: word.startsWith('(') ? null : candidate,
      ahead: names.slice(0, index).map((task) => ({ task, issue: null })),
      gate: mark ? evidence(candidate.tree, MARKS[mark]) : null,
      isTesting: word.endsWith('?'),
    };
  });
}

/** What each of them does, in a word. */
function steps(batch: readonly InBatch[]): string[] {
  return batch.map(({ task, candidate }) => {
    if (candidate === null) return '-';
    const step = batchStep(batch, task, gate);
    return step.kind === 'proven' ? `by ${step.by.task}` : step.kind;
  });
}

describe('who is tested next', () => {
  test.each([
    ['a', 'test'],
    ['a b c', 'wait wait test'],
    // The gate runs already; whoever came since is in the next batch.
    ['a b? c d', 'wait test wait wait'],
    // Being built, or to be built anew: in a moment it is known what the last one is.
    ['a b (c)', 'wait wait -'],
    ['a /b c', 'wait wait wait'],
    // Green: all that it contains, and the next batch is tested at once.
    ['a b+ c d', 'by b|by b|wait|test'],
    ['a b c+', 'by c|by c|by c'],
    ['a+ (b)', 'by a|-'],
    // Red: by halves.
    ['a b c-', 'test wait wait'],
    ['a b c d e-', 'wait test wait wait wait'],
    ['a b+ c d e-', 'by b|by b|test|wait|wait'],
    ['a b- c d e-', 'test wait wait wait wait'],
    ['a b- c? d e-', 'wait wait test wait wait'],
    // The first red one is known.
    ['a-', 'red'],
    ['a- b-', 'red wait'],
    ['a b+ c- d e-', 'by b|by b|red|wait|wait'],
    // What was red by itself is not proven by one behind it.
    ['a- b+', 'red|by b'],
    // It could not run, and leaves.
    // What could not run is looked for as a red one is: whoever is last is as good as any other.
    ['a b c!', 'test wait wait'],
    ['a! b c', 'red wait wait'],
  ])('%s: %s', (told, expected) => {
    expect(steps(line(told))).toEqual(expected.split(expected.includes('|') ? '|' : ' '));
  });
});

describe('what a test of several has to prove', () => {
  const criterion = { id: 'c1', text: 'it runs', verify: './run' };
  const wanting = { ...contract, criteria: [criterion] };
  const [a, b] = line('a b+') as [InBatch, InBatch];
  const all = [{ ...a, contract: wanting }, b];

  test('is by the commands of each of them', () => {
    expect(batchStep(all, 'b', gate)).toEqual({
      kind: 'test',
      base: 'trunk',
      with: [{ task: 'a', issue: null }],
      digests: [gateDigest(gate, wanting), gateDigest(gate, contract)],
    });
  });

  test('leaves out those behind, and is compared with what is below the first', () => {
    const batch = [{ ...a, contract: wanting }, b, line('a b c')[2]!];
    const below = { base: 'trunk', with: [], digests: [gateDigest(gate, wanting)] };
    expect(testOf(batch, 'a', gate)).toEqual(below);
    expect(testOf(batch, 'c', gate)).toMatchObject({
      base: 'trunk',
      with: [{ task: 'a' }, { task: 'b' }],
      digests: [gateDigest(gate, wanting), gateDigest(gate, contract), gateDigest(gate, contract)],
    });
  });

  test('is compared with what is below itself while the first is being built', () => {
    expect(testOf(line('(a) b'), 'b', gate)).toMatchObject({ base: 'of-a', with: [{ task: 'a' }] });
  });

  test('a green of the last one alone is not enough', () => {
    expect(steps(all)).toEqual(['wait', 'test']);
    const asked = { ...b.gate!, alsoFor: [gateDigest(gate, wanting)] };
    expect(steps([all[0]!, { ...b, gate: asked }])).toEqual(['by b', 'by b']);
  });
});

test('the rows of those in line say it: what was found within another commit is not its own', () => {
  const inLine = { ...landing().task, linedUpAt: 2 };
  const early = { ...merging().task, id: 'early', linedUpAt: 1, landing: null };
  const within = { sha: 'other', tree: 'other', with: [] };
  const covered = { ...inLine, id: 'z', landing: { ...inLine.landing!, within } };
  expect(batchOf([covered, inLine, early, { ...inLine, id: 'x', state: 'revising' }])).toMatchObject([
    { task: 'early', candidate: null, gate: null, isTesting: false },
    { task: 't1', candidate: { sha: 'candidate' }, gate: { outcome: 'pass' }, isTesting: false },
    { task: 'z', candidate: { sha: 'candidate' }, gate: null },
  ]);
});
