/**
 * Claude, through its Agent SDK.
 *
 * One turn is one process of the SDK's program, which we start ourselves so that it is born held and is killed with
 * all it started. The session's id is ours, chosen before the first token; its transcript lives in the session's own
 * directory, which is also where a resumed turn finds it.
 */
import { join } from 'node:path';
import { pricesFor } from '../../core/money/prices.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import {
  type Agent,
  failed,
  notStarted,
  type TurnHooks,
  type TurnRequest,
  type TurnResult,
} from '../agent.ts';
import { left } from '../attach-program.ts';
import { fingerprint } from '../fingerprint.ts';
import { type GrantedServer, withServers } from '../mcp-servers.ts';
import { type Passage, through } from '../passage.ts';
import type { Environment } from '../program-path.ts';
import type { Programs } from '../programs.ts';
import { QUESTION_REFUSED } from '../refusal.ts';
import { ownFolder } from '../replace-file.ts';
import { withSkill } from '../skills.ts';
import { unlessStrange } from '../stranger-files.ts';
import { toldLedger } from '../told-ledger.ts';
import { toolOutput } from '../tool-output.ts';
import { preparePlaces } from '../turn-place.ts';
import { claudeAccount } from './account.ts';
import { interactiveClaude } from './attach.ts';
import { type Conversation, converse } from './conversation.ts';
import { type Credential, failureOfLogin, findCredential, kindOf, shown, signInOf } from './credential.ts';
import { transcribedEnd } from './ending.ts';
import { failureOf } from './failure.ts';
import type { ClaudeMessage, ResultMessage } from './message.ts';
import { claudeOptions, needsAPerson } from './options.ts';
import { type ClaudeSdk, installedVersion, loadClaude } from './sdk.ts';
import { configDir, probeTranscript, transcriptUsage } from './transcript.ts';

interface ClaudeParts {
  programs: Programs;
  gateway: Gateway;
  /** The operator's environment, where the credential is looked for. */
  operator: Environment;
  now(): number;
  load?(): Promise<ClaudeSdk>;
}

export function claudeAgent({ programs, gateway, operator, now, load = loadClaude }: ClaudeParts): Agent {
  const within = async (
    turn: TurnRequest,
    hooks: TurnHooks,
    work: (
      passage: Passage,
      credential: Credential,
      servers: readonly GrantedServer[],
    ) => Promise<TurnResult>,
  ): Promise<TurnResult> => {
    try {
      if (hooks.signal.aborted) return { status: 'cancelled', usageKnown: true };
      await preparePlaces(turn);
      if (turn.resume && (await probeTranscript(turn)) !== 'resumable')
        return failed(
          'session_lost',
          `session ${turn.sessionId} can't be resumed: ${turn.sessionDir} holds no transcript of it that can be read`,
        );
      const credential = await findCredential(operator, now());
      if (typeof credential === 'string') return failed('auth', credential, true);
      const result = await through(gateway, turn, hooks, kindOf(credential), (passage) =>
        withServers(passage.turn, passage.hooks, (turn, servers) =>
          withSkill(turn, (turn) => work({ ...passage, turn }, credential, servers)),
        ),
      );
      return result.status === 'failed'
        ? { ...result, ...failureOfLogin(result, credential, now()) }
        : result;
    } catch (error) {
      return notStarted(error);
    }
  };
  return {
    kind: 'claude',
    looksForSkills: true,
    tellsTools: true,

    run: (turn, hooks) =>
      within(turn, hooks, async (passage, credential, servers) =>
        take(passage, await load(), credential, programs, servers),
      ),

    attach: (turn, hooks) =>
      within(turn, hooks, (passage, credential, servers) => handOver(passage, credential, programs, servers)),

    probeSession: probeTranscript,

    async finished(turn, onUsage) {
      const end = await unlessStrange(transcribedEnd(turn));
      if (!end) return null;
      const account = claudeAccount(pricesFor(turn.policy), onUsage);
      const { untold, settle } = await ledgerOf(turn);
      account.catchUp(await untold());
      await settle(account.told());
      const { text, structured, endedAt } = end;
      // What it asked for on the side is in no transcript.
      return { result: { status: 'finished', text, structured, usageKnown: false }, endedAt };
    },

    about: async () => {
      const version = await installedVersion();
      const signIn = await signInOf(operator, now());
      return [{ name: 'claude', installed: version !== null, version, signIn }];
    },

    async credential() {
      const found = await findCredential(operator, now());
      return typeof found === 'string' ? null : kindOf(found);
    },

    async unavailable() {
      const missing = await load().then(
        () => null,
        (error: Error) => error.message,
      );
      if (missing !== null) return missing;
      const credential = await findCredential(operator, now());
      return typeof credential === 'string' ? credential : null;
    },
  };
}

