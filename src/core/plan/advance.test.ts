import { describe, expect, test } from 'vitest';
import { bug, dirty, IN, passed, planOf, started, TWO } from '../../../test/support/plan-play.ts';
import { type Play, turnOutcome } from '../../../test/support/play.ts';
import type { Finding } from '../change/findings.ts';
import type { LoopEvent } from '../event.ts';
import { apply } from '../fold.ts';
import { record } from '../record.ts';
import { turnsHere } from '../task.ts';
import { auditFindings, decisionsText } from '../words/plan-text.ts';

const phases = (play: Play) =>
  play.of('phase_entered').map(({ phase, milestone }) => `${phase} ${milestone}`);
const place = ({ task: { plan } }: Play) => `${plan!.phase} ${plan!.milestone}`;
const turnAt = (play: Play) => {
  const run = play.run();
  return run?.kind === 'turn' ? `${run.role} ${run.prompt} ${run.sessionId}` : null;
};

describe('the way of a plan', () => {
  test('a finished turn and a green gate lead to an audit, in one commit with its phase (loops 1)', () => {
    const play = started(TWO);
    expect(place(play)).toBe('coding 0');
    play.turn().checkpoint('c1');
    expect(place(play)).toBe('coding 0');
    play.gate('pass');
    expect(place(play)).toBe('auditing 0');
    expect(turnAt(play)).toBe('auditor audit s2');
  });

  test('a clean milestone leads to the next one (loops 2)', () => {
    const play = IN.auditing().audit();
    expect(place(play)).toBe('coding 1');
    expect(turnAt(play)).toBe('coder plan s3');
  });

  test('the last clean milestone leads to the audit of the whole (loops 3)', () => {
    const play = IN.final_auditing();
    expect(phases(play)).toEqual(['auditing 0', 'coding 1', 'auditing 1', 'final_auditing 1']);
    expect(turnAt(play)).toBe('auditor final_audit s5');
  });

  test('a dirty one is coded again, and the attempt counted (loops 4)', () => {
    const play = IN.auditing().audit(dirty());
    expect(place(play)).toBe('coding 0');
    expect(play.task.plan!.milestones.map(({ attempts }) => attempts)).toEqual([1, 0]);
    expect(play.task.plan!.iterations).toBe(1);
  });

  test.each([
    [null, ['auditing 0', 'delivered 0']],
    [{ skill: null, prompt: 'Look.', model: null }, ['auditing 0', 'post_action 0']],
  ])('without milestones a clear audit ends it, through the post action: %j (loops 5)', (postAction, way) => {
    const play = started(null, { loop: { postAction } }, { goal: 'Faster checkout.' }).worked('c1').audit();
    expect(phases(play)).toEqual(way);
    expect(play.task.state).toBe(postAction ? 'running' : 'completed');
  });

  test('without milestones a dirty audit leads back to coding (loops 6)', () => {
    const play = started(null, {}, { goal: 'Faster checkout.' }).worked('c1').audit(dirty());
    expect(place(play)).toBe('coding 0');
    expect(play.task.plan!.iterations).toBe(1);
  });

  test('a clean final audit completes it, its branch kept and its worktree gone (loops 7)', () => {
    const play = IN.final_auditing().audit();
    expect(play.task).toMatchObject({
      state: 'completed',
      reason: null,
      why: 'the plan is done, on loop/checkout',
    });
    expect(place(play)).toBe('delivered 1');
    expect(play.actionsOf('reap_workspace')).toHaveLength(1);
    expect(play.actionsOf('delete_branch')).toEqual([]);
  });

  test('a dirty final audit is fixed without going back to a milestone, then audited again (loops 8, 9)', () => {
    const play = IN.final_auditing().audit(dirty());
    expect(place(play)).toBe('final_audit_fix 1');
    expect(turnAt(play)).toBe('coder final_fix s6');
    expect(play.task.plan!.milestones.map(({ attempts }) => attempts)).toEqual([0, 0]);
    play.worked('c3');
    expect(turnAt(play)).toBe('auditor final_audit s7');
    play.audit({ resolved: [{ id: '1' }] });
    expect(play.task.state).toBe('completed');
  });

  test('a finished post action completes it (loops 10)', () => {
    const play = IN.post_action();
    expect(turnAt(play)).toBe('coder post_action s6');
    play.turn('finished', { text: 'All good.' }).checkpoint('c2');
    expect(play.task).toMatchObject({ state: 'completed', plan: { completionSummary: 'All good.' } });
    expect(play.of('gate_completed')).toHaveLength(2);
  });

  test('what it changed is verified before the plan is done, and stays (loops 10, 20)', () => {
    const play = IN.post_action().turn('finished', { text: 'Tidied.' }).checkpoint('c3');
    expect(play.task.state).toBe('running');
    play.gate('pass');
    expect(play.task).toMatchObject({
      state: 'completed',
      headSha: 'c3',
      inspected: { headSha: 'c3' },
      plan: { completionSummary: 'Tidied.' },
    });
  });

  test.each(['fail', 'could_not_run'] as const)(
    'what it changed is taken back where the gate says %s; the plan is done all the same (loops 20, 68, 69)',
    (outcome) => {
      const play = IN.post_action().turn('finished', { text: 'Tidied.' }).checkpoint('c3').gate(outcome);
      const audited = play.of('milestone_completed').at(-1)!.head.sha;
      expect(play.task).toMatchObject({
        state: 'completed',
        headSha: audited,
        plan: { completionSummary: null },
      });
      expect(play.actionsOf('adopt_head')).toEqual([{ kind: 'adopt_head', sha: audited }]);
      expect(play.of('post_action_ended').at(-1)!.problem).toMatch(/^taken back to \S+, the audited head: /);
    },
  );

  test('what it changed of the judging itself is taken back (loops 20)', () => {
    const play = IN.post_action().turn();
    play.world.rules = [
      {
        severity: 'sev1',
        category: 'gate_tampering',
        file: 'ci/test.sh',
        line: null,
        message: 'ci/test.sh was changed.',
        scenario: null,
        suggestion: null,
        context: 'blob-1',
      },
    ];
    play.checkpoint('c3').gate('pass');
    expect(play.task).toMatchObject({ state: 'completed', headSha: 'sealed-c2' });
  });

  test('a pull request of it goes the way of every other', () => {
    const play = started(planOf('Schema'), {}, { delivers: 'pull' });
    passed(play, 'c1').audit();
    expect(play.task).toMatchObject({ state: 'awaiting_critic', pull: 1, plan: { phase: 'delivered' } });
    expect(turnAt(play)).toBe('critic critic s4');
  });

  test('one that changes nothing is done all the same, without a commit, and is not idle (loops 29)', () => {
    const play = started(TWO);
    play.turn().checkpoint('base', { empty: true }).gate('pass').audit();
    play.turn().checkpoint('base', { empty: true }).audit().audit();
    expect(play.task.state).toBe('completed');
    expect(play.of('milestone_completed').map(({ commit }) => commit)).toEqual([null, null]);
  });

  test('a session of its own has the whole plan, no audit, and ends with its branch', () => {
    const play = started(TWO, {}, { mode: 'session' });
    expect(play.task.plan!.milestones).toEqual([]);
    expect(play.task.plan!.objective).toContain('Do Schema.');
    expect(play.task.plan!.objective).toContain('Do API.');
    play.worked('c1');
    expect(play.task.state).toBe('completed');
    expect(play.of('audit_recorded')).toEqual([]);
  });
});

