/**
 * One turn: check the place, say what is to be done, let the agent work, see how it ended.
 *
 * The coder works in its workspace. Every other role works on a throwaway export of the head, and refs and workspace
 * are compared afterwards: a critic that changed anything has produced an error, not a verdict.
 *
 * The agent's program starts while the prompt is made, the turn marked as started, the workspace verified and the
 * operator's hook run. It is given the prompt when all of that is done, and is gone without one when it fails.
 */
import { createHash } from 'node:crypto';
import type { TurnRequest, TurnResult } from '../agent/agent.ts';
import type { Action } from '../core/action.ts';
import type { TurnStatus } from '../core/event.ts';
import { asking } from '../core/models.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Role } from '../core/policy.ts';
import { conventionsText, type PromptInputs, promptContext } from '../core/prompt-context.ts';
import { specReportSchema } from '../core/specification.ts';
import type { Task } from '../core/task.ts';
import { criticReportSchema } from '../core/verdict.ts';
import { ForgeUnavailable, UserError, WorkspaceRefused } from '../errors.ts';
import type { Lease } from '../store/store.ts';
import { watchActivity } from './activity.ts';
import { coderTools } from './coder-tools.ts';
import { processRecorder, whyUnconfined } from './command.ts';
import { contextsOf, conventionsOf, criticInputs, NOTHING_TO_JUDGE } from './critic-brief.ts';
import { runHook } from './hook.ts';
import type { Ports } from './ports.ts';
import { workspaceSpec } from './spec.ts';
import { changedSince, surroundings } from './untouched.ts';

type TurnAction = Extract<Action, { kind: 'turn' }>;
type TurnOutcome = Extract<Outcome, { kind: 'turn' }>;
type PromptBroken = Extract<Outcome, { kind: 'prompt_broken' }>;

export interface Supervision {
  signal: AbortSignal;
  /** Why the turn was stopped, once it was. */
  stopped(): { status: TurnStatus; why: string; code: string | null } | null;
  onProgress(): void;
  onSpend(): void;
}

/** Everything the turn needs to be told, gathered before it counts as started. */
async function composePrompt(ports: Ports, task: Task, action: TurnAction): Promise<string> {
  const context = promptContext(
    action.prompt,
    task,
    action.turn,
    ports.settings.policy(),
    await promptInputs(ports, task, action),
    action.priorFailure,
  );
  const { prompt } = action;
  const template = ports.settings.template(prompt);
  try {
    return ports.render(prompt, template, context);
  } catch (problem) {
    if (!(problem instanceof UserError)) throw problem;
    throw new NotAsked({
      kind: 'prompt_broken',
      prompt,
      problem: problem.message,
      digest: digestOf(template),
    });
  }
}

/** The agent was given no prompt; what became of the turn instead. */
class NotAsked extends Error {
  override name = 'NotAsked';
  readonly outcome: TurnOutcome | PromptBroken;

  constructor(outcome: TurnOutcome | PromptBroken) {
    super(outcome.kind === 'turn' ? outcome.message : outcome.problem);
    this.outcome = outcome;
  }
}

export const digestOf = (template: string): string =>
  createHash('sha256').update(template).digest('hex').slice(0, 16);

