/** While a task waits for its critic: verdicts, rounds, unusable reports, people. */
import { describe, expect, test } from 'vitest';
import {
  APPROVE,
  awaiting,
  BLOCK,
  changes,
  judgedBy,
  type Play,
  problem,
  revising,
  running,
  turnOutcome,
} from '../../test/support/play.ts';
import { type PolicyChange, testPolicy } from '../../test/support/policy.ts';
import type { NewFinding } from './change/findings.ts';
import { holdText } from './hold.ts';
import { roleRow } from './role.ts';

const ended = (play: Play) => [play.task.state, play.task.reason];
const critics = (play: Play) => play.actionsOf('turn').filter(({ role }) => role === 'critic');

describe('a verdict', () => {
  test('is asked for once per head, in a session of its own', () => {
    const play = awaiting();
    expect(play.run()).toMatchObject({ role: 'critic', turn: 1, sessionId: 's2', prompt: 'critic' });
    expect(play.task).toMatchObject({ roles: { coder: { session: 's1' } }, sessionIds: ['s1'], turns: 1 });
  });

  test('waits for a free critic', () => {
    const play = awaiting({ critic: { enabled: false } });
    play.world.criticsBusy = true;
    play.configure({ critic: { enabled: true } });
    expect(play.decide()).toMatchObject({ kind: 'rest', for: 'grant', why: 'waiting for a critic' });
    play.world.criticsBusy = false;
    expect(play.decide()).toMatchObject({ limits: { critics: 2 } });
  });

  test('REQUEST_CHANGES resumes the same session in the same workspace (dispatch 29)', () => {
    const play = revising();
    expect(play.task.state).toBe('revising');
    expect(play.run()).toMatchObject({ role: 'coder', turn: 2, sessionId: 's1', prompt: 'revise' });
    expect(play.actionsOf('prepare_workspace')).toHaveLength(2);
    expect(play.task.workspace).toBe('ws');
  });

  test('REQUEST_CHANGES is said to the coder and posted on the pull request with every severity', () => {
    const report = {
      verdict: 'REQUEST_CHANGES',
      findings: [problem('sev2', 'no role'), problem('sev3', 'naming')],
    };
    const play = awaiting().critic(report);
    expect(play.task.feedback[0]?.text).toContain('[sev2] a.ts:3 no role');
    const [review] = play.actionsOf('post_review');
    expect(review).toMatchObject({ pull: 1, headSha: 'c1', verdict: 'REQUEST_CHANGES' });
    expect(review?.comments.map(({ body }) => body)).toEqual(['[sev2] no role', '[sev3] naming']);
  });

  test('each review is posted under a mark of its own', () => {
    const play = revising().worked('c2').critic(changes('another'));
    const marks = play.actionsOf('post_review').map(({ marker }) => marker);
    expect(new Set(marks).size).toBe(2);
  });

  test('the third REQUEST_CHANGES of three ends the task and asks for a person (dispatch 30)', () => {
    const play = awaiting().critic(changes('one')).worked('c2').critic(changes('two')).worked('c3');
    expect(play.task.state).toBe('awaiting_critic');
    play.critic(changes('three'));
    expect(ended(play)).toEqual(['abandoned', 'max_critic_rounds']);
    expect(play.task).toMatchObject({ criticRounds: 3, changeRequests: 3, sessionIds: ['s1'] });
    expect(play.world.issue?.labels).toEqual(['loop:needs-review']);
  });

  test('the cap counts requests for changes, not verdicts: an approval after two still merges', () => {
    const play = awaiting()
      .critic(changes('one'))
      .worked('c2')
      .critic(changes('two'))
      .worked('c3')
      .critic(APPROVE);
    expect(play.task.state).toBe('merging');
  });

  test('BLOCK ends the task at once, with the operator’s label and the worktree preserved (dispatch 31)', () => {
    const play = awaiting().critic(BLOCK);
    expect(ended(play)).toEqual(['abandoned', 'critic_blocked']);
    expect(play.world.issue?.labels).toEqual(['loop:blocked']);
    expect(play.of('worktree_preserved')).toHaveLength(1);
    expect(play.states().filter((state) => state === 'abandoned')).toHaveLength(1);
  });

  test('BLOCK_ON_SPEC gives the issue back to its author', () => {
    const play = awaiting().critic({ verdict: 'BLOCK_ON_SPEC', specDefects: ['says A and not A'] });
    expect(ended(play)).toEqual(['abandoned', 'spec_rejected']);
    expect(play.world.issue?.labels).toEqual(['loop:needs-spec']);
  });

  test('APPROVE beside a blocking finding is a request for changes', () => {
    const play = awaiting().critic({ verdict: 'APPROVE', findings: [problem('sev1', 'loses data')] });
    expect(play.task).toMatchObject({ state: 'revising', changeRequests: 1 });
  });

  test('APPROVE for an older head does not merge (dispatch 32)', () => {
    const play = awaiting();
    play.world.branch = { sha: 'c9', tree: 'tree-c9' };
    play.critic(APPROVE);
    expect(play.task.verdict).toMatchObject({ verdict: 'APPROVE', headSha: 'c1' });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', head: { sha: 'c9' } });
    play.gate('pass');
    expect(play.run()).toMatchObject({ role: 'critic', turn: 2 });
    expect(play.states()).not.toContain('merging');
  });

  test('a request for changes without anything left to say is judged again, never taken for an approval', () => {
    const play = revising().ask('cancel').restart();
    play.turn().checkpoint('c1');
    expect(play.task.verdict).toMatchObject({ verdict: 'REQUEST_CHANGES', headSha: 'c1' });
    expect(play.run()).toMatchObject({ role: 'critic' });
    expect(play.states()).not.toContain('merging');
  });

  test('the same finding open three rounds running asks for a person', () => {
    const play = awaiting({ critic: { maxRounds: 9 } });
    play
      .critic(changes('the dialog has no role'))
      .worked('c2')
      .critic(changes('The dialog has no role'))
      .worked('c3');
    play.critic(changes('the dialog has no role!'));
    expect(ended(play)).toEqual(['abandoned', 'finding_stuck']);
    expect(play.findings).toHaveLength(1);
  });

  test('a finding that was mended in between is not stuck', () => {
    const play = awaiting({ critic: { maxRounds: 9 } });
    play
      .critic(changes('a'))
      .worked('c2')
      .critic(changes('a'))
      .worked('c3')
      .critic(changes('b'))
      .worked('c4');
    play.critic(changes('a'));
    expect(play.task.state).toBe('revising');
  });

  test('no turn is left for a revision: max_turns_reached', () => {
    const play = awaiting({ maxTurns: 1 }).critic(changes());
    expect(ended(play)).toEqual(['abandoned', 'max_turns_reached']);
  });
});

