/** The way to trunk: every condition of the merge gate, what moves meanwhile, what has to wait. */
import { describe, expect, test } from 'vitest';
import {
  APPROVE,
  awaiting,
  changes,
  landing,
  merging,
  Play,
  queued,
  remark,
  running,
} from '../../test/support/play.ts';
import type { Said } from './change/checks.ts';
import type { Finding } from './change/findings.ts';
import { holdText } from './hold.ts';
import { loopHoldKey } from './loop/loop-hold.ts';
import { type MergeFacts, mergeGate } from './merge.ts';
import { accountOf } from './money/account.ts';
import type { Policy } from './policy.ts';
import type { Task } from './task.ts';

const ended = (play: Play) => [play.task.state, play.task.reason];

const said = (state: 'green' | 'pending' | 'red', more: Partial<Said> = {}): Said => ({
  checks: [{ name: 'build', state }],
  red: null,
  pending: null,
  unread: '',
  wants: [],
  objections: [],
  ...more,
});

describe('the merge gate', () => {
  const good = () => {
    const { task, policy } = landing({ protectedPaths: ['ci.yml'] });
    const facts: MergeFacts = {
      issueOpen: true,
      textHash: 'body-1',
      branchSha: 'c1',
      openFindings: [],
      left: [],
      change: { files: ['a.ts'], secrets: [], guarded: [] },
      said: said('green'),
    };
    return { task, facts, policy };
  };
  const finding = (severity: Finding['severity'], status: Finding['status'] = 'open'): Finding => ({
    id: 'f',
    task: 't1',
    source: 'critic',
    severity,
    category: 'x',
    file: null,
    line: null,
    message: 'x',
    scenario: null,
    suggestion: null,
    status,
    rounds: [1],
    history: [],
  });

  /** The row of a task whose contract lists one criterion, found to be so. */
  const judged = (met: 'met' | 'unmet') => {
    const { contract, verdict } = landing().task;
    const criterion = { id: 'c1', text: 'It opens', verify: null };
    const found = { id: 'c1', criterion: 'It opens', met, evidence: 'a.test.ts' };
    return {
      contract: { ...contract, criteria: [criterion] },
      verdict: { ...verdict!, criteria: [found] },
    };
  };

  test('permits exactly the candidate that was tested, at the head that was judged', () => {
    const { task, facts, policy } = good();
    const { permit, conditions } = mergeGate(task, facts, policy);
    expect(permit).toEqual({ permit: 'merge', pull: 1, headSha: 'c1', candidate: task.landing!.candidate });
    expect(conditions.every(({ met }) => met)).toBe(true);
  });

  const CHECKS = 'required checks are green';
  const RULES = "the forge's own rules are met";
  const OBJECTION = 'no person asks for changes at this head';
  const SECRETS = 'no secret is in the change, or a person approved it';
  const PROTECTED = 'no protected path is touched, or a person approved it';
  type Change = (all: { task: Task; facts: MergeFacts; policy: Policy }) => void;
  const flips: [string, string, Change][] = [
    ['merging is switched off', 'merging is enabled', ({ policy }) => (policy.merge.enabled = false)],
    ['a check is red', CHECKS, ({ facts }) => (facts.said = said('red'))],
    ['a check is pending', CHECKS, ({ facts }) => (facts.said = said('pending'))],
    [
      'a person objects',
      OBJECTION,
      ({ facts }) => (facts.said = said('green', { objections: [remark('no', 'request_changes')] })),
    ],
    [
      'the forge wants more',
      RULES,
      ({ facts }) => (facts.said = said('green', { wants: ['1 approving review'] })),
    ],
    ['the issue was closed', 'the issue is open', ({ facts }) => (facts.issueOpen = false)],
    [
      'the body was edited',
      'the issue is unchanged since it was made ready',
      ({ facts }) => (facts.textHash = 'b2'),
    ],
    [
      'the body is unknown',
      'the issue is unchanged since it was made ready',
      ({ facts }) => (facts.textHash = null),
    ],
    [
      'the branch moved',
      'the published branch is at the judged head',
      ({ facts }) => (facts.branchSha = 'c2'),
    ],
    [
      'the branch is gone',
      'the published branch is at the judged head',
      ({ facts }) => (facts.branchSha = null),
    ],
    ['there is no verdict', 'approved at this head', ({ task }) => (task.verdict = null)],
    [
      'the verdict is for another head',
      'approved at this head',
      ({ task }) => (task.verdict!.headSha = 'c0'),
    ],
    [
      'changes were asked for',
      'approved at this head',
      ({ task }) => (task.verdict!.verdict = 'REQUEST_CHANGES'),
    ],
    ['a criterion is unmet', 'every criterion is met', ({ task }) => Object.assign(task, judged('unmet'))],
    [
      'a criterion was not judged',
      'every criterion is met',
      ({ task }) => Object.assign(task.contract, judged('met').contract),
    ],
    ['it was blocked', 'approved at this head', ({ task }) => (task.verdict!.verdict = 'BLOCK')],
    [
      'a sev1 is open',
      'no blocking finding is open',
      ({ facts }) => (facts.openFindings = [finding('sev1')]),
    ],
    [
      'a sev2 is open',
      'no blocking finding is open',
      ({ facts }) => (facts.openFindings = [finding('sev2')]),
    ],
    [
      'the candidate is of another head',
      'the candidate is this head on trunk',
      ({ task }) => (task.landing!.candidate.headSha = 'c0'),
    ],
    [
      'the gate failed',
      'the gate passed on the candidate',
      ({ task }) => (task.landing!.gate!.outcome = 'fail'),
    ],
    [
      'the gate could not run',
      'the gate passed on the candidate',
      ({ task }) => (task.landing!.gate!.outcome = 'could_not_run'),
    ],
    ['the gate did not run', 'the gate passed on the candidate', ({ task }) => (task.landing!.gate = null)],
    [
      'the gate ran on another tree',
      'the gate passed on the candidate',
      ({ task }) => (task.landing!.gate!.tree = 'tree-c1'),
    ],
    [
      'the gate ran other commands',
      'the gate passed on the candidate',
      ({ policy }) => (policy.gate.commands = ['npm test', 'npm run lint']),
    ],
    [
      'the gate was run by an older version, which did not say with what',
      'the gate passed on the candidate',
      ({ task }) => delete task.landing!.gate!.digest,
    ],
    [
      'the gate ran nothing',
      'the gate passed on the candidate',
      ({ task }) => (task.landing!.gate!.results = []),
    ],
    [
      'a protected path is touched',
      PROTECTED,
      ({ facts }) => (facts.change = { files: ['ci.yml'], secrets: [], guarded: [] }),
    ],
    [
      'what the gate rests on is touched',
      PROTECTED,
      ({ facts }) => (facts.change = { files: ['Makefile'], secrets: [], guarded: ['Makefile'] }),
    ],
    [
      'a secret is in it',
      SECRETS,
      ({ facts }) => (facts.change = { files: ['a.ts'], secrets: ['a.ts: a key'], guarded: [] }),
    ],
    [
      'it changes nothing',
      'the change is not empty',
      ({ facts }) => (facts.change = { files: [], secrets: [], guarded: [] }),
    ],
    ['there is no pull request', 'a pull request exists', ({ task }) => (task.pull = null)],
  ];

  test.each(flips)('%s: exactly "%s" refuses', (_what, name, flip) => {
    const all = structuredClone(good());
    flip(all);
    const { permit, conditions } = mergeGate(all.task, all.facts, all.policy);
    expect(permit).toBeNull();
    expect(conditions.filter(({ met }) => !met).map((one) => one.name)).toEqual([name]);
  });

  test('every condition is in that table', () => {
    const { task, facts, policy } = good();
    const names = mergeGate(task, facts, policy).conditions.map(({ name }) => name);
    expect(new Set(flips.map(([, name]) => name))).toEqual(new Set(names));
  });

  test.each<[string, (task: Task) => void, string]>([
    ['the critic', (task) => Object.assign(task, judged('met')), 'all 1 met'],
    [
      'a person',
      (task) => Object.assign(task, judged('unmet'), { verdict: { ...judged('unmet').verdict, by: 'ann' } }),
      "ann's approval counts for all 1",
    ],
    ['nobody, since none is listed', () => {}, 'none is listed'],
  ])('criteria judged by %s', (_who, change, value) => {
    const { task, facts, policy } = structuredClone(good());
    change(task);
    const { permit, conditions } = mergeGate(task, facts, policy);
    expect(permit).not.toBeNull();
    expect(conditions.find(({ name }) => name === 'every criterion is met')?.value).toBe(value);
  });

  test('what nobody could be asked about refuses: checks, rules and people', () => {
    const { task, facts, policy } = good();
    const { conditions } = mergeGate(task, { ...facts, said: null }, policy);
    expect(conditions.filter(({ met }) => !met).map(({ name }) => name)).toEqual([CHECKS, RULES, OBJECTION]);
  });

  test('without a candidate nothing about a candidate is met', () => {
    const { task, facts, policy } = good();
    const unmet = mergeGate({ ...task, landing: null }, facts, policy).conditions.filter(({ met }) => !met);
    expect(unmet).toHaveLength(2);
  });

  test('advice does not block; sev1 blocks even when block_on leaves it out', () => {
    const { task, facts, policy } = good();
    policy.critic.blockOn = [];
    expect(mergeGate(task, { ...facts, openFindings: [finding('sev3')] }, policy).permit).not.toBeNull();
    expect(mergeGate(task, { ...facts, openFindings: [finding('sev1')] }, policy).permit).toBeNull();
  });

  test('a pass of nothing counts only where `gate: none` was said', () => {
    const play = landing({ gate: { commands: 'none' } });
    expect(play.task.landing?.gate?.results).toEqual([]);
    expect(play.actionsOf('land')).toHaveLength(1);
  });

  test('its decision is written down with every condition', () => {
    const [decided] = landing().of('merge_decided');
    expect(decided?.permitted).toBe(true);
    const of = (name: string) => decided?.conditions.find((one) => one.name === name);
    expect(of('the gate passed on the candidate')).toEqual({
      name: 'the gate passed on the candidate',
      met: true,
      value: 'pass on tree-candi',
      evidence: '`npm test` passed',
    });
    expect(of('approved at this head')).toMatchObject({ evidence: 'round 1' });
    expect(of('the change is not empty')).toMatchObject({ value: '1 file', evidence: 'a.ts' });
    expect(decided?.conditions).toHaveLength(16);
  });
});