describe('what is clean', () => {
  test('no open bug and a structured result: the word of the auditor alone is not enough (loops 15)', () => {
    const play = IN.auditing().audit({ clean: true, findings: [bug()] });
    expect(place(play)).toBe('coding 0');
    expect(play.of('audit_recorded')[0]).toMatchObject({ isClean: false, open: ['t1.1'] });
  });

  test('its word is enough for dirty (loops 15)', () => {
    expect(place(IN.auditing().audit({ clean: false }))).toBe('coding 0');
  });

  test('a bug that is not answered for stays open, and keeps it from being clean (loops 15)', () => {
    const play = IN.auditing().audit(dirty()).worked('c2').audit({ clean: true });
    expect(place(play)).toBe('coding 0');
    play.worked('c3').audit({ resolved: [{ id: 't1.1', why: 'it is an integer now' }] });
    expect(place(play)).toBe('coding 1');
  });

  test('a missing result is asked for once in the same session, then it is dirty (loops 16)', () => {
    const play = IN.auditing().turn('finished', { text: 'Looks fine.' });
    expect(turnAt(play)).toBe('auditor audit_again s2');
    play.turn('finished', { text: 'Still fine.' });
    expect(place(play)).toBe('coding 0');
    expect(play.of('audit_recorded')[0]).toMatchObject({ isClean: false, isMissing: true });
    expect(play.task.plan).toMatchObject({ iterations: 1, audits: 1 });
  });

  test('a result that comes when it is asked for again counts (loops 16)', () => {
    const play = IN.auditing().turn('finished', { text: 'Looks fine.' }).audit();
    expect(place(play)).toBe('coding 1');
  });

  test('the whole is clean with no open bug anywhere, also across milestones (loops 17)', () => {
    const play = IN.final_auditing().audit(dirty(bug('the API forgets the currency')));
    expect(play.findings[0]).toMatchObject({ milestone: null, status: 'open' });
    play.worked('c3').audit({ clean: true });
    expect(place(play)).toBe('final_audit_fix 1');
  });

  test('a bug of a milestone that a person takes up again blocks the whole (loops 17)', () => {
    const play = IN.auditing()
      .audit(dirty())
      .worked('c2')
      .audit({ resolved: [{ id: '1' }] });
    passed(play, 'c3').ask('reopen', 'ann', { finding: 't1.1', why: 'It is a float again.' });
    expect(turnAt(play)).toMatch('auditor final_audit');
    play.audit({ clean: true });
    expect(place(play)).toBe('final_audit_fix 1');
    expect(turnAt(play)).toMatch('coder final_fix');
    expect(auditFindings(play.task.plan!, play.findings)).toContain(
      'the total is a float\n  Taken up again by ann: It is a float again.\n',
    );
    play.worked('c4').audit({ clean: true });
    expect(place(play)).toBe('final_audit_fix 1');
    play.worked('c5').audit({ resolved: [{ id: '1' }] });
    expect(play.task.state).toBe('completed');
  });

  test('warnings never block (loops 18)', () => {
    const play = IN.auditing().audit({ findings: [{ severity: 'warning', description: 'a long name' }] });
    expect(place(play)).toBe('coding 1');
    expect(play.findings[0]).toMatchObject({ severity: 'sev3', status: 'open' });
  });

  test('nothing completes before an auditor ran (loops 19)', () => {
    for (const play of [started(TWO), started(null, {}, { goal: 'Faster.' })]) {
      play.worked('c1');
      expect(play.task.state).toBe('running');
      expect(turnAt(play)).toBe('auditor audit s2');
    }
  });

  test('the gate runs after every coding turn; a red one never comes to an audit (loops 20)', () => {
    const play = started(TWO).worked('c1', 'fail');
    expect(place(play)).toBe('coding 0');
    expect(turnAt(play)).toBe('coder continuation s1');
    play.worked('c2').audit(dirty()).turn().checkpoint('c3');
    expect(play.run()).toMatchObject({ kind: 'gate', tree: 'tree-c3' });
    play.gate('fail');
    expect(place(play)).toBe('coding 0');
    expect(play.of('audit_recorded')).toHaveLength(1);
  });

  describe('work that changes what verifies it', () => {
    const tampering = {
      severity: 'sev1',
      category: 'gate_tampering',
      file: 'ci/test.sh',
      line: null,
      message: 'ci/test.sh was changed.',
      scenario: null,
      suggestion: null,
      context: 'blob-1',
    } as const;
    const tampered = (how = {}) => {
      const play = started(TWO, {}, how);
      play.world.rules = [tampering];
      return play.worked('c1').worked('c2');
    };

    test.each(['branch', 'pull'] as const)(
      'is taken back once, then waits for a person: its green gate is none, also for a %s (loops 20)',
      (delivers) => {
        const play = tampered({ delivers });
        expect(play.of('feedback_added')).toMatchObject([{ feedback: { kind: 'rule' } }]);
        expect(play.task).toMatchObject({
          state: 'running',
          turns: 2,
          hold: { reason: 'verification_changed', detail: 'ci/test.sh was changed. (finding t1.1)' },
        });
        expect(place(play)).toBe('coding 0');
        expect(play.wait(8 * 3_600_000).task.hold).not.toBeNull();
      },
    );

    test('goes on where a person leaves it as it is, and waits again where it is changed once more', () => {
      const play = tampered().ask('wontfix', 'ann', { finding: 't1.1', why: 'wanted' });
      expect(turnAt(play)).toMatch('auditor audit');
      play.audit().worked('c3');
      expect(place(play)).toBe('auditing 1');
      play.audit(dirty());
      play.world.rules = [{ ...tampering, context: 'blob-2' }];
      play.worked('c4');
      expect(play.task.hold?.reason).toBe('verification_changed');
      expect(place(play)).toBe('coding 1');
    });

    test('goes on where the coder takes it back', () => {
      const play = started(TWO);
      play.world.rules = [tampering];
      play.worked('c1');
      play.world.rules = [];
      expect(place(play.worked('c2'))).toBe('auditing 0');
    });

    test('is not delivered by a session of its own either', () => {
      expect(tampered({ mode: 'session' }).task).toMatchObject({
        state: 'running',
        hold: { reason: 'verification_changed' },
      });
    });
  });

  test('an audit that finds the gate red goes back to coding, and counts no iteration (loops 20)', () => {
    const play = IN.auditing().ask('cancel').restart().checkpoint('c1b').gate('fail');
    expect(place(play)).toBe('coding 0');
    expect(play.task.plan!.iterations).toBe(0);
    expect(turnAt(play)).toBe('coder plan s3');
  });

  test('a whole that finds the gate red is fixed as a whole (loops 20)', () => {
    const play = IN.final_auditing().ask('cancel').restart().checkpoint('c2b').gate('fail');
    expect(place(play)).toBe('final_audit_fix 1');
    expect(turnAt(play)).toBe('coder final_fix s6');
  });

  test('work that could not be saved in an audit is coded on, and then audited from the beginning', () => {
    const play = IN.auditing().ask('cancel').restart();
    play.answer({ kind: 'refused', problem: 'a file is too large' });
    expect(place(play)).toBe('coding 0');
    play.worked('c2');
    expect(place(play)).toBe('auditing 0');
    expect(turnAt(play)).toBe('auditor audit s4');
  });
});

