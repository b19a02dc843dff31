/** One turn with `codex app-server`: a thread begun or resumed, the prompt, and everything until the turn is over. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { READER } from '../../core/words/prompts.ts';
import type { Dialogue } from '../../process/dialogue.ts';
import type { Failure, TurnHooks, TurnRequest } from '../agent.ts';
import { fingerprint } from '../fingerprint.ts';
import { QUESTION_REFUSED, refusedPath } from '../refusal.ts';
import { toolOutput } from '../tool-output.ts';
import { fromTrunk } from '../turn-place.ts';
import { answered, failureOfSilence } from '../unanswered.ts';
import { type CodexAccount, tokenTotal } from './account.ts';
import { type AppServer, appServer } from './app-server.ts';
import { brokeOff, type TurnError, turnError, wordsIn } from './failure.ts';
import { blindText } from './sandbox.ts';
import { permissions, readsByItself } from './settings.ts';
import { readThread, writeThread } from './thread.ts';
import { answerCall, CALL, offeredTools } from './tools.ts';

interface Talk {
  /** Resolves when the turn is over or the server is; never rejects. */
  readonly over: Promise<Ending>;
  interrupt(): Promise<unknown>;
}

export interface Ending {
  /** Null when the server ended first. */
  status: string | null;
  error: TurnError | null;
  /** What it met before, and tried again. */
  retried: TurnError | null;
  text: string;
  limitResetsAt: number | null;
  /** Why there was no turn at all. */
  problem: string | null;
  /** Why the model was not asked: its program said nothing, or its sandbox would not let it read. */
  unasked: Failure | null;
  /** No answer of the model broke off, so all that was used is told. */
  usageKnown: boolean;
}

/** It gives its servers less itself; one that tells nothing of them is not waited for. */
const LONGEST_START_MS = 90_000;

const INTRODUCTION = {
  clientInfo: { name: 'forge-loop', title: 'forge-loop', version: '1' },
  // Tools of the client's own are called experimental.
  capabilities: { experimentalApi: true, requestAttestation: false },
};