export async function runTurn(
  ports: Ports,
  task: Task,
  action: TurnAction,
  begin: () => Promise<void>,
  lease: Lease,
  supervision: Supervision,
): Promise<TurnOutcome | PromptBroken> {
  const startedAt = ports.clock.now();
  const ended = (
    status: TurnStatus,
    code: string | null,
    message: string,
    rest: Partial<TurnOutcome> = {},
  ): TurnOutcome => ({
    kind: 'turn',
    status,
    code,
    message,
    text: '',
    structured: null,
    retryAt: null,
    usageKnown: true,
    durationMs: ports.clock.now() - startedAt,
    ...rest,
  });
  try {
    return action.role === 'coder' ? await inWorkspace() : await onExport();
  } catch (problem) {
    if (problem instanceof NotAsked) return problem.outcome;
    if (problem instanceof WorkspaceRefused) return ended('failed', 'workspace_refused', problem.message);
    if (problem instanceof ForgeUnavailable) return ended('failed', 'forge_unavailable', problem.message);
    if (problem instanceof UserError) return ended('failed', 'could_not_start', problem.message);
    throw problem;
  }

  async function inWorkspace(): Promise<TurnOutcome> {
    const hook = { task: task.id, lease, cwd: task.workspace!, signal: supervision.signal };
    const outcome = await ask(task.workspace!, async () => {
      await ports.workspaces.verify(workspaceSpec(task));
      const problem = await runHook(ports, 'beforeRun', hook);
      if (problem) throw new NotAsked(ended('failed', 'hook_failed', problem));
    });
    await runHook(ports, 'afterRun', { ...hook, signal: new AbortController().signal });
    return outcome;
  }

  async function onExport(): Promise<TurnOutcome> {
    const spec = workspaceSpec(task);
    // The specifier comes before all work: there is no head yet, and it reads what the work will start from.
    const trunk = await ports.forge.trunk();
    const commit = task.headSha ?? trunk.sha;
    const look = () => surroundings(ports, task, trunk.branch);
    let before = await look();
    // What a gate or an earlier critic left lying about is put away: what is there afterwards, this one wrote.
    if (before.dirty) {
      await ports.workspaces.adopt(spec, commit);
      before = await look();
    }
    const place = await ports.workspaces.export(commit, `${action.role}-${task.id}`);
    try {
      const outcome = await ask(place.path);
      if (outcome.status !== 'finished') return outcome;
      const changed = changedSince(before, await look());
      if (changed.length === 0) return { ...outcome, contexts: await contextsOf(ports, task, outcome) };
      return {
        ...outcome,
        status: 'failed',
        code: 'critic_wrote',
        message: `${changed.slice(0, 5).join(', ')} changed while the ${action.role} was at work`,
      };
    } finally {
      await place.dispose();
    }
  }

  /** What the agent is told, once the turn counts as started and its place is ready. */
  async function prompted(name: string, readied: () => Promise<void>): Promise<string> {
    const prompt = await composePrompt(ports, task, action);
    await begin();
    await readied();
    await ports.writeText(ports.places.log(task.id, `${name}.prompt.md`), prompt);
    return prompt;
  }

  async function ask(cwd: string, readied: () => Promise<void> = async () => {}): Promise<TurnOutcome> {
    const refused = whyUnconfined(ports);
    if (refused) return ended('failed', 'sandbox_failed', refused);
    const policy = ports.settings.policy();
    const name = `${action.role}-${action.turn}-${action.sessionId.slice(0, 8)}`;
    const hold = processRecorder(ports, task.id, lease, `${action.role} turn ${action.turn}`);
    const activity = watchActivity(ports, task.id, action);
    const tools = action.role === 'coder' ? coderTools(ports, task, action.turn, activity) : null;
    const pending: Promise<void>[] = [];
    const agent = ports.agentFor(action.role);
    const session = {
      sessionId: action.sessionId,
      sessionDir: ports.places.session(task.id, action.sessionId),
    };
    const resume = action.role === 'coder' && action.prompt !== 'task' && action.prompt !== 'handover';
    const identity = await ports.identity();
    const conventions = await told();
    const notAsked = new AbortController();
    const prompt = prompted(name, readied);
    prompt.catch(() => notAsked.abort());
    const result = await agent.run(
      {
        task: task.id,
        issue: task.issue,
        role: action.role,
        turn: action.turn,
        cwd,
        prompt,
        ...session,
        resume,
        policy: asking(policy.agents[action.role], action.fallback),
        identity,
        home: ports.places.home(task.id),
        logPath: ports.places.log(task.id, `${name}.log`),
        mark: task.id,
        ...answerShape(action.role),
        ...conventions,
      },
      {
        signal: AbortSignal.any([supervision.signal, notAsked.signal]),
        onHeld: hold.onHeld,
        onProgress: (progress) => {
          supervision.onProgress();
          if (progress) activity.see(progress);
        },
        ...(tools && { tools }),
        onUsage: (report) => {
          const { sessionId, role, turn } = action;
          const delta = { task: task.id, turn, role, sessionId, at: ports.clock.now(), ...report };
          const recorded = ports.store.addUsage([delta]).then(supervision.onSpend);
          // Awaited when the agent is done; a full disk meanwhile fails this turn, not the whole daemon.
          recorded.catch(() => {});
          pending.push(recorded);
        },
      },
    );
    await Promise.allSettled([prompt]);
    await Promise.all(pending);
    await activity.over();
    await hold.forget();
    await prompt;
    const summary = tools?.summary();
    const outcome = { ...outcomeOf(result), ...(summary && { summary }) };
    if (resume || outcome.status === 'finished') return outcome;
    const sessionEmpty = (await agent.probeSession(session)) === 'empty';
    return { ...outcome, sessionEmpty };
  }

  /** Once, when a coder's session begins; the other roles have them in their prompts. An aid: no turn fails for it. */
  async function told(): Promise<Pick<TurnRequest, 'conventions'>> {
    if (action.role !== 'coder' || (action.prompt !== 'task' && action.prompt !== 'handover')) return {};
    const files = await conventionsOf(ports).catch((problem: unknown) => {
      if (problem instanceof ForgeUnavailable) return [];
      throw problem;
    });
    return { conventions: conventionsText(files) };
  }

  function outcomeOf(result: TurnResult): TurnOutcome {
    const { usageKnown } = result;
    const stopped = supervision.stopped();
    if (stopped && result.status !== 'finished')
      return ended(stopped.status, stopped.code, stopped.why, { usageKnown });
    switch (result.status) {
      case 'finished':
        return ended('finished', null, '', { text: result.text, structured: result.structured, usageKnown });
      case 'failed':
        return ended('failed', result.code, result.message, { retryAt: result.retryAt, usageKnown });
      case 'timed_out':
        return ended('timed_out', null, result.message, { usageKnown });
      case 'cancelled':
        return ended('interrupted', 'runner_stopped', 'its runner was stopped', { usageKnown });
    }
  }
}

/** What a role answers with; the coder's answer is its work. */
function answerShape(role: Role): Pick<TurnRequest, 'outputSchema'> {
  if (role === 'critic') return { outputSchema: criticReportSchema() };
  return role === 'specifier' ? { outputSchema: specReportSchema() } : {};
}

async function promptInputs(ports: Ports, task: Task, action: TurnAction): Promise<PromptInputs> {
  const history = action.prompt === 'task' && task.attempt > 1 ? await attemptHistory(ports, task) : '';
  return { history, ...(action.prompt === 'critic' ? await criticInputs(ports, task) : NOTHING_TO_JUDGE) };
}

/** What a new attempt is told about the earlier ones. */
export async function attemptHistory(ports: Pick<Ports, 'store'>, task: Task): Promise<string> {
  const attempts = (await ports.store.tasks({ issue: task.issue! })).map((stored) => stored.task);
  const earlier = attempts.filter((other) => other.attempt < task.attempt);
  return earlier
    .map(
      (other) =>
        `- attempt ${other.attempt} on ${other.branch}: ${other.reason ?? other.state}. ${other.why}`,
    )
    .join('\n');
}
