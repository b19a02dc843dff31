/**
 * One task played through the pure core: facts that a test sets, decisions folded into the row as the store would, and
 * outcomes recorded as the loop would. No ports, no clock: what a test says happened is what happened.
 *
 * Effects that can hardly go wrong in an interesting way (labels, comments, push, pull request, workspace) succeed by
 * themselves and change the facts as they would; a test that wants another outcome says so with `failing`.
 */

import { type Action, isRun, type PendingAction, type Run } from '../../src/core/action.ts';
import { attaching, detaching } from '../../src/core/attach.ts';
import type { Finding, NewFinding } from '../../src/core/change/findings.ts';
import type { Check, PullFeedback, Remark } from '../../src/core/change/remark.ts';
import { RULES } from '../../src/core/claim.ts';
import { decide } from '../../src/core/decide.ts';
import { type Asked, type Decision, type Facts, transition } from '../../src/core/decision.ts';
import type { Contract, LoopEvent, NewEvent } from '../../src/core/event.ts';
import { explain } from '../../src/core/explain.ts';
import { apply, fold } from '../../src/core/fold.ts';
import {
  type CommandResult,
  type Evidence,
  type GateOutcome,
  gateCommands,
  gateDigest,
  overall,
} from '../../src/core/gate.ts';
import { answerCommand, commandIn, markerOf } from '../../src/core/issue/command.ts';
import { contractOf } from '../../src/core/issue/criteria.ts';
import { batchOf, type InBatch } from '../../src/core/line/batch.ts';
import { type InLine, isInLine } from '../../src/core/line/line.ts';
import { grants, oldestFirst } from '../../src/core/line/schedule.ts';
import { afterAccounts } from '../../src/core/money/account.ts';
import type { Outcome } from '../../src/core/outcome.ts';
import type { Plan } from '../../src/core/plan/plan.ts';
import { type Start, startedEvents } from '../../src/core/plan/start.ts';
import type { Policy } from '../../src/core/policy.ts';
import { record } from '../../src/core/record.ts';
import { type Probes, recover } from '../../src/core/recover.ts';
import { isEnded, type Task } from '../../src/core/task.ts';
import type { Progress } from '../../src/core/tell/progress.ts';
import { afterProgress, NO_TOOLS, type ToolWatch } from '../../src/core/tool-watch.ts';
import { merged, type PolicyChange, testPolicy } from './policy.ts';

export type TurnOutcome = Extract<Outcome, { kind: 'turn' }>;

export interface World {
  issue: Facts['issue'];
  pull: Facts['pull'];
  feedback: PullFeedback;
  branch: Facts['branch'];
  spend: Facts['spend'];
  requests: Asked[];
  slotsFull: boolean;
  criticsBusy: boolean;
  mergeFree: boolean;
  lineLength: number;
  ahead: readonly OtherInLine[];
  /** Who is behind it, where they are tested together; null where each is tested by itself. */
  behind: readonly OtherInLine[] | null;
  partners: Facts['partners'];
  /** The commit with the work of another, in line or landed. */
  commitOf: (task: string) => string | null;
  trunkTree: Facts['trunkTree'];
  awaits: string | null;
  mergeBlocker: string | null;
  unconfined: string | null;
  unfiltered: string | null;
  promptChanged: boolean;
  trunk: Facts['trunk'];
  change: Facts['change'];
  /** What the rules find in whatever head they look at. */
  rules: NewFinding[];
  /** How long every change is. */
  chars: number;
  loopLimit: Facts['loopLimit'];
  accountLimits: Facts['accountLimits'];
  untried: string | null;
  paused: string | null;
  stuck: string | null;
  jitter: number;
}

/** In a batch, with what was found on its candidate. */
export type OtherInLine = InLine & Partial<InBatch>;

