/** Several tasks that are tested by one gate, on the last of them. */
import { describe, expect, test } from 'vitest';
import { APPROVE, awaiting, evidence, type OtherInLine, type Play } from '../../test/support/play.ts';
import type { PolicyChange } from '../../test/support/policy.ts';
import type { GateOutcome } from './gate.ts';

const other = (task: string, issue: number, trunk: string): OtherInLine => ({
  task,
  issue,
  candidate: { sha: `of-${task}`, tree: `tree-${task}`, trunk, headSha: `${task}1` },
});
const first = other('a', 1, 'trunk');
const second = other('b', 2, 'of-a');
/** Behind the task of the play, which is built as `candidate`. */
const last: OtherInLine = {
  ...other('z', 9, 'candidate'),
  ahead: [
    { task: 'a', issue: 1 },
    { task: 't1', issue: 7 },
  ],
};

/** Approved behind these and ahead of those. */
function between(ahead: OtherInLine[], behind: OtherInLine[], change: PolicyChange = {}): Play {
  const play = awaiting(change);
  Object.assign(play.world, { ahead, behind, trunk: 'trunk' });
  return play.critic(APPROVE).candidate();
}

const judged = (play: Play, one: OtherInLine, outcome: GateOutcome): OtherInLine => ({
  ...one,
  gate: evidence(one.candidate!.tree, outcome, play.policy, play.task.contract),
});
const pending = (play: Play) => play.pending[0]?.action;
const told = (play: Play): string[] => play.of('feedback_added').map(({ feedback }) => feedback.text ?? '');

describe('the last of the line', () => {
  test('is tested for all, compared with what has nothing of theirs', () => {
    const play = between([first, second], []);
    const all = [
      { task: 'a', issue: 1 },
      { task: 'b', issue: 2 },
    ];
    expect(pending(play)).toMatchObject({ kind: 'gate', commit: 'candidate', base: 'trunk', with: all });
    expect(play.of('batch_gated')).toEqual([{ sha: 'candidate', with: all }]);
    expect(play.task.landing?.testing).toBe(true);
    play.gate('pass');
    expect(play.task.landing?.testing).toBeUndefined();
    expect(play.resting()).toBe('tested; #1 and #2 first');
    play.change({ ahead: [], trunk: 'of-b' });
    expect(pending(play)).toMatchObject({ kind: 'land', permit: { candidate: { sha: 'candidate' } } });
  });

  test('red: waits while the first red one is looked for', () => {
    const play = between([first, second], []).gate('fail');
    expect(play.resting()).toBe('failed together at candidate; bisecting');
    expect(told(play)).toEqual([]);
  });

  test('red on top of what is green: its coder is told with whom, when they have landed', () => {
    const play = between([first, second], []).gate('fail');
    play.change({ ahead: [first, judged(play, second, 'pass')] });
    expect(play.resting()).toBe('fails together with #1 and #2; waiting until that has landed');
    play.change({ ahead: [], trunk: 'of-b' });
    expect(told(play)).toEqual([
      expect.stringMatching(/^Your branch passes by itself\. Merged together with #1 and #2, which landed/),
    ]);
    expect(play.task.state).toBe('revising');
    expect(play.of('update_needed')).toEqual([{ mergeInto: 'of-b' }]);
  });
});

describe('one that another contains', () => {
  test('is not tested by itself', () => {
    const play = between([first], [last]);
    expect(play.resting()).toBe('tested next, together with #1 and #9 at of-z');
    play.change({ behind: [{ ...last, isTesting: true }] });
    expect(play.resting()).toBe('being tested together with #1 and #9 at of-z');
    expect(play.pending).toEqual([]);
  });

  test('lands by the evidence of that, and says so', () => {
    const play = between([], [last]);
    play.change({ behind: [judged(play, last, 'pass')] });
    const within = {
      sha: 'of-z',
      tree: 'tree-z',
      with: [
        { task: 'a', issue: 1 },
        { task: 'z', issue: 9 },
      ],
    };
    expect(play.of('gate_completed').at(-1)).toMatchObject({ evidence: { tree: 'tree-z' }, within });
    expect(play.task).toMatchObject({ landing: { within }, candidateEvidence: null });
    expect(pending(play)).toMatchObject({ kind: 'land', permit: { candidate: { sha: 'candidate' } } });
    expect(play.of('merge_decided')[0]?.conditions).toContainEqual(
      expect.objectContaining({
        name: 'the gate passed on a commit that contains the candidate',
        met: true,
        value: 'pass on tree-z, together with #1 and #9 at of-z',
      }),
    );
  });

  test('does not land by it when that has left the line: it is tested itself', () => {
    const play = between([first], [last]);
    play.change({ behind: [judged(play, last, 'pass')] });
    expect(play.resting()).toBe('tested; #1 first');
    play.change({ ahead: [], behind: [], trunk: 'of-a' });
    expect(pending(play)).toMatchObject({ kind: 'gate', commit: 'candidate' });
    play.gate('fail');
    expect(play.task.state).toBe('revising');
  });

  test('does not land by it when the commands are others now', () => {
    const play = between([first], [last]);
    play.change({ behind: [judged(play, last, 'pass')] });
    play.configure({ gate: { commands: ['make all'] } }).change({ ahead: [], trunk: 'of-a' });
    expect(play.resting()).toBe('tested next, together with #9 at of-z');
  });

  test('is tested when the one behind it is red, and is the first red one: alone', () => {
    const play = between([], [last]);
    play.change({ behind: [judged(play, last, 'fail')] });
    expect(pending(play)).toMatchObject({ kind: 'gate', commit: 'candidate' });
    play.gate('fail');
    expect(told(play)).toEqual([
      expect.stringMatching(/^Merged into trunk alone, without the other tasks in line/),
    ]);
    expect(play.task.state).toBe('revising');
  });

  test('one that could not be tested steps aside', () => {
    const play = between([], []).gate('could_not_run');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'gate_could_not_run' } });
  });
});

