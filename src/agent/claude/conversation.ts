/**
 * One turn with Claude's program, from the prompt to its last word.
 *
 * The prompt goes in as a stream that stays open until the result is there: only then can a turn be interrupted, and
 * an interrupted one still tells what it used. The SDK yields an error's result and then throws; what it yielded counts.
 */
import type { Exit } from '../../process/dialogue.ts';
import type { TurnHooks, TurnRequest } from '../agent.ts';
import type { ConfinedDialogue, Programs } from '../programs.ts';
import { stopTurn, type TurnStop } from '../turn-stop.ts';
import { type ClaudeMessage, isDoing, type ResultMessage, readMessage } from './message.ts';
import type { PlainOptions } from './options.ts';
import type { ClaudeSdk, UserMessage } from './sdk.ts';
import { asSpawned } from './spawned.ts';

export interface Conversation {
  /** The last one; null when the program ended without. */
  result: ResultMessage | null;
  /** In seconds, when the account's limit was said to be reached. */
  limitResetsAt: number | null;
  /** What the program called the error of its last request. */
  named: string | null;
  stop: TurnStop;
  /** Why the program was never let run; null when it was. */
  refused: Error | null;
  exit: Exit;
  /** What there is to say about an end without a result. */
  lastWords: string;
}

/** By the time it resolves, the program and everything it started are gone. */
export async function converse(
  sdk: ClaudeSdk,
  options: PlainOptions,
  programs: Programs,
  turn: TurnRequest,
  hooks: TurnHooks,
  each: (message: ClaudeMessage) => void,
): Promise<Conversation> {
  const prompt = openPrompt(turn.prompt);
  const abortController = new AbortController();
  const opened: Promise<ConfinedDialogue>[] = [];
  const query = sdk.query({
    prompt: prompt.messages,
    options: {
      ...options,
      abortController,
      spawnClaudeCodeProcess: ({ command, args, env }) => {
        const opening = programs.open({ argv: [command, ...args], env: definedIn(env) }, turn, hooks);
        opened.push(opening);
        return asSpawned(opening);
      },
    },
  });
  const cut = () => {
    abortController.abort();
    void opened[0]?.then((child) => child.end()).catch(() => {});
  };
  const stop = stopTurn(turn, hooks, { ask: () => query.interrupt(), cut });
  let result: ResultMessage | null = null;
  let limitResetsAt: number | null = null;
  let named: string | null = null;
  let inBackground = 0;
  let problem = '';
  try {
    for await (const given of query) {
      if (isDoing(given)) hooks.onProgress();
      const message = readMessage(given);
      if (message === null) continue;
      each(message);
      if (message.type === 'assistant' && !message.parent_tool_use_id) named = message.error ?? null;
      if (message.type === 'system') inBackground = message.tasks?.length ?? inBackground;
      if (message.type === 'rate_limit_event' && message.rate_limit_info.status === 'rejected')
        limitResetsAt = message.rate_limit_info.resetsAt ?? null;
      if (message.type === 'result') {
        result = message;
        // What still runs in the background brings a result of its own.
        if (inBackground === 0) prompt.close();
      }
    }
  } catch (error) {
    problem = (error as Error).message;
  }
  stop.disarm();
  prompt.close();

  const opening = opened[0] ?? Promise.reject<ConfinedDialogue>(new Error('the SDK started no program'));
  const refused = await opening
    .then(({ begun }) => begun)
    .then(
      () => null,
      (error: Error) => error,
    );
  const child = await opening.catch(() => null);
  const stderr = (await child?.end()) ?? '';
  const exit = (await child?.exited) ?? { code: null, signal: null };
  const unconfined = result === null ? (child?.problem(exit) ?? null) : null;
  return {
    result,
    limitResetsAt,
    named,
    stop,
    refused: refused ?? (unconfined ? new Error(`${unconfined}: ${stderr.trim()}`) : null),
    exit,
    lastWords: stderr.trim().slice(-1000) || problem,
  };
}

/** One message, then nothing until it is closed. */
function openPrompt(content: string): { messages: AsyncIterable<UserMessage>; close(): void } {
  let close = () => {};
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  async function* messages(): AsyncGenerator<UserMessage> {
    yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null };
    await closed;
  }
  return { messages: messages(), close: () => close() };
}

const definedIn = (env: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
