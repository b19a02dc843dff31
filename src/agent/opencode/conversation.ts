/** One turn with `opencode serve`: a session begun or resumed, the prompt, and everything until it is idle again. */
import { z } from 'zod';
import type { Dialogue } from '../../process/dialogue.ts';
import type { Failure, TurnHooks, TurnRequest } from '../agent.ts';
import { fingerprint } from '../fingerprint.ts';
import { QUESTION_REFUSED, refusedPath } from '../refusal.ts';
import { toolOutput } from '../tool-output.ts';
import { withConventions } from '../turn-place.ts';
import { answered, failureOfSilence } from '../unanswered.ts';
import { wordsOf } from '../wire/words.ts';
import type { OpencodeAccount } from './account.ts';
import { failureOf, failureOfRetry, OVERFLOW } from './failure.ts';
import {
  type MessageInfo,
  type MessagePart,
  message,
  messageInfo,
  messagePart,
  type TurnError,
  textOf,
  turnError,
} from './message.ts';
import { modelParts } from './provider.ts';
import { type OpencodeServer, opencodeServer, portOf, type ServerEvent } from './server.ts';
import { readSession, writeSession } from './session.ts';

interface Talk {
  /** Resolves when the turn is over or the server is; never rejects. */
  readonly over: Promise<Ending>;
  interrupt(): Promise<unknown>;
  /** A call was made again. Why is told in words only: it may have been refused, or answered and broken off. */
  asksAgain(): boolean;
}

export type Ending =
  | { kind: 'answered'; info: MessageInfo; text: string }
  | { kind: 'failed'; failure: Failure }
  | { kind: 'lost' }
  /** The server ended first, or could not be talked to. */
  | { kind: 'broken'; problem: string };

interface Setting {
  password: string;
  model: string;
  now(): number;
  /** Where a port that its server listens on is reached. */
  reach(port: number): Promise<number>;
}