async function take(
  { turn, hooks, route }: Passage,
  sdk: ClaudeSdk,
  credential: Credential,
  programs: Programs,
  servers: readonly GrantedServer[],
): Promise<TurnResult> {
  ownFolder(configDir(turn.sessionDir));
  ownFolder(join(turn.home, 'tmp'));
  const account = claudeAccount(pricesFor(turn.policy), hooks.onUsage);
  const { untold, settle, isRead } = await ledgerOf(turn);
  account.catchUp(await untold());
  const options = claudeOptions(turn, shown(credential, route), hooks, sdk, servers);
  const conversation = await converse(sdk, options, programs, turn, hooks, (message) => {
    account.see(message);
    tellProgress(message, hooks);
  });
  account.close(await untold());
  await settle(account.told());
  return resultOf(conversation, turn, account.isComplete() && isRead());
}

/** To a person, in Claude's own program. What it used on the side is in no transcript, but is counted at the door. */
async function handOver(
  { turn, hooks, route }: Passage,
  credential: Credential,
  programs: Programs,
  servers: readonly GrantedServer[],
): Promise<TurnResult> {
  ownFolder(configDir(turn.sessionDir));
  ownFolder(join(turn.home, 'tmp'));
  const account = claudeAccount(pricesFor(turn.policy), hooks.onUsage);
  const { untold, settle } = await ledgerOf(turn);
  account.catchUp(await untold());
  const exit = await programs.attach(interactiveClaude(turn, shown(credential, route), servers), turn, hooks);
  account.catchUp(await untold());
  await settle(account.told());
  return left(exit, route !== null);
}

async function ledgerOf({ sessionDir, number }: Pick<TurnRequest, 'sessionDir' | 'number'>) {
  const ledger = await toldLedger(sessionDir, number);
  let isRead = true;
  return {
    async untold() {
      const found = await unlessStrange(transcriptUsage(sessionDir));
      isRead &&= found !== null;
      return (found ?? []).filter(({ id }) => !ledger.isSettled(id));
    },
    /** False when a transcript could not be read: what else was used is not known. */
    isRead: () => isRead,
    settle: ledger.settle,
  };
}

function resultOf(conversation: Conversation, turn: TurnRequest, usageKnown: boolean): TurnResult {
  const { result, refused, stop, exit, lastWords } = conversation;
  if (refused !== null) return notStarted(refused);
  // A program that was stopped may have had a call under way whose cost nobody told.
  const stopped = stop.result(false);
  if (stopped) return stopped;
  if (result === null) {
    const how = exit.signal ? `was killed by ${exit.signal}` : `exited with ${exit.code ?? 'no code'}`;
    return failed('crashed', `Claude's program ${how} without a result: ${lastWords || 'it said nothing'}`);
  }
  const failure = failureOf(result, conversation);
  return failure ? { status: 'failed', ...failure, usageKnown } : answerOf(result, turn, usageKnown);
}

function answerOf(result: ResultMessage, turn: TurnRequest, usageKnown: boolean): TurnResult {
  const structured = result.structured_output ?? null;
  if (structured !== null || turn.outputSchema === undefined)
    return { status: 'finished', text: result.result ?? '', structured, usageKnown };
  const message = `the ${turn.role} ended its turn without the structured answer it was asked for`;
  return failed('invalid_result', message, usageKnown);
}

function tellProgress(message: ClaudeMessage, hooks: TurnHooks): void {
  if (message.type === 'system' && message.compact_metadata) {
    const { trigger, pre_tokens } = message.compact_metadata;
    hooks.onProgress({ kind: 'compacted', why: `${trigger}, at ${pre_tokens} tokens` });
  } else if (message.type === 'system' && message.subtype === 'api_retry') {
    const { error = 'the provider failed', error_status } = message;
    hooks.onProgress({ kind: 'retrying', why: error_status ? `${error} (${error_status})` : error });
  }
  if (message.type === 'user')
    for (const { tool_use_id: call, content } of message.message.content)
      if (call !== undefined)
        hooks.onProgress({
          kind: 'tool_over',
          call,
          result: fingerprint(content),
          output: toolOutput(content),
        });
  if (message.type !== 'assistant') return;
  for (const { type, id, text, name = '', input } of message.message.content) {
    if (type === 'tool_use') {
      hooks.onProgress({
        kind: 'tool',
        tool: name,
        detail: detailOf(input),
        ...(id !== undefined && { call: id, same: fingerprint(name, input) }),
      });
      // It is not among its tools: the program refuses it by itself, before any hook.
      if (needsAPerson(name)) hooks.onProgress({ ...QUESTION_REFUSED, tool: name });
    } else if (type === 'text' && text) hooks.onProgress({ kind: 'said', text: text.slice(0, 2000) });
  }
}

function detailOf(input: unknown): string {
  const { command, file_path, pattern, description } = (input ?? {}) as Record<string, unknown>;
  return String(command ?? file_path ?? pattern ?? description ?? '').slice(0, 500);
}
