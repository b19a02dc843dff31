/** What must be true whatever happened; checked after every commit and at the end of every story. */

import type { EventData, LoopEvent } from '../../src/core/event.ts';
import { fold } from '../../src/core/fold.ts';
import { isInLine } from '../../src/core/line/line.ts';
import { latestAttempts } from '../../src/core/line/schedule.ts';
import { foldLoop, NOTHING_FOLDED } from '../../src/core/loop/loop-row.ts';
import { REASONS } from '../../src/core/machine.ts';
import { accountOf, failedAtOnce, limitOf } from '../../src/core/money/account.ts';
import { isNotItsDoing } from '../../src/core/outcome.ts';
import type { Policy } from '../../src/core/policy.ts';
import { isLeftToPeople } from '../../src/core/recover.ts';
import { isEnded, occupiesSlot, type Task } from '../../src/core/task.ts';
import { STATUS_MARKER } from '../../src/core/tell/status.ts';
import { statusText } from '../../src/core/words/words.ts';
import { taskLease, type UsageDelta } from '../../src/store/store.ts';
import { checkTold } from './channels.ts';
import { checkPlan } from './plans.ts';
import { DAY_MS } from './runner.ts';
import type { World } from './world.ts';

/** Looks at the slots after every commit, and at what lets a held loop go on, from outside. */
export function watchStore(world: World, policy: Policy): void {
  const { store } = world;
  const updateLoop = store.updateLoop.bind(store);
  store.updateLoop = async (row, events, at) => {
    const isByItself = events.some((one) => one.type === 'loop_released' && one.data.by !== 'person');
    const { holds } = foldLoop(await store.loop(), events, at);
    const left = isByItself && holds.length === 0 ? await unverified(world) : [];
    if (left.length > 0) world.violate(`the loop went on before trunk was verified for ${left.join(', ')}`);
    return updateLoop(row, events, at);
  };
  const record = store.record.bind(store);
  store.record = async (change) => {
    await record(change);
    if (change.loop?.notify) world.toldFrom ??= change.loop.notify.considered;
  };
  const commit = store.commit.bind(store);
  store.commit = async (change) => {
    const result = await commit(change);
    const tasks = (await store.tasks({ live: true })).map((stored) => stored.task);
    const slots = tasks.filter(occupiesSlot);
    // What a dead runner left to people takes nothing from anybody.
    const used = slots.length > policy.maxConcurrent ? await inHand(world, slots) : slots;
    if (used.length > policy.maxConcurrent)
      world.violate(`${used.length} slots used of ${policy.maxConcurrent}`);
    const agents = await inHand(world, atWork(world, tasks));
    if (agents.length > policy.maxConcurrent)
      world.violate(`${agents.length} agents are at work in ${policy.maxConcurrent} slots`);
    const inLine = tasks.filter(isInLine).length;
    if (inLine > policy.merge.queue.ahead) world.violate(`${inLine} tasks are in line`);
    return result;
  };
}

/** Tasks with an agent that needs a slot: whatever their rows say, it lives. */
function atWork({ processes }: World, tasks: readonly Task[]): Task[] {
  const [...alive] = processes.values();
  return tasks.filter(({ id }) =>
    alive.some(({ task, purpose }) => task === id && /^agent (?!critic)/.test(purpose)),
  );
}

/** All but the plans left to people that no living runner has a lease of. */
async function inHand({ store, time, deadOwners }: World, tasks: readonly Task[]): Promise<Task[]> {
  const held = (await store.leases()).filter(
    ({ owner, expiresAt }) => owner !== 'person' && !deadOwners.has(owner) && expiresAt > time.now(),
  );
  const keys = new Set(held.map(({ key }) => key));
  return tasks.filter((task) => !isLeftToPeople(task) || keys.has(taskLease(task.id)));
}

