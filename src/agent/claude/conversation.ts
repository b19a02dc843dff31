/**
 * One turn with Claude's program, from the prompt to its last word.
 *
 * The prompt goes in as a stream that stays open until the result is there: only then can a turn be interrupted, and
 * an interrupted one still tells what it used. The SDK yields an error's result and then throws; what it yielded counts.
 */
import type { Dialogue, Exit, OpenDialogue } from '../../process/dialogue.ts';
import type { TurnHooks, TurnRequest } from '../agent.ts';
import { stopTurn, type TurnStop } from '../turn-stop.ts';
import { type ClaudeMessage, type ResultMessage, readMessage } from './message.ts';
import type { PlainOptions } from './options.ts';
import type { ClaudeSdk, UserMessage } from './sdk.ts';
import { asSpawned } from './spawned.ts';

export interface Conversation {
  /** The last one; null when the program ended without. */
  result: ResultMessage | null;
  /** In seconds, when the account's limit was said to be reached. */
  limitResetsAt: number | null;
  stop: TurnStop;
  /** Why the program was never let run; null when it was. */
  refused: string | null;
  exit: Exit;
  /** What there is to say about an end without a result. */
  lastWords: string;
}

/** By the time it resolves, the program and everything it started are gone. */
export async function converse(
  sdk: ClaudeSdk,
  options: PlainOptions,
  open: OpenDialogue,
  turn: TurnRequest,
  hooks: TurnHooks,
  each: (message: ClaudeMessage) => void,
): Promise<Conversation> {
  const prompt = openPrompt(turn.prompt);
  const abortController = new AbortController();
  const children: Dialogue[] = [];
  const query = sdk.query({
    prompt: prompt.messages,
    options: {
      ...options,
      abortController,
      spawnClaudeCodeProcess: ({ command, args, env }) => {
        const child = open({
          argv: [command, ...args],
          cwd: turn.cwd,
          env: definedIn(env),
          logPath: turn.logPath,
          onHeld: hooks.onHeld,
          onOutput: () => hooks.onProgress(),
        });
        children.push(child);
        return asSpawned(child);
      },
    },
  });
  const cut = () => {
    abortController.abort();
    void children[0]?.end();
  };
  const stop = stopTurn(turn, hooks, { ask: () => query.interrupt(), cut });
  let result: ResultMessage | null = null;
  let limitResetsAt: number | null = null;
  let inBackground = 0;
  let problem = '';
  try {
    for await (const given of query) {
      const message = readMessage(given);
      if (message === null) {
        hooks.onProgress();
        continue;
      }
      each(message);
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

  const child = children[0];
  const refused = child ? await child.begun.then(() => null, said) : 'the SDK started no program';
  const stderr = (await child?.end()) ?? '';
  const exit = (await child?.exited) ?? { code: null, signal: null };
  return { result, limitResetsAt, stop, refused, exit, lastWords: stderr.trim().slice(-1000) || problem };
}

const said = (error: Error): string => error.message;

/**
 * One message, as soon as there is one, then nothing until it is closed. Meanwhile the program starts, reads its settings
 * and the session, and greets our tools.
 */
function openPrompt(text: string | Promise<string>): { messages: AsyncIterable<UserMessage>; close(): void } {
  let close = () => {};
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  async function* messages(): AsyncGenerator<UserMessage> {
    const content = await Promise.race([Promise.resolve(text).catch(() => null), closed]);
    if (content == null) return;
    yield { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null };
    await closed;
  }
  return { messages: messages(), close: () => close() };
}

const definedIn = (env: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