export function talk(
  child: Dialogue,
  turn: TurnRequest,
  hooks: TurnHooks,
  account: CodexAccount,
  onModel: (model: string) => void,
): Talk {
  let text = '';
  let limitResetsAt: number | null = null;
  let retried: TurnError | null = null;
  let usageKnown = true;
  let finish: (done: { status: string; error: TurnError | null }) => void = () => {};
  const completed = new Promise<{ status: string; error: TurnError | null }>((resolve) => {
    finish = resolve;
  });
  const patches = new Map<string, string[]>();
  /** Servers that it has not yet told of as started or failed; it would begin without them. */
  const starting = new Set(turn.policy.mcp.map(({ name }) => name));
  let haveStarted: () => void = () => {};
  const serversStarted = new Promise<void>((resolve) => {
    haveStarted = resolve;
  });
  if (starting.size === 0) haveStarted();
  let thread = '';
  let turnId = '';
  const server = appServer(child.stdin, child.stdout, {
    onNotification(method, params) {
      if (DOING.test(method)) hooks.onProgress();
      notified(method, params);
    },
    onRequest: (method, params) => answerTo(method, params),
  });
  const ask = (method: string, params: unknown) => answered(server.request(method, params), method);
  const over = converse().catch(
    (error: Error): Ending => ({ ...ending(null, null, error.message), unasked: failureOfSilence(error) }),
  );
  return {
    over,
    interrupt: () =>
      turnId === '' ? Promise.resolve() : server.request('turn/interrupt', { threadId: thread, turnId }),
  };

  async function converse(): Promise<Ending> {
    await ask('initialize', INTRODUCTION);
    server.notify('initialized');
    const blind = readsByItself(turn.access) ? await whyBlind(ask, turn.cwd) : null;
    if (blind !== null) return { ...ending(null, null, null), unasked: blind };
    thread = await beginThread(ask, turn, hooks, onModel);
    await Promise.race([serversStarted, server.ended, delay(LONGEST_START_MS, null, { ref: false })]);
    const started = startedTurn.parse(
      await ask('turn/start', {
        threadId: thread,
        input: [{ type: 'text', text: turn.prompt, text_elements: [] }, ...skillOf(turn)],
        ...(turn.outputSchema && { outputSchema: strict(turn.outputSchema) }),
        ...(turn.policy.effort !== null && { effort: turn.policy.effort }),
      }),
    );
    turnId = started.turn.id;
    hooks.onProgress({ kind: 'session', thread, turn: turnId });
    const done = await Promise.race([completed, server.ended]);
    if (done === null || typeof done === 'string') return ending(null, null, done);
    return ending(done.status, done.error, null);
  }

  function ending(status: string | null, error: TurnError | null, problem: string | null): Ending {
    return { status, error, retried, text, limitResetsAt, problem, unasked: null, usageKnown };
  }

  function notified(method: string, params: unknown): void {
    if (method === 'thread/tokenUsage/updated') {
      const { data } = usageUpdate.safeParse(params);
      if (data) account.see(data.threadId, data.tokenUsage.total);
    } else if (method === 'mcpServer/startupStatus/updated') {
      const { data } = serverStatus.safeParse(params);
      if (data && data.status !== 'starting') starting.delete(data.name);
      if (starting.size === 0) haveStarted();
    } else if (method === 'turn/completed') {
      const { data } = turnOver.safeParse(params);
      if (data?.turn.error && brokeOff(data.turn.error)) usageKnown = false;
      if (data && data.threadId === thread) finish(data.turn);
    } else if (method === 'error') {
      const { data } = errorSeen.safeParse(params);
      if (data && brokeOff(data.error)) usageKnown = false;
      if (!data?.willRetry) return;
      retried = data.error;
      hooks.onProgress({ kind: 'retrying', why: wordsIn(data.error.message).slice(0, 500) });
    } else if (method === 'account/rateLimits/updated') {
      const { data } = rateLimits.safeParse(params);
      const windows = Object.entries(data?.rateLimits ?? {}).flatMap(([name, one]) =>
        one ? [{ name, ...one }] : [],
      );
      if (windows.length > 0) hooks.onProgress({ kind: 'limits', windows });
      const used = windows.flatMap(({ usedPercent, resetsAt }) =>
        usedPercent >= 100 && resetsAt ? [resetsAt] : [],
      );
      if (used.length > 0) limitResetsAt = Math.max(...used);
    } else if (method === 'item/started' || method === 'item/completed') {
      const { data } = itemOf.safeParse(params);
      if (data) seeItem(method, data.threadId, data.item);
    }
  }

  function seeItem(method: string, threadId: string, item: z.output<typeof itemOf>['item']): void {
    if (item.type === 'agentMessage' && method === 'item/completed') {
      if (threadId === thread) text = item.text ?? '';
      hooks.onProgress({ kind: 'said', text: (item.text ?? '').slice(0, 2000) });
    } else if (TOOLS.has(item.type) && method === 'item/completed') {
      const { id: call, aggregatedOutput, exitCode, result, contentItems } = item;
      const told = [aggregatedOutput, exitCode, result, contentItems];
      const isTold = told.some((one) => one != null);
      const output = toolOutput(aggregatedOutput, result, contentItems);
      hooks.onProgress({ kind: 'tool_over', call, result: isTold ? fingerprint(...told) : null, output });
    } else if (item.type === 'commandExecution' && method === 'item/started') {
      const command = item.command ?? '';
      hooks.onProgress({
        kind: 'tool',
        tool: 'shell',
        detail: command.slice(0, 500),
        ...named(item, command),
      });
    } else if (item.type === 'contextCompaction' && method === 'item/completed')
      hooks.onProgress({ kind: 'compacted', why: 'the conversation came near the model’s limit' });
    else if (item.type === 'fileChange' && method === 'item/started') {
      const paths = (item.changes ?? []).map(({ path }) => path);
      patches.set(item.id, paths);
      const detail = paths.join(', ').slice(0, 500);
      hooks.onProgress({ kind: 'tool', tool: 'edit', detail, ...named(item, item.changes) });
    } else if (TOOLS.has(item.type) && method === 'item/started') {
      const { tool = item.type, query = '' } = item;
      const asked = [tool, item.arguments, query];
      hooks.onProgress({ kind: 'tool', tool, detail: query.slice(0, 500), ...named(item, asked) });
    }
  }

  /** Approvals by rule; questions are answered with nothing, so that no turn waits for ever. */
  function answerTo(method: string, params: unknown): unknown {
    switch (method) {
      // Who works runs what it wants: what must not run finds a stand-in instead.
      case 'item/commandExecution/requestApproval':
        return { decision: turn.access.tools === 'work' ? 'accept' : 'decline' };
      case 'item/fileChange/requestApproval': {
        const paths = patches.get(approval.safeParse(params).data?.itemId ?? '');
        const why = paths
          ? paths
              .map((path) => refusedPath(path, turn.cwd, turn.access.writeRoots))
              .find((said) => said !== null)
          : 'the change could not be read';
        if (why == null) return { decision: 'accept' };
        const detail = (paths?.join(', ') ?? '').slice(0, 500);
        hooks.onProgress({ kind: 'refused', code: 'path', tool: 'edit', detail, why });
        return { decision: 'decline' };
      }
      case CALL:
        return answerCall(hooks, params);
      case 'item/tool/requestUserInput':
        hooks.onProgress(QUESTION_REFUSED);
        return { answers: {} };
      case 'mcpServer/elicitation/request':
        hooks.onProgress(QUESTION_REFUSED);
        return { action: 'decline', content: null, _meta: null };
      default:
        return undefined;
    }
  }
}

