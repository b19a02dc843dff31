/**
 * What an attempt did, as spans of a trace: issue → attempt → round → turn → tool. Made from the log alone, with ids that follow
 * from what they name, so that a span which is sent twice is the same span.
 *
 * They say who, how long and how much. What was written and said is in them only where `withContents` asks for it.
 */
import type { LoopEvent } from '../event.ts';
import { isTerminal } from '../machine.ts';
import type { Usage } from '../money/cost.ts';
import { callsOf, isSameTurn, type TurnKey } from '../money/turn-cost.ts';
import type { Task } from '../task.ts';
import { digestOf } from '../text/digest.ts';

export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number>;
  /** Why it did not succeed; null when it did. */
  problem: string | null;
  /** The event it ended with. */
  seq: number;
}

export interface ToolCall {
  tool: string;
  call: string | null;
  startMs: number;
  endMs: number;
  detail: string;
  output: string | null;
}

interface StartedTurn extends TurnKey {
  startedAt: number;
}

export interface TraceStory {
  task: Task;
  /** All of the task, in order. */
  events: readonly LoopEvent[];
  turns: readonly StartedTurn[];
  usage: readonly Usage[];
  toolsOf(turn: StartedTurn): readonly ToolCall[];
  /** Two repositories have issues of the same number. */
  project: string;
  withContents: boolean;
}

export function spansOf(story: TraceStory): Span[] {
  const { task, events, project } = story;
  const trace = digestOf(`${project} ${task.issue ?? task.id}`, 32);
  const idOf = (...parts: (string | number)[]): string => digestOf(`${trace} ${parts.join(' ')}`, 16);
  const issueId = idOf('issue');
  const spans: Span[] = [];
  /** An attempt that is restarted ends again. */
  let endings = 0;
  let begunAt = task.createdAt;
  let round = 1;
  let roundBegunAt = begunAt;
  let isRoundOpen = false;

  const attemptId = (): string => idOf('attempt', task.id, endings);
  const roundId = (): string => idOf('round', task.id, endings, round);
  const add = (span: Omit<Span, 'traceId'>): void => {
    spans.push({ traceId: trace, ...span });
  };
  const endRound = (at: number, seq: number, verdict: string | null): void => {
    add({
      ...{ spanId: roundId(), parentSpanId: attemptId(), name: 'round', seq, problem: null },
      ...{ startMs: roundBegunAt, endMs: at },
      attributes: { 'forge.round': round, ...(verdict !== null && { 'forge.verdict': verdict }) },
    });
    roundBegunAt = at;
    isRoundOpen = false;
  };

  for (const one of events) {
    const { seq, at } = one;
    switch (one.type) {
      case 'turn_completed': {
        isRoundOpen = true;
        const turn = startOf(story.turns, one.data, at);
        const spanId = idOf('turn', task.id, one.data.role, one.data.turn, one.data.sessionId, seq);
        const startMs = turn?.startedAt ?? at - one.data.durationMs;
        add({ spanId, parentSpanId: roundId(), startMs, endMs: at, seq, ...turnParts(story, one, turn) });
        for (const [n, call] of (turn ? story.toolsOf(turn) : []).entries())
          add({ spanId: idOf(spanId, n), parentSpanId: spanId, seq, ...toolParts(call, story.withContents) });
        break;
      }
      case 'gate_completed': {
        const { scope, evidence, reused, within } = one.data;
        if (reused || within) break;
        const ms = evidence.results.reduce(
          (sum, { durationMs, first }) => sum + durationMs + (first?.durationMs ?? 0),
          0,
        );
        // What is about to land was judged before: its gate is of no round.
        const isOfRound = scope === 'work';
        isRoundOpen ||= isOfRound;
        const parentSpanId = isOfRound ? roundId() : attemptId();
        add({
          ...{ spanId: idOf('gate', task.id, seq), parentSpanId, name: 'gate', seq },
          ...{ startMs: at - ms, endMs: at },
          attributes: { 'forge.gate.scope': scope, 'forge.gate.outcome': evidence.outcome },
          problem: evidence.outcome === 'pass' ? null : evidence.outcome,
        });
        break;
      }
      case 'verdict_recorded':
        // A person's approval is about the round that was judged before.
        if (one.data.round < round) break;
        endRound(at, seq, one.data.verdict);
        round = one.data.round + 1;
        break;
      case 'worker_state_transition': {
        const { to, reason, why } = one.data;
        if (!isTerminal(to)) break;
        if (isRoundOpen) endRound(at, seq, null);
        const problem = to === 'abandoned' ? why : null;
        const about = aboutTask(story, to, reason);
        const times = { startMs: begunAt, endMs: at };
        add({
          spanId: attemptId(),
          parentSpanId: issueId,
          name: 'attempt',
          ...times,
          seq,
          problem,
          attributes: about,
        });
        if (task.attempt === 1 && endings === 0)
          add({
            spanId: issueId,
            parentSpanId: null,
            name: task.kind,
            ...times,
            seq,
            problem,
            attributes: about,
          });
        endings += 1;
        // A restart counts its rounds anew.
        round = 1;
        begunAt = at;
        roundBegunAt = at;
        break;
      }
      default:
    }
  }
  return spans;
}

