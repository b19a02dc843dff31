import { describe, expect, test } from 'vitest';
import { bug, dirty, IN, planOf, started } from '../../../test/support/plan-play.ts';
import type { Play } from '../../../test/support/play.ts';
import { auditFindings, decisionsText, doneText, iterationText } from '../words/plan-text.ts';
import { openBugs, parseAudit } from './audit.ts';

const planIn = (play: Play) => play.task.plan!;
const plan = planIn(started(planOf('Schema', 'API')));

describe('an audit’s result', () => {
  test.each([
    ['structured output', { clean: true }, ''],
    ['the last fenced block of the text', null, 'So:\n```json\n{ "clean": true }\n```\n'],
  ])('is %s', (_, structured, text) => {
    expect(parseAudit(structured, text, plan)).toMatchObject({
      ok: true,
      report: { clean: true, findings: [], resolved: [], amendments: [], summary: { done: '' } },
    });
  });

  test.each([
    ['nothing', null, 'Looks fine.', 'the auditor returned no structured result'],
    ['no word on clean', {}, '', 'the audit result is invalid at clean'],
    [
      'another severity',
      { clean: true, findings: [bug('x', { severity: 'sev1' })] },
      '',
      'at findings.0.severity',
    ],
    ['a bug without words', { clean: true, findings: [bug('')] }, '', 'at findings.0.description'],
    [
      'an amendment without a reason',
      { clean: true, amendments: [{ milestone: 2, text: 'x' }] },
      '',
      'rationale',
    ],
  ])('%s is unusable, never clean (loops 15)', (_, structured, text, problem) => {
    const parsed = parseAudit(structured, text, plan);
    expect(parsed.ok).toBe(false);
    expect(parsed.ok ? '' : parsed.problem).toContain(problem);
  });
});

describe('what blocks', () => {
  test('bugs of the milestone at hand, or of all; never warnings, nor what others found (loops 15, 17, 18)', () => {
    const play = IN.auditing().audit(dirty(bug(), bug('a long name', { severity: 'warning', line: 9 })));
    const ledger = [...play.findings, { ...play.findings[0]!, id: 't1.9', source: 'rule' as const }];
    expect(openBugs(ledger, 0).map(({ id }) => id)).toEqual(['t1.1']);
    expect(openBugs(ledger, 1)).toEqual([]);
    expect(openBugs(ledger, null)).toEqual([]);
    expect(openBugs(ledger, 'all').map(({ id }) => id)).toEqual(['t1.1']);
  });

  test('open in three audits running: the coder must fix it or say why, the auditor judge it anew (loops 37)', () => {
    const play = IN.auditing().audit(dirty()).worked('c2').audit(dirty());
    const told = () => auditFindings(planIn(play), play.findings);
    expect(told()).not.toContain('three audits');
    play.worked('c3').audit(dirty());
    expect(told()).toContain('Open in three audits running. Coder: fix it, or write down');
    expect(told()).toContain('Auditor: judge it anew');
  });
});

describe('what agents are told', () => {
  test('the next milestone is told what the ones before came to (loops 30)', () => {
    const summary = { done: 'tables', deviations: ['no index'], followUps: ['add one'] };
    const play = IN.auditing().audit({ summary });
    expect(doneText(planIn(play))).toMatch(
      /1\. Schema: tables\n {3}- deviation: no index\n {3}- follow-up: add one/,
    );
  });

  test.each([
    [20, 'iteration 2 (at most 20)'],
    [0, 'iteration 2 (no limit)'],
  ])('which iteration it is, of at most %i: %s (loops 38)', (maxIterations, text) => {
    const play = IN.auditing({ loop: { maxIterations } }).audit(dirty());
    expect(iterationText(planIn(play), play.policy)).toBe(text);
  });

  test('the coder’s choices, also of a goal without milestones', () => {
    const summary = { summary: 'cached', tests: 'npm test', open: ['measure it'], choices: ['an LRU'] };
    for (const play of [started(null, {}, { goal: 'Faster.' }), started(planOf('Schema'))]) {
      play.turn('finished', { summary }).checkpoint('c1').gate('pass');
      const told = decisionsText(planIn(play), play.task.summary);
      for (const part of ['cached', '- chose: an LRU', '- verified: npm test', '- note: measure it'])
        expect(told).toContain(part);
    }
  });
});