/** Tasks whose merge landed untested, and whose gate on trunk has yet to be run. */
async function unverified({ store }: World): Promise<string[]> {
  const found: string[] = [];
  for (const { task } of await store.tasks()) {
    if (!task.unverified) continue;
    const pending = await store.pendingActions(task.id);
    if (pending.some(({ action }) => action.kind === 'gate' && action.scope === 'trunk')) found.push(task.id);
  }
  return found;
}

export async function checkInvariants(world: World, policy: Policy): Promise<void> {
  const { store } = world;
  const events = await store.events();
  events.forEach((event, index) => {
    if (event.seq !== index + 1) world.violate(`the event sequence has a gap at ${index + 1}`);
  });

  const { usd } = policy.budget.loop;
  const isBroke = usd !== null && (await store.spendSince(0)).costUsd >= usd;
  await checkBudgets(world, policy);
  checkAccounts(world, policy, events);
  checkUntested(world, events);
  const tasks = (await store.tasks()).map((stored) => stored.task);
  for (const task of tasks) {
    const folded = fold(task.id, events);
    if (JSON.stringify(folded) !== JSON.stringify(task))
      world.violate(`fold(events) differs from the row of ${task.id}`);
    if (!isEnded(task) && !(task.hold && task.hold.until === null) && !isBroke) {
      world.violate(`${task.id} is ${task.state} (${task.why}) without a reason to wait`);
    }
    if (task.state === 'abandoned' && !(task.reason && REASONS[task.reason]))
      world.violate(`${task.id} was abandoned without a reason`);
    if ((await store.pendingActions(task.id)).length > 0) world.violate(`${task.id} has actions left`);

    const mine = events.filter((event) => event.task === task.id);
    checkPaidOnce(world, task.id, mine);
    if (hasPlan(task)) await checkPlan(world, policy, task, mine);
    checkTurns(world, policy, task, mine);
    if (new Set(task.acknowledged).size !== task.acknowledged.length)
      world.violate(`${task.id} was told something twice: ${task.acknowledged.join(', ')}`);
    for (const { id, body } of world.remarks) {
      const isTold = task.acknowledged.some((one) => one.startsWith(`remark:${id}:`));
      if (isTold && !world.heard.some((prompt) => prompt.includes(body)))
        world.violate(`${task.id} says the coder was told ${body}, but no finished turn had it`);
    }
    // An answer may be lost on its way; one that was written down holds until there is another text or another word.
    let declined = false;
    for (const event of mine) {
      if (event.type === 'spec_settled') declined = event.data.spec.status === 'declined';
      else if (event.type === 'contract_updated' || event.type === 'spec_expanded') declined = false;
      else if (declined && event.type === 'turn_started' && event.data.role === 'coder')
        world.violate(`${task.id} was worked on after it was declined`);
    }
    const specified = mine.filter((event) => event.type === 'spec_expanded').length;
    const posted = world.comments.filter(({ marker }) => marker.startsWith(`${task.id}:spec:`)).length;
    if (posted > specified)
      world.violate(`${task.id} posted ${posted} specifications, and ${specified} were written`);
    for (const { id, verify } of task.contract.criteria)
      if (verify !== null && id.startsWith('s') && !world.agreedTo.has(task.id))
        world.violate(`${task.id} would run a command of its specifier's: ${verify}`);
    const spend = await store.spend(task.id);
    if (policy.budget.tokens !== null && spend.tokens > policy.budget.tokens + 200)
      world.violate(`${task.id} spent ${spend.tokens} tokens`);
  }

  const born = events[0]?.at ?? 0;
  const commands = world.remarks.filter(({ body, at }) => body.startsWith('/loop') && at >= born);
  const answers = events.flatMap((event) => (event.type === 'command_answered' ? [event.data] : []));
  for (const { id, body, mayWrite, author } of commands) {
    const answered = answers.filter((answer) => answer.id === id);
    if (answered.length !== 1) world.violate(`${body} of ${author} was answered ${answered.length} times`);
    if (!mayWrite && answered.some(({ accepted }) => accepted))
      world.violate(`${body} of ${author}, who may not write, was obeyed`);
    const replies = world.replies.filter(({ to }) => to === id).length;
    if (mayWrite && replies !== 1) world.violate(`${body} of ${author} got ${replies} replies`);
  }
  const obeyed = answers.filter(({ accepted, command }) => accepted && command !== 'explain').length;
  const asked = events.filter((event) => event.type === 'request_made' && event.data.by !== 'person').length;
  if (asked !== obeyed) world.violate(`${obeyed} commands were obeyed by ${asked} requests`);

  if (world.processes.size > 0) {
    world.violate(
      `processes left behind: ${[...world.processes.values()].map((process) => process.purpose).join(', ')}`,
    );
  }
  const liveByIssue = new Map<number, number>();
  for (const task of tasks)
    if (!isEnded(task) && task.issue !== null)
      liveByIssue.set(task.issue, (liveByIssue.get(task.issue) ?? 0) + 1);
  for (const [issue, live] of liveByIssue)
    if (live > 1) world.violate(`issue ${issue} has ${live} live tasks`);
  const latest = latestAttempts(tasks);
  for (const issue of world.issues.values()) {
    const markers = world.comments
      .filter((comment) => comment.issue === issue.number)
      .map((comment) => comment.marker);
    if (new Set(markers).size !== markers.length)
      world.violate(`issue ${issue.number} was told the same thing twice`);
    const task = latest.get(issue.number);
    if (task && isEnded(task) && issue.labels.includes('loop:running'))
      world.violate(`issue ${issue.number} still says it is running`);
    const status = world.comments.find((one) => one.issue === issue.number && one.marker === STATUS_MARKER);
    // That it was taken up, and nothing else, its label says.
    const isLabelled = issue.labels.includes('loop:running');
    const isUntold = status === undefined && task?.attempt === 1 && isTakenUp(task) && isLabelled;
    if (task && !isUntold && !status?.body.startsWith(`**${statusText(task)}**`))
      world.violate(`issue ${issue.number} says ${status?.body}, and its task ${statusText(task)}`);
    if (task?.state === 'merged' && issue.state !== 'closed')
      world.violate(`issue ${issue.number} is merged but open`);
  }
  await checkTold(world, policy);
  await checkDeploys(world, policy);
  for (const task of tasks) {
    const runs = world.hooksRun.filter((one) => one.task === task.id).length;
    if (runs > 1) world.violate(`the hook after the merge of ${task.id} ran ${runs} times`);
    const told = events.filter((one) => one.task === task.id && one.type === 'hook_completed').length;
    const wanted = task.state === 'merged' && policy.hooks.afterMerge !== null ? 1 : 0;
    if (told !== wanted) world.violate(`${task.id}: ${told} hooks are recorded, ${wanted} wanted`);
  }
}