export class Play {
  task!: Task;
  policy: Policy;
  now = 0;
  world: World;
  findings: Finding[] = [];
  events: LoopEvent[] = [];
  pending: PendingAction[] = [];
  /** Every event, action and rest in order, for whoever wants to print or search them. */
  story: Step[] = [];
  /** Outcomes of the next effects of a kind, instead of success. */
  failing = new Map<Action['kind'], Outcome[]>();
  private sessions = 0;
  private actions = 0;
  private asked = 0;
  private started: { startedAt: number; lastProgressAt: number; tools: ToolWatch; called?: boolean } | null =
    null;

  constructor(change: PolicyChange = {}) {
    this.policy = testPolicy(change);
    this.world = {
      issue: {
        state: 'open',
        title: 'Add a revoke button',
        body: 'Clicking Revoke POSTs /tokens/1/revoke.',
        textHash: 'body-1',
        labels: ['loop:ready'],
        readyHash: 'body-1',
      },
      pull: null,
      feedback: { checks: [], remarks: [] },
      branch: null,
      spend: { costUsd: 0, tokens: 0 },
      requests: [],
      slotsFull: false,
      criticsBusy: false,
      mergeFree: true,
      lineLength: 3,
      ahead: [],
      behind: null,
      partners: null,
      commitOf: () => null,
      awaits: null,
      mergeBlocker: null,
      unconfined: null,
      unfiltered: null,
      promptChanged: false,
      trunk: 'base',
      trunkTree: null,
      change: { files: ['a.ts'], secrets: [], guarded: [] },
      rules: [],
      chars: 100,
      loopLimit: null,
      accountLimits: [],
      untried: null,
      paused: null,
      stuck: null,
      jitter: 0,
    };
  }

  /** Creates the row, as intake does, and looks. */
  claim(issue = 7): this {
    const item = { ...this.world.issue!, kind: 'issue' as const, number: issue, slug: 'revoke' };
    const { events, actions } = RULES.issue.claim(item, [], this.policy);
    this.commit(events, actions);
    return this.look();
  }

  /** Creates the row, as `loop start` does, and looks. */
  start(plan: Plan | null, how: Partial<Start> = {}): this {
    this.world.issue = null;
    const asked = {
      goal: null,
      name: 'checkout',
      mode: 'loop',
      delivers: 'branch',
      startedBy: 'ann',
    } as const;
    this.commit(startedEvents({ ...asked, models: {}, plan, ...how }), []);
    return this.look();
  }

  facts(): Facts {
    const { slotsFull, criticsBusy, behind, commitOf, rules: _, chars: __, ...world } = this.world;
    const last = this.task.misfit?.on?.at(-1);
    const asInBatch = (one: OtherInLine): InBatch => ({
      contract: this.task.contract,
      ahead: [],
      gate: null,
      isTesting: false,
      ...one,
    });
    const isBatched = behind !== null && isInLine(this.task);
    const granted = isEnded(this.task)
      ? null
      : grants([this.task], 0, this.policy, this.now, world.accountLimits);
    const run = this.run();
    const isJudged = this.task.state === 'awaiting_critic' || this.task.state === 'merging';
    const isAsked = isJudged && this.task.pull !== null && !(run && this.started);
    return {
      ...world,
      batch: isBatched
        ? [...world.ahead.map(asInBatch), ...batchOf([this.task]), ...behind.map(asInBatch)]
        : null,
      openFindings: this.findings.filter((finding) => finding.status === 'open'),
      ledger: this.findings,
      slot: !slotsFull && (granted?.slots.includes(this.task.id) ?? false),
      criticSlot: !criticsBusy && (granted?.critics.includes(this.task.id) ?? false),
      onto: last ? commitOf(last.task) : null,
      feedback: isAsked ? world.feedback : null,
      inFlight: run && this.started ? { action: run, ...this.started } : null,
      newSessionId: `s${this.sessions + 1}`,
    };
  }

  decide(): Decision {
    return decide(this.task, this.facts(), this.policy, this.now);
  }