describe('an unusable report', () => {
  /** The first is asked for at once, the last is followed by a person. */
  const BACKOFFS = roleRow('critic').patience[0]!.most - 2;
  const garbage = (play: Play): Play => play.turn('finished', { text: 'looks good to me!' });
  /** Each time for another reason. */
  const nonsense = (play: Play): Play =>
    play.task.roles.critic.unusable % 2 === 0
      ? garbage(play)
      : play.turn('finished', { structured: { verdict: 'FINE' } });

  test('is asked for once more at once, and never approves (dispatch 33)', () => {
    const play = garbage(awaiting());
    expect(play.of('answer_unusable')).toHaveLength(1);
    expect(critics(play)).toHaveLength(2);
    expect(play.task.verdict).toBeNull();
    expect(play.critic(APPROVE).task.state).toBe('merging');
  });

  test('then backs off five times, then holds for a person, then ends (dispatch 33)', () => {
    const play = nonsense(awaiting());
    const waits: number[] = [];
    for (let n = 0; n < BACKOFFS; n += 1) {
      nonsense(play);
      expect(play.task.hold?.reason).toBe('retry_backoff');
      waits.push(play.task.hold!.until! - play.now);
      play.wait(300_000);
    }
    expect(waits).toEqual([10_000, 20_000, 40_000, 80_000, 160_000]);
    nonsense(play);
    expect(play.task.hold).toMatchObject({ reason: 'critic_unusable', until: null });
    play.wait(86_400_000);
    expect(play.task.hold?.reason).toBe('critic_unusable');
    nonsense(play.ask('resume'));
    expect(ended(play)).toEqual(['abandoned', 'critic_unusable']);
    expect(play.states()).not.toContain('merging');
  });

  test('for the same reason three times holds for a person, who reads the reason', () => {
    const play = garbage(garbage(garbage(awaiting())).wait(10_000));
    expect(play.task.hold).toMatchObject({
      reason: 'critic_unusable',
      detail: '3 reports in a row were unusable, the last: the critic returned no structured report',
    });
    expect(holdText(play.task.hold!, '#7')).toContain('no structured report');
    garbage(play.ask('resume'));
    expect(play.task.why).toBe('the last report: the critic returned no structured report');
  });

  test.each(['failed', 'timed_out', 'stalled'] as const)('a critic that %s counts as one', (status) => {
    expect(awaiting().turn(status).task.roles.critic).toMatchObject(
      status === 'stalled' ? { stalled: 1 } : { failed: 1 },
    );
  });

  test('a critic that was interrupted does not', () => {
    const play = awaiting().crash();
    expect(play.task).toMatchObject({ roles: { critic: { failed: 0 } }, criticRounds: 0 });
    expect(play.run()).toMatchObject({ role: 'critic', sessionId: 's3' });
  });

  test('a usable one ends the streak', () => {
    expect(garbage(awaiting()).critic(changes()).task.roles.critic).toMatchObject({
      unusable: 0,
      problem: null,
    });
  });

  test('a person’s approval ends the hold', () => {
    const play = awaiting();
    for (let n = 0; n <= BACKOFFS + 1; n += 1) nonsense(play).wait(play.task.hold ? 200_000 : 0);
    expect(play.task.hold?.reason).toBe('critic_unusable');
    expect(play.ask('approve').task).toMatchObject({
      state: 'merging',
      verdict: { by: 'ann', headSha: 'c1' },
    });
  });
});

