/**
 * Claude, through its Agent SDK.
 *
 * One turn is one process of the SDK's program, which we start ourselves so that it is born held and is killed with
 * all it started. The session's id is ours, chosen before the first token; its transcript lives in the session's own
 * directory, which is also where a resumed turn finds it.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenDialogue } from '../../process/dialogue.ts';
import { type Agent, failed, type TurnHooks, type TurnRequest, type TurnResult } from '../agent.ts';
import { pricesFor } from '../prices.ts';
import { toldLedger } from '../told-ledger.ts';
import { preparePlaces } from '../turn-place.ts';
import { claudeAccount } from './account.ts';
import { type Conversation, converse } from './conversation.ts';
import { type Credential, type Environment, findCredential, NOT_SIGNED_IN, signInOf } from './credential.ts';
import { failureOf } from './failure.ts';
import type { ClaudeMessage, ResultMessage } from './message.ts';
import { claudeOptions } from './options.ts';
import { type ClaudeSdk, installedVersion, loadClaude } from './sdk.ts';
import { configDir, probeTranscript, transcriptUsage } from './transcript.ts';

export interface ClaudeParts {
  open: OpenDialogue;
  /** The operator's environment, where the credential is looked for. */
  operator: Environment;
  now(): number;
  load?(): Promise<ClaudeSdk>;
}

export function claudeAgent({ open, operator, now, load = loadClaude }: ClaudeParts): Agent {
  return {
    kind: 'claude',

    async run(turn, hooks) {
      try {
        if (hooks.signal.aborted) return { status: 'cancelled', usageKnown: true };
        await preparePlaces(turn);
        if (turn.resume && (await probeTranscript(turn)) !== 'resumable')
          return failed(
            'session_lost',
            `session ${turn.sessionId} can't be resumed: ${turn.sessionDir} holds no transcript of it`,
          );
        const credential = await findCredential(operator, now());
        if (!credential) return failed('could_not_start', NOT_SIGNED_IN);
        return await take(turn, hooks, await load(), credential, open);
      } catch (error) {
        return failed('could_not_start', (error as Error).message);
      }
    },

    probeSession: probeTranscript,

    about: async () => {
      const version = await installedVersion();
      const signIn = await signInOf(operator, now());
      return [{ name: 'claude', installed: version !== null, version, signIn }];
    },

    async unavailable() {
      const missing = await load().then(
        () => null,
        (error: Error) => error.message,
      );
      return missing ?? ((await findCredential(operator, now())) ? null : NOT_SIGNED_IN);
    },
  };
}

async function take(
  turn: TurnRequest,
  hooks: TurnHooks,
  sdk: ClaudeSdk,
  credential: Credential,
  open: OpenDialogue,
): Promise<TurnResult> {
  await mkdir(configDir(turn.sessionDir), { recursive: true, mode: 0o700 });
  await mkdir(join(turn.home, 'tmp'), { recursive: true });
  const account = claudeAccount(pricesFor(turn.policy), hooks.onUsage);
  const ledger = await toldLedger(turn.sessionDir, turn.turn);
  const untold = async () =>
    (await transcriptUsage(turn.sessionDir)).filter(({ id }) => !ledger.isSettled(id));
  account.catchUp(await untold());
  const options = claudeOptions(turn, credential, hooks, sdk);
  const conversation = await converse(sdk, options, open, turn, hooks, (message) => {
    account.see(message);
    tellProgress(message, hooks);
  });
  account.close(await untold());
  await ledger.settle(account.told());
  return resultOf(conversation, turn);
}

function resultOf(conversation: Conversation, turn: TurnRequest): TurnResult {
  const { result, refused, stop, exit, lastWords } = conversation;
  if (refused !== null) return failed('could_not_start', refused);
  // A program that was stopped may have had a call under way whose cost nobody told.
  const stopped = stop.result(false);
  if (stopped) return stopped;
  if (result === null) {
    const how = exit.signal ? `was killed by ${exit.signal}` : `exited with ${exit.code ?? 'no code'}`;
    return failed('crashed', `Claude's program ${how} without a result: ${lastWords || 'it said nothing'}`);
  }
  const failure = failureOf(result, conversation.limitResetsAt);
  return failure ? { status: 'failed', ...failure, usageKnown: true } : answerOf(result, turn);
}

function answerOf(result: ResultMessage, turn: TurnRequest): TurnResult {
  const structured = result.structured_output ?? null;
  if (structured !== null || turn.outputSchema === undefined)
    return { status: 'finished', text: result.result ?? '', structured, usageKnown: true };
  const message = `the ${turn.role} ended its turn without the structured answer it was asked for`;
  return failed('invalid_result', message, true);
}

function tellProgress(message: ClaudeMessage, hooks: TurnHooks): void {
  hooks.onProgress();
  if (message.type === 'system' && message.compact_metadata) {
    const { trigger, pre_tokens } = message.compact_metadata;
    hooks.onProgress({ kind: 'compacted', why: `${trigger}, at ${pre_tokens} tokens` });
  } else if (message.type === 'system' && message.subtype === 'api_retry') {
    const { error = 'the provider failed', error_status } = message;
    hooks.onProgress({ kind: 'retrying', why: error_status ? `${error} (${error_status})` : error });
  }
  if (message.type !== 'assistant') return;
  for (const { type, text, name, input } of message.message.content) {
    if (type === 'tool_use') hooks.onProgress({ kind: 'tool', tool: name ?? '', detail: detailOf(input) });
    else if (type === 'text' && text) hooks.onProgress({ kind: 'said', text: text.slice(0, 2000) });
  }
}

function detailOf(input: unknown): string {
  const { command, file_path, pattern, description } = (input ?? {}) as Record<string, unknown>;
  return String(command ?? file_path ?? pattern ?? description ?? '').slice(0, 500);
}