  /** Decides and performs until there is an outcome to wait for, or a rest. */
  look(): this {
    for (let steps = 0; ; steps += 1) {
      if (steps > 60) throw new Error(`no rest after 60 steps: ${JSON.stringify(this.story.at(-1))}`);
      const pending = this.pending[0];
      if (pending && !isRun(pending.action)) {
        const outcome = this.failing.get(pending.action.kind)?.shift() ?? this.success(pending.action);
        if (!outcome) return this;
        this.record(outcome);
        continue;
      }
      if (isEnded(this.task)) return this;
      if (pending) {
        this.started ??= { startedAt: this.now, lastProgressAt: this.now, tools: NO_TOOLS };
        pending.startedAt ??= this.now;
      }
      const decision = this.decide();
      if (decision.kind === 'rest') {
        this.story.push({ rest: decision });
        return this;
      }
      if (decision.kind === 'stop') {
        this.story.push({ stop: decision });
        this.record(
          this.run()!.kind === 'turn'
            ? turnOutcome(decision.status, {
                message: decision.why,
                code: decision.code,
                durationMs: this.now - this.started!.startedAt,
                ...(decision.status === 'stalled' && this.started!.called && { worked: true as const }),
              })
            : { kind: 'void', why: decision.why },
        );
        continue;
      }
      this.world.requests = this.world.requests.filter(({ id }) => !decision.consume?.includes(id));
      for (const finding of decision.findings ?? [])
        this.findings = this.findings.some(({ id }) => id === finding.id)
          ? this.findings.map((one) => (one.id === finding.id ? finding : one))
          : [...this.findings, finding];
      this.commit(decision.events, decision.actions);
    }
  }

  /** Writes down what came of the first pending action, then looks. */
  answer(outcome: Outcome): this {
    if (!this.pending[0])
      throw new Error(`nothing is pending in ${this.task.state}; last: ${this.said().at(-1)}`);
    this.record(outcome);
    return this.look();
  }

  turn(status: TurnOutcome['status'] = 'finished', more: Partial<TurnOutcome> = {}): this {
    this.expectPending('turn');
    return this.answer(turnOutcome(status, more));
  }

  checkpoint(sha: string, more: { tree?: string; empty?: boolean; baseSha?: string } = {}): this {
    this.expectPending('checkpoint');
    const head = { sha, tree: more.tree ?? `tree-${sha.replace('sealed-', '')}` };
    return this.answer({
      kind: 'checkpoint',
      head,
      baseSha: more.baseSha ?? 'base',
      empty: more.empty ?? false,
    });
  }

  gate(outcome: GateOutcome, problem?: string): this {
    const action = this.expectPending('gate');
    return this.answer({
      kind: 'gate',
      evidence: evidence(action.tree, outcome, this.policy, this.task.contract, problem),
      bases: [],
    });
  }

  /** The gate ends with exactly these results, judged by the policy. */
  gated(...results: Partial<CommandResult>[]): this {
    const action = this.expectPending('gate');
    const [some] = evidence('', 'pass', this.policy, this.task.contract).results;
    const all = results.map((result) => ({ ...some!, ...result }));
    const whole = evidence(
      action.tree,
      overall(all, this.policy.gate.preexisting),
      this.policy,
      this.task.contract,
    );
    return this.answer({ kind: 'gate', evidence: { ...whole, results: all }, bases: [] });
  }

  /** A coder's turn from its end to the gate's verdict on a new head. */
  worked(sha: string, outcome: GateOutcome = 'pass'): this {
    return this.turn().checkpoint(sha).gate(outcome);
  }

  /** What a report leaves out is as good as can be: every criterion met, every earlier finding addressed. */
  critic(report: object): this {
    const action = this.expectPending('turn');
    if (action.role !== 'critic') throw new Error(`the ${action.role} is at work, not the critic`);
    const criteria = this.task.contract.criteria.map(({ id }) => ({ id, met: 'met', evidence: 'a.test.ts' }));
    const earlier = this.findings.map(({ id }) => ({ id, addressed: 'yes' }));
    return this.answer(turnOutcome('finished', { structured: { criteria, earlier, ...report } }));
  }

