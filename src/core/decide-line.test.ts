/** Several tasks on their way to trunk: tested on top of each other, landing one after the other. */
import { describe, expect, test } from 'vitest';
import { APPROVE, awaiting, type Play, running } from '../../test/support/play.ts';
import type { InLine } from './line/line.ts';

const first: InLine = {
  task: 'a',
  issue: 1,
  candidate: { sha: 'of-a', tree: 'tree-a', trunk: 'trunk', headSha: 'a1' },
};
const second: InLine = {
  task: 'b',
  issue: 2,
  candidate: { sha: 'of-b', tree: 'tree-b', trunk: 'of-a', headSha: 'b1' },
};
const ahead = [
  { task: 'a', issue: 1 },
  { task: 'b', issue: 2 },
];

/** Approved behind these; its candidate is about to be built. */
function behind(...others: InLine[]): Play {
  const play = awaiting();
  Object.assign(play.world, { ahead: others, trunk: 'trunk' });
  return play.critic(APPROVE);
}

/** Found red on top of the others; it is tested alone. */
const beside = (): Play => behind(first, second).candidate().gate('fail');

/** Red on top of the others, green alone; on top of the first of them alone it is found as said. */
function misfit(onFirst: 'pass' | 'fail' = 'fail'): Play {
  const play = beside();
  play.world.partners = 'in_line';
  play.world.commitOf = (task) => (task === 'a' ? 'of-a' : 'of-b');
  return play.candidate('alone').gate('pass').candidate('on-first').gate(onFirst);
}

const told = (play: Play): string[] =>
  play.events.flatMap((one) => (one.type === 'feedback_added' ? [one.data.feedback.text ?? ''] : []));
const kinds = (play: Play): string[] => play.events.map(({ type }) => type);
const pending = (play: Play) => play.pending[0]?.action;
/** What became of the first two: they landed as they were tested. */
const LANDED = { ahead: [], partners: 'landed', trunk: 'of-b' } as const;

describe('in line', () => {
  test('is built on top of the one ahead, and says whose work it contains', () => {
    const play = behind(first, second);
    expect(pending(play)).toEqual({ kind: 'build_candidate', headSha: 'c1', onto: { sha: 'of-b', ahead } });
    play.candidate();
    expect(play.task.landing).toMatchObject({ candidate: { trunk: 'of-b' }, ahead });
    expect(pending(play)).toMatchObject({ kind: 'gate', scope: 'candidate', base: 'of-b' });
  });

  test('lines up before it builds: of two that come in the same instant, one builds on the other', () => {
    const play = awaiting();
    play.world.mergeFree = false;
    play.critic(APPROVE);
    Object.assign(play.world, { mergeFree: true, trunk: 'trunk' });
    expect(play.decide()).toMatchObject({ events: [{ data: { to: 'merging' } }], actions: [] });
    const { events } = play.decide() as Extract<ReturnType<Play['decide']>, { kind: 'act' }>;
    play.commit(events, []);
    expect(pending(play.change({ ahead: [first] }))).toMatchObject({ onto: { sha: 'of-a' } });
  });

  test('waits for the candidate of the one ahead', () => {
    const play = behind(first, { ...second, candidate: null });
    expect(play.task.state).toBe('merging');
    expect(play.decide()).toMatchObject({
      kind: 'rest',
      why: 'waiting for the candidate of #2, which is ahead',
    });
    expect(pending(play.change({ ahead: [first, second] }))).toMatchObject({ onto: { sha: 'of-b' } });
  });

  test('tested, it waits for those ahead and gets no permit', () => {
    const play = behind(first, second).candidate().gate('pass');
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'tested; #1 and #2 first' });
    expect(kinds(play)).not.toContain('merge_decided');
    expect(play.pending).toEqual([]);
  });

  test('lands as it was tested when those ahead have landed as they were', () => {
    const play = behind(first, second).candidate().gate('pass');
    play.change({ ahead: [second], trunk: 'of-a' });
    expect(play.pending).toEqual([]);
    play.change({ ahead: [], trunk: 'of-b' });
    expect(pending(play)).toMatchObject({ kind: 'land', permit: { candidate: { sha: 'candidate' } } });
    expect(kinds(play)).not.toContain('candidate_dropped');
  });
});

