/** One turn over ACP: a session begun or loaded again, the prompt, and everything until it is over. */
import { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { lastJsonBlock } from '../../core/verdict.ts';
import { repairPrompt } from '../../core/words/prompts.ts';
import type { Dialogue } from '../../process/dialogue.ts';
import type { Failure, TurnHooks, TurnRequest } from '../agent.ts';
import { fingerprint } from '../fingerprint.ts';
import type { GrantedServer } from '../mcp-servers.ts';
import { ownServer, type ToolDialogue } from '../tool-dialogue.ts';
import { toolOutput } from '../tool-output.ts';
import { withConventions } from '../turn-place.ts';
import { answered } from '../unanswered.ts';
import type { AcpAccount } from './account.ts';
import { failureOf, failureTold } from './failure.ts';
import { answerPermission } from './permission.ts';
import type { Equipment } from './presets.ts';
import { type AcpConnection, type AcpSdk, PROTOCOL_VERSION } from './sdk.ts';
import { type KnownSession, openingOf, readSession, remembers, writeSession } from './session.ts';

interface Talk {
  /** Resolves when the turn is over or the agent is; never rejects. */
  readonly over: Promise<Ending>;
  interrupt(): Promise<unknown>;
  /** Writes down what is known of the session; after the program has ended. */
  keep(costUsd: number): Promise<void>;
}

export type Ending =
  /** `usageTold`: at the end of each prompt. */
  | { kind: 'answered'; stopReason: string; text: string; structured: unknown; usageTold: boolean }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'lost'; why: string }
  /** The program ended first, or could not be talked to. */
  | { kind: 'broken'; problem: string };

export interface Offered {
  /** The host's own, where its role has some. */
  tools: ToolDialogue | null;
  servers: readonly GrantedServer[];
}

/** Whoever keeps the account. */
interface Listening {
  /** The program may have used something. */
  onUsed(): void;
  onUpdate(update: unknown): void;
  /** It has answered, and runs until this resolves. */
  onOver(): Promise<void>;
}

const LONGEST_MESSAGE = 64 * 1024 * 1024;

