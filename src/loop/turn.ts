/**
 * One turn, from top to bottom: make the prompt, open the place, ask the agent, collect what it told, name the outcome.
 * What differs between roles is said by the role's row.
 */
import type { TurnHooks, TurnRequest, TurnResult, UnheardEnd } from '../agent/agent.ts';
import type { Action } from '../core/action.ts';
import { OUT_OF_BUDGET, SPEND_UNKNOWN } from '../core/decision.ts';
import { opensSession, type TurnStatus } from '../core/event.ts';
import type { Room } from '../core/money/budget.ts';
import { isAmount } from '../core/money/cost.ts';
import { asking } from '../core/money/models.ts';
import type { TwoAccounts } from '../core/money/two-accounts.ts';
import { type Outcome, TAMPERED } from '../core/outcome.ts';
import { workedMs } from '../core/recover.ts';
import { accessOf, allowedBySettings, roleRow, type SandboxKind } from '../core/role.ts';
import type { Task } from '../core/task.ts';
import type { Progress } from '../core/tell/progress.ts';
import { conventionsText } from '../core/words/prompt-context.ts';
import { ForgeUnavailable, UserError, WorkspaceRefused } from '../errors.ts';
import { METERED } from '../gateway/gateway.ts';
import type { Lease } from '../store/store.ts';
import { watchActivity } from './activity.ts';
import { warnOfTurn } from './budget-warning.ts';
import { chosenSandbox, processRecorder } from './command.ts';
import { contextsOf, conventionsOf } from './critic-brief.ts';
import { roomOf } from './loop-limit.ts';
import { type LostWorkspace, lostWorkspace } from './lost-workspace.ts';
import { networkUse } from './network-use.ts';
import { skillOf } from './placed-files.ts';
import type { Places, Ports } from './ports.ts';
import { promptFor } from './prompt.ts';
import { foundPathOf, logPathOf, promptPathOf } from './turn-files.ts';
import { toldIn, turnTools } from './turn-tools.ts';
import { compareAccounts } from './two-accounts.ts';
import { leaveInstead, openWorkplace } from './workplace.ts';
import { workspaceKey } from './workspace-key.ts';

type TurnOutcome = Extract<Outcome, { kind: 'turn' }>;
type PromptBroken = Extract<Outcome, { kind: 'prompt_broken' }>;

type TurnAction = Extract<Action, { kind: 'turn' }>;

interface Turn {
  ports: Ports;
  task: Task;
  action: TurnAction;
  lease: Lease;
  signal: AbortSignal;
  /** Writes down that it has started. What goes wrong before is tried again, and is no turn. */
  begin(): Promise<void>;
  /** Why the turn was stopped, once it was. */
  stopped(): { status: TurnStatus; why: string; code: string | null } | null;
  onProgress(progress?: Progress): void;
  onSpend(): void;
}