describe('milestones', () => {
  test('are stored once at the start, with attempts and summaries as they go (loops 28)', () => {
    const play = IN.auditing().audit(dirty()).worked('c2');
    play.audit({
      resolved: [{ id: '1' }],
      summary: { done: 'tables', deviations: ['no index'], followUps: ['add one'] },
    });
    expect(play.of('task_created')[0]!.plan!.milestones.map(({ title }) => title)).toEqual(['Schema', 'API']);
    expect(play.task.plan!.milestones[0]).toMatchObject({
      title: 'Schema',
      text: expect.stringContaining('Do Schema.'),
      attempts: 1,
      done: { done: 'tables', deviations: ['no index'], followUps: ['add one'], commit: 'sealed-c2' },
    });
    expect(play.fold()).toEqual(play.task);
  });

  test('a clean one is a commit of its own, since the one before (loops 29)', () => {
    const play = IN.final_auditing();
    expect(play.actionsOf('seal')).toEqual([
      { kind: 'seal', from: 'base', message: 'section 1: Schema' },
      { kind: 'seal', from: 'sealed-c1', message: 'section 2: API' },
    ]);
    expect(play.task.headSha).toBe('sealed-c2');
  });

  test('what the coder says of its choices is kept and shown (loops 28)', () => {
    const summary = { summary: 'tables', tests: 'npm test', open: [], choices: ['integers'] };
    const play = started(TWO).turn('finished', { summary }).checkpoint('c1').gate('pass');
    expect(play.task.plan!.milestones[0]!.decisions).toEqual(summary);
    play.audit();
    expect(play.task.plan!.milestones.map(({ decisions }) => decisions)).toEqual([summary, null]);
  });

  const said = (summary: string) => ({ summary: { summary, tests: '', open: [] } });
  const coded = (play: Play, sha: string, words?: string): Play =>
    play
      .turn('finished', words ? said(words) : {})
      .checkpoint(sha)
      .gate('pass');
  const told = ({ task }: Play): string => decisionsText(task.plan!, task.summary);

  test('what was said of one pass is not said of the next; it stays as that of an earlier one (loops 28)', () => {
    const play = coded(started(TWO), 'c1', 'tables').audit(dirty());
    expect(play.task.summary).toBeNull();
    coded(play, 'c2');
    expect(told(play)).toContain('Of an earlier pass:\ntables');
    coded(play.audit(dirty()), 'c3', 'tables with integers');
    expect(told(play)).not.toMatch(/earlier pass|\ntables\n/);
    expect(told(play)).toContain('\ntables with integers\n');
    expect(play.fold()).toEqual(play.task);
  });

  test('the final audit is told what was said of every milestone, and of its fixes (loops 28)', () => {
    const play = coded(started(TWO), 'c1', 'tables').audit();
    coded(play, 'c2', 'endpoints').audit();
    const ofMilestones = 'Milestone 1 of 2: Schema\ntables\nMilestone 2 of 2: API\nendpoints\n';
    expect(told(play)).toContain(ofMilestones);
    expect(told(play)).not.toContain('Fixes');
    coded(play.audit(dirty()), 'c3', 'cents');
    expect(told(play)).toContain(`${ofMilestones}Fixes after the final audit\ncents\n`);
    coded(play.audit(dirty()), 'c4');
    expect(told(play)).toContain(`${ofMilestones}Fixes after the final audit\ncents\n`);
    expect(play.fold()).toEqual(play.task);
  });

  test('advancing costs no iteration; a dirty round does (loops 31)', () => {
    const play = started(planOf('A', 'B', 'C'), { loop: { maxIterations: 2 } });
    for (const sha of ['c1', 'c2', 'c3']) passed(play, sha);
    expect(play.task.plan!.iterations).toBe(0);
    play.audit(dirty()).worked('c4');
    expect(play.task.plan!.iterations).toBe(1);
    play.audit(dirty());
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'max_iterations' });
  });

  test('a long plan is not ended by its turns: they are counted anew for each milestone (loops 31)', () => {
    const play = started(planOf('A', 'B', 'C'), { maxTurns: 2 });
    for (const sha of ['c1', 'c2', 'c3']) play.worked(`${sha}-red`, 'fail').worked(sha).audit();
    play
      .audit(dirty())
      .worked('c4')
      .audit({ resolved: [{ id: '1' }] });
    expect(play.task).toMatchObject({ state: 'completed', turns: 7 });
  });

  test('the auditor may amend what is still to come, with a reason; each is recorded (loops 32)', () => {
    const amendment = { milestone: 2, text: 'Do the API in two steps.', rationale: 'the schema grew' };
    const play = IN.auditing().audit({ amendments: [amendment] });
    expect(play.task.plan!.milestones[1]!.text).toBe('Do the API in two steps.');
    expect(play.task.plan!.amendments).toEqual([{ ...amendment, milestone: 1, audit: 1 }]);
  });

  test('a milestone that is amended has the title of its new text (loops 26, 32)', () => {
    const amended = (text: string) =>
      IN.auditing().audit({ amendments: [{ milestone: 2, text, rationale: 'it grew' }] });
    const play = amended('## API and its limits\n\nDo both.');
    expect(play.task.plan!.milestones[1]!.title).toBe('API and its limits');
    expect(amended('Do it in two steps.').task.plan!.milestones[1]!.title).toBe('API');
    play.worked('c2').audit();
    expect(play.actionsOf('seal').at(-1)!.message).toBe('section 2: API and its limits');
  });

  test.each([
    ['the one at hand', 1],
    ['one that does not exist', 3],
  ])('an amendment of %s makes the result unusable (loops 32)', (_, milestone) => {
    const play = IN.auditing().audit({ amendments: [{ milestone, text: 'x', rationale: 'y' }] });
    expect(turnAt(play)).toBe('auditor audit_again s2');
    expect(play.task.plan!.amendments).toEqual([]);
  });

  test('a completed one is never amended nor rewritten (loops 32)', () => {
    const play = IN.auditing().audit();
    const { plan } = play.task;
    play.worked('c2').audit({ amendments: [{ milestone: 1, text: 'x', rationale: 'y' }] });
    expect(play.task.plan!.milestones[0]).toEqual(plan!.milestones[0]);
  });

  test('one that is sealed is passed, also when it was restarted in between (loops 32)', () => {
    const play = IN.auditing();
    play.failing.set('seal', []);
    play.world.loopLimit = { scope: 'day', why: 'the budget of the day is spent', until: null };
    play.audit();
    expect(play.task.plan!.milestones[0]!.done).not.toBeNull();
    expect(place(play)).toBe('auditing 0');
    play.world.loopLimit = null;
    play.ask('cancel').restart().checkpoint('sealed-c1', { tree: 'tree-c1' });
    expect(place(play)).toBe('coding 1');
    expect(play.of('audit_recorded')).toHaveLength(1);
  });
});