export function talk(
  sdk: AcpSdk,
  child: Dialogue,
  turn: TurnRequest,
  hooks: TurnHooks,
  account: AcpAccount,
  equipment: Equipment & Offered & Listening,
): Talk {
  let session: KnownSession | null = null;
  let kept: Promise<unknown> = Promise.resolve();
  let text = '';
  /** By call, of programs that tell it piece by piece. */
  const printed = new Map<string, string>();
  let messageId: string | null = null;
  /** A failure that the agent told on the way; it may end its turn as if there were none. */
  let failure: Failure | null = null;
  /** It said or did something. */
  let worked = false;
  /** Messages in a row with no call of a tool between them. */
  let spoken = 0;
  let giveUp: (ending: Ending) => void = () => {};
  const givenUp = new Promise<Ending>((resolve) => {
    giveUp = resolve;
  });
  let replayed: string | null = null;
  let updates = 0;
  /** What the session begins with, once it was sent. */
  let opening: string | null = null;
  const connection = connect();
  const closed = connection.closed.then(
    (): Ending => ({ kind: 'broken', problem: '' }),
    (error: Error): Ending => ({ kind: 'broken', problem: error.message }),
  );
  const over = Promise.race([
    converse().catch((error: Error): Ending => ({ kind: 'failed', failure: failureOf(error) })),
    closed,
    givenUp,
    child.exited.then((): Ending => ({ kind: 'broken', problem: '' })),
  ]);
  return {
    over,
    interrupt: async () => {
      if (session) await connection.agent.notify('session/cancel', { sessionId: session.session });
    },
    keep: async (costUsd) => {
      if (session) await save({ ...session, costUsd });
    },
  };

  function connect(): AcpConnection {
    const stream = sdk.ndJsonStream(
      Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
      Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
      { maxMessageBytes: LONGEST_MESSAGE },
    );
    return sdk
      .client({ name: 'forge-loop' })
      .onNotification('session/update', asItIs, ({ params }) => heard(params))
      .onRequest('session/request_permission', asItIs, ({ params }) => {
        const { tool, detail, call, refusal, answer } = answerPermission(params, turn);
        calling();
        // Some agents tell of a call only by asking for it.
        const begun = { tool, detail, ...(call && { call, same: fingerprint(tool, detail) }) };
        hooks.onProgress(
          refusal ? { kind: 'refused', tool, detail, ...refusal } : { kind: 'tool', ...begun },
        );
        return answer;
      })
      .connect(stream as never);
  }

  async function converse(): Promise<Ending> {
    const ask = (method: string, params: object) => {
      const asked = connection.agent.request(method, params);
      return method === 'session/prompt' ? asked : answered(asked, method);
    };
    const { protocolVersion, agentCapabilities } = initialized.parse(
      await ask('initialize', {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        clientInfo: { name: 'forge-loop', title: 'forge-loop', version: '1' },
      }),
    );
    if (protocolVersion !== PROTOCOL_VERSION)
      return {
        kind: 'broken',
        problem: `it speaks version ${protocolVersion} of ACP, not ${PROTOCOL_VERSION}`,
      };
    const own = equipment.tools && !equipment.toolsInSettings ? [ownServer(equipment.tools)] : [];
    const place = {
      cwd: turn.cwd,
      mcpServers: [...own, ...equipment.servers].map((server) => ({ ...server, env: [] })),
      ...(equipment.meta && { _meta: equipment.meta }),
    };
    const opened = turn.resume
      ? await load(ask, place, agentCapabilities.loadSession)
      : await begin(ask, place);
    if ('kind' in opened) return opened;
    // Else it asks a model for one, at each prompt of a session that is loaded too, and does not tell what that used.
    if (agentCapabilities.sessionCapabilities.title != null)
      await ask('session/set_title', { sessionId: session?.session, title: `${turn.role} of ${turn.task}` });
    await settle(ask, opened);
    const ending = await prompted(ask);
    if (ending.kind === 'answered') await equipment.onOver();
    return ending;
  }

  /** One after the other: the agent may be heard while its session is still being written down. */
  function save(known: KnownSession): Promise<void> {
    const saved = kept.then(() => writeSession(turn.sessionDir, known));
    kept = saved.catch(() => {});
    return saved;
  }

  async function begin(ask: Ask, place: object): Promise<Opened> {
    const opened = newSession.parse(await ask('session/new', place));
    session = { session: opened.sessionId, opening: null, costUsd: 0 };
    // Before the first token: whoever takes over must find the conversation.
    await save(session);
    return opened;
  }

  /** A session that is loaded is replayed; one that does not show how it began has lost what it was told. */
  async function load(ask: Ask, place: object, canLoad: boolean): Promise<Opened | Ending> {
    const known = await readSession(turn.sessionDir);
    if (known?.opening == null) return { kind: 'lost', why: 'nothing was written down of it' };
    if (!canLoad) return { kind: 'lost', why: 'the agent can not load sessions' };
    replayed = '';
    try {
      const opened = openSession.parse(
        (await ask('session/load', { ...place, sessionId: known.session })) ?? {},
      );
      if (equipment.replaysLate) await replayedAll(ask, known.session);
      if (!remembers(replayed, known.opening))
        return { kind: 'lost', why: 'the agent loaded it and does not remember how it began' };
      replayed = null;
      session = known;
      return opened;
    } catch (error) {
      return { kind: 'lost', why: (error as Error).message };
    }
  }

  /** Its answers and what it replays come one after the other, so an answer before which nothing came is behind all of it. */
  async function replayedAll(ask: Ask, sessionId: string): Promise<void> {
    let before: number;
    do {
      before = updates;
      await ask('session/set_mode', { sessionId, modeId: equipment.mode?.(turn.access) });
    } while (updates > before);
  }

  async function settle(ask: Ask, { modes, configOptions }: Opened): Promise<void> {
    const sessionId = session?.session;
    const mode = equipment.mode?.(turn.access);
    if (mode !== undefined && modes?.currentModeId !== mode)
      await ask('session/set_mode', { sessionId, modeId: mode });
    const model = equipment.modelInSettings ? null : turn.policy.model;
    const wanted = { model, thought_level: turn.policy.effort };
    for (const [category, value] of Object.entries(wanted)) {
      const option = (configOptions ?? []).find((one) => one.category === category);
      if (value !== null && option && option.currentValue !== value && offers(option.options, value))
        await ask('session/set_config_option', { sessionId, configId: option.id, value });
    }
  }

  async function prompted(ask: Ask): Promise<Ending> {
    let usageTold = true;
    const prompt = async (words: string): Promise<string> => {
      text = '';
      opening ??= openingOf(words);
      const response = await ask('session/prompt', {
        sessionId: session?.session,
        prompt: [{ type: 'text', text: words }],
      });
      usageTold = account.seeEnd(response) && usageTold;
      return promptEnd.parse(response).stopReason;
    };
    let stopReason = await prompt(withConventions(turn));
    if (failure !== null) return { kind: 'failed', failure };
    if (!worked) return { kind: 'failed', failure: failureOf('the agent ended its turn without a word') };
    if (turn.outputSchema === undefined || stopReason !== 'end_turn')
      return { kind: 'answered', stopReason, text, structured: null, usageTold };
    let structured = lastJsonBlock(text) ?? null;
    if (structured === null) {
      stopReason = await prompt(repairPrompt(turn.outputSchema));
      structured = lastJsonBlock(text) ?? null;
    }
    return { kind: 'answered', stopReason, text, structured, usageTold };
  }

  function heard(params: unknown): void {
    const { data } = notification.safeParse(params);
    if (!data) return;
    const { update } = data;
    if (DOING.has(update.sessionUpdate)) hooks.onProgress();
    updates += 1;
    const { content } = update;
    const said = !Array.isArray(content) && content?.type === 'text' ? (content.text ?? '') : '';
    if (replayed !== null) {
      if (update.sessionUpdate === 'user_message_chunk') replayed += said;
      return;
    }
    if (update.sessionUpdate !== 'available_commands_update') takenUp();
    failure = failureTold(update._meta) ?? failure;
    equipment.onUpdate(update);
    if (update.sessionUpdate === 'agent_message_chunk') {
      // What the program itself has to say, such as a warning, is a message of its own.
      const id = update.messageId ?? null;
      text = id === messageId ? text + said : said;
      if (id !== messageId) countSpoken();
      messageId = id;
      worked = true;
    }
    if (update.sessionUpdate === 'tool_call') {
      calling();
      hooks.onProgress({
        kind: 'tool',
        tool: update.kind ?? 'other',
        detail: (update.title ?? '').slice(0, 500),
        ...(update.toolCallId && {
          call: update.toolCallId,
          same: fingerprint(update.kind, update.title, update.rawInput),
        }),
      });
    }
    const news = printing.safeParse(update._meta).data?.terminal_output_delta.data;
    if (update.toolCallId && news !== undefined)
      printed.set(update.toolCallId, toolOutput((printed.get(update.toolCallId) ?? '') + news));
    if (update.sessionUpdate === 'tool_call_update' && isOver(update.status)) {
      const told = update.rawOutput ?? update.content ?? null;
      if (update.toolCallId)
        hooks.onProgress({
          kind: 'tool_over',
          call: update.toolCallId,
          result: told === null ? null : fingerprint(told),
          output: toolOutput(told) || (printed.get(update.toolCallId) ?? ''),
        });
    } else if (update.sessionUpdate === 'usage_update') {
      account.seeCost(update);
      equipment.onUsed();
    }
  }

  /** A call of a tool is asked for or told, by some agents only one of both; what was said before is a message of its own. */
  function calling(): void {
    if (text) hooks.onProgress({ kind: 'said', text: text.slice(0, 2000) });
    text = '';
    spoken = 0;
    worked = true;
    takenUp();
    // The program's own record may have a message of the model more.
    equipment.onUsed();
  }

  /** OpenCode shortens a conversation that does not fit, says so, and asks again, without end when that does not fit either. */
  function countSpoken(): void {
    spoken += 1;
    if (spoken < MOST_SPOKEN) return;
    const message = `the agent said ${spoken} things in a row and did nothing`;
    giveUp({ kind: 'failed', failure: { code: 'crashed', message, retryAt: null } });
  }

  /** The agent works on the prompt, so there is something to resume. */
  function takenUp(): void {
    if (opening === null || session === null || session.opening !== null) return;
    session = { ...session, opening };
    void save(session).catch(() => {});
  }
}