  /** What a report leaves out is as good as can be. */
  audit(report: object = {}): this {
    const action = this.expectPending('turn');
    if (action.role !== 'auditor') throw new Error(`the ${action.role} is at work, not the auditor`);
    return this.answer(turnOutcome('finished', { structured: { clean: true, ...report } }));
  }

  specifier(report: unknown): this {
    const action = this.expectPending('turn');
    if (action.role !== 'specifier') throw new Error(`the ${action.role} is at work, not the specifier`);
    return this.answer(turnOutcome('finished', { structured: report }));
  }

  candidate(sha = 'candidate', trunk = 'trunk'): this {
    const { onto, headSha } = this.expectPending('build_candidate');
    if (!onto) this.world.trunk = trunk;
    const base = onto?.sha ?? trunk;
    const candidate = { sha, tree: `tree-${sha}`, trunk: base, trunkTree: `tree-of-${base}`, headSha };
    return this.answer({ kind: 'candidate', candidate });
  }

  landed(sha = 'merged'): this {
    this.expectPending('land');
    return this.answer({ kind: 'landed', sha });
  }

  ask(kind: string, by = 'ann', about: { finding?: string; why?: string; head?: string } = {}): this {
    this.asked += 1;
    this.world.requests.push({ id: this.asked, kind, by, finding: null, why: null, ...about });
    return this.look();
  }

  wait(ms: number): this {
    this.now += ms;
    return this.look();
  }

  change(world: Partial<World>): this {
    Object.assign(this.world, world);
    return this.look();
  }

  /** CI reports a check at the published head. */
  ci(name: string, state: Check['state'], more: Partial<Check> = {}): this {
    const headSha = this.world.branch?.sha ?? '';
    const others = this.world.feedback.checks.filter((one) => one.name !== name || one.headSha !== headSha);
    const check = { ...CHECK, name, state, headSha, ...more };
    return this.change({ feedback: { ...this.world.feedback, checks: [...others, check] } });
  }

  /** A person says something on the pull request, about the published head. */
  hears(said: Remark): this {
    const told = { headSha: this.world.branch?.sha ?? null, at: this.now };
    const remarks = [...this.world.feedback.remarks, { ...said, ...told }];
    return this.change({ feedback: { ...this.world.feedback, remarks } });
  }

  /** A person writes `/loop …`: answered as the listener does, and asked of the task. */
  command(said: Remark): this {
    const { task, policy } = this;
    const heard = {
      remark: { ...said, at: this.now },
      word: commandIn(said.body)!,
      task,
      issue: this.world.issue,
      pending: this.world.requests,
    };
    const explanation = explain(
      task,
      {
        pending: this.pending[0] ?? null,
        all: [task],
        underWay: { live: [task], eligible: 0, order: oldestFirst, lineLength: this.world.lineLength },
        failure: null,
        said: new Map([[task.id, this.world.feedback]]),
        accounts: this.world.accountLimits,
        untried: this.world.untried,
      },
      policy,
      this.now,
    );
    const answer = answerCommand({ ...heard, explanation: explanation.why }, policy);
    const { id, where } = said;
    this.story.push({
      action: { kind: 'reply', to: { id, where }, marker: markerOf(said), body: answer.says },
    });
    return answer.request ? this.ask(answer.request, said.author) : this.look();
  }

  issue(change: Partial<NonNullable<Facts['issue']>>): this {
    return this.change({ issue: { ...this.world.issue!, ...change } });
  }

  configure(change: PolicyChange): this {
    this.policy = merged(this.policy, change);
    return this.look();
  }

  /** The agent said something. */
  progress(progress?: Progress): this {
    if (!this.started) return this;
    this.started.lastProgressAt = this.now;
    if (!progress) return this;
    this.started.tools = afterProgress(this.started.tools, progress);
    this.started.called ||= progress.kind === 'tool';
    return this.look();
  }