/** Turns are counted as they start, and those that were not its doing are taken back; a restart counts anew. */
function checkTurns(world: World, policy: Policy, task: Task, mine: readonly LoopEvent[]): void {
  let [turns, here] = [0, 0];
  let part = '0';
  for (const { type, data } of mine) {
    if (type === 'worker_state_transition' && data.from === 'abandoned') [turns, here] = [0, 0];
    if (type === 'phase_entered') {
      const before = part;
      part = partOf(data);
      if (part !== before) here = 0;
    }
    if (type === 'turn_completed' && data.role === 'coder' && countsForNothing(data))
      [turns, here] = [turns - 1, here - 1];
    if (type !== 'turn_started' || data.role !== 'coder') continue;
    [turns, here] = [turns + 1, here + 1];
    if (here > policy.maxTurns) world.violate(`${task.id} took turn ${here} of ${policy.maxTurns}`);
  }
  if (turns !== task.turns) world.violate(`${task.id} counts ${task.turns} turns, events say ${turns}`);
}

/** Each milestone of a plan has an allowance of its own, and so has what comes after the last. */
const partOf = ({ phase, milestone }: EventData['phase_entered']): string =>
  phase === 'coding' || phase === 'auditing' ? `${milestone}` : phase.replace(/^final_.*/, 'whole');