describe('the next round', () => {
  const twoRounds = (change: PolicyChange = {}) => revising(change).worked('c2');
  const NEXT = { role: 'critic', turn: 2, sessionId: 's2', prompt: 'next_round', priorFailure: null };
  const ANEW = { role: 'critic', turn: 2, sessionId: 's3', prompt: 'critic' };

  test('goes on with the session that gave the last verdict, and is about the new head alone', () => {
    const play = twoRounds();
    expect(play.run()).toMatchObject(NEXT);
    play.critic(changes('another'));
    expect(play.task.verdict).toMatchObject({ headSha: 'c2', round: 2 });
    play.worked('c3');
    expect(play.run()).toMatchObject({ ...NEXT, turn: 3 });
    expect(play.fold()).toEqual(play.task);
  });

  test('has to judge every criterion again, and answers for every open finding', () => {
    const play = judgedBy('- [ ] It opens\n- [ ] It closes').critic(changes()).worked('c2');
    play.critic({ ...APPROVE, criteria: [{ id: 'c1', met: 'met', evidence: 'a.test.ts' }] });
    expect(play.task).toMatchObject({ criticRounds: 1, roles: { critic: { unusable: 1 } } });
    expect(play.run()).toMatchObject({ ...ANEW, priorFailure: 'the report does not judge c2' });
    expect(twoRounds().critic({ ...APPROVE, earlier: [] }).task.verdict).toMatchObject({
      verdict: 'REQUEST_CHANGES',
      headSha: 'c2',
    });
  });

  test('begins anew when the provider’s cache may have forgotten the last one', () => {
    const later = (ms: number) => {
      const play = revising();
      play.now += ms;
      return play.worked('c2').run();
    };
    expect(later(5 * 60_000 - 1)).toMatchObject(NEXT);
    expect(later(5 * 60_000)).toMatchObject(ANEW);
  });

  test('begins anew when the change is large: it would read it again with every call', () => {
    const play = revising();
    play.world.chars = 20_001;
    expect(play.worked('c2').run()).toMatchObject(ANEW);
  });

  test.each(['fresh', 'rotate'] as const)('begins anew where session.policy is %s', (session) => {
    expect(critics(twoRounds({ session })).at(-1)).toMatchObject({ turn: 2, prompt: 'critic' });
  });

  test('begins anew for a program of the operator’s own, which may remember nothing', () => {
    const { agents } = testPolicy();
    const play = twoRounds({ agents: { ...agents, critic: { ...agents.critic, kind: 'command' } } });
    expect(play.run()).toMatchObject(ANEW);
  });

  test.each(['session_lost', 'context_overflow', 'invalid_request'])(
    'begins anew at once, at no cost to the task, when its session can’t be gone on with: %s',
    (code) => {
      const play = twoRounds().turn('failed', { code, message: 'no' });
      expect(play.run()).toMatchObject(ANEW);
      expect(play.task).toMatchObject({ hold: null, criticRounds: 1, roles: { critic: { failed: 0 } } });
      expect(play.turn('failed', { code, message: 'no' }).task.roles.critic).toMatchObject({ failed: 1 });
    },
  );

  test('begins anew after it was interrupted, and after a turn that failed', () => {
    const crashed = twoRounds().crash();
    expect(crashed.run()).toMatchObject(ANEW);
    expect(crashed.task.roles.critic).toMatchObject({ failed: 0, session: null });
    const failed = twoRounds().turn('failed', { code: 'overload', message: 'busy' });
    expect(failed.task.roles.critic).toMatchObject({ failed: 1, session: null });
    expect(failed.wait(60_000).run()).toMatchObject(ANEW);
  });

  test('goes on after a turn that was taken up', () => {
    const report = { ...changes('another'), earlier: [{ id: 't1.1', addressed: 'yes' }] };
    const play = twoRounds().crash({}, turnOutcome('finished', { structured: report }));
    expect(play.task.criticRounds).toBe(2);
    expect(play.worked('c3').run()).toMatchObject({ ...NEXT, turn: 3 });
  });

  test('begins anew when the last one was shortened: a summary of the contract is not the contract', () => {
    const play = awaiting();
    play.answer(turnOutcome('finished', { structured: changes(), shortened: true })).worked('c2');
    expect(play.run()).toMatchObject(ANEW);
  });

  test('begins anew when the contract is another one', () => {
    const play = revising().issue({
      body: 'Something else: it closes.',
      textHash: 'body-2',
      readyHash: 'body-2',
    });
    play.turn().checkpoint('c2').worked('c3');
    expect(play.run()).toMatchObject({ role: 'critic', prompt: 'critic' });
  });
});