describe('the line moves under a candidate', () => {
  test.each([
    ['the one ahead is gone', { ahead: [first] }, '#2 is not ahead any more', 'of-a'],
    ['all of them are gone', { ahead: [] }, '#1 and #2 are not ahead any more', undefined],
    [
      'the one ahead was built anew',
      { ahead: [first, { ...second, candidate: { ...second.candidate!, sha: 'anew' } }] },
      'trunk or the line moved',
      'anew',
    ],
  ])('%s: dropped and built again', (_, world, why, onto) => {
    const play = behind(first, second).candidate().gate('pass').change(world);
    expect(play.events.findLast(({ type }) => type === 'candidate_dropped')).toMatchObject({ data: { why } });
    const build = pending(play);
    expect(build).toMatchObject({ kind: 'build_candidate' });
    expect(build?.kind === 'build_candidate' && build.onto?.sha).toBe(onto);
  });

  test('trunk moved under the first: dropped and built again', () => {
    const play = behind().candidate();
    play.change({ trunk: 'pushed' });
    expect(kinds(play)).toContain('candidate_dropped');
    expect(pending(play)).toEqual({ kind: 'build_candidate', headSha: 'c1' });
  });

  test('a gate under way on it is stopped', () => {
    const play = behind(first, second).candidate();
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'the gate is running' });
    Object.assign(play.world, { ahead: [first] });
    expect(play.decide()).toMatchObject({ kind: 'stop', why: '#2 is not ahead any more' });
    play.look();
    expect(kinds(play).slice(-2)).toEqual(['gate_cut_off', 'candidate_dropped']);
    expect(pending(play)).toMatchObject({ onto: { sha: 'of-a' } });
  });

  test('a gate under way goes on while those ahead land', () => {
    const play = behind(first, second).candidate();
    play.change({ ahead: [second], trunk: 'of-a' });
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'the gate is running' });
    play.change({ ahead: [], trunk: 'of-b' }).gate('pass');
    expect(pending(play)).toMatchObject({ kind: 'land' });
  });

  test('a gate under way goes on while the one ahead is built anew, and where its tree is the same', () => {
    const play = behind(first, second).candidate();
    play.change({ ahead: [first, { ...second, candidate: null }] });
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'the gate is running' });
    const anew = { ...second.candidate!, sha: 'anew', tree: 'tree-of-of-b' };
    play.change({ ahead: [first, { ...second, candidate: anew }] });
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'the gate is running' });
    play.change({ ahead: [first, { ...second, candidate: { ...anew, tree: 'another' } }] });
    expect(kinds(play)).toContain('gate_cut_off');
  });

  test('landed by a commit of the forge’s own: the gate goes on, and what it found counts for the same tree', () => {
    const play = behind(first).candidate();
    play.change({ ahead: [], trunk: 'made-by-the-forge', trunkTree: 'tree-of-of-a' });
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'the gate is running' });
    play.gate('pass');
    expect(pending(play)).toEqual({ kind: 'build_candidate', headSha: 'c1' });
    play.answer({
      kind: 'candidate',
      candidate: { sha: 'k2', tree: 'tree-candidate', trunk: 'made-by-the-forge', headSha: 'c1' },
    });
    expect(play.events.filter(({ type }) => type === 'gate_completed').at(-1)?.data).toMatchObject({
      reused: true,
    });
    expect(pending(play)).toMatchObject({ kind: 'land' });
  });

  test('a gate of the work is not stopped', () => {
    const play = running()
      .turn()
      .checkpoint('c1')
      .change({ ahead: [first, second] });
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'the gate is running' });
  });
});