const countsForNothing = (ended: EventData['turn_completed']): boolean =>
  ended.status === 'interrupted' || failedAtOnce(ended) || isNotItsDoing(ended.code);

const isTakenUp = (task: Task): boolean =>
  statusText(task) === statusText({ ...task, state: 'queued', hold: null });

const hasPlan = (task: Task): task is Task & { plan: NonNullable<Task['plan']> } => task.plan !== undefined;

/** A turn that finished is never asked for again as if it had been cut off, whoever died when. */
function checkPaidOnce(world: World, task: string, mine: readonly LoopEvent[]): void {
  for (const { role, turn, sessionId, endedAt, after } of world.finished.filter((one) => one.task === task)) {
    const own = mine.filter(
      ({ type, data }) =>
        (type === 'turn_started' || type === 'turn_completed') &&
        data.role === role &&
        data.turn === turn &&
        data.sessionId === sessionId,
    );
    const started = own.findLast(({ type, seq }) => type === 'turn_started' && seq <= after);
    // Its clock was set back meanwhile: nothing tells its end from one before it.
    if (started && endedAt < started.at) continue;
    const thrownAway = own.find(({ type, seq }) => type === 'turn_completed' && seq > after);
    if (thrownAway?.type !== 'turn_completed' || thrownAway.data.status !== 'interrupted') continue;
    // Somebody deleted the work tree with what it did.
    const isLost = world.losses.some(
      (one) => one.task === task && one.after >= (started?.seq ?? 0) && one.after < thrownAway.seq,
    );
    if (role === 'coder' && isLost) continue;
    const isAskedAgain = mine.some(
      ({ type, data, seq }) => type === 'turn_started' && data.role === role && seq > thrownAway.seq,
    );
    if (isAskedAgain) world.violate(`${role} turn ${turn} of ${task} had finished and is paid twice`);
  }
}

/** Another tree than the tested one holds the loop until trunk has passed the gate, or a person let it go on. */
function checkUntested(world: World, events: readonly LoopEvent[]): void {
  const issueOf = new Map(
    events.flatMap((one) => (one.type === 'task_created' ? [[one.task, one.data.issue] as const] : [])),
  );
  for (const { untested, candidate, issue } of world.landings) {
    // A person's merge of what trunk has already is seen at the same commit: it landed nothing.
    const observed = events.find(
      (one) => one.type === 'merge_observed' && one.data.sha === candidate && issueOf.get(one.task) === issue,
    );
    if (!observed) continue;
    const mine = events.filter((one) => one.task === observed.task);
    const noticed = mine.find((one) => one.type === 'trunk_unverified' && one.data.sha === candidate);
    if (untested !== (noticed !== undefined))
      world.violate(
        `${candidate} landed ${untested ? 'un' : ''}tested, and nobody ${noticed ? 'forgot' : 'noticed'}`,
      );
    if (!noticed) continue;
    const gates = mine.filter((one) => one.type === 'gate_completed' && one.data.scope === 'trunk');
    if (gates.length === 0) world.violate(`the gate was not run on the untested ${candidate}`);
    const isHeld = events.some((one) => one.type === 'loop_held' && one.seq > noticed.seq);
    const wasHeld = events.some((one) => one.type === 'loop_held' && one.seq < noticed.seq);
    if (!isHeld && !wasHeld) world.violate(`the untested ${candidate} did not hold the loop`);
  }
}

/** Nobody is asked whose account is known to be used up. */
function checkAccounts(world: World, policy: Policy, events: readonly LoopEvent[]): void {
  let folded = NOTHING_FOLDED;
  for (const event of events) {
    if (event.type === 'turn_started') {
      const account = accountOf(policy.agents[event.data.role]);
      const limit = limitOf(folded.accountLimits, account, event.at);
      if (limit) world.violate(`${event.task} asked ${account}, which is used up until ${limit.until}`);
    }
    folded = foldLoop(folded, [event], event.at);
  }
}

