/** What the protocols have in common: a request read, an answer written as a stream of events. */
import type { Usage } from '../../../src/agent/agent.ts';
import type { Segment } from './prompt-cache.ts';
import type { Asked, Failure, Reply } from './scenario.ts';

export type Protocol = 'messages' | 'responses' | 'chat' | 'generateContent';

export interface Request extends Asked {
  protocol: Protocol;
  stream: boolean;
  /** The names of the tools it offers. */
  tools: readonly string[];
  /** Where the agent said it works; empty when it did not. */
  cwd: string;
  /** Everything a cache could keep, in order. */
  segments: readonly Segment[];
  /** What the provider's cache is routed by, where the protocol has such a key. */
  cacheKey: string | null;
  /** The schema of the answer that is wanted, if one is. */
  wantsSchema: boolean;
  /** A small question of the agent's own (a title, a probe of the quota), which is no part of the conversation. */
  aside: boolean;
  body: unknown;
}

export type Part =
  | { kind: 'thinking' | 'text'; text: string }
  | { kind: 'tool'; id: string; name: string; input: Record<string, unknown> };

export interface Answer {
  id: string;
  model: string;
  parts: readonly Part[];
  stop: Reply['stop'];
  usage: Usage;
}

export interface ServerEvent {
  event?: string;
  data: unknown;
  /** What the provider has told about usage once this event is sent. */
  tells?: Usage;
}

export interface HttpFailure {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

export interface Wire {
  protocol: Protocol;
  read(body: unknown, headers: Record<string, string>, path: string): Request;
  /** The parts of a reply, with the tools as this agent names them. */
  parts(reply: Reply, request: Request, newId: () => string): Part[];
  events(answer: Answer): ServerEvent[];
  whole(answer: Answer): unknown;
  failure(failure: Failure, nowMs: number): HttpFailure;
}

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

/** Text in pieces, as it would come from a model. */
export const inPieces = (text: string): string[] => text.match(/.{1,4000}/gs) ?? [];

export const spoken = (reply: Reply): Part[] => {
  const text = reply.sayBytes === undefined ? reply.say : 'x'.repeat(reply.sayBytes);
  return [
    ...(reply.think === undefined ? [] : [{ kind: 'thinking' as const, text: reply.think }]),
    ...(text === undefined ? [] : [{ kind: 'text' as const, text }]),
  ];
};

/** Makes the calls of a reply, each with an id of its own. */
export const toolCalls =
  (newId: () => string) =>
  (name: string, input: Record<string, unknown>): Part => ({ kind: 'tool', id: newId(), name, input });