describe('findings', () => {
  test('at the same place in the same milestone, open: one finding, updated (loops 34)', () => {
    const play = IN.auditing()
      .audit(dirty(bug('a float')))
      .worked('c2')
      .audit(dirty(bug('still a float, worse')));
    expect(play.findings).toHaveLength(1);
    expect(play.findings[0]).toMatchObject({ message: 'still a float, worse', milestone: 0, rounds: [1, 2] });
  });

  test('at the same place in another milestone: another one (loops 34)', () => {
    const play = IN.auditing()
      .audit(dirty())
      .worked('c2')
      .audit({ resolved: [{ id: '1' }] });
    play.worked('c3').audit(dirty(bug('the endpoint has no test')));
    expect(play.findings.map(({ milestone, status }) => `${milestone} ${status}`)).toEqual([
      '0 resolved',
      '1 open',
    ]);
  });

  test('resolving keeps the row and who resolved it (loops 36)', () => {
    const play = IN.auditing()
      .audit(dirty())
      .worked('c2')
      .audit({ resolved: [{ id: '1', why: 'an integer now' }] });
    expect(play.findings[0]!.history.at(-1)).toMatchObject({
      status: 'resolved',
      by: 'auditor',
      why: 'an integer now',
    });
  });

  test('the coder’s answer resolves none, whatever it says (loops 35)', () => {
    const play = IN.auditing().audit(dirty());
    play.turn('finished', {
      structured: { clean: true, resolved: [{ id: '1' }] },
      text: '{"resolved":[{"id":"1"}]}',
    });
    expect(play.findings[0]!.status).toBe('open');
  });
});