/** It is handed over by name: a list of all that it finds would have the branch's own. */
const skillOf = ({ skill }: TurnRequest) =>
  skill ? [{ type: 'skill', name: skill.name, path: join(skill.folder, 'SKILL.md') }] : [];

/** What the model or a tool did; the rest is the server's own affair. */
const DOING = /^(item|turn)\/|^thread\/tokenUsage\//;

/** Calls of tools among the items of a turn. */
const TOOLS: ReadonlySet<string> = new Set([
  'commandExecution',
  'fileChange',
  'mcpToolCall',
  'dynamicToolCall',
  'webSearch',
]);

const named = ({ id, type }: { id: string; type: string }, input: unknown) => ({
  call: id,
  same: fingerprint(type, input),
});

/**
 * Whether its own sandbox lets whoever only reads read: where that can't start, each of its commands fails, in words of
 * the sandbox alone, and it would answer all the same.
 */
async function whyBlind(ask: AppServer['request'], cwd: string): Promise<Failure | null> {
  const sandboxPolicy = { type: 'readOnly', networkAccess: false };
  const { exitCode, stderr } = executed.parse(
    await ask('command/exec', { command: ['test', '-r', '.'], cwd, sandboxPolicy }),
  );
  return exitCode === 0 ? null : { code: 'invalid_result', message: blindText(stderr), retryAt: null };
}

async function beginThread(
  ask: AppServer['request'],
  turn: TurnRequest,
  { tools }: Pick<TurnHooks, 'tools'>,
  onModel: (model: string) => void,
): Promise<string> {
  const how = {
    cwd: turn.cwd,
    ...permissions(turn.access),
    ...(turn.policy.model !== null && { model: turn.policy.model }),
  };
  const known = turn.resume ? await readThread(turn.sessionDir) : null;
  const { thread, model } = begun.parse(
    known === null
      ? await ask('thread/start', {
          ...how,
          ...(tools && offeredTools(tools)),
          ...(turn.access.tools === 'read' && { baseInstructions: READER }),
          ...(turn.conventions && { developerInstructions: fromTrunk(turn.conventions) }),
        })
      : await ask('thread/resume', { ...how, threadId: known, excludeTurns: true }),
  );
  onModel(model);
  // Before the first token: whoever takes over must find the conversation.
  if (known === null) await writeThread(turn.sessionDir, thread.id);
  return thread.id;
}

/** OpenAI holds the model only to schemas that allow nothing else and require everything. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $schema: _, default: __, ...rest } = schema as Record<string, unknown>;
  const inner = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, strict(value)]));
  const { properties } = inner;
  if (typeof properties !== 'object' || properties === null) return inner;
  return { ...inner, required: Object.keys(properties), additionalProperties: false };
}

const begun = z.object({ thread: z.object({ id: z.string() }), model: z.string() });
const executed = z.object({ exitCode: z.int(), stderr: z.string() });
const startedTurn = z.object({ turn: z.object({ id: z.string() }) });
const serverStatus = z.object({ name: z.string(), status: z.string() });
const usageUpdate = z.object({ threadId: z.string(), tokenUsage: z.object({ total: tokenTotal }) });
const turnOver = z.object({
  threadId: z.string(),
  turn: z.object({ status: z.string(), error: turnError.nullable() }),
});
const errorSeen = z.object({ error: turnError, willRetry: z.boolean() });
const rateWindow = z.object({ usedPercent: z.number(), resetsAt: z.number().nullable() }).nullish();
const rateLimits = z.object({ rateLimits: z.object({ primary: rateWindow, secondary: rateWindow }) });
const itemOf = z.object({
  threadId: z.string(),
  item: z.object({
    type: z.string(),
    id: z.string().catch(''),
    text: z.string().optional().catch(undefined),
    command: z.string().optional().catch(undefined),
    changes: z
      .array(z.looseObject({ path: z.string() }))
      .optional()
      .catch(undefined),
    aggregatedOutput: z.unknown().optional(),
    exitCode: z.unknown().optional(),
    result: z.unknown().optional(),
    contentItems: z.unknown().optional(),
    tool: z.string().optional().catch(undefined),
    arguments: z.unknown().optional(),
    query: z.string().optional().catch(undefined),
  }),
});
const approval = z.object({ itemId: z.string() });