describe('on the way to trunk', () => {
  test('the gate runs on the candidate, not on the head (dispatch 46)', () => {
    const play = merging().candidate('k1', 'm1');
    expect(play.run()).toEqual({
      kind: 'gate',
      scope: 'candidate',
      tree: 'tree-k1',
      commit: 'k1',
      base: 'm1',
    });
  });

  test('merged is what was observed on trunk; then the worktree goes and the branch with it (dispatch 48)', () => {
    const play = landing();
    expect(play.task.state).toBe('merging');
    play.landed('m2');
    expect(play.task).toMatchObject({ state: 'merged', mergedSha: 'm2', workspace: null });
    expect(play.actionsOf('reap_workspace')).toHaveLength(1);
    expect(play.actionsOf('delete_branch')).toHaveLength(1);
    expect(play.world.issue).toMatchObject({ state: 'closed', labels: ['loop:merged'] });
  });

  test('trunk moved before it landed: a new candidate is built and verified again (dispatch 46)', () => {
    const play = landing().answer({ kind: 'trunk_moved' });
    expect(play.task).toMatchObject({ state: 'merging', landing: null });
    expect(play.pending[0]?.action).toEqual({ kind: 'build_candidate', headSha: 'c1' });
    play.candidate('k2', 'm2').gate('pass').landed();
    expect(play.task.state).toBe('merged');
    expect(play.actionsOf('land').at(-1)?.permit.candidate.trunk).toBe('m2');
  });

  test('a conflict goes back to the same session with trunk merged in (dispatch 47)', () => {
    const play = merging().answer({ kind: 'conflict', files: ['a.ts'], trunk: 'm2' });
    expect(play.task).toMatchObject({ state: 'revising', mergeInto: 'm2' });
    expect(play.pending[0]?.action).toEqual({ kind: 'merge_in', sha: 'm2' });
    play.answer({ kind: 'merged_in', conflicts: ['a.ts'], landed: ['abc Rename it'] });
    expect(play.run()).toMatchObject({ role: 'coder', sessionId: 's1', prompt: 'revise' });
    expect(play.task.feedback).toMatchObject([{ kind: 'conflict' }, { kind: 'landed' }]);
    expect(play.task.feedback[1]?.text).toContain('abc Rename it');
    play.worked('c2');
    expect(play.run()).toMatchObject({ role: 'critic', turn: 2 });
  });

  test('a conflict that git resolves in the workspace is verified and judged without a turn', () => {
    const play = merging().answer({ kind: 'conflict', files: ['a.ts'], trunk: 'm2' });
    play
      .answer({ kind: 'merged_in', conflicts: [], landed: ['abc Rename it'] })
      .checkpoint('c2')
      .gate('pass');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', turns: 1, published: { sha: 'c2' } });
  });

  test('work of which a conflict left nothing is asked about once, then superseded (dispatch 50)', () => {
    const resolved = () => {
      const play = merging().answer({ kind: 'conflict', files: ['a.ts'], trunk: 'm2' });
      play.answer({ kind: 'merged_in', conflicts: ['a.ts'], landed: [] });
      return play.turn().checkpoint('c2', { empty: true });
    };
    const play = resolved();
    expect(play.run()).toMatchObject({ role: 'coder', prompt: 'continuation', sessionId: 's1' });
    play.turn().checkpoint('c2', { empty: true });
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'superseded' });

    const other = resolved().worked('c3');
    expect(other.run()).toMatchObject({ role: 'critic' });
    other.critic(changes('More')).turn().checkpoint('c4', { empty: true });
    expect(other.run()).toMatchObject({ priorFailure: expect.stringContaining('the same as trunk') });
  });

  test('a trunk that was rewritten under the work is never merged into: it waits for a person', () => {
    const play = merging().answer({ kind: 'rewritten', baseSha: 'base', trunk: 'm0' });
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'trunk_rewritten', until: null },
    });
    expect(play.actionsOf('land')).toEqual([]);
    play.ask('resume');
    expect(play.pending[0]?.action).toMatchObject({ kind: 'build_candidate' });
  });

  test('a red merged tree is fed back, with trunk merged in before the coder goes on', () => {
    const play = merging().candidate('k1', 'm2').gate('fail');
    expect(play.task).toMatchObject({ state: 'revising', mergeInto: 'm2', landing: null });
    play.answer({ kind: 'merged_in', conflicts: [], landed: ['abc Rename it'] }).checkpoint('c2');
    expect(play.run()).toMatchObject({ prompt: 'revise', sessionId: 's1' });
    expect(play.task.feedback[0]?.text).toContain('expected 1 but got 2');
    expect(play.task.feedback[1]?.text).toContain('abc Rename it');
    expect(play.actionsOf('land')).toEqual([]);
  });

  test.each([
    ['a conflict', (play: Play) => play.answer({ kind: 'conflict', files: [], trunk: 'm2' })],
    ['a red candidate', (play: Play) => play.candidate().gate('fail')],
  ])('%s without a free slot gives the merge to others and waits', (_what, happen) => {
    const play = merging();
    play.world.slotsFull = true;
    happen(play);
    expect(play.task.state).toBe('awaiting_critic');
    expect(play.resting()).toContain('waiting for a slot');
    expect(play.change({ slotsFull: false }).task.state).toBe('revising');
  });

  test('no turn is left to resolve it: max_turns_reached', () => {
    const play = awaiting({ maxTurns: 1 }).critic(APPROVE);
    play.answer({ kind: 'conflict', files: ['a.ts'], trunk: 'm2' });
    expect(ended(play)).toEqual(['abandoned', 'max_turns_reached']);
  });

  test('trunk already has everything: superseded (dispatch 50)', () => {
    const play = merging().answer({ kind: 'empty', trunk: 'm2' });
    expect(ended(play)).toEqual(['abandoned', 'superseded']);
    expect(play.world.issue?.labels).toEqual([]);
  });

  test('a person pushed meanwhile: their head is judged, nothing lands', () => {
    const play = merging().candidate();
    play.world.branch = { sha: 'theirs', tree: 'tree-theirs' };
    play.gate('pass');
    expect(play.actionsOf('land')).toEqual([]);
    expect(play.run()).toMatchObject({ kind: 'gate', scope: 'work', commit: 'theirs' });
  });

  test('could_not_run on the candidate never merges: back, held, and built anew when resumed (dispatch 49)', () => {
    const play = merging().candidate().gate('could_not_run');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'gate_could_not_run' } });
    play.ask('resume');
    expect(play.pending[0]?.action.kind).toBe('build_candidate');
  });

  test('a gate emptied by an edit of the settings never merges (dispatch 49)', () => {
    const play = merging();
    play.policy = { ...play.policy, gate: { ...play.policy.gate, commands: [] } };
    play.candidate();
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'gate_empty' } });
    expect(play.actionsOf('land')).toEqual([]);
  });

  test('a refusal of the forge is shown, and the merge is free for others', () => {
    const play = landing().answer({ kind: 'merge_refused', detail: 'the branch is protected' });
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'merge_refused', detail: 'the branch is protected' },
    });
    expect(play.ask('resume').pending[0]?.action.kind).toBe('build_candidate');
  });

  test('what the forge’s own rules want is waited for before anything is tried, and goes on when they have it', () => {
    const [checks, remarks] = [[], []];
    const wants = ['main wants 1 approving review'];
    const play = awaiting().change({ feedback: { checks, remarks, wants } }).critic(APPROVE);
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'rules_unmet', detail: 'main wants 1 approving review', until: null },
    });
    expect(play.actionsOf('build_candidate')).toEqual([]);
    expect(play.look().task.hold?.reason).toBe('rules_unmet');
    expect(play.change({ feedback: { checks, remarks } }).task.state).toBe('merging');
  });

  test('a required check that can’t be read is waited for, and both its wait and its hold say why', () => {
    const check = { name: 'scan', headSha: 'c1', required: true, link: null, job: null, step: null };
    const checks = [{ ...check, state: 'pending' as const, logTail: null }];
    const feedback = { checks, remarks: [], unread: 'this token may not read check runs' };
    const play = awaiting().change({ feedback }).critic(APPROVE);
    const named = 'scan (this token may not read check runs)';
    expect(play.resting()).toBe(`approved; waiting for the checks ${named}`);
    const { at } = play.task.published!;
    play.now = at + play.policy.merge.checksWaitMs;
    expect(play.look().task.hold).toMatchObject({
      reason: 'checks_pending',
      detail: `still not reported: ${named}`,
    });
  });

  test('rules that want something new in the middle of merging are waited for, too, and the merge is free', () => {
    const play = merging().candidate();
    play.world.feedback = { checks: [], remarks: [], wants: ['main wants 1 approving review'] };
    play.gate('pass');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'rules_unmet' } });
    expect(play.actionsOf('land')).toEqual([]);
  });

  test('says what a person left, and what of the rules their approval covers', () => {
    const { task, policy } = landing();
    const facts = {
      ...{ issueOpen: true, textHash: 'body-1', branchSha: 'c1', said: said('green') },
      change: { files: ['a.ts'], secrets: [], guarded: [] },
    };
    const verdict = { ...task.verdict!, by: 'ann' };
    const open = { ...stray(), status: 'open' as const, source: 'rule' as const };
    const left = [{ ...stray(), status: 'wontfix' as const }];
    const { conditions } = mergeGate({ ...task, verdict }, { ...facts, openFindings: [open], left }, policy);
    expect(conditions.find(({ name }) => name === 'no blocking finding is open')).toMatchObject({
      met: true,
      value: '0 open, 1 by rule that ann has approved, 1 left by a person',
    });
  });

  test('a finding left open by somebody else refuses, and says which condition', () => {
    const play = merging().candidate();
    play.findings = [{ ...stray(), status: 'open' }];
    play.gate('pass');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'merge_refused' } });
    expect(play.task.hold?.detail).toBe('not met: no blocking finding is open (1 open)');
  });
});