describe('a disabled critic', () => {
  const off = () => awaiting({ critic: { enabled: false } });

  test('waits for a person’s approval; it is never taken as given (dispatch 49)', () => {
    const play = off();
    expect(play.task.hold).toMatchObject({ reason: 'needs_approval', until: null });
    expect(critics(play)).toEqual([]);
    expect(play.wait(86_400_000).task.hold?.reason).toBe('needs_approval');
  });

  test('goes on with an approval for exactly this head', () => {
    const pull = { state: 'open', mergedSha: null } as const;
    const play = off().change({ pull: { ...pull, approvals: [{ headSha: 'c0', by: 'ann' }] } });
    expect(play.task.hold?.reason).toBe('needs_approval');
    play.change({ pull: { ...pull, approvals: [{ headSha: 'c1', by: 'bob' }] } });
    expect(play.task).toMatchObject({ state: 'merging', verdict: { by: 'bob', headSha: 'c1' } });
  });

  test('goes on with an approval asked through us', () => {
    expect(off().ask('approve', 'cyd').task).toMatchObject({ state: 'merging', verdict: { by: 'cyd' } });
  });

  test('an approval of a head that is no more approves nothing, and says so', () => {
    const play = off().ask('approve', 'cyd', { head: 'c0' });
    expect(play.task).toMatchObject({ hold: { reason: 'needs_approval' }, verdict: null });
    expect(play.events.filter(({ type }) => type === 'approval_outdated')).toMatchObject([
      { data: { by: 'cyd', head: 'c0' } },
    ]);
    expect(play.ask('approve', 'cyd', { head: 'c1' }).task.state).toBe('merging');
  });

  test('goes on by itself once the critic is enabled again', () => {
    expect(
      off()
        .configure({ critic: { enabled: true } })
        .run(),
    ).toMatchObject({ role: 'critic' });
  });
});

test('a critic that wrote is asked once more at once, then after a wait', () => {
  const wrote = { code: 'critic_wrote', message: 'it wrote' };
  const play = awaiting().turn('failed', wrote);
  expect(play.task.hold).toBeNull();
  expect(play.turn('failed', wrote).task.hold).toMatchObject({ reason: 'retry_backoff' });
});

describe('people', () => {
  test('a person pushed: their head is fetched, verified and judged', () => {
    const play = awaiting();
    play.world.branch = { sha: 'theirs', tree: 'tree-theirs' };
    play.turn('failed', { code: 'critic_wrote' });
    expect(play.actionsOf('adopt_head')).toEqual([{ kind: 'adopt_head', sha: 'theirs' }]);
    expect(play.run()).toMatchObject({ kind: 'gate', commit: 'theirs' });
    expect(play.gate('pass').run()).toMatchObject({ role: 'critic' });
  });

  test('a workspace that is gone when their head is verified is made anew at it', () => {
    const play = awaiting();
    play.world.branch = { sha: 'theirs', tree: 'tree-theirs' };
    play.turn('failed', { code: 'critic_wrote' });
    play.answer({ kind: 'workspace_lost', saved: 'c1' });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', head: { sha: 'theirs' } });
    expect(play.actionsOf('adopt_head')).toHaveLength(2);
    expect(play.run()).toMatchObject({ kind: 'gate', commit: 'theirs' });
    expect(play.gate('pass').run()).toMatchObject({ role: 'critic' });
  });

  test('what was asked of an older head is dropped with it: the new one is judged first', () => {
    const play = awaiting();
    play.world.slotsFull = true;
    play.critic(changes()).change({ branch: { sha: 'theirs', tree: 'tree-theirs' } });
    expect(play.task.feedback).toEqual([]);
    expect(play.change({ slotsFull: false }).gate('pass').run()).toMatchObject({ role: 'critic' });
  });

  test('a person’s red push goes to the coder', () => {
    const play = awaiting({ critic: { enabled: false } });
    play.change({ branch: { sha: 'theirs', tree: 'tree-theirs' } }).gate('fail');
    expect(play.task).toMatchObject({ state: 'revising', feedback: [{ kind: 'gate' }] });
  });

  test('a gate that can’t run on it holds the task; another push ends that hold', () => {
    const play = awaiting({ critic: { enabled: false } });
    play.change({ branch: { sha: 'theirs', tree: 'tree-theirs' } }).gate('could_not_run');
    expect(play.task.hold?.reason).toBe('gate_could_not_run');
    play.change({ branch: { sha: 'again', tree: 'tree-again' } });
    expect(play.run()).toMatchObject({ kind: 'gate', commit: 'again' });
  });

  test('a paused task stays paused when somebody pushes', () => {
    const play = awaiting({ critic: { enabled: false } }).ask('pause');
    play.change({ branch: { sha: 'theirs', tree: 'tree-theirs' } });
    expect(play.task).toMatchObject({ hold: { reason: 'operator_pause' }, head: { sha: 'c1' } });
  });
});