  /** The runner dies and another takes over. */
  crash(seen: Partial<Probes> = {}, unheard: TurnOutcome | null = null): this {
    return this.recover(seen, unheard).look();
  }

  /** What the runner that died had begun is brought to its end; nobody goes on. */
  recover(seen: Partial<Probes> = {}, unheard: TurnOutcome | null = null): this {
    const probes: Probes = {
      workspace: { exists: true, intact: true, problem: null },
      session: 'resumable',
      finished: unheard !== null,
      lastSignAt: null,
      ...seen,
    };
    const begun = this.pending.find(({ action, startedAt }) => isRun(action) && startedAt !== null) ?? null;
    const recovery = recover(begun, probes, this.policy);
    this.started = null;
    if (recovery.plan === 'take_up' && unheard) {
      this.commit(recovery.events, []);
      this.record(unheard);
      return this;
    }
    if (recovery.finishAction !== null)
      this.pending = this.pending.filter(({ id }) => id !== recovery.finishAction);
    if (recovery.plan !== 'nothing') this.commit(recovery.events, []);
    return this;
  }

  /** The runner lets go before it starts anything more, and a person has the task. */
  attach(by = 'ann'): this {
    this.started = null;
    for (const pending of this.pending) pending.startedAt = null;
    const sessionId = this.task.roles.coder.session ?? '';
    const { events, finish } = attaching(this.task, this.pending, { by, sessionId });
    this.pending = this.pending.filter(({ id }) => !finish.includes(id));
    this.commit(events, []);
    return this;
  }

  /** They leave it with this head. */
  leave(sha: string, pausedBy: string | null = null): this {
    const left = { how: 'exited', detail: 'exited with 0', durationMs: 1000 } as const;
    const used = { tokens: 10, costUsd: 0.01, usage: 'known' } as const;
    const { events, actions } = detaching(this.task, { ...left, ...used }, pausedBy);
    this.commit(events, actions);
    return this.look().checkpoint(sha);
  }

  /** A person restarts a task that has ended, or that nobody goes on with; its label goes back on. */
  restart(): this {
    const issue = this.world.issue && { ...this.world.issue, labels: [this.policy.labels.running] };
    if (!isEnded(this.task))
      this.commit([transition(this.task, 'abandoned', 'restarted by ann', 'cancelled')], []);
    this.pending = [];
    this.commit([transition(this.task, 'queued', 'restarted by ann')], []);
    return this.change({ issue });
  }

  run(): Run | null {
    const action = this.pending[0]?.action;
    return action && isRun(action) ? action : null;
  }

  fold(): Task {
    return fold(this.task.id, this.events);
  }

  /** Types of the events so far. */
  types(): string[] {
    return this.events.map(({ type }) => type);
  }

  of<T extends LoopEvent['type']>(type: T): Extract<LoopEvent, { type: T }>['data'][] {
    return this.events.flatMap((one) => (one.type === type ? [one.data as never] : []));
  }

  actionsOf<K extends Action['kind']>(kind: K): Extract<Action, { kind: K }>[] {
    return this.story.flatMap((step) =>
      'action' in step && step.action.kind === kind ? [step.action as Extract<Action, { kind: K }>] : [],
    );
  }

  /** The lifecycle: each state entered, in order. */
  states(): string[] {
    return this.of('worker_state_transition').map(({ to }) => to);
  }

  resting(): string | null {
    const last = this.story.at(-1);
    return last && 'rest' in last ? last.rest.why : null;
  }

  said(): string[] {
    return this.story.map((step) => JSON.stringify(step));
  }