describe('another tree landed than was tested', () => {
  const untested = { tree: 'tree-other', why: 'm2 landed with another tree' };
  const landed = () => landing().answer({ kind: 'landed', sha: 'm2', untested });

  test('the loop is held at once and trunk is verified, before anything else of the merge', () => {
    const play = landed();
    expect(play.task).toMatchObject({
      state: 'merged',
      mergedSha: 'm2',
      unverified: { sha: 'm2', ...untested },
    });
    expect(play.actionsOf('hold_loop')).toMatchObject([
      { hold: { reason: 'untested_merge', why: 'm2 landed with another tree' } },
    ]);
    expect(play.run()).toEqual({ kind: 'gate', scope: 'trunk', tree: 'tree-other', commit: 'm2' });
  });

  test.each([
    ['the tested tree', 'tree-candidate', []],
    ['another tree', 'tree-other', ['hold_loop']],
  ])(
    'an answer that was lost is no excuse: the forge shows it merged with %s',
    (_which, mergedTree, holds) => {
      const play = landing();
      play.world.pull = { ...play.world.pull!, state: 'merged', mergedSha: 'm2', mergedTree };
      play.pending = [];
      play.look();
      expect(play.task).toMatchObject({ state: 'merged', why: 'landed on trunk' });
      expect(play.events.find(({ type }) => type === 'merge_observed')?.data).toEqual({
        sha: 'm2',
        by: 'loop',
      });
      expect(play.actionsOf('hold_loop').map(({ kind }) => kind)).toEqual(holds);
    },
  );

  test('what a person merged before anything was tested is theirs', () => {
    const play = merging().candidate();
    play.world.pull = { ...play.world.pull!, state: 'merged', mergedSha: 'm2', mergedTree: 'tree-other' };
    play.look();
    expect(play.task).toMatchObject({ state: 'merged', why: 'a person merged it' });
    expect(play.actionsOf('hold_loop')).toEqual([]);
  });

  test('trunk that passes releases it, and what was tested of the candidate stays as it was', () => {
    const play = landed();
    const before = play.task.landing;
    play.gate('pass');
    expect(play.actionsOf('release_loop')).toMatchObject([
      { key: loopHoldKey(play.actionsOf('hold_loop')[0]!.hold), why: 'trunk passes the gate at m2' },
    ]);
    expect(play.task).toMatchObject({ unverified: null, landing: before });
  });

  test.each(['fail', 'could_not_run'] as const)('%s leaves it held, and says so on the issue', (outcome) => {
    const play = landed().gate(outcome);
    expect(play.actionsOf('release_loop')).toEqual([]);
    expect(play.actionsOf('comment').at(-1)?.body).toContain('The loop is held: m2 landed with another tree');
  });
});