describe('criteria of the contract', () => {
  const BODY = '- [ ] It opens\n- [ ] It closes';
  const met = (id: string) => ({ id, met: 'met', evidence: 'a.test.ts' });

  test('a report that leaves one out is unusable, and nobody blames the coder', () => {
    const play = judgedBy(BODY).critic({ verdict: 'APPROVE', criteria: [met('c1')] });
    expect(play.of('answer_unusable')).toEqual([{ role: 'critic', problem: 'the report does not judge c2' }]);
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      verdict: null,
      feedback: [],
      criticRounds: 0,
    });
    expect(play.run()).toMatchObject({
      role: 'critic',
      turn: 1,
      priorFailure: 'the report does not judge c2',
    });
  });

  test.each(['unmet', 'unclear'])('an approval with one %s asks for changes and names it', (state) => {
    const criteria = [met('c1'), { id: 'c2', met: state, evidence: 'close.ts:9' }];
    const play = judgedBy(BODY).critic({ verdict: 'APPROVE', criteria });
    expect(play.task).toMatchObject({ state: 'revising', verdict: { verdict: 'REQUEST_CHANGES', criteria } });
    expect(play.task.feedback[0]?.text).toBe(`- [criterion ${state}] c2 It closes: close.ts:9`);
  });

  test('what was found is in the event, the row, the review and the pull request', () => {
    const criteria = [met('c1'), met('c2')];
    const play = judgedBy(BODY).critic({ verdict: 'APPROVE', criteria });
    expect(play.of('verdict_recorded')[0]?.criteria).toMatchObject(criteria);
    expect(play.task.verdict?.criteria).toMatchObject(criteria);
    expect(play.actionsOf('post_review')[0]?.body).toContain('| c1 | It opens | met | a.test.ts |');
    expect(play.actionsOf('update_pull')[0]).toMatchObject({
      pull: 1,
      title: 'Add a revoke button (#7)',
      body: expect.stringContaining('| c2 | It closes | met | a.test.ts |'),
    });
  });

  test('the pull request is told after each verdict, a person’s too', () => {
    const play = judgedBy(BODY).critic(changes()).worked('c2').critic(changes('other')).worked('c3');
    play.turn('failed').ask('approve');
    const bodies = play
      .actionsOf('update_pull')
      .map(({ body }) => /(?:Judged|Approved) by .*:/.exec(body)?.[0]);
    expect(bodies).toEqual([
      'Judged by critic at `c1`, round 1:',
      'Judged by critic at `c2`, round 2:',
      'Approved by ann at `c3`:',
    ]);
  });

  test('a new contract has new criteria, and nothing found about the old ones counts', () => {
    const play = judgedBy(BODY).critic({ verdict: 'APPROVE', criteria: [met('c1'), met('c2')] });
    play.issue({ body: '- [ ] It stays', textHash: 'body-2', readyHash: 'body-2' }).candidate();
    expect(play.task).toMatchObject({
      verdict: null,
      contract: { criteria: [{ id: 'c1', text: 'It stays' }] },
    });
  });
});

