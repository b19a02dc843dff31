import { describe, expect, test } from 'vitest';
import { awaiting, changes, landing, type Play, revising, running } from '../../../test/support/play.ts';
import { type Span, spansOf, type TraceStory } from './spans.ts';

const story = (play: Play, change: Partial<TraceStory> = {}): TraceStory => ({
  task: play.task,
  events: play.events,
  turns: play.events.flatMap((one) =>
    one.type === 'turn_started' ? [{ ...one.data, startedAt: one.at }] : [],
  ),
  usage: [],
  toolsOf: () => [],
  project: 'rocket',
  withContents: false,
  ...change,
});

const merged = (): Play => landing().landed();

const pathOf = (spans: readonly Span[], { parentSpanId, name }: Span): string => {
  const parent = spans.find(({ spanId }) => spanId === parentSpanId);
  return parent ? `${pathOf(spans, parent)} > ${name}` : name;
};

describe('the spans of a task', () => {
  test('are issue, attempt, round and turn, one inside the other, all of one trace', () => {
    const play = merged();
    expect(play.task.state).toBe('merged');
    const spans = spansOf(story(play));
    expect(spans.map((span) => pathOf(spans, span))).toEqual([
      'issue > attempt > round > invoke_agent coder',
      'issue > attempt > round > gate',
      'issue > attempt > round > invoke_agent critic',
      'issue > attempt > round',
      'issue > attempt > gate',
      'issue > attempt',
      'issue',
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    for (const { traceId, spanId } of spans)
      expect([traceId, spanId]).toEqual([
        expect.stringMatching(/^[0-9a-f]{32}$/),
        expect.stringMatching(/^[0-9a-f]{16}$/),
      ]);
  });

  test('of an open round are in the round that has yet to be judged', () => {
    const play = revising();
    const before = spansOf(story(play));
    play.worked('c2').critic(changes());
    const spans = spansOf(story(play));
    expect(spans.filter(({ name }) => name === 'round').map(({ attributes }) => attributes)).toEqual([
      { 'forge.round': 1, 'forge.verdict': 'REQUEST_CHANGES' },
      { 'forge.round': 2, 'forge.verdict': 'REQUEST_CHANGES' },
    ]);
    // What was sent before is what would be sent now.
    expect(spans.slice(0, before.length)).toEqual(before);
  });

  test('of an attempt that is restarted count its rounds anew', () => {
    const play = revising().worked('c2').critic(changes()).ask('cancel').restart();
    const before = spansOf(story(play)).length;
    play.worked('c3').critic(changes());
    const since = spansOf(story(play)).slice(before);
    const rounds = since.filter(({ name }) => name === 'round');
    expect(rounds.map(({ attributes }) => attributes)).toEqual([
      { 'forge.round': 1, 'forge.verdict': 'REQUEST_CHANGES' },
    ]);
    expect(since.find(({ name }) => name === 'invoke_agent critic')!.parentSpanId).toBe(rounds[0]!.spanId);
  });

  test('of an issue that is tried again are in the trace of its first attempt', () => {
    const first = merged();
    const again = story(first, { task: { ...first.task, id: 'other', attempt: 2 } });
    const spans = spansOf(again);
    expect(spans.map(({ name }) => name)).not.toContain('issue');
    const [{ traceId }, issue] = [spans[0]!, spansOf(story(first)).at(-1)!];
    expect(issue).toMatchObject({ name: 'issue', traceId, parentSpanId: null });
    expect(spans.at(-1)).toMatchObject({ name: 'attempt', parentSpanId: issue.spanId });
    expect(spansOf(story(first, { project: 'other' }))[0]!.traceId).not.toBe(traceId);
  });

  test('say why an attempt came to nothing', () => {
    const play = running();
    play.world.issue = { ...play.world.issue!, state: 'closed' };
    play.look();
    const spans = spansOf(story(play));
    expect(spans.find(({ name }) => name === 'attempt')).toMatchObject({
      problem: expect.stringContaining('closed'),
      attributes: { 'forge.state': 'abandoned', 'forge.reason': 'issue_closed', 'forge.issue': 7 },
    });
  });

  test('of a turn have what it used, with what came from the cache among what went in', () => {
    const play = awaiting();
    const [turn] = story(play).turns;
    const { turn: n, role, sessionId, startedAt: at } = turn!;
    const used = { input: 10, output: 5, cacheRead: 100, cacheWrite: 20, reasoning: 2, costUsd: 0.5 };
    const usage = [{ task: play.task.id, turn: n, role, sessionId, model: 'big', ...used, at }];
    const [span] = spansOf(story(play, { usage }));
    expect(span).toMatchObject({
      name: 'invoke_agent coder',
      problem: null,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'coder',
        'gen_ai.conversation.id': sessionId,
        'gen_ai.response.model': 'big',
        'gen_ai.usage.input_tokens': 130,
        'gen_ai.usage.output_tokens': 5,
        'gen_ai.usage.cache_read.input_tokens': 100,
        'forge.cost_usd': 0.5,
      },
    });
    const unknown = spansOf(story(play))[0]!.attributes;
    expect(unknown).not.toHaveProperty(['gen_ai.usage.input_tokens']);
    expect(unknown).not.toHaveProperty(['forge.cost_usd']);
  });

  test('of tools are inside their turn, and say what was done only when that is asked for', () => {
    const play = awaiting();
    const call = { tool: 'Bash', call: 'c1', startMs: 1, endMs: 4, detail: 'npm test', output: 'ok' };
    const toolsOf = () => [call];
    const spans = spansOf(story(play, { toolsOf }));
    const [turn, tool] = spans;
    expect(tool).toMatchObject({
      name: 'execute_tool Bash',
      parentSpanId: turn!.spanId,
      startMs: 1,
      endMs: 4,
      attributes: { 'gen_ai.tool.name': 'Bash', 'gen_ai.tool.call.id': 'c1' },
    });
    expect(JSON.stringify(spans)).not.toMatch(/npm test|Add a revoke button/);
    const told = JSON.stringify(spansOf(story(merged(), { toolsOf, withContents: true })));
    expect(told).toContain('npm test');
    expect(told).toContain('Add a revoke button');
  });
});