describe('sessions', () => {
  const sessions = (play: Play) =>
    play.of('turn_started').map(({ role, prompt, sessionId }) => `${role} ${prompt} ${sessionId}`);

  test('rotated: a fresh one for each pass and each audit (loops 38)', () => {
    const play = IN.auditing()
      .audit(dirty())
      .worked('c2', 'fail')
      .worked('c3')
      .audit({ resolved: [{ id: '1' }] });
    passed(play, 'c4')
      .audit(dirty())
      .worked('c5')
      .audit({ resolved: [{ id: '1' }] });
    expect(sessions(play)).toEqual([
      'coder plan s1',
      'auditor audit s2',
      'coder plan s3',
      'coder continuation s3',
      'auditor audit s4',
      'coder plan s5',
      'auditor audit s6',
      'auditor final_audit s7',
      'coder final_fix s8',
      'auditor final_audit s9',
    ]);
  });

  test('the next one is there in the commit that leaves the last (loops 39)', () => {
    const play = IN.auditing().audit(dirty());
    const left = play.events.findLast(({ type }) => type === 'phase_entered')!;
    const next = play.events.find(({ seq }) => seq === left.seq + 1)!;
    expect(next).toMatchObject({
      type: 'turn_started',
      at: left.at,
      data: { role: 'coder', sessionId: 's3' },
    });
    expect(play.task.sessionIds).toEqual(['s1', 's3']);
  });

  test('persistent: one for the coder, who is never sent the plan again; an audit has its own (loops 38)', () => {
    const play = IN.auditing({ loop: { session: 'persist' } })
      .audit(dirty())
      .worked('c2', 'fail')
      .worked('c3');
    passed(play.audit({ resolved: [{ id: '1' }] }), 'c4')
      .audit(dirty())
      .worked('c5')
      .audit({ resolved: [{ id: '1' }] });
    expect(sessions(play)).toEqual([
      'coder plan s1',
      'auditor audit s2',
      'coder audited s1',
      'coder continuation s1',
      'auditor audit s3',
      'coder milestone s1',
      'auditor audit s4',
      'auditor final_audit s5',
      'coder audited s1',
      'auditor final_audit s6',
    ]);
  });

  test('a persistent session that is lost begins anew with the plan', () => {
    const play = started(TWO, { loop: { session: 'persist' }, recovery: { onLostSession: 'fresh_session' } });
    play.turn('failed', { code: 'session_lost' }).checkpoint('c1');
    expect(turnAt(play)).toBe('coder plan s2');
  });

  test('the models that a plan was started with are asked', () => {
    const play = started(TWO, {}, { models: { coder: 'opus', auditor: 'haiku' } });
    expect(play.run()).toMatchObject({ role: 'coder', model: 'opus' });
    play.worked('c1');
    expect(play.run()).toMatchObject({ role: 'auditor', model: 'haiku' });
  });
});