export function talk(
  child: Dialogue,
  turn: TurnRequest,
  hooks: TurnHooks,
  account: OpencodeAccount,
  { password, model, now, reach }: Setting,
): Talk {
  let server: OpencodeServer | null = null;
  let session = '';
  /** The newest message of the model in it. */
  let last = '';
  /** What went wrong before the model was asked. */
  let error: TurnError | null = null;
  /** Whether the model said or did something since its last answer was over, and how many answers in a row had nothing. */
  let spoke = false;
  let empty = 0;
  /** How often in a row the conversation did not fit, and the messages that shortened it. */
  let overflows = 0;
  const summaries = new Set<string>();
  let asksAgain = false;
  let finish: (ending: Ending | 'idle') => void = () => {};
  const finished = new Promise<Ending | 'idle'>((resolve) => {
    finish = resolve;
  });
  const over = converse().catch((error: Error): Ending => {
    const failure = failureOfSilence(error);
    return failure ? { kind: 'failed', failure } : { kind: 'broken', problem: error.message };
  });
  return {
    over,
    asksAgain: () => asksAgain,
    interrupt: async () => {
      if (session !== '') await server?.post(`/session/${session}/abort`, {});
    },
  };

  async function converse(): Promise<Ending> {
    const port = await answered(portOf(child.stdout), 'its address');
    if (port === null) return { kind: 'broken', problem: '' };
    server = opencodeServer(`http://127.0.0.1:${await reach(port)}`, password);
    await server.listen(heard, () => finish({ kind: 'broken', problem: 'the stream of events ended' }));
    if (turn.resume) {
      const known = await readSession(turn.sessionDir);
      if (known === null || (await server.get(`/session/${known}`)) === null) return { kind: 'lost' };
      session = known;
    } else {
      session = created.parse(await server.post('/session', { title: `${turn.role} of ${turn.task}` })).id;
      // Before the first token: whoever takes over must find the conversation.
      await writeSession(turn.sessionDir, session);
    }
    await server.post(`/session/${session}/prompt_async`, {
      model: modelParts(model),
      parts: [{ type: 'text', text: withConventions(turn) }],
      ...(turn.policy.effort !== null && { variant: turn.policy.effort }),
      ...(turn.outputSchema && { format: { type: 'json_schema', schema: plain(turn.outputSchema) } }),
    });
    const ended = await Promise.race([
      finished,
      child.exited.then((): Ending => ({ kind: 'broken', problem: '' })),
    ]);
    return ended === 'idle' ? await lastWord(server) : ended;
  }

  async function lastWord(from: OpencodeServer): Promise<Ending> {
    if (last === '') return await unasked(from);
    const { info, parts } = message.parse(await from.get(`/session/${session}/message/${last}`));
    return { kind: 'answered', info, text: textOf(parts) };
  }

  /** It tells a model that is not there in words only; what its provider has, it lists. */
  async function unasked(from: OpencodeServer): Promise<Ending> {
    if (error === null) return { kind: 'broken', problem: 'it went idle without an answer' };
    const failure = failureOf(error, now());
    const { providers } = listed.parse(await from.get('/config/providers'));
    const has = providers.some(({ id, models }) =>
      Object.keys(models).some((name) => `${id}/${name}` === model),
    );
    return { kind: 'failed', failure: has ? failure : { ...failure, code: 'model_unavailable' } };
  }

  function heard({ type, properties }: ServerEvent): void {
    if (type.startsWith('message.')) hooks.onProgress();
    if (type === 'message.updated') {
      const { data } = updated.safeParse(properties);
      if (data) seeMessage(data.info);
    } else if (type === 'message.part.updated') {
      const { data } = partUpdated.safeParse(properties);
      if (data) seePart(data.part);
    } else if (type === 'session.status') {
      const { data } = status.safeParse(properties);
      if (data?.status.type === 'retry') asksAgain = true;
      if (data?.sessionID === session) seeStatus(data.status);
    } else if (type === 'session.error') {
      const { data } = errorSeen.safeParse(properties);
      if (data?.sessionID === session) seeError(data.error);
    } else if (type === 'permission.asked') {
      const { data } = asked.safeParse(properties);
      if (data) void answer(data).catch(() => {});
    } else if (type === 'question.asked') {
      const { data } = question.safeParse(properties);
      hooks.onProgress(QUESTION_REFUSED);
      if (data) void server?.post(`/question/${data.id}/reject`, {}).catch(() => {});
    }
  }

  function seeMessage(info: MessageInfo): void {
    account.seeMessage(info);
    if (info.summary) summaries.add(info.id);
    if (info.sessionID === session && info.role === 'assistant') last = info.id;
  }

  function seePart(part: MessagePart): void {
    account.seePart(part);
    const { type, text, tool, state, messageID } = part;
    if (part.sessionID === session) countEmpty(part);
    if (type === 'tool' && state?.status === 'running')
      hooks.onProgress({
        kind: 'tool',
        tool: tool ?? '',
        detail: detailOf(state.input),
        call: part.id,
        same: fingerprint(tool, state.input),
      });
    else if (type === 'tool' && (state?.status === 'completed' || state?.status === 'error'))
      hooks.onProgress({
        kind: 'tool_over',
        call: part.id,
        result: fingerprint(state.status, state.output, state.error),
        output: toolOutput(state.output, state.error),
      });
    else if (type === 'text' && text && messageID === last)
      hooks.onProgress({ kind: 'said', text: text.slice(0, 2000) });
  }

  /** It shortens a conversation that does not fit and asks again, without end when that does not fit either. */
  function seeError(seen: TurnError): void {
    error = seen;
    overflows = seen.name === OVERFLOW ? overflows + 1 : 0;
    if (overflows >= MOST_OVERFLOWS) finish({ kind: 'failed', failure: failureOf(seen, now()) });
  }

  /** It asks again and again, without end and without a pause, whoever answers with something that is no answer. */
  function countEmpty({ type, tokens, messageID }: MessagePart): void {
    if (type !== 'step-finish') {
      spoke ||= type === 'text' || type === 'tool' || type === 'reasoning';
      return;
    }
    if (!summaries.has(messageID)) overflows = 0;
    empty = spoke || (tokens?.output ?? 0) > 0 ? 0 : empty + 1;
    spoke = false;
    if (empty < MOST_EMPTY) return;
    const message = `${empty} answers in a row had nothing in them, as when a proxy's page is at the provider's address`;
    finish({ kind: 'failed', failure: { code: 'network', message, retryAt: null } });
  }

  function seeStatus(standing: z.output<typeof status>['status']): void {
    if (standing.type === 'idle') finish('idle');
    if (standing.type !== 'retry') return;
    hooks.onProgress({ kind: 'retrying', why: wordsOf(standing.message) });
    const failure = failureOfRetry(standing, now());
    if (failure) finish({ kind: 'failed', failure });
  }

  /** By rule; what can't be read is refused. */
  async function answer({ id, permission, metadata }: z.output<typeof asked>): Promise<void> {
    const { filepath } = metadata;
    const isEdit = permission === 'edit' && filepath !== undefined;
    const why = isEdit ? refusedFiles(filepath) : `${permission} is not for you here`;
    if (why !== null)
      hooks.onProgress({
        kind: 'refused',
        code: isEdit ? 'path' : 'permission',
        tool: permission,
        detail: (filepath ?? '').slice(0, 500),
        why,
      });
    await server?.post(
      `/permission/${id}/reply`,
      why === null ? { reply: 'once' } : { reply: 'reject', message: why },
    );
  }

  /** A patch of several files names them in one string. */
  function refusedFiles(paths: string): string | null {
    for (const path of paths.split(', ')) {
      const why = refusedPath(path, turn.cwd, turn.access.writeRoots);
      if (why !== null) return why;
    }
    return null;
  }
}

const MOST_EMPTY = 3;
const MOST_OVERFLOWS = 3;

const detailOf = ({ command, filePath, pattern, description }: Record<string, unknown>): string =>
  String(command ?? filePath ?? pattern ?? description ?? '').slice(0, 500);

function plain({ $schema: _, ...schema }: Record<string, unknown>): Record<string, unknown> {
  return schema;
}

const created = z.object({ id: z.string().min(1) });
const updated = z.object({ info: messageInfo });
const partUpdated = z.object({ part: messagePart });
const question = z.object({ id: z.string() });
const errorSeen = z.object({ sessionID: z.string(), error: turnError });
const listed = z.object({
  providers: z.array(z.object({ id: z.string(), models: z.record(z.string(), z.unknown()) })),
});
const asked = z.object({
  id: z.string(),
  permission: z.string(),
  metadata: z.object({ filepath: z.string().optional() }).catch({}),
});
const status = z.object({
  sessionID: z.string(),
  status: z.discriminatedUnion('type', [
    z.object({ type: z.literal('idle') }),
    z.object({ type: z.literal('busy') }),
    z.object({ type: z.literal('retry'), attempt: z.int(), message: z.string(), next: z.number() }),
  ]),
});