  commit(events: readonly NewEvent[], actions: readonly Action[]): void {
    for (const one of events) {
      const happened = { ...one, seq: this.events.length + 1, at: this.now, task: 't1' } as LoopEvent;
      this.task = apply(this.task ?? null, happened);
      this.world.accountLimits = afterAccounts(this.world.accountLimits, [happened], this.now);
      this.events.push(happened);
      this.story.push({ event: happened });
      if (happened.type === 'turn_started')
        this.sessions += happened.data.sessionId === `s${this.sessions + 1}` ? 1 : 0;
    }
    for (const action of actions) {
      this.actions += 1;
      this.pending.push({
        id: this.actions,
        task: 't1',
        action,
        startedAt: null,
        attempts: 0,
        notBefore: 0,
      });
      this.story.push({ action });
    }
  }

  private record(outcome: Outcome): void {
    const done = this.pending.shift()!;
    this.started = null;
    const recorded = record(this.task, done.action, outcome, this.findings, this.policy, this.now);
    if (recorded.findings.length > 0) this.findings = recorded.findings;
    if (recorded.endsActions) this.pending = [];
    this.commit(recorded.events, recorded.actions);
  }

  private expectPending<K extends Action['kind']>(kind: K): Extract<Action, { kind: K }> {
    const action = this.pending[0]?.action;
    if (action?.kind !== kind) {
      throw new Error(
        `${kind} is not pending but ${action?.kind ?? 'nothing'} (${this.task.state}; ${this.resting()})`,
      );
    }
    return action as Extract<Action, { kind: K }>;
  }

  /** Null when the test has to say what comes of it. */
  private success(action: Action): Outcome | null {
    const { world } = this;
    switch (action.kind) {
      case 'label': {
        const { add, remove } = action;
        const labels = [...world.issue!.labels.filter((label) => !remove.includes(label)), ...add];
        world.issue = { ...world.issue!, labels };
        return { kind: 'done' };
      }
      case 'prepare_workspace':
        return { kind: 'workspace', path: 'ws', baseSha: 'base' };
      case 'push':
        world.branch = { sha: action.sha, tree: this.task.head!.tree };
        return { kind: 'pushed' };
      case 'ensure_pull':
        world.pull = { state: 'open', mergedSha: null, approvals: [] };
        return { kind: 'pull', pull: 1 };
      case 'seal': {
        const head = { sha: `sealed-${this.task.head!.sha}`, tree: this.task.head!.tree };
        return { kind: 'sealed', head, commit: this.task.empty ? null : head.sha };
      }
      case 'inspect':
        return {
          kind: 'inspected',
          files: ['src/a.ts'],
          findings: structuredClone(world.rules),
          chars: world.chars,
        };
      case 'close_issue':
        world.issue = { ...world.issue!, state: 'closed' };
        return { kind: 'done' };
      case 'reap_workspace':
        return this.task.workspace ? { kind: 'reaped', path: this.task.workspace } : { kind: 'done' };
      case 'preserve_workspace':
        return { kind: 'preserved', path: this.task.workspace! };
      case 'comment':
      case 'hold_loop':
      case 'release_loop':
      case 'tell_status':
      case 'reply':
      case 'post_review':
      case 'update_pull':
      case 'close_pull':
      case 'leave_queue':
      case 'adopt_head':
      case 'delete_branch':
        return { kind: 'done' };
      default:
        return null;
    }
  }
}

export type Step =
  | { event: LoopEvent }
  | { action: Action }
  | { rest: Extract<Decision, { kind: 'rest' }> }
  | { prompt: string }
  | { refused: string }
  | { stop: Extract<Decision, { kind: 'stop' }> };

export function turnOutcome(
  status: TurnOutcome['status'],
  more: Partial<Omit<TurnOutcome, 'kind' | 'status'>> = {},
): TurnOutcome {
  return {
    kind: 'turn',
    status,
    code: null,
    message: '',
    text: '',
    structured: null,
    retryAt: null,
    durationMs: 1000,
    usageKnown: true,
    ...more,
  };
}