describe('late, twice, or for an old phase: nothing changes', () => {
  const clean = turnOutcome('finished', { structured: { clean: true } });

  test.each(['coding', 'final_audit_fix', 'final_auditing', 'post_action'] as const)(
    'an audit’s result that comes in %s',
    (phase) => {
      const asked = IN.auditing().run()!;
      const play = IN[phase]();
      const { events, findings } = record(play.task, asked, clean, play.findings, play.policy, 0);
      expect(events).toEqual([]);
      expect(findings).toEqual([]);
    },
  );

  test('an audit’s result that comes twice', () => {
    const play = IN.auditing();
    const asked = play.run()!;
    play.audit(dirty());
    expect(record(play.task, asked, clean, play.findings, play.policy, 0).events).toEqual([]);
  });

  test.each(['audit_recorded', 'milestone_completed', 'phase_entered', 'post_action_ended'] as const)(
    'the event %s told again leaves the row as it is',
    (type) => {
      const play = IN.post_action().turn('finished', { text: 'Fine.' });
      const told = play.events.filter((one): one is LoopEvent => one.type === type);
      expect(told.length).toBeGreaterThan(0);
      const again = type === 'phase_entered' ? told.slice(-1) : told;
      for (const one of again) expect(apply(play.task, one)).toEqual(play.task);
    },
  );

  test.each(['coding', 'auditing', 'final_auditing', 'final_audit_fix', 'post_action'] as const)(
    'a seal of an earlier milestone that comes in %s',
    (phase) => {
      const play = IN[phase]();
      const seal = { kind: 'seal', from: 'base', message: 'section 1: Schema' } as const;
      const head = { sha: 'late', tree: 'tree-late' };
      expect(
        record(play.task, seal, { kind: 'sealed', head, commit: 'late' }, [], play.policy, 0).events,
      ).toEqual([]);
    },
  );
});

