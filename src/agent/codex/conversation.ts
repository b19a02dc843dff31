/** One turn with `codex app-server`: a thread begun or resumed, the prompt, and everything until the turn is over. */
import { z } from 'zod';
import { READER } from '../../core/prompts.ts';
import type { Dialogue } from '../../process/dialogue.ts';
import type { TurnHooks, TurnRequest } from '../agent.ts';
import { refusedCommand, refusedPath } from '../refusal.ts';
import { fromTrunk } from '../turn-place.ts';
import { type CodexAccount, tokenTotal } from './account.ts';
import { type AppServer, appServer } from './app-server.ts';
import { type TurnError, turnError } from './failure.ts';
import { permissions } from './settings.ts';
import { readThread, writeThread } from './thread.ts';
import { answerCall, CALL, offeredTools } from './tools.ts';

export interface Talk {
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
}

export const INTRODUCTION = {
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
  let finish: (done: { status: string; error: TurnError | null }) => void = () => {};
  const completed = new Promise<{ status: string; error: TurnError | null }>((resolve) => {
    finish = resolve;
  });
  const patches = new Map<string, string[]>();
  let thread = '';
  let turnId = '';
  const server = appServer(child.stdin, child.stdout, {
    onNotification(method, params) {
      hooks.onProgress();
      notified(method, params);
    },
    onRequest: (method, params) => answerTo(method, params),
  });
  const over = converse().catch((error: Error) => ending(null, null, error.message));
  return {
    over,
    interrupt: () =>
      turnId === '' ? Promise.resolve() : server.request('turn/interrupt', { threadId: thread, turnId }),
  };

  async function converse(): Promise<Ending> {
    await server.request('initialize', INTRODUCTION);
    server.notify('initialized');
    thread = await beginThread(server, turn, hooks, onModel);
    const prompt = await turn.prompt;
    const started = startedTurn.parse(
      await server.request('turn/start', {
        threadId: thread,
        input: [{ type: 'text', text: prompt, text_elements: [] }],
        ...(turn.outputSchema && { outputSchema: strict(turn.outputSchema) }),
        ...(turn.policy.effort !== null && { effort: turn.policy.effort }),
      }),
    );
    turnId = started.turn.id;
    const done = await Promise.race([completed, server.ended]);
    if (done === null || typeof done === 'string') return ending(null, null, done);
    return ending(done.status, done.error, null);
  }

  function ending(status: string | null, error: TurnError | null, problem: string | null): Ending {
    return { status, error, retried, text, limitResetsAt, problem };
  }

  function notified(method: string, params: unknown): void {
    if (method === 'thread/tokenUsage/updated') {
      const { data } = usageUpdate.safeParse(params);
      if (data) account.see(data.threadId, data.tokenUsage.total);
    } else if (method === 'turn/completed') {
      const { data } = turnOver.safeParse(params);
      if (data && data.threadId === thread) finish(data.turn);
    } else if (method === 'error') {
      const { data } = errorSeen.safeParse(params);
      if (!data?.willRetry) return;
      retried = data.error;
      hooks.onProgress({ kind: 'retrying', why: data.error.message.slice(0, 500) });
    } else if (method === 'account/rateLimits/updated') {
      const { data } = rateLimits.safeParse(params);
      const windows = [data?.rateLimits.primary, data?.rateLimits.secondary];
      const used = windows.flatMap((one) =>
        one && one.usedPercent >= 100 && one.resetsAt ? [one.resetsAt] : [],
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
    } else if (item.type === 'commandExecution' && method === 'item/started')
      hooks.onProgress({ kind: 'tool', tool: 'shell', detail: (item.command ?? '').slice(0, 500) });
    else if (item.type === 'contextCompaction' && method === 'item/completed')
      hooks.onProgress({ kind: 'compacted', why: 'the conversation came near the model’s limit' });
    else if (item.type === 'fileChange' && method === 'item/started') {
      const paths = (item.changes ?? []).map(({ path }) => path);
      patches.set(item.id, paths);
      hooks.onProgress({ kind: 'tool', tool: 'edit', detail: paths.join(', ').slice(0, 500) });
    }
  }

  /** Approvals by rule; questions are answered with nothing, so that no turn waits for ever. */
  function answerTo(method: string, params: unknown): unknown {
    const { data } = approval.safeParse(params);
    const decide = (tool: string, detail: string, why: string | null) => {
      if (why !== null) hooks.onProgress({ kind: 'refused', tool, detail: detail.slice(0, 500), why });
      return { decision: why === null ? 'accept' : 'decline' };
    };
    switch (method) {
      case 'item/commandExecution/requestApproval': {
        const commands = data?.commandActions?.map(({ command }) => command) ?? [];
        const whole = commands.join('\n') || (data?.command ?? '');
        return decide('shell', whole, whole === '' ? 'the command could not be read' : refusedCommand(whole));
      }
      case 'item/fileChange/requestApproval': {
        const paths = patches.get(data?.itemId ?? '');
        const roots = [turn.cwd, turn.home];
        const why = paths?.map((path) => refusedPath(path, turn.cwd, roots)).find((said) => said !== null);
        return decide(
          'edit',
          paths?.join(', ') ?? '',
          paths ? (why ?? null) : 'the change could not be read',
        );
      }
      case CALL:
        return answerCall(hooks.tools, params);
      case 'item/tool/requestUserInput':
        hooks.onProgress({ kind: 'refused', tool: 'question', detail: '', why: 'nobody is there to answer' });
        return { answers: {} };
      case 'mcpServer/elicitation/request':
        hooks.onProgress({ kind: 'refused', tool: 'question', detail: '', why: 'nobody is there to answer' });
        return { action: 'decline', content: null, _meta: null };
      default:
        return undefined;
    }
  }
}

async function beginThread(
  server: AppServer,
  turn: TurnRequest,
  { tools }: Pick<TurnHooks, 'tools'>,
  onModel: (model: string) => void,
): Promise<string> {
  const how = {
    cwd: turn.cwd,
    ...permissions(turn.role),
    ...(turn.policy.model !== null && { model: turn.policy.model }),
  };
  const known = turn.resume ? await readThread(turn.sessionDir) : null;
  const { thread, model } = begun.parse(
    known === null
      ? await server.request('thread/start', {
          ...how,
          ...(tools && offeredTools(tools)),
          ...(turn.role !== 'coder' && { baseInstructions: READER }),
          ...(turn.conventions && { developerInstructions: fromTrunk(turn.conventions) }),
        })
      : await server.request('thread/resume', { ...how, threadId: known, excludeTurns: true }),
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
const startedTurn = z.object({ turn: z.object({ id: z.string() }) });
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
      .array(z.object({ path: z.string() }))
      .optional()
      .catch(undefined),
  }),
});
const approval = z.object({
  itemId: z.string().optional(),
  command: z.string().nullish(),
  commandActions: z.array(z.object({ command: z.string() })).nullish(),
});
