/** What people say to a task at work: a word to the whole of it, or a comment on a line of the change. */
import { describe, expect, test } from 'vitest';
import { APPROVE, awaiting, changes, merging, type Play, running } from '../../test/support/play.ts';
import { refusal } from './request.ts';
import { born } from './task.ts';

const TOLD = 'Call it `slug`, please.';
const tell = (play: Play): Play => play.ask('tell', 'ann', { why: TOLD });
const texts = (play: Play): string[] => play.task.feedback.map(({ text }) => text);

describe('task tell', () => {
  test('while a turn runs it waits for the end of the turn, and the next one gets it, once', () => {
    const play = tell(running());
    expect(play.run()).toMatchObject({ role: 'coder', turn: 1 });
    expect(play.task.feedback).toEqual([]);
    play.turn().checkpoint('c1');
    expect(play.run()).toMatchObject({ role: 'coder', turn: 2, prompt: 'revise' });
    expect(texts(play)[0]).toMatch(/^ann says:\n[\s\S]*Call it `slug`, please\./);
    play.turn();
    expect(play.task.feedback).toEqual([]);
    expect(play.of('feedback_acknowledged')).toMatchObject([{ ids: ['tell:1'] }]);
    expect(play.world.requests).toEqual([]);
    expect(play.fold()).toEqual(play.task);
  });

  test('while it is judged, the critic ends its round and the coder goes on', () => {
    const play = tell(awaiting()).critic(APPROVE);
    expect(play.task).toMatchObject({ state: 'revising', verdict: { verdict: 'APPROVE' } });
    play.worked('c2');
    expect(play.run()).toMatchObject({ role: 'critic', turn: 2 });
  });

  test('on its way to trunk it goes back to the coder', () => {
    const play = tell(merging().candidate()).gate('pass');
    expect(play.task.state).toBe('revising');
    expect(play.of('candidate_dropped')).toHaveLength(1);
  });

  test('approves nothing, and ends a wait for a person', () => {
    const play = awaiting({ critic: { enabled: false } });
    expect(play.task.hold).toMatchObject({ reason: 'needs_approval' });
    tell(play);
    expect(play.task).toMatchObject({ state: 'revising', hold: null, verdict: null });
    expect(play.of('verdict_recorded')).toEqual([]);
    play.worked('c2');
    expect(play.task.hold).toMatchObject({ reason: 'needs_approval' });
  });

  test('leaves a pause as it is, and is told after it', () => {
    const play = tell(running().worked('c1', 'fail').ask('pause').turn());
    expect(play.task.hold).toMatchObject({ reason: 'operator_pause' });
    expect(texts(play)).toHaveLength(1);
    play.ask('resume').checkpoint('c2');
    expect(play.run()).toMatchObject({ role: 'coder' });
  });

  test('ends nothing: where no turn is left it is written down, and the work goes on', () => {
    const play = tell(awaiting({ maxTurns: 1 })).critic(APPROVE);
    expect(play.task).toMatchObject({ state: 'merging', feedback: [] });
    expect(play.of('tell_unheard')).toEqual([{ by: 'ann', text: TOLD }]);
  });

  test('is refused for what has ended, with what to do instead', () => {
    const play = running().ask('abandon');
    expect(refusal(play.task, 'tell')).toMatchObject({
      why: expect.stringContaining('has ended: abandoned'),
      advice: expect.stringContaining('task restart'),
    });
    expect(refusal(running().task, 'tell')).toBeNull();
  });

  test('is refused where a planner is at work', () => {
    const draft = {
      ...born('aaaa0001', running().events[0]!.data as never, 1),
      plan: { mode: 'draft' } as never,
    };
    expect(refusal(draft, 'tell')?.why).toContain('no coder to tell');
  });
});

describe('a comment on a line of the change', () => {
  const comment = { severity: 'bug', description: 'This loses data.\n`a = 1`', file: 'a.ts', line: 3 };
  const write = (play: Play, of: object = comment): Play =>
    play.ask('write', 'ann', { finding: JSON.stringify(of) });

  test('is a finding that the coder is told, in the words it was written in', () => {
    const play = write(awaiting()).critic(APPROVE);
    expect(play.findings).toMatchObject([
      { id: 't1.1', source: 'person', severity: 'sev2', status: 'open', file: 'a.ts', line: 3 },
    ]);
    expect(play.of('finding_written')).toEqual([{ finding: 't1.1', by: 'ann', headSha: 'c1' }]);
    expect(play.task).toMatchObject({ state: 'revising', verdict: null });
    expect(texts(play)[0]).toMatch(/^Finding t1\.1: ann asks for changes at a\.ts:3:\n[\s\S]*\n`a = 1`\n/);
    expect(play.fold()).toEqual(play.task);
  });

  test('keeps the change from landing until the critic has seen it fixed', () => {
    const play = write(awaiting()).critic(APPROVE).worked('c2');
    play.critic({ ...APPROVE, earlier: [] });
    expect(play.task).toMatchObject({ state: 'revising', verdict: { verdict: 'REQUEST_CHANGES' } });
    expect(play.findings).toMatchObject([{ status: 'open', rounds: [2] }]);
    play.worked('c3').critic(APPROVE);
    expect(play.task.state).toBe('merging');
    expect(play.findings).toMatchObject([{ status: 'resolved' }]);
    expect(play.findings[0]!.history.at(-1)).toMatchObject({ by: 'critic', sha: 'c3' });
  });

  test('counts as fixed when a person approves the change', () => {
    const play = write(awaiting({ critic: { enabled: false } }))
      .worked('c2')
      .ask('approve');
    expect(play.task.state).toBe('merging');
    expect(play.findings).toMatchObject([{ status: 'resolved', history: [{}, { by: 'ann', sha: 'c2' }] }]);
  });

  test('as a warning it is told, and keeps nothing from landing', () => {
    const play = write(awaiting(), { ...comment, severity: 'warning' })
      .critic(APPROVE)
      .worked('c2');
    play.critic({ ...APPROVE, earlier: [] });
    expect(play.task.state).toBe('merging');
    expect(play.findings).toMatchObject([{ severity: 'sev3', status: 'open' }]);
  });

  test('stands beside what the critic finds, which does not resolve it by finding something else', () => {
    const play = write(awaiting()).critic(changes()).worked('c2');
    play.critic({ ...changes('another thing'), earlier: [] });
    expect(play.findings.map(({ source, status }) => [source, status])).toContainEqual(['person', 'open']);
  });
});