describe('after a clean audit', () => {
  test.each(['auditing', 'final_auditing'] as const)(
    'a bug that a person wrote before the next step counts, in %s',
    (phase) => {
      const play = IN[phase]();
      const { milestone } = play.task.plan!;
      play.world.paused = 'paused by ann';
      play.audit();
      const about = phase === 'auditing' ? milestone : null;
      play.findings = [...play.findings, { ...written(play), milestone: about }];
      play.change({ paused: null });
      expect(place(play)).toBe(`${phase === 'auditing' ? 'coding' : 'final_audit_fix'} ${milestone}`);
      expect(play.task.plan!.iterations, 'no audit was dirty').toBe(0);
    },
  );

  test('a plan that was delivered has a full allowance of turns for its critic', () => {
    const play = IN.final_audit_fix({ maxTurns: 3 }, { delivers: 'pull' })
      .worked('c3')
      .audit({
        resolved: [{ id: '1', why: 'fixed' }],
      });
    expect(play.task).toMatchObject({ state: 'awaiting_critic', turns: 3, plan: { phase: 'delivered' } });
    expect(turnsHere(play.task)).toBe(0);
  });
});

test('what an auditor left open is answered for by the critic of its pull request', () => {
  const play = started(planOf('Schema'), {}, { delivers: 'pull' });
  play
    .worked('c1')
    .audit({ findings: [bug('naming', { severity: 'warning' })] })
    .audit();
  play.critic({ verdict: 'REQUEST_CHANGES', earlier: [] });
  expect(play.findings).toMatchObject([{ source: 'auditor', status: 'open' }]);
  play.worked('c2').critic({ verdict: 'APPROVE' });
  expect(play.findings).toMatchObject([{ status: 'resolved', history: [{}, { by: 'critic' }] }]);
});

const written = ({ task, findings }: Play): Finding => ({
  id: `${task.id}.${findings.length + 1}`,
  task: task.id,
  source: 'auditor',
  status: 'open',
  severity: 'sev2',
  category: 'audit',
  file: 'a.ts',
  line: 1,
  message: 'The total is a float.',
  scenario: null,
  suggestion: null,
  rounds: [1],
  history: [{ status: 'open', by: 'ann', at: 0, sha: '', why: null }],
});