describe('a person decides about a finding', () => {
  const wontfix = (play: Play, finding = 't1.1') =>
    play.ask('wontfix', 'ann', { finding, why: 'that is how it shall be' });
  const waiting = (...reports: object[]) => {
    const play = awaiting();
    play.world.slotsFull = true;
    return reports.reduce<Play>((one, report) => one.critic(report), play);
  };

  test('to leave the only one that blocked: the critic is asked anew, the coder is not', () => {
    const play = wontfix(waiting(changes()));
    expect(play.of('finding_decided')).toMatchObject([{ finding: 't1.1', status: 'wontfix', settles: true }]);
    expect(play.findings[0]).toMatchObject({ status: 'wontfix', history: [{}, { by: 'ann', sha: 'c1' }] });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', verdict: null, feedback: [] });
    expect(play.run()).toMatchObject({ role: 'critic', turn: 2 });
    expect(play.world.requests).toEqual([]);
    play.critic(APPROVE);
    expect(play.task.state).toBe('merging');
  });

  test('and a critic that only repeats it asks for nothing', () => {
    const play = wontfix(waiting(changes())).critic(changes());
    expect(play.task).toMatchObject({ state: 'merging', verdict: { verdict: 'APPROVE', by: 'critic' } });
    expect(play.findings).toHaveLength(1);
  });

  const inOtherWords = (repeats: string | null) => ({
    verdict: 'REQUEST_CHANGES',
    findings: [{ severity: 'sev2', file: 'a.ts', line: 3, message: 'ESC does nothing', repeats }],
  });

  test('so does one that repeats it in other words and says so', () => {
    const play = wontfix(waiting(changes())).critic(inOtherWords('t1.1'));
    expect(play.task).toMatchObject({ state: 'merging', verdict: { verdict: 'APPROVE', by: 'critic' } });
    expect(play.findings).toMatchObject([{ id: 't1.1', status: 'wontfix' }]);
  });

  test('one that does not say so is heard, and the coder is told what stays as it is', () => {
    const play = wontfix(
      waiting({
        ...inOtherWords(null),
        findings: [{ ...inOtherWords(null).findings[0], message: 'the dialog has no role' }],
      }),
    );
    play.critic(inOtherWords(null));
    expect(play.task.verdict).toMatchObject({ verdict: 'REQUEST_CHANGES' });
    expect(play.task.feedback.map(({ text }) => text).join()).toContain(
      'It is next to finding t1.1, which ann left as is; do not change that one.',
    );
  });

  test('but one that finds it worse than before, or something else, is heard', () => {
    expect(
      wontfix(waiting(changes())).critic(changes('the dialog has no role', 'sev1')).task.verdict,
    ).toMatchObject({
      verdict: 'REQUEST_CHANGES',
    });
    expect(wontfix(waiting(changes())).critic(changes('ESC does nothing')).task.verdict?.verdict).toBe(
      'REQUEST_CHANGES',
    );
  });

  test.each<[string, object]>([
    [
      'another blocking one is open',
      { findings: [problem('sev2', 'no role'), problem('sev2', 'ESC does nothing')] },
    ],
    ['it was only advice', { findings: [problem('sev3', 'no role')] }],
  ])('to leave one while %s: the coder goes on', (_what, report) => {
    const play = wontfix(waiting({ verdict: 'REQUEST_CHANGES', ...report }));
    expect(play.of('finding_decided')).toMatchObject([{ settles: false }]);
    expect(play.task.feedback).toHaveLength(1);
    play.change({ slotsFull: false });
    expect(play.task.state).toBe('revising');
  });

  test('while a criterion is unmet the coder goes on', () => {
    const play = judgedBy('- [ ] It opens');
    play.world.slotsFull = true;
    play.critic({ ...changes(), criteria: [{ id: 'c1', met: 'unmet' }] });
    expect(wontfix(play).of('finding_decided')).toMatchObject([{ settles: false }]);
  });

  test('to take it up again: the approval falls, and the coder is told who and why', () => {
    const play = wontfix(waiting(changes())).critic(APPROVE);
    play.world.slotsFull = false;
    play.ask('reopen', 'bob', { finding: 't1.1', why: 'it matters' }).candidate();
    expect(play.findings[0]).toMatchObject({
      status: 'open',
      history: [{}, {}, { by: 'bob', why: 'it matters' }],
    });
    expect(play.task).toMatchObject({ state: 'revising', verdict: null });
    expect(play.task.feedback[0]?.text).toContain(
      'the dialog has no role\n  Taken up again by bob: it matters',
    );
  });

  test.each([
    ['nobody knows', 't1.9', 'wontfix'],
    ['is open already', 't1.1', 'reopen'],
  ])('about one that %s: nothing happens, and the request is answered', (_what, finding, kind) => {
    const play = waiting(changes()).ask(kind, 'ann', { finding });
    expect(play.of('finding_decided')).toEqual([]);
    expect(play.world.requests).toEqual([]);
  });

  test('the row is the fold of the events', () => {
    const play = wontfix(waiting(changes()))
      .critic(APPROVE)
      .ask('reopen', 'bob', { finding: 't1.1' })
      .candidate();
    expect(play.fold()).toEqual(play.task);
  });
});

describe('earlier findings', () => {
  test('one without an answer stays open, and an approval beside it is none', () => {
    const play = revising().worked('c2').critic({ verdict: 'APPROVE', earlier: [] });
    expect(play.findings).toMatchObject([{ status: 'open', rounds: [1, 2] }]);
    expect(play.task.verdict?.verdict).toBe('REQUEST_CHANGES');
    expect(play.task.feedback[0]?.text).toContain('the dialog has no role');
  });

  test('an approval beside a sev1 that somebody else found is none', () => {
    const play = awaiting();
    const [found] = awaiting().critic(changes('a hole', 'sev1')).findings;
    play.findings = [{ ...found!, source: 'rule' }];
    expect(play.critic(APPROVE).task.verdict?.verdict).toBe('REQUEST_CHANGES');
  });

  test('one that is answered with no three rounds running is stuck, in whatever words', () => {
    const no = [{ id: 't1.1', addressed: 'no' }];
    const play = revising().worked('c2').critic({ verdict: 'REQUEST_CHANGES', earlier: no });
    play.worked('c3').critic({ verdict: 'APPROVE', earlier: no });
    expect(ended(play)).toEqual(['abandoned', 'max_critic_rounds']);
    expect(play.task.why).toMatch(/^3 rounds asked for changes\. Open for 3 rounds: /);
    const patient = awaiting({ critic: { maxRounds: 9 } }).critic(changes());
    patient.worked('c2').critic({ verdict: 'REQUEST_CHANGES', earlier: no });
    patient.worked('c3').critic({ verdict: 'APPROVE', earlier: no });
    expect(ended(patient)).toEqual(['abandoned', 'finding_stuck']);
  });
});