describe('the line moves under a batch', () => {
  test('one of it is gone: the gate is stopped, and it is built and tested anew', () => {
    const play = between([first, second], []);
    play.change({ ahead: [first] });
    expect(play.types().slice(-2)).toEqual(['gate_cut_off', 'candidate_dropped']);
    expect(pending(play.candidate('anew'))).toMatchObject({
      kind: 'gate',
      commit: 'anew',
      with: [{ issue: 1 }],
    });
  });

  test('the gate goes on after a crash', () => {
    const play = between([first, second], []).crash();
    expect(pending(play)).toMatchObject({ kind: 'gate', commit: 'candidate' });
    expect(play.task.landing?.testing).toBe(true);
  });

  test('landed by commits of the forge’s own: what was found holds for the same tree, red or green', () => {
    for (const [outcome, why] of [
      ['pass', 'tested; #2 first'],
      ['fail', 'failed together at anew; bisecting'],
    ] as const) {
      const play = between([first, second], []).gate(outcome);
      play.change({
        ahead: [other('b', 2, 'made-by-the-forge')].map((one) => ({
          ...one,
          candidate: { ...one.candidate!, sha: 'b2' },
        })),
      });
      play.answer({
        kind: 'candidate',
        candidate: { sha: 'anew', tree: 'tree-candidate', trunk: 'b2', headSha: 'c1' },
      });
      expect(play.of('gate_completed').at(-1)).toMatchObject({ reused: true, evidence: { outcome } });
      expect(play.resting()).toBe(why);
    }
  });

  describe('what was found does not hold for the same tree', () => {
    const rebuilt = (play: Play, ...ahead: OtherInLine[]): Play =>
      play.change({ ahead }).answer({
        kind: 'candidate',
        candidate: {
          sha: 'anew',
          tree: 'tree-candidate',
          trunk: ahead.at(-1)!.candidate!.sha,
          headSha: 'c1',
        },
      });
    const moved = other('b', 2, 'of-a');
    const anew: OtherInLine = { ...moved, candidate: { ...moved.candidate!, sha: 'b2' } };

    test('where one ahead asks for more than was run', () => {
      const play = between([first, second], []).gate('pass');
      const criteria = [{ id: 'c1', text: 'it runs', verify: './run' }];
      rebuilt(play, first, { ...anew, contract: { ...play.task.contract, criteria } });
      expect(pending(play)).toMatchObject({ kind: 'gate', commit: 'anew' });
    });

    test('where a red was let pass since trunk below the batch was red, and that is another now', () => {
      const play = between([first, second], [], { gate: { preexisting: 'allow_unchanged' } });
      const red = { outcome: 'fail', exitCode: 1, problem: 'exit 1', failing: ['old'] } as const;
      const base = { ...evidence('', 'fail', play.policy, play.task.contract).results[0]!, ...red };
      const vanished = { count: 0, some: [] };
      play.gated({ ...red, vanished, base: { ...base, sha: 'trunk', setup: '' } });
      expect(play.task.landing?.gate?.outcome).toBe('pass');
      rebuilt(play, { ...first, candidate: { ...first.candidate!, trunk: 'trunk2' } }, anew);
      expect(pending(play)).toMatchObject({ kind: 'gate', commit: 'anew', base: 'trunk2' });
    });
  });

  test('a red of before it lined up is not held against it', () => {
    const play = between([first], []).gate('fail').wait(1000);
    play.change({ mergeBlocker: 'dirty' }).change({ mergeBlocker: null }).candidate();
    expect(play.task).toMatchObject({ linedUpAt: 1000, candidateEvidence: { tree: 'tree-candidate' } });
    expect(pending(play)).toMatchObject({ kind: 'gate', commit: 'candidate' });
  });
});