const MOST_SPOKEN = 20;

/** What the model or a tool did; the rest is the program's own affair. */
const DOING: ReadonlySet<string> = new Set([
  'user_message_chunk',
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
  'plan',
  'usage_update',
]);

const isOver = (status: unknown): boolean => status === 'completed' || status === 'failed';

type Ask = (method: string, params: object) => Promise<unknown>;

const asItIs = (params: unknown): unknown => params;

const initialized = z.object({
  protocolVersion: z.number(),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().catch(false).default(false),
      sessionCapabilities: z.object({ title: z.unknown().optional() }).catch({}).default({}),
    })
    .prefault({}),
});
const openSession = z.object({
  modes: z.object({ currentModeId: z.string() }).nullish().catch(null),
  configOptions: z
    .array(
      z.object({
        id: z.string(),
        category: z.string().nullish(),
        currentValue: z.unknown().optional(),
        options: z.unknown().optional(),
      }),
    )
    .nullish()
    .catch(null),
});
type Opened = z.output<typeof openSession>;
const newSession = openSession.extend({ sessionId: z.string().min(1) });
const promptEnd = z.object({ stopReason: z.string() });
const notification = z.object({
  update: z.looseObject({
    sessionUpdate: z.string(),
    // Of a message one part, of a tool a list.
    content: z
      .union([z.object({ type: z.string(), text: z.string().optional() }), z.array(z.unknown())])
      .optional()
      .catch(undefined),
    title: z.string().nullish().catch(null),
    kind: z.string().nullish().catch(null),
    messageId: z.string().nullish().catch(null),
    toolCallId: z.string().nullish().catch(null),
    status: z.string().nullish().catch(null),
    _meta: z.unknown().optional(),
  }),
});

/** What a command printed since the last word on it, as `codex-acp` tells it. */
const printing = z.object({ terminal_output_delta: z.object({ data: z.string() }) });

/** Choices may be in groups. */
const offers = (options: unknown, value: string): boolean =>
  Array.isArray(options) &&
  options.some(
    (one: { value?: unknown; options?: unknown }) => one?.value === value || offers(one?.options, value),
  );