export async function runTurn(turn: Turn): Promise<TurnOutcome | PromptBroken | LostWorkspace> {
  const { ports, task, action, lease, signal } = turn;
  const row = roleRow(action.role);
  const startedAt = ports.clock.monotonic();
  const tookMs = (): number => Math.round(ports.clock.monotonic() - startedAt);
  try {
    const sandbox = await chosenSandbox(ports);
    if (sandbox.kind === null) return ended('failed', 'sandbox_failed', sandbox.why);
    const prompt = await promptFor(ports, task, action);
    if (prompt.kind === 'prompt_broken') return prompt;
    const note = noteOf(ports, task, action);
    const near = opensSession(action.prompt)
      ? null
      : await ports.readText(cwdPathOf(ports.places, task, action));
    const visit = { role: action.role, lease, signal, note, near };
    const place = await openWorkplace[row.place](ports, task, visit);
    try {
      // It knows files by their paths, and at the old ones lies what is somebody else's.
      if (!opensSession(action.prompt) && row.place === 'copy' && place.path !== near)
        return ended(
          'failed',
          'session_lost',
          'another turn is in the copy it began in; a new session begins',
        );
      await ports.writeText(promptPathOf(ports.places, task.id, action), prompt.text);
      await note(place.found);
      if (row.place === 'copy') await ports.writeText(cwdPathOf(ports.places, task, action), place.path);
      const request = await requestOf(turn, prompt.text, place.path, sandbox.kind);
      await turn.begin();
      const problem = await place.enter();
      if (problem) return ended('failed', 'hook_failed', problem);
      const { result, ...told } = await ask(turn, request);
      return await leaving(ports, task, action, { ...outcomeOf(result), ...told }, place.leave);
    } finally {
      await place.dispose();
    }
  } catch (problem) {
    if (problem instanceof WorkspaceRefused) {
      const lost = row.place === 'workspace' ? await lostWorkspace(ports, task) : null;
      return lost ?? ended('failed', 'workspace_refused', problem.message);
    }
    if (problem instanceof ForgeUnavailable) return ended('failed', 'forge_unavailable', problem.message);
    if (problem instanceof UserError) return ended('failed', 'could_not_start', problem.message);
    throw problem;
  }

  function outcomeOf(result: TurnResult): TurnOutcome {
    const stopped = turn.stopped();
    if (stopped && result.status !== 'finished')
      return ended(stopped.status, stopped.code, stopped.why, { usageKnown: result.usageKnown });
    return outcomeOfResult(result, tookMs());
  }

  function ended(
    status: TurnStatus,
    code: string | null,
    message: string,
    rest: Partial<TurnOutcome> = {},
  ): TurnOutcome {
    return endedTurn(status, code, message, { durationMs: tookMs(), ...rest });
  }
}

/** How a turn ended that nobody heard end; null when it is not known to have finished. What it used is written down. */
export async function unheardEnd(
  ports: Ports,
  task: Task,
  { action, startedAt, lease }: { action: TurnAction; startedAt: number; lease: Lease },
): Promise<UnheardEnd | null> {
  const prompt = await ports.readText(promptPathOf(ports.places, task.id, action));
  if (prompt === null) return null;
  const { onUsage, written, known } = spending({ ports, task, action, lease, onSpend: () => {} });
  const unheard = { ...partsOf(ports, task, action), prompt, startedAt };
  // What was counted on the wire is in the ledger already.
  const isMetered = await wasMetered(ports, task, action);
  const end = await ports.agentFor(action.role).finished(unheard, isMetered ? () => {} : onUsage);
  await written();
  return end && { ...end, result: known(end.result) };
}

async function wasMetered(
  { store }: Ports,
  task: Task,
  { role, turn, sessionId }: TurnAction,
): Promise<boolean> {
  const booked = await store.usage({ task: task.id });
  return booked.some(
    (one) =>
      one.role === role && one.turn === turn && one.sessionId === sessionId && one.key.startsWith(METERED),
  );
}

/** Its outcome, as it would have been. */
export async function takeUp(
  ports: Ports,
  task: Task,
  { action, startedAt, lease }: { action: TurnAction; startedAt: number; lease: Lease },
  end: UnheardEnd,
): Promise<TurnOutcome> {
  const found = await ports.readText(foundPathOf(ports.places, task.id, action));
  const agent = ports.settings.policy().agents[action.role];
  const outcome = {
    ...outcomeOfResult(end.result, workedMs(startedAt, end.endedAt, agent)),
    ...(await toldIn(ports, task, action)),
  };
  const leave = leaveInstead[roleRow(action.role).place];
  const note = noteOf(ports, task, action);
  return leaving(ports, task, action, outcome, (finished) =>
    leave(ports, task, { role: action.role, lease, finished, found, note }),
  );
}

/** When its place is left: what a turn did there that it must not have done counts more than what it says. */
async function leaving(
  ports: Ports,
  task: Task,
  { role }: TurnAction,
  outcome: TurnOutcome,
  leave: (finished: boolean) => Promise<string[]>,
): Promise<TurnOutcome> {
  const changed = await leave(outcome.status === 'finished');
  if (changed.length > 0) {
    const message = `${changed.slice(0, 5).join(', ')} changed while the ${role} was at work`;
    return { ...outcome, status: 'failed', code: TAMPERED, message };
  }
  if (roleRow(role).answer === null || outcome.status !== 'finished') return outcome;
  return { ...outcome, contexts: await contextsOf(ports, task, outcome) };
}

