/** Symphony's HTTP interface (its specification, section 13.7): the names are its own, the facts are `runtime`'s. */
import { Hono } from 'hono';
import {
  type RetryRow,
  type RunningRow,
  type Runtime,
  runtime,
  type TaskRuntime,
  taskRuntime,
} from '../operations/runtime.ts';
import { perform } from '../operations.ts';
import { envelope } from './envelope.ts';
import type { LiveContext } from './live-context.ts';

type Tokens = RunningRow['tokens'];

export function symphony(live: LiveContext): Hono {
  const app = new Hono();
  app.get('/state', async (asked) => asked.json(state(await live.use(runtime))));
  app.post('/refresh', async (asked) => {
    const { requestedAt } = await live.use((context) => perform(context, 'refresh'));
    return asked.json(refreshed(requestedAt), 202);
  });
  app.all('/refresh', (asked) => methodNotAllowed(asked.json.bind(asked), 'POST'));
  app.get('/:identifier', async (asked) => {
    const identifier = asked.req.param('identifier');
    const found = await live.use((context) => taskRuntime(context, identifier));
    if (found) return asked.json(detail(found));
    return asked.json(envelope('issue_not_found', `There is no task for ${identifier}.`), 404);
  });
  app.all('/:identifier', (asked) => methodNotAllowed(asked.json.bind(asked), 'GET'));
  return app;
}

const methodNotAllowed = (
  json: (body: unknown, status: 405, headers: Record<string, string>) => Response,
  method: string,
): Response =>
  json(envelope('method_not_allowed', `This is asked for by ${method}.`), 405, { Allow: method });

const refreshed = (requestedAt: string) => ({
  ...{ queued: true, coalesced: false, requested_at: requestedAt },
  operations: ['poll', 'reconcile'],
});

export type State = ReturnType<typeof state>;
export type Tracked = ReturnType<typeof detail>;
export type Refreshed = ReturnType<typeof refreshed>;

function state({ at, running, retrying, totals, accountLimits, limitWindows }: Runtime) {
  return {
    generated_at: at,
    counts: { running: running.length, retrying: retrying.length },
    running: running.map((row) => ({ ...identity(row), ...runningFields(row) })),
    retrying: retrying.map((row) => ({ ...identity(row), ...retryFields(row) })),
    codex_totals: { ...tokenFields(totals), seconds_running: totals.secondsRunning },
    rate_limits:
      accountLimits.length + limitWindows.length === 0
        ? null
        : { held: accountLimits, windows: limitWindows.map(windowFields) },
  };
}

function detail({ task, status, running, retry, restarts, events, logs }: TaskRuntime) {
  return {
    ...identity({ task }),
    status,
    workspace: { path: task.workspace },
    attempts: { restart_count: restarts, current_retry_attempt: task.attempt },
    running: running && runningFields(running),
    retry: retry && retryFields(retry),
    logs: { codex_session_logs: [{ label: 'latest', path: logs, url: null }] },
    recent_events: events.map(({ type, at }) => ({ at, event: type, message: '' })),
    last_error: task.hold?.text ?? (task.reason ? task.why : null),
    tracked: task,
  };
}

const identity = ({ task }: Pick<RunningRow, 'task'>) => ({
  issue_id: task.issue === null ? task.id : String(task.issue),
  issue_identifier: task.name,
});

const runningFields = ({ task, tokens, lastEvent }: RunningRow) => ({
  state: task.state,
  session_id: task.sessionId,
  turn_count: task.turns,
  last_event: lastEvent?.type ?? null,
  last_message: task.turn?.doing ?? '',
  started_at: task.turn?.startedAt ?? null,
  last_event_at: lastEvent?.at ?? null,
  tokens: tokenFields(tokens),
});

const retryFields = ({ task, dueAt, problem }: RetryRow) => ({
  attempt: task.attempt,
  due_at: dueAt,
  error: problem,
});

const windowFields = ({ name, usedPercent, resetsAt }: Runtime['limitWindows'][number]) => ({
  name,
  used_percent: usedPercent,
  resets_at: resetsAt === null ? null : new Date(resetsAt * 1000).toISOString(),
});

const tokenFields = ({ input, output, total }: Tokens) => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: total,
});