/** Every merge ends in a deploy of a trunk that has it, and no commit is deployed twice but by a person's word. */
async function checkDeploys(world: World, policy: Policy): Promise<void> {
  const { store, repository } = world;
  const { deploy } = await store.loop();
  if (policy.deploy.command === null) {
    if (world.deploys.length > 0) world.violate('something was deployed without a command');
    return;
  }
  const shas = world.deploys.map((one) => one.sha);
  if (shas.length - new Set(shas).size > world.deploysAskedFor)
    world.violate(`deployed twice: ${shas.join(', ')}`);
  const merges = await store.events({ type: 'merge_observed' });
  const newest = merges.at(-1)?.seq ?? 0;
  if (!deploy || deploy.considered < newest) world.violate('a merge was never considered for a deploy');
  if (deploy?.last?.status === 'running') world.violate('a deploy is still running');
  const last = deploy?.last?.sha;
  const known = new Set(merges.map(({ data }) => (data as EventData['merge_observed']).sha));
  const seen = world.landings.filter(({ candidate }) => known.has(candidate));
  for (const { candidate } of last === undefined ? [] : seen)
    if (!repository.isAncestor(candidate, last!)) world.violate(`${candidate} landed after the last deploy`);
  if (last === undefined && seen.length > 0) world.violate('nothing was deployed after a merge');
}

/** Usage is known after a call: when a limit is reached, each turn at work may be in the middle of one, and no more. */
async function checkBudgets(world: World, policy: Policy): Promise<void> {
  const { day, loop } = policy.budget;
  const alone = turnsAlone(await world.store.events());
  const usage = (await world.store.usage()).map((call) => ({ ...call, alone: alone.has(turnName(call)) }));
  for (const today of new Set(usage.map(({ at }) => Math.floor(at / DAY_MS)))) {
    const calls = usage.filter(({ at }) => Math.floor(at / DAY_MS) === today);
    checkLimit(world, `the tokens of day ${today}`, calls, ({ input }) => input, day.tokens);
  }
  checkLimit(world, 'the dollars of the loop', usage, ({ costUsd }) => costUsd ?? 0, loop.usd);
  const warnings = (await world.store.events({ type: 'budget_warned' })).map(({ task, data }) =>
    JSON.stringify([
      task,
      (data as EventData['budget_warned']).scope,
      (data as EventData['budget_warned']).period,
    ]),
  );
  if (new Set(warnings).size !== warnings.length) world.violate(`warned twice: ${warnings.join(' ')}`);
}

const turnName = (of: Pick<UsageDelta, 'role' | 'turn' | 'task' | 'sessionId'>): string =>
  `${of.role} turn ${of.turn} of ${of.task} on ${of.sessionId}`;

/** Turns that came to their end while no runner lived: nobody was there to stop them. */
function turnsAlone(events: readonly LoopEvent[]): Set<string> {
  const alone = new Set<string>();
  events.forEach((one, at) => {
    if (one.type !== 'recovered' || one.data.plan !== 'take_up') return;
    const ended = events.slice(at).find(({ type, task }) => type === 'turn_completed' && task === one.task);
    if (ended?.type === 'turn_completed') alone.add(turnName({ ...ended.data, task: ended.task! }));
  });
  return alone;
}

function checkLimit(
  world: World,
  what: string,
  calls: readonly (UsageDelta & { alone: boolean })[],
  price: (call: UsageDelta) => number,
  limit: number | null,
): void {
  if (limit === null) return;
  let used = 0;
  const late = new Map<string, number>();
  for (const call of calls) {
    const turn = turnName(call);
    if (used >= limit && !call.alone) late.set(turn, (late.get(turn) ?? 0) + 1);
    used += price(call);
  }
  // A runner that was stopped itself could stop nobody meanwhile.
  if (world.wasSuspended) return;
  // One runner stops all its turns at once; another learns of it with its own next call.
  const allowed = world.isCalm ? 0 : 1;
  for (const [turn, count] of late)
    if (count > allowed) world.violate(`${turn} made ${count} calls after ${what} were spent`);
}