const PAYER = accountOf(merging().policy.agents.coder);

test.each([
  ['the loop’s budget', { loopLimit: { scope: 'loop' as const, why: 'all spent', until: null } }],
  ['the provider’s account', { accountLimits: [{ account: PAYER, why: 'used up', until: 9e15 }] }],
])('a conflict that %s does not pay for now leaves the merge to others', (_what, spent) => {
  const play = merging();
  Object.assign(play.world, spent);
  play.answer({ kind: 'conflict', files: ['a.ts'], trunk: 't2' });
  expect(play.task).toMatchObject({ state: 'awaiting_critic', mergeInto: 't2', landing: null });
});

describe('a refusal of the forge that may pass', () => {
  const SAYS = 'GitHub refused it (405): Base branch was modified. Review and try the merge again.';
  const refused = (play: Play) => play.answer({ kind: 'landing_refused', detail: SAYS });
  /** Waits out the hold, and comes to the landing of the same candidate again. */
  const again = (play: Play) => play.wait(play.task.hold!.until! - play.now).candidate();

  test('waits a moment, keeps the merge free for others, and is tried again with what was tested', () => {
    const play = refused(landing());
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      landing: null,
      hold: { reason: 'retry_backoff', detail: SAYS, until: play.now + 10_000 },
    });
    expect(again(play).pending.map(({ action }) => action.kind)).toEqual(['land']);
  });

  test('waits longer each time, and is a person’s matter only at the eighth, in the words of the forge', () => {
    const play = refused(landing());
    const waits: number[] = [];
    while (play.task.hold?.reason === 'retry_backoff') {
      waits.push(play.task.hold.until! - play.now);
      refused(again(play));
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'merge_refused', detail: `refused 8 times: ${SAYS}`, until: null },
    });
  });

  test.each<[string, (play: Play) => Play]>([
    ['a person’s word', (play) => play.ask('resume').candidate()],
    [
      'a new head',
      (play) =>
        play
          .change({ branch: { sha: 'theirs', tree: 'tree-theirs' } })
          .gate('pass')
          .critic(APPROVE)
          .candidate(),
    ],
  ])('after %s it has all its tries again', (_what, goesOn) => {
    const play = refused(landing());
    while (play.task.hold?.reason === 'retry_backoff') refused(again(play));
    refused(goesOn(play));
    expect(play.task.hold).toMatchObject({ reason: 'retry_backoff', until: play.now + 10_000 });
  });

  test('a person’s objection meanwhile is heard before the next try', () => {
    const play = refused(landing());
    play.world.feedback = { checks: [], remarks: [remark('Not like this.', 'request_changes')] };
    play.wait(10_000);
    expect(play.task.state).toBe('revising');
  });

  test('a forge that does not answer is asked less and less often, and no person is bothered', () => {
    const play = landing();
    const waits: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      play.pending = [];
      play.change({ stuck: 'land failed 1×; will retry' });
      waits.push(play.task.hold!.until! - play.now);
      play.world.stuck = null;
      again(play);
    }
    expect(waits.slice(0, 7)).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect(play.task.state).toBe('merging');
  });
});