function outcomeOfResult(result: TurnResult, durationMs: number): TurnOutcome {
  const known = { durationMs, usageKnown: result.usageKnown };
  switch (result.status) {
    case 'finished':
      return endedTurn('finished', null, '', {
        ...known,
        text: result.text,
        structured: result.structured,
        ...(result.summary && { summary: result.summary }),
      });
    case 'failed':
      if (result.code === OUT_OF_BUDGET || result.code === SPEND_UNKNOWN)
        return endedTurn('interrupted', result.code, result.message, known);
      return endedTurn('failed', result.code, result.message, { ...known, retryAt: result.retryAt });
    case 'timed_out':
      return endedTurn('timed_out', null, result.message, known);
    case 'cancelled':
      return endedTurn('interrupted', 'runner_stopped', 'its runner was stopped', known);
  }
}

function endedTurn(
  status: TurnStatus,
  code: string | null,
  message: string,
  rest: Partial<TurnOutcome> & { durationMs: number },
): TurnOutcome {
  const nothing = { text: '', structured: null, retryAt: null, usageKnown: true };
  return { kind: 'turn', status, code, message, ...nothing, ...rest };
}

const noteOf =
  ({ places, writeText }: Ports, task: Task, action: TurnAction) =>
  (text: string): Promise<void> =>
    writeText(foundPathOf(places, task.id, action), text);
/** Where a session works, in all of its turns. */
const cwdPathOf = (places: Places, task: Task, { role, sessionId }: TurnAction): string =>
  places.log(task.id, `${role}-${sessionId.slice(0, 8)}.cwd`);

/** What a turn is known by, to whoever asks it and to whoever asks after it. */
function partsOf({ places, settings }: Ports, task: Task, action: TurnAction) {
  const { role, turn: number, sessionId } = action;
  const { answer } = roleRow(role);
  return {
    role,
    number,
    sessionId,
    sessionDir: places.session(task.id, sessionId),
    policy: asking(settings.policy().agents[role], action.fallback, action.model),
    logPath: logPathOf(places, task.id, action),
    ...(answer && { outputSchema: answer() }),
  };
}

export async function requestOf(
  { ports, task, action }: Pick<Turn, 'ports' | 'task' | 'action'>,
  prompt: string,
  cwd: string,
  sandbox: SandboxKind,
): Promise<TurnRequest> {
  const { role } = action;
  const opens = opensSession(action.prompt);
  const parts = partsOf(ports, task, action);
  const home = ports.places.home(task.id, role);
  const offered = await ports.prepareHome(home, parts.policy.env);
  const skill = await skillOf(ports, task);
  const allowed = allowedBySettings(ports.settings.policy(), role, sandbox, offered);
  return {
    ...parts,
    task: task.id,
    issue: task.issue,
    cwd,
    prompt,
    resume: !opens,
    access: accessOf(role, { cwd, home, session: parts.sessionDir }, allowed),
    identity: await ports.identity(),
    home,
    mark: task.id,
    ...(roleRow(role).tools === 'work' && skill && { skill }),
    // Once, when a session begins; roles that only read have them in their prompts.
    ...(opens && roleRow(role).tools === 'work' && { conventions: await conventionsFor(ports) }),
  };
}

/** An aid: no turn fails for it. */
async function conventionsFor(ports: Ports): Promise<string> {
  const files = await conventionsOf(ports).catch((problem: unknown) => {
    if (problem instanceof ForgeUnavailable) return [];
    throw problem;
  });
  return conventionsText(files);
}

interface Answer extends Pick<TurnOutcome, 'summary' | 'notes'> {
  result: TurnResult;
  sessionEmpty?: boolean;
  workless?: true;
  worked?: true;
  shortened?: true;
}

/** Something lies in the workspace that no checkpoint has, and only that may tell of work. */
async function isUnsaved({ ports, task, action }: Pick<Turn, 'ports' | 'task' | 'action'>): Promise<boolean> {
  if (roleRow(action.role).place !== 'workspace' || ports.agentFor(action.role).tellsTools) return false;
  return (await ports.workspaces.probe(workspaceKey(task))).dirty;
}