describe('what the rules find before the critic is paid', () => {
  const tampering: NewFinding = {
    severity: 'sev1',
    category: 'gate_tampering',
    file: 'ci/test.sh',
    line: null,
    message: 'The verification rests on ci/test.sh: a gate command names it.',
    scenario: null,
    suggestion: null,
    context: 'blob-1',
  };
  const tampered = (change: PolicyChange = {}) => {
    const play = running(change);
    play.world.rules = [tampering];
    return play.worked('c1');
  };

  test('each head is looked at once, and a clean one goes on to the critic', () => {
    const play = awaiting();
    expect(play.actionsOf('inspect')).toEqual([{ kind: 'inspect', headSha: 'c1', baseSha: 'base' }]);
    expect(play.of('change_inspected')).toEqual([
      { headSha: 'c1', open: [], grave: [], sentBack: false, chars: 100, files: ['src/a.ts'] },
    ]);
    expect(play.task.inspected).toMatchObject({ headSha: 'c1', files: ['src/a.ts'] });
    expect(play.critic(changes()).worked('c2').actionsOf('inspect')).toHaveLength(2);
  });

  test('a grave one goes back to the coder without a critic, and is resolved when it is gone', () => {
    const play = tampered();
    expect(critics(play)).toEqual([]);
    expect(play.task).toMatchObject({
      state: 'running',
      published: null,
      sentBack: true,
      criticRounds: 0,
      changeRequests: 0,
    });
    expect(play.task.feedback[0]).toMatchObject({
      kind: 'rule',
      text: expect.stringContaining('ci/test.sh'),
    });
    expect(play.run()).toMatchObject({ role: 'coder', turn: 2, prompt: 'revise' });
    play.world.rules = [];
    play.worked('c2');
    expect(play.findings).toMatchObject([
      { source: 'rule', status: 'resolved', history: [{}, { by: 'rules' }] },
    ]);
    expect(play.run()).toMatchObject({ role: 'critic' });
  });

  test('the second time a person decides: no third turn, no critic', () => {
    const play = tampered().worked('c2');
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: { reason: 'protected_paths' },
      turns: 2,
    });
    expect(critics(play)).toEqual([]);
    expect(play.wait(8 * 3_600_000).task.hold).not.toBeNull();
  });

  test('text shaped like a secret is not even pushed; a person who knows better lets it go on', () => {
    const play = running();
    play.world.rules = [{ ...tampering, category: 'secret', message: 'A private key is in a.ts.' }];
    play.worked('c1').worked('c2');
    expect(play.task).toMatchObject({ state: 'running', hold: { reason: 'secret_found' }, turns: 2 });
    expect(play.task.hold?.detail).toBe('A private key is in a.ts. (finding t1.1)');
    expect(play.actionsOf('push')).toEqual([]);
    expect(play.wait(8 * 3_600_000).task.hold).not.toBeNull();
    play.ask('wontfix', 'ann', { finding: 't1.1', why: 'an example' });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', published: { sha: 'c2' } });
    expect(play.run()).toMatchObject({ role: 'critic' });
  });

  test('so too when the coder changes nothing', () => {
    const play = tampered().turn().checkpoint('c1');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'protected_paths' } });
  });

  test('their approval of that head ends it and merges, findings and all', () => {
    const play = tampered().worked('c2').ask('approve');
    expect(play.task).toMatchObject({ state: 'merging', hold: null, verdict: { by: 'ann' } });
    play.world.change = { files: ['ci/test.sh'], secrets: [], guarded: ['ci/test.sh'] };
    play.candidate().gate('pass');
    expect(play.actionsOf('land')).toHaveLength(1);
  });

  test('what the rules found is then decided by them in the ledger, at that head', () => {
    const play = tampered().worked('c2').ask('approve');
    expect(play.findings).toMatchObject([
      {
        status: 'wontfix',
        history: [
          {},
          { status: 'wontfix', by: 'ann', sha: 'c2', why: 'approved with the change', headOnly: true },
        ],
      },
    ]);
    expect(play.task.why).toBe('approved by ann; 1 finding left as it is by ann');
  });

  test('and is open again at another head, although nothing of it has changed', () => {
    const play = tampered().worked('c2');
    play.world.mergeFree = false;
    play
      .ask('approve')
      .change({ branch: { sha: 'p1', tree: 'tree-p1' } })
      .gate('pass');
    expect(play.findings).toMatchObject([
      {
        status: 'open',
        history: [{}, {}, { status: 'open', by: 'rules', why: 'another head was approved' }],
      },
    ]);
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'protected_paths' } });
    play.world.mergeFree = true;
    expect(play.ask('approve').task.state).toBe('merging');
  });

  test('what a critic found is not decided by an approval: it is asked about by itself', () => {
    const play = awaiting();
    play.world.slotsFull = true;
    play.critic(changes()).ask('approve');
    expect(play.findings).toMatchObject([{ source: 'critic', status: 'open' }]);
  });

  test('so too for text shaped like a secret, which only a person can tell from an example', () => {
    const play = tampered().worked('c2').ask('approve');
    play.world.change = { files: ['a.ts'], secrets: ['a.ts: a private key'], guarded: [] };
    play.candidate().gate('pass');
    expect(play.task).toMatchObject({ state: 'merging', turns: 2, feedback: [] });
    expect(play.actionsOf('land')).toHaveLength(1);
  });

  test('a secret that a person decided to leave still waits for their approval, and costs no further turn', () => {
    const play = tampered().worked('c2').ask('wontfix', 'ann', { finding: 't1.1', why: 'an example' });
    play.world.change = { files: ['a.ts'], secrets: ['a.ts: a private key'], guarded: [] };
    play.critic(APPROVE).candidate().gate('pass');
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      turns: 2,
      hold: { reason: 'protected_paths', detail: 'a.ts: a private key' },
    });
    expect(play.actionsOf('land')).toEqual([]);
  });

  test('an approval on the pull request does the same, one of another head does not', () => {
    const play = tampered().worked('c2');
    const pull = play.world.pull!;
    play.change({ pull: { ...pull, approvals: [{ headSha: 'c1', by: 'bob' }] } });
    expect(play.task.hold).not.toBeNull();
    play.change({ pull: { ...pull, approvals: [{ headSha: 'c2', by: 'bob' }] } });
    expect(play.task).toMatchObject({ state: 'merging', verdict: { by: 'bob', headSha: 'c2' } });
  });

  test('a decision to leave it lets the critic judge, but merges nothing by itself', () => {
    const play = tampered().worked('c2').ask('wontfix', 'ann', { finding: 't1.1', why: 'wanted' });
    expect(play.run()).toMatchObject({ role: 'critic' });
    play.world.change = { files: ['ci/test.sh'], secrets: [], guarded: ['ci/test.sh'] };
    play.critic(APPROVE).candidate().gate('pass');
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'protected_paths' } });
    expect(play.actionsOf('land')).toEqual([]);
    const approvals = [{ headSha: 'c2', by: 'ann' }];
    play.change({ pull: { ...play.world.pull!, approvals } }).candidate();
    expect(play.actionsOf('land')).toHaveLength(1);
  });

  test('what was left is grave again when the file is changed once more', () => {
    const play = tampered().worked('c2').ask('wontfix', 'ann', { finding: 't1.1', why: 'wanted' });
    play.world.rules = [{ ...tampering, context: 'blob-2' }];
    play.critic(changes()).worked('c3');
    expect(play.findings[0]).toMatchObject({ id: 't1.1', status: 'open' });
    expect(play.task.hold?.reason).toBe('protected_paths');
  });

  test('one that is not grave is told to the critic, and an approval beside it asks for changes', () => {
    const play = running();
    play.world.rules = [
      { ...tampering, severity: 'sev2', category: 'tests', message: 'Tests were deleted.' },
    ];
    play.worked('c1').critic(APPROVE);
    expect(play.task.verdict?.verdict).toBe('REQUEST_CHANGES');
    expect(play.task.feedback[0]?.text).toContain('Tests were deleted.');
  });

  test('with the critic switched off it is the same', () => {
    const play = tampered({ critic: { enabled: false } }).worked('c2');
    expect(play.task.hold?.reason).toBe('protected_paths');
    expect(play.ask('approve').task.state).toBe('merging');
  });

  test('a person who pushes a head without it is heard', () => {
    const play = tampered().worked('c2');
    play.world.rules = [];
    play.change({ branch: { sha: 'p1', tree: 'tree-p1' } }).gate('pass');
    expect(play.task.hold).toBeNull();
    expect(play.run()).toMatchObject({ role: 'critic' });
  });

  test('the row is the fold of the events', () => {
    const play = tampered().worked('c2').ask('approve');
    expect(play.fold()).toEqual(play.task);
  });
});