test('a head that the forge takes only with today’s trunk in it goes back to get it, also after the gate', () => {
  const play = landing().answer({ kind: 'conflict', files: [], trunk: 't2' });
  expect(play.task).toMatchObject({ state: 'revising', landing: null, hold: null });
  expect(play.actionsOf('merge_in')).toEqual([{ kind: 'merge_in', sha: 't2' }]);
});

describe('a merge queue of the forge’s own', () => {
  const waiting = () => {
    const play = landing().answer({ kind: 'merge_queued', tree: 'tree-candidate', detail: 'in the queue' });
    play.world.pull = { ...play.world.pull!, inMergeQueue: true };
    return play.look();
  };
  const merges = (play: Play, mergedTree: string) => {
    play.world.pull = {
      ...play.world.pull!,
      state: 'merged',
      mergedSha: 'm2',
      mergedTree,
      inMergeQueue: false,
    };
    return play.look();
  };

  test('it waits there, and the merge is free for others', () => {
    expect(waiting().task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'merge_queued' } });
  });

  test('an effect that fails meanwhile does not hide that it is there', () => {
    const play = landing();
    play.world.stuck = 'comment failed';
    play.answer({ kind: 'merge_queued', tree: 'tree-candidate', detail: 'in the queue' });
    play.change({ stuck: null, pull: { ...play.world.pull!, inMergeQueue: true } }).wait(600_000);
    const there = { inMergeQueue: { tree: 'tree-candidate' }, hold: { reason: 'merge_queued' } };
    expect(play.task).toMatchObject({ state: 'awaiting_critic', ...there });
  });

  test('an answer that was lost does not hide it either: what it lands is compared with what was tested', () => {
    const play = landing();
    play.pending = [];
    play.world.stuck = 'land failed';
    play.change({ pull: { ...play.world.pull!, inMergeQueue: true } });
    const there = { inMergeQueue: { tree: 'tree-candidate' }, hold: { reason: 'merge_queued' } };
    expect(play.task).toMatchObject({ state: 'awaiting_critic', ...there });
    expect(merges(play.change({ stuck: null }), 'tree-other').actionsOf('hold_loop')).toHaveLength(1);
  });

  test('a hold that a person ends too early is set again while it is there', () => {
    const play = waiting().ask('resume');
    expect(play.task).toMatchObject({ inMergeQueue: {}, hold: { reason: 'merge_queued' } });
  });

  test.each([
    ['the tree that was tested', 'tree-candidate', []],
    ['another tree', 'tree-other', ['hold_loop']],
  ])('merged with %s', (_which, tree, holds) => {
    const play = merges(waiting(), tree);
    expect(play.task).toMatchObject({ state: 'merged', why: "the forge's merge queue merged it" });
    expect(play.events.find(({ type }) => type === 'merge_observed')?.data).toEqual({
      sha: 'm2',
      by: 'loop',
    });
    expect(play.actionsOf('hold_loop').map(({ kind }) => kind)).toEqual(holds);
    expect(play.run()?.kind).toBe(holds.length > 0 ? 'gate' : undefined);
  });

  test.each([
    ['abandoned', (play: Play) => play.ask('abandon'), { state: 'abandoned', inMergeQueue: null }],
    [
      'edited',
      (play: Play) => play.issue({ textHash: 'body-2' }),
      { hold: { reason: 'body_edited' }, inMergeQueue: null },
    ],
  ])('%s meanwhile, it is taken out again', (_what, happens, after) => {
    const play = happens(waiting());
    expect(play.task).toMatchObject(after);
    expect(play.actionsOf('leave_queue')).toEqual([{ kind: 'leave_queue', pull: play.task.pull }]);
  });

  const shows = (play: Play, pull: Partial<NonNullable<Play['world']['pull']>>) =>
    play.change({ pull: { ...play.world.pull!, ...pull } });

  test('given back unmerged, a person looks at once; released, it is put in again', () => {
    const play = waiting();
    shows(play, { inMergeQueue: false, queueLeft: { at: play.now + 1, why: 'failed checks' } });
    expect(play.task).toMatchObject({
      inMergeQueue: null,
      hold: { reason: 'merge_refused', detail: 'the merge queue rejected it: failed checks' },
    });
    expect(play.ask('resume').pending[0]?.action.kind).toBe('build_candidate');
  });

  test('out of the queue and not merged yet, it waits for what the forge shows late', () => {
    const play = shows(waiting(), { inMergeQueue: false });
    const unseen = { reason: 'merge_queued', until: play.now + 300_000 };
    expect(play.task).toMatchObject({ state: 'awaiting_critic', inMergeQueue: {}, hold: unseen });
    expect(play.wait(200_000).ask('resume').task.hold).toMatchObject(unseen);
    expect(merges(play, 'tree-candidate').task).toMatchObject({
      state: 'merged',
      why: "the forge's merge queue merged it",
    });
    expect(play.actionsOf('land')).toHaveLength(1);
  });

  test('out of it since a time that is still to come, by a clock that was set back, it is waited for from now on', () => {
    const play = shows(waiting().wait(7_200_000), { inMergeQueue: false });
    play.now -= 3_600_000;
    play.ask('resume');
    expect(play.task).toMatchObject({
      inMergeQueue: { unseenAt: play.now },
      hold: { reason: 'merge_queued', until: play.now + 300_000 },
    });
  });

  test('never shown again, a person looks after a while; it is not put in again by itself', () => {
    const play = shows(waiting(), { inMergeQueue: false }).wait(300_000);
    expect(play.task).toMatchObject({
      inMergeQueue: null,
      hold: { reason: 'merge_refused', detail: 'the merge queue rejected it: see the pull request' },
    });
    expect(play.wait(3_600_000).actionsOf('land')).toHaveLength(1);
  });

  test('shown again, it waits as before, and the next time it is out it is waited for anew', () => {
    const play = shows(shows(waiting(), { inMergeQueue: false }), { inMergeQueue: true }).wait(300_000);
    expect(play.task.hold).toMatchObject({ reason: 'merge_queued', until: null });
    shows(play.wait(60_000), { inMergeQueue: false });
    expect(play.task.hold).toMatchObject({ reason: 'merge_queued', until: play.now + 300_000 });
  });

  test('what the queue gave back before it was put in this time says nothing', () => {
    const play = waiting();
    shows(play, { inMergeQueue: false, queueLeft: { at: play.now - 1, why: 'failed checks' } });
    expect(play.task.hold).toMatchObject({ reason: 'merge_queued', until: play.now + 300_000 });
  });
});