/** Everything the agent started is gone, and all it told is written down, when this resolves. */
async function ask(turn: Turn, request: TurnRequest): Promise<Answer> {
  const { ports, task, action, lease, signal } = turn;
  const { role } = action;
  const agent = ports.agentFor(role);
  const recorder = processRecorder(ports, task.id, lease, `${role} turn ${action.turn}`);
  const activity = watchActivity(ports, task.id, action);
  const tools = turnTools(ports, task, action, activity, signal);
  const { onUsage, written, known, hasSpent } = spending(turn);
  const network = networkUse(ports, task.id, `${role} turn ${action.turn}`);
  const room = async (): Promise<Room> => {
    await written();
    return roomOf(ports, task);
  };
  const seen = { called: false, shortened: false };
  const onProgress: TurnHooks['onProgress'] = (progress) => {
    turn.onProgress(progress);
    if (!progress) return;
    seen.called ||= progress.kind === 'tool';
    seen.shortened ||= progress.kind === 'compacted';
    activity.see(progress);
  };

  let accounts = null as TwoAccounts | null;
  const onAccounts = (both: TwoAccounts): void => {
    accounts = both;
  };
  const told = { onProgress, onUsage, onAccounts, onNetwork: network.onRequest };
  const hooks = { signal, onHeld: recorder.onHeld, ...told, room, ...(tools && { tools }) };
  // Files tell of work only where all was saved before: not after a merge that left conflicts, or a hook that wrote.
  const wasUnsaved = await isUnsaved(turn);
  const result = known(await agent.run(request, hooks));
  try {
    await written();
    await warnOfTurn(ports, task, action);
    if (accounts) await compareAccounts(ports, task, action, accounts);
  } finally {
    await activity.over();
    await recorder.forget();
    await network.close();
  }

  const endedBy = result.status === 'cancelled' ? turn.stopped()?.status : result.status;
  const mayBeWorkless =
    ['failed', 'timed_out', 'stalled'].includes(endedBy ?? '') && !hasSpent() && !seen.called;
  const isWorkless = mayBeWorkless && (wasUnsaved || !(await isUnsaved(turn)));
  const answer = {
    result,
    ...(tools && (await toldIn(ports, task, action))),
    ...(isWorkless && { workless: true as const }),
    ...(endedBy === 'stalled' && seen.called && { worked: true as const }),
    ...(seen.shortened && { shortened: true as const }),
  };
  // One that is gone on with had a message before.
  if (request.resume || result.status === 'finished') return answer;
  return { ...answer, sessionEmpty: (await agent.probeSession(request)) !== 'resumable' };
}

/** What a turn tells of its usage, on its way to the ledger. A report that is no amount is not booked, and the turn says so. */
export function spending({
  ports: { store, clock, log },
  task,
  action: { turn, role, sessionId },
  lease,
  onSpend,
}: Pick<Turn, 'ports' | 'task' | 'action' | 'lease' | 'onSpend'>) {
  const writing: Promise<void>[] = [];
  let hasSpent = false;
  let isSound = true;
  const onUsage: TurnHooks['onUsage'] = (report) => {
    if (!isAmount(report)) {
      isSound = false;
      log('warn', `usage that is no amount was not booked: ${JSON.stringify(report)}`, { task: task.id });
      return;
    }
    hasSpent ||= report.input + report.output > 0;
    const delta = { task: task.id, turn, role, sessionId, at: clock.now(), ...report };
    const recorded = store.addUsage(lease, [delta]).then(onSpend);
    // Awaited when the agent is done; a full disk meanwhile fails this turn, not the whole daemon.
    recorded.catch(() => {});
    writing.push(recorded);
  };
  return {
    onUsage,
    written: () => Promise.all(writing),
    known: (result: TurnResult): TurnResult => ({ ...result, usageKnown: result.usageKnown && isSound }),
    hasSpent: () => hasSpent,
  };
}