const startOf = (turns: readonly StartedTurn[], of: TurnKey, before: number): StartedTurn | undefined =>
  turns.findLast((turn) => isSameTurn(turn, of) && turn.startedAt <= before);

function turnParts(
  { usage, turns, toolsOf, withContents }: TraceStory,
  { data }: Extract<LoopEvent, { type: 'turn_completed' }>,
  turn: StartedTurn | undefined,
): Pick<Span, 'name' | 'attributes' | 'problem'> {
  const calls = turn ? callsOf(usage, turns, turn) : [];
  const sum = (of: (call: Usage) => number): number => calls.reduce((total, call) => total + of(call), 0);
  const model = calls[0]?.model;
  const costs = calls.flatMap(({ costUsd }) => costUsd ?? []);
  return {
    name: `invoke_agent ${data.role}`,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': data.role,
      'gen_ai.conversation.id': data.sessionId,
      ...(data.account !== undefined && { 'gen_ai.provider.name': providerOf(data.account) }),
      ...(model !== undefined && { 'gen_ai.response.model': model }),
      ...(calls.length > 0 && {
        'gen_ai.usage.input_tokens': sum(
          ({ input, cacheRead, cacheWrite }) => input + cacheRead + cacheWrite,
        ),
        'gen_ai.usage.output_tokens': sum(({ output }) => output),
        'gen_ai.usage.cache_read.input_tokens': sum(({ cacheRead }) => cacheRead),
        'gen_ai.usage.cache_creation.input_tokens': sum(({ cacheWrite }) => cacheWrite),
        'gen_ai.usage.reasoning.output_tokens': sum(({ reasoning }) => reasoning),
      }),
      ...(costs.length > 0 && { 'forge.cost_usd': costs.reduce((total, cost) => total + cost, 0) }),
      'forge.turn': data.turn,
      'forge.turn.status': data.status,
      'forge.turn.tools': turn ? toolsOf(turn).length : 0,
      ...(data.code !== null && { 'error.type': data.code }),
      ...(withContents && data.message !== '' && { 'forge.turn.message': data.message }),
    },
    problem: data.status === 'finished' ? null : (data.code ?? data.status),
  };
}

function toolParts(
  call: ToolCall,
  withContents: boolean,
): Pick<Span, 'name' | 'attributes' | 'problem' | 'startMs' | 'endMs'> {
  return {
    name: `execute_tool ${call.tool}`,
    startMs: call.startMs,
    endMs: call.endMs,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': call.tool,
      ...(call.call !== null && { 'gen_ai.tool.call.id': call.call }),
      ...(withContents && { 'gen_ai.tool.call.arguments': call.detail }),
      ...(withContents && call.output !== null && { 'gen_ai.tool.call.result': call.output }),
    },
    problem: null,
  };
}

function aboutTask(
  { task, withContents }: TraceStory,
  state: string,
  reason: string | null,
): Span['attributes'] {
  return {
    'forge.task': task.id,
    'forge.attempt': task.attempt,
    'forge.branch': task.branch,
    'forge.state': state,
    ...(task.issue !== null && { 'forge.issue': task.issue }),
    ...(reason !== null && { 'forge.reason': reason }),
    ...(withContents && { 'forge.title': task.contract.title }),
  };
}

/** The names that the conventions have for them; others have their own. */
const PROVIDERS: Record<string, string> = { claude: 'anthropic', codex: 'openai', gemini: 'gcp.gemini' };

const providerOf = (account: string): string => PROVIDERS[account] ?? account;