describe('waiting to merge', () => {
  test('one candidate at a time: the edge is guarded by the limit in the same commit', () => {
    const play = awaiting();
    play.world.mergeFree = false;
    play.critic(APPROVE);
    expect(play.decide()).toMatchObject({ kind: 'rest', for: 'grant', why: 'approved; others merge first' });
    play.world.mergeFree = true;
    expect(play.decide()).toMatchObject({ kind: 'act', limits: { merging: 3 } });
  });

  test('a dirty checkout waits, says so, and goes on by itself when it is clean', () => {
    const play = awaiting();
    play.world.mergeBlocker = 'a.ts has changes';
    play.critic(APPROVE);
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'dirty_checkout', detail: 'a.ts has changes' },
    });
    expect(play.change({ mergeBlocker: null }).task).toMatchObject({ state: 'merging', hold: null });
  });

  test('a checkout that became dirty while landing waits too', () => {
    const play = landing();
    play.world.mergeBlocker = 'a.ts has changes';
    play.answer({ kind: 'dirty_checkout', detail: 'a.ts has changes' });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'dirty_checkout' } });
    expect(play.change({ mergeBlocker: null }).task.state).toBe('merging');
  });

  test('a landing blocked by what nothing else can see is tried again later, each time later', () => {
    const play = landing();
    const blocked = (): number => {
      play.answer({ kind: 'dirty_checkout', detail: 'git is busy' });
      const { state, hold } = play.task;
      expect({ state, hold }).toMatchObject({
        state: 'awaiting_critic',
        hold: { reason: 'dirty_checkout', detail: 'git is busy' },
      });
      expect(play.decide()).toMatchObject({ kind: 'rest', until: hold!.until });
      return hold!.until! - play.now;
    };
    const first = blocked();
    expect(first).toBeGreaterThan(0);
    play.wait(first);
    expect(play.task.state).toBe('merging');
    play.candidate();
    expect(blocked()).toBeGreaterThan(first);
  });

  test('a disabled merge waits for a person’s merge (dispatch 49)', () => {
    const play = awaiting({ merge: { enabled: false } }).critic(APPROVE);
    expect(play.task.hold).toMatchObject({ reason: 'needs_merge', until: null });
    // Which setting asks for it is said once.
    expect(holdText(play.task.hold!, '#7').split('merge.enabled')).toHaveLength(2);
    expect(play.actionsOf('build_candidate')).toEqual([]);
    play.change({ pull: { state: 'merged', mergedSha: 'm5', approvals: [] } });
    expect(play.task).toMatchObject({ state: 'merged', mergedSha: 'm5' });
  });

  test('a merge that is enabled again goes on by itself', () => {
    const play = awaiting({ merge: { enabled: false } }).critic(APPROVE);
    expect(play.configure({ merge: { enabled: true } }).task.state).toBe('merging');
  });

  test('a paused task in the middle of merging steps aside', () => {
    const play = merging().candidate();
    play.world.requests.push({ id: 9, kind: 'pause', by: 'ann' });
    play.gate('pass');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'operator_pause' } });
    expect(play.actionsOf('land')).toEqual([]);
  });
});