describe('red behind others', () => {
  test('leaves the line and is tested alone; the coder is not told yet', () => {
    const play = beside();
    expect(play.task).toMatchObject({ state: 'merging', misfit: { with: ahead } });
    expect(told(play)).toEqual([]);
    expect(pending(play)).toEqual({ kind: 'build_candidate', headSha: 'c1' });
  });

  test('red alone: the coder is told so, and goes on at once', () => {
    const play = beside();
    play.candidate('alone').gate('fail');
    expect(told(play)).toEqual([
      expect.stringMatching(/^Merged into trunk alone, without the other tasks in line, it fails:/),
    ]);
    expect(play.task).toMatchObject({ state: 'revising', misfit: null });
    expect(play.events.findLast(({ type }) => type === 'update_needed')?.data).toEqual({
      mergeInto: 'trunk',
    });
  });

  test('green alone: tested on top of the first of two, to tell which of them it is', () => {
    const play = beside();
    Object.assign(play.world, { partners: 'in_line', commitOf: () => null });
    play.candidate('alone').gate('pass');
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'waiting for the candidate of #1' });
    play.change({ commitOf: (task) => (task === 'a' ? 'of-a' : 'of-b') });
    expect(pending(play)).toEqual({
      kind: 'build_candidate',
      headSha: 'c1',
      onto: { sha: 'of-a', ahead: [{ task: 'a', issue: 1 }] },
    });
    expect(pending(play.candidate('on-first'))).toMatchObject({ commit: 'on-first', base: 'of-a' });
    expect(told(play)).toEqual([]);
  });

  test.each([
    ['red on top of the first: it is that one', 'fail', 'a', '#1'],
    ['green on top of the first: it is the other', 'pass', 'b', '#2'],
  ] as const)('%s, and its coder is told of no other', (_, onFirst, task, name) => {
    const play = misfit(onFirst);
    expect(play.task.misfit?.with).toMatchObject([{ task }]);
    expect(play.decide()).toMatchObject({
      kind: 'rest',
      why: `passes alone, fails together with ${name}; waiting until that has landed`,
    });
    expect(kinds(play)).not.toContain('merge_decided');
    play.change(LANDED);
    expect(told(play)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^Your branch passes by itself\\. Merged together with ${name}, which landed meanwhile, it fails:`,
        ),
      ),
    ]);
    expect(play.task.state).toBe('revising');
    expect(play.events.findLast(({ type }) => type === 'update_needed')?.data).toEqual({ mergeInto: 'of-b' });
  });

  test('red on top of one that landed in the same moment: its coder is told with whom, for nothing is alone there', () => {
    const play = behind(first).candidate();
    Object.assign(play.world, { partners: 'landed', trunk: 'of-a' });
    play.gate('fail');
    expect(kinds(play)).toContain('line_left');
    expect(told(play)).toEqual([
      expect.stringMatching(
        /^Your branch passes by itself\. Merged together with #1, which landed meanwhile/,
      ),
    ]);
    expect(play.task.state).toBe('revising');
    expect(play.events.findLast(({ type }) => type === 'update_needed')?.data).toEqual({ mergeInto: 'of-a' });
  });

  test.each([
    ['fail', 'red: its coder is told with whom'],
    ['pass', 'green: it goes with them after all, and lines up again'],
  ] as const)('built alone when the other has just landed, and %s', (outcome, _what) => {
    const play = behind(first).candidate().gate('fail');
    Object.assign(play.world, { partners: 'landed', ahead: [] });
    play.candidate('on-trunk', 'of-a').gate(outcome);
    if (outcome === 'pass') {
      expect(told(play)).toEqual([]);
      expect(play.task).toMatchObject({ state: 'merging', misfit: null });
    } else
      expect(told(play)).toEqual([
        expect.stringMatching(
          /^Your branch passes by itself\. Merged together with #1, which landed meanwhile/,
        ),
      ]);
  });

  test('red on top of two that landed in the same moment: which of them it is is found out first', () => {
    const play = behind(first, second).candidate();
    Object.assign(play.world, { partners: 'landed', trunk: 'of-b', commitOf: () => 'of-a' });
    play.gate('fail');
    expect(told(play)).toEqual([]);
    expect(pending(play)).toMatchObject({ onto: { sha: 'of-a', ahead: [{ task: 'a' }] } });
  });

  test('red when both have landed meanwhile: which of them it is is found out before its coder is told', () => {
    const play = behind(first, second).candidate();
    play.change({ ahead: [], trunk: 'of-b', partners: 'landed', commitOf: () => 'of-a' }).gate('fail');
    expect(told(play)).toEqual([]);
    expect(pending(play)).toMatchObject({ onto: { sha: 'of-a', ahead: [{ task: 'a' }] } });
    play.candidate('on-first').gate('pass');
    expect(told(play)).toEqual([expect.stringContaining('Merged together with #2, which landed meanwhile')]);
    expect(play.events.findLast(({ type }) => type === 'update_needed')?.data).toEqual({ mergeInto: 'of-b' });
  });

  test.each([
    ['before it is built', false],
    ['while it is tested', true],
  ])('one of the others is gone %s on top of the first: lines up again', (_, isBuilt) => {
    const play = beside();
    Object.assign(play.world, { partners: 'in_line', commitOf: () => (isBuilt ? 'of-a' : null) });
    play.candidate('alone').gate('pass');
    if (isBuilt)
      play
        .candidate('on-first')
        .change({ ahead: [first], partners: 'gone' })
        .gate('fail');
    else play.change({ ahead: [first], partners: 'gone' });
    expect(kinds(play)).toContain('line_rejoined');
    expect(told(play)).toEqual([]);
  });

  test('one of the others is gone: lines up again, behind who is there now', () => {
    const third: InLine = { ...second, task: 'c', issue: 3 };
    const play = misfit()
      .wait(5000)
      .change({ ahead: [third], partners: 'gone' });
    expect(kinds(play)).toContain('line_rejoined');
    expect(play.task).toMatchObject({ state: 'merging', misfit: null, linedUpAt: 5000 });
    expect(pending(play)).toMatchObject({ onto: { sha: 'of-b', ahead: [{ task: 'c', issue: 3 }] } });
    expect(told(play)).toEqual([]);
  });

  test('the gate alone is not stopped when trunk moves: it says what it says of the trunk of before', () => {
    const play = beside();
    play.candidate('alone');
    play.change({ ahead: [second], trunk: 'of-a', partners: 'in_line' });
    expect(play.decide()).toMatchObject({ kind: 'rest', why: 'the gate is running' });
    expect(kinds(play)).not.toContain('candidate_dropped');
  });

  test('a person pushes: it leaves with what was found about the old head', () => {
    const play = misfit().change({ branch: { sha: 'p1', tree: 'tree-p1' } });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', misfit: null, landing: null });
  });
});

describe('a conflict with one that has not landed', () => {
  const conflict = (): Play => {
    const play = behind(first);
    play.world.partners = 'in_line';
    return play.answer({ kind: 'conflict', files: ['a.ts'], trunk: 'of-a' });
  };

  test('leaves the line and waits; no gate is run', () => {
    const play = conflict();
    expect(play.task.misfit).toEqual({ with: [{ task: 'a', issue: 1 }], text: null });
    expect(play.decide()).toMatchObject({
      kind: 'rest',
      why: 'conflicts with #1; waiting until that has landed',
    });
    expect(play.pending).toEqual([]);
  });

  test('landed: the coder resolves it on the new trunk', () => {
    const play = conflict().change({ ahead: [], partners: 'landed', trunk: 'of-a' });
    expect(play.task.state).toBe('revising');
    expect(play.events.findLast(({ type }) => type === 'update_needed')?.data).toEqual({ mergeInto: 'of-a' });
    expect(told(play)).toEqual([]);
  });

  test('gone: lines up again without a word to the coder', () => {
    const play = conflict().change({ ahead: [], partners: 'gone' });
    expect(pending(play)).toEqual({ kind: 'build_candidate', headSha: 'c1' });
    expect(kinds(play)).toContain('line_rejoined');
  });

  test('nothing left to land behind others: it waits for them, too', () => {
    const play = behind(first);
    play.world.partners = 'in_line';
    play.answer({ kind: 'empty', trunk: 'of-a' });
    expect(play.task).toMatchObject({ state: 'merging', misfit: { text: null } });
  });
});