export function evidence(
  tree: string,
  outcome: GateOutcome,
  policy: Policy,
  contract: Contract = contractOf({ title: '', body: '', textHash: '' }),
  problem?: string,
): Evidence {
  const said = { pass: null, fail: 'exit 1', could_not_run: 'command not found (exit 127)' }[outcome];
  return {
    tree,
    outcome,
    at: 0,
    digest: gateDigest(policy.gate, contract),
    results: gateCommands(policy.gate, contract).map(({ command, criterion }) => ({
      command,
      ...(criterion === null ? {} : { criterion }),
      outcome,
      exitCode: outcome === 'pass' ? 0 : 1,
      problem: outcome === 'pass' ? null : (problem ?? said),
      tail: outcome === 'fail' ? 'expected 1 but got 2' : '',
      logPath: null,
      durationMs: 10,
    })),
  };
}

const CHECK: Omit<Check, 'name' | 'state' | 'headSha'> = {
  required: true,
  job: null,
  step: null,
  logTail: null,
  link: null,
};

export function remark(
  body: string,
  verdict: Remark['verdict'] = 'comment',
  more: Partial<Remark> = {},
): Remark {
  return {
    id: body.toLowerCase().replace(/\W+/g, '-'),
    where: { kind: 'pull', number: 1 },
    author: 'ann',
    mayWrite: true,
    verdict,
    body,
    file: null,
    line: null,
    headSha: null,
    at: 0,
    ...more,
  };
}

/** A result that is red, and red on the base commit too; with the tests that a report names, here and there. */
export function redBefore(
  change: Partial<CommandResult> = {},
  before: Pick<CommandResult, 'failing'> = {},
): Partial<CommandResult> {
  const red = { outcome: 'fail', exitCode: 1, problem: 'exit 1', signature: 'x' } as const;
  const run = { ...red, tail: 'FAIL old', logPath: null, durationMs: 1 };
  return {
    ...run,
    first: run,
    base: { ...run, ...before, sha: 'base', command: 'npm test', setup: '' },
    ...change,
  };
}
export const EXPAND = {
  decision: 'expand',
  problem: 'Nobody can revoke a token.',
  criteria: [
    { text: 'Revoke opens a dialog', verify: 'npm test -- revoke' },
    { text: 'ESC closes the dialog' },
  ],
  testMatrix: ['with a token', 'without one'],
  outOfScope: ['expiry'],
  filePointers: ['src/tokens.ts: the list'],
};

export const APPROVE = { verdict: 'APPROVE' };
export const BLOCK = { verdict: 'BLOCK', findings: [problem('sev1', 'the approach leaks tokens')] };

export function changes(message = 'the dialog has no role', severity = 'sev2') {
  return { verdict: 'REQUEST_CHANGES', findings: [problem(severity, message)] };
}

export function problem(severity: string, message: string) {
  return { severity, category: 'correctness', file: 'a.ts', line: 3, message };
}

// --- plays that have come some way ----------------------------------------------------------------------------------

export const queued = (change: PolicyChange = {}): Play => {
  const play = new Play(change);
  play.world.slotsFull = true;
  return play.claim();
};

/** The first turn is at work. */
export const running = (change: PolicyChange = {}): Play => new Play(change).claim();

/** Verified and published as c1; the critic is at work unless it is disabled. */
export const awaiting = (change: PolicyChange = {}): Play => running(change).worked('c1');

/** The same, for an issue that lists what it is judged by. */
export function judgedBy(body: string, change: PolicyChange = {}): Play {
  const play = new Play(change);
  play.world.issue = { ...play.world.issue!, body };
  return play.claim().worked('c1');
}

/** Changes were asked for and the same session is at work on them. */
export const revising = (change: PolicyChange = {}): Play => awaiting(change).critic(changes());

/** Approved; the candidate is about to be built. */
export const merging = (change: PolicyChange = {}): Play => awaiting(change).critic(APPROVE);

/** Every condition of the merge gate holds; the candidate is about to land. */
export const landing = (change: PolicyChange = {}): Play => merging(change).candidate().gate('pass');