describe('an edited issue', () => {
  const edited = { body: 'Clicking Revoke asks first.', textHash: 'body-2' };

  test('is refused until it is made ready again (dispatch 45)', () => {
    const play = awaiting().issue(edited).critic(APPROVE);
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'body_edited' } });
    expect(play.ask('resume').task.hold?.reason).toBe('body_edited');
  });

  test('is refused in the middle of merging too (dispatch 45)', () => {
    const play = merging().candidate();
    play.world.issue = { ...play.world.issue!, ...edited };
    play.gate('pass');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'body_edited' } });
    expect(play.actionsOf('land')).toEqual([]);
  });

  test('made ready again, its new text goes to the coder, and the old approval no longer counts', () => {
    const play = awaiting().issue(edited).critic(APPROVE).issue({ readyHash: 'body-2' });
    expect(play.task).toMatchObject({ state: 'revising', contract: { hash: 'body-2' }, verdict: null });
    expect(play.task.feedback[0]?.text).toContain(edited.body);
    play.turn().checkpoint('c1');
    expect(play.run()).toMatchObject({ role: 'critic', turn: 2 });
  });

  test('changed back to what it was, it goes on', () => {
    const play = awaiting().issue(edited).critic(APPROVE);
    const { body, hash } = play.task.contract;
    expect(play.issue({ body, textHash: hash }).task.state).toBe('merging');
  });

  test.each([
    ['before its first turn', () => queued(), 'queued'],
    ['before its merge', () => merging().candidate(), 'awaiting_critic'],
  ])('whose history shows it only later is found out %s', (_when, play, state) => {
    const found = play();
    found.world.issue = { ...found.world.issue!, readyHash: 'nobody agreed to this' };
    expect((state === 'queued' ? found.look() : found.gate('pass')).task).toMatchObject({
      state,
      hold: { reason: 'body_edited' },
    });
    expect(found.actionsOf('turn').filter(({ turn }) => turn > 1)).toEqual([]);
    expect(found.actionsOf('land')).toEqual([]);
    expect(found.issue({ readyHash: 'body-1' }).task.hold).toBeNull();
  });

  test.each([
    ['by somebody who may not', { readyProblem: 'added by mallory' }],
    ['a moment ago, which nothing proves yet', { unproved: { why: 'it lags', until: 1 } }],
    ['for all that anybody can tell', { readyHash: null }],
  ])('made ready again %s, it has no new contract', (_who, more) => {
    const play = awaiting()
      .issue(edited)
      .critic(APPROVE)
      .issue({ readyHash: 'body-2', ...more });
    expect(play.task.contract.hash).toBe('body-1');
  });

  test('made ready again before the first turn, it is simply the contract', () => {
    const play = queued().issue({ ...edited, readyHash: 'body-2' });
    expect(play.task).toMatchObject({ contract: { hash: 'body-2' }, feedback: [] });
  });

  test('a session that was interrupted in its first turn learns of the new text', () => {
    const play = running().crash();
    expect(play.task.turns).toBe(0);
    play.world.issue = { ...play.world.issue!, ...edited, readyHash: 'body-2' };
    play.checkpoint('c1');
    expect(play.task.feedback).toMatchObject([{ kind: 'contract' }]);
    expect(play.run()).toMatchObject({ sessionId: 's1', prompt: 'interrupted' });
  });
});

describe('a text whose history lags', () => {
  const unproved = { why: 'its history is older than its text', until: 5000 };

  test('is waited for before the first turn', () => {
    const play = new Play();
    play.world.issue = { ...play.world.issue!, unproved };
    expect(play.claim().decide()).toMatchObject({ kind: 'rest', ...unproved });
    delete play.world.issue.unproved;
    expect(play.look().task.state).toBe('running');
  });

  test('keeps an approved task out of the line', () => {
    const play = awaiting();
    play.world.issue = { ...play.world.issue!, unproved };
    play.critic(APPROVE);
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: null });
    expect(play.decide()).toMatchObject({ kind: 'rest', ...unproved });
    delete play.world.issue.unproved;
    expect(play.look().task.state).toBe('merging');
  });

  test('is waited for before the merge', () => {
    const play = merging().candidate();
    play.world.issue = { ...play.world.issue!, unproved };
    play.gate('pass');
    expect(play.actionsOf('land')).toEqual([]);
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { detail: unproved.why } });
    delete play.world.issue.unproved;
    play.wait(unproved.until);
    expect(play.task.state).toBe('merging');
  });
});

function stray(): Finding {
  const play = awaiting().critic(changes());
  return { ...play.findings[0]!, source: 'person' };
}
