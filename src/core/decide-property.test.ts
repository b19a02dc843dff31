/**
 * Random walks: facts, people and outcomes at random, thousands of steps. Whatever happens, deciding never fails, no
 * edge outside the table is taken, nothing lands unverified or unapproved, and replaying the events gives the row.
 */
import { expect, test } from 'vitest';
import { APPROVE, BLOCK, changes, evidence, Play, remark, turnOutcome } from '../../test/support/play.ts';
import { mulberry32 } from '../../test/support/store-steps.ts';
import type { Action, MergePermit } from './action.ts';
import type { InLine } from './line/line.ts';
import type { Outcome } from './outcome.ts';
import { isEnded, occupiesSlot } from './task.ts';

const WALKS = 400;
const STEPS = 60;

test('random walks keep every promise', () => {
  const reached = new Set<string>();
  let landed = 0;
  for (let seed = 1; seed <= WALKS; seed += 1) {
    const walk = walker(seed);
    try {
      for (let step = 0; step < STEPS; step += 1) walk.step();
      expect(walk.play.task).toEqual(walk.play.fold());
    } catch (problem) {
      throw new Error(`seed ${seed}: ${(problem as Error).message}`, { cause: problem });
    }
    for (const state of walk.play.states()) reached.add(state);
    for (const { reason } of walk.play.of('worker_state_transition')) if (reason) reached.add(reason);
    landed += walk.play.actionsOf('land').length;
  }
  // A walk that never gets anywhere proves nothing.
  expect(landed).toBeGreaterThan(50);
  expect([...reached]).toEqual(
    expect.arrayContaining([
      'merged',
      'revising',
      'max_turns_reached',
      'no_progress',
      'critic_blocked',
      'budget_exhausted',
      'max_critic_rounds',
      'crash_recovery_failed',
      'superseded',
    ]),
  );
}, 60_000);

function walker(seed: number) {
  const random = mulberry32(seed);
  const chance = (p: number): boolean => random() < p;
  /** Some walks are calm, so that some arrive. */
  const calm = [1, 4, 16][seed % 3]!;
  const rarely = (p: number): boolean => random() < p / calm;
  const pick = <T>(among: readonly T[]): T => among[Math.floor(random() * among.length)]!;
  const play = new Play({ maxTurns: 6, idleTurns: 2, budget: { usd: 8 }, protectedPaths: ['WORKFLOW.md'] });
  let shas = 0;
  const fresh = (): string => `h${++shas}`;
  play.claim();

  /** At most one thing of the world changes, without a look: the next decision finds it. */
  function meanwhile(): void {
    const { world, policy } = play;
    const issue = world.issue;
    if (rarely(0.04)) world.slotsFull = !world.slotsFull;
    if (rarely(0.04)) world.criticsBusy = !world.criticsBusy;
    if (rarely(0.04)) world.mergeFree = !world.mergeFree;
    if (rarely(0.1))
      world.ahead = pick([[], [other('a')], [other('a'), other('b')], [{ ...other('c'), candidate: null }]]);
    if (rarely(0.1)) world.partners = pick(['in_line', 'landed', 'gone']);
    if (rarely(0.03) && play.task.state === 'merging') world.trunk = fresh();
    if (rarely(0.04)) world.mergeBlocker = world.mergeBlocker ? null : 'a.ts has changes';
    if (rarely(0.02)) world.paused = world.paused ? null : 'paused';
    if (rarely(0.04) && world.branch) world.branch = { sha: fresh(), tree: `tree-h${shas}` };
    if (rarely(0.03) && issue) world.issue = { ...issue, textHash: `b${seed}-${shas}` };
    if (rarely(0.06) && issue) world.issue = { ...issue, readyHash: issue.textHash };
    if (rarely(0.005) && issue) world.issue = { ...issue, state: 'closed' };
    if (rarely(0.005) && issue)
      world.issue = { ...issue, labels: pick([[], ['loop:abandon', 'loop:running']]) };
    if (rarely(0.005) && world.pull) world.pull = { ...world.pull, state: pick(['closed', 'merged']) };
    if (rarely(0.05))
      world.requests.push({ id: ++shas, kind: pick(['pause', 'resume', 'approve', 'resume']), by: 'ann' });
    if (rarely(0.004)) world.requests.push({ id: ++shas, kind: pick(['cancel', 'abandon']), by: 'ann' });
    if (rarely(0.02)) policy.critic.enabled = !policy.critic.enabled;
    if (rarely(0.02)) policy.merge.enabled = !policy.merge.enabled;
    if (rarely(0.02)) policy.gate.commands = pick([[], ['npm test'], ['npm test'], 'none' as const]);
    if (rarely(0.03))
      world.change = pick([
        { files: ['a.ts'], secrets: [], guarded: [] },
        { files: ['WORKFLOW.md'], secrets: ['a key in b.ts'], guarded: [] },
      ]);
    if (rarely(0.05) && world.branch) flipCheck(world.branch.sha);
    if (rarely(0.03) && world.branch) {
      const verdict = pick(['comment', 'comment', 'request_changes', 'approve'] as const);
      const said = remark(`wish ${fresh()}`, verdict, { mayWrite: chance(0.7), headSha: world.branch.sha });
      world.feedback = { ...world.feedback, remarks: [...world.feedback.remarks, said] };
    }
    if (rarely(0.1)) world.spend = { costUsd: world.spend.costUsd + 2, tokens: 0 };
    if (rarely(0.3)) play.now += pick([1, 1000, 10_000, 400_000]);
  }

  const other = (name: string): InLine => ({
    task: name,
    issue: 1,
    candidate: { sha: `of-${name}`, tree: `tree-${name}`, trunk: 'trunk', headSha: 'x' },
  });

  function flipCheck(headSha: string): void {
    const state = pick(['red', 'pending', 'green', 'green'] as const);
    const others = play.world.feedback.checks.filter((check) => check.headSha !== headSha);
    const check = { name: 'build', headSha, state, required: chance(0.7), job: null, step: null };
    play.world.feedback = {
      ...play.world.feedback,
      checks: [...others, { ...check, logTail: `failed ${state}`, link: null }],
    };
  }

  function outcomeOf(action: Action): Outcome | null {
    switch (action.kind) {
      case 'turn':
        if (rarely(0.4))
          return turnOutcome(pick(['failed', 'stalled', 'timed_out', 'interrupted', 'cancelled']), {
            code: pick([null, 'overload', 'hook_failed', 'usage_limit']),
            message: 'it broke',
          });
        return turnOutcome('finished', {
          structured: pick([
            APPROVE,
            APPROVE,
            APPROVE,
            changes(fresh()),
            changes('same'),
            BLOCK,
            { nonsense: 1 },
            null,
          ]),
        });
      case 'gate':
        return {
          kind: 'gate',
          evidence: evidence(
            action.tree,
            rarely(0.5) ? pick(['fail', 'could_not_run']) : 'pass',
            play.policy,
            play.task.contract,
          ),
          bases: [],
        };
      case 'checkpoint': {
        if (chance(0.05)) return { kind: 'refused', problem: 'nested repository' };
        const head = play.task.headSha;
        const same = head !== null && chance(0.3);
        const sha = same ? head : fresh();
        return {
          kind: 'checkpoint',
          head: { sha, tree: `tree-${sha}` },
          baseSha: 'base',
          empty: chance(0.05),
        };
      }
      case 'merge_in':
        return { kind: 'merged_in', conflicts: chance(0.5) ? ['a.ts'] : [], landed: [] };
      case 'push':
        if (chance(0.1)) {
          play.world.branch = { sha: fresh(), tree: `tree-h${shas}` };
          return { kind: 'moved', sha: `h${shas}` };
        }
        if (chance(0.1)) return { kind: 'publish_refused', detail: 'no `workflow` scope' };
        return null;
      case 'build_candidate': {
        if (chance(0.15)) return { kind: 'conflict', files: ['a.ts'], trunk: fresh() };
        if (chance(0.03)) return { kind: 'empty', trunk: 'trunk' };
        const sha = fresh();
        return {
          kind: 'candidate',
          candidate: {
            sha,
            tree: `tree-${sha}`,
            trunk: action.onto?.sha ?? play.world.trunk!,
            headSha: action.headSha,
          },
        };
      }
      case 'land':
        return pick<Outcome>([
          { kind: 'landed', sha: action.permit.candidate.sha },
          { kind: 'trunk_moved' },
          { kind: 'dirty_checkout', detail: 'a.ts' },
          { kind: 'merge_refused', detail: 'protected' },
          { kind: 'landing_refused', detail: 'still being computed' },
          { kind: 'conflict', files: [], trunk: fresh() },
        ]);
      case 'prepare_workspace':
        return chance(0.05) ? { kind: 'workspace_failed', problem: 'disk full' } : null;
      default:
        return null;
    }
  }

  function step(): void {
    if (isEnded(play.task) && play.pending.length === 0) {
      if (play.task.state !== 'abandoned' || !chance(0.3)) return;
      play.world = { ...new Play().world, pull: play.world.pull && { ...play.world.pull, state: 'open' } };
      play.world.branch = play.task.published ? { sha: play.task.published.sha, tree: 'x' } : null;
      play.world.issue!.textHash = play.task.contract.hash;
      play.restart();
    }
    meanwhile();
    const before = play.story.length;
    const pending = play.pending[0];
    if (pending && chance(0.05)) {
      const workspace = { exists: !chance(0.1), intact: !chance(0.1), problem: null };
      play.crash({ workspace, session: pick(['resumable', 'resumable', 'empty', 'lost']) });
    } else if (pending && chance(0.8)) {
      const outcome = outcomeOf(pending.action);
      if (outcome) play.answer(outcome);
      else play.look();
    } else play.look();
    check(before);
  }

  function check(since: number): void {
    for (const one of play.story.slice(since)) {
      if ('action' in one && one.action.kind === 'land') checkPermit(one.action.permit);
      if ('rest' in one && one.rest.why.length === 0) throw new Error('it rests without a reason');
    }
    const { task } = play;
    if (task.turns > play.policy.maxTurns) throw new Error(`turn ${task.turns} of ${play.policy.maxTurns}`);
    const runs = play.pending.filter(({ action }) => action.kind === 'turn' || action.kind === 'gate');
    if (runs.length > 1) throw new Error('two runs at once');
    if (isEnded(task) && runs.length > 0) throw new Error('a run outlives its task');
    const coding = runs.some(({ action }) => action.kind === 'turn' && action.role === 'coder');
    if (coding && !occupiesSlot(task)) throw new Error('a coder works without a slot');
  }

  function checkPermit({ headSha, candidate }: MergePermit): void {
    const { verdict, head, landing, contract } = play.task;
    expect(verdict).toMatchObject({ verdict: 'APPROVE', headSha });
    expect(head?.sha).toBe(headSha);
    expect(candidate.headSha).toBe(headSha);
    expect(play.world.ahead).toEqual([]);
    expect(candidate.trunk).toBe(play.world.trunk);
    expect(landing?.gate).toMatchObject({ tree: candidate.tree, outcome: 'pass' });
    expect(play.world.branch?.sha).toBe(headSha);
    for (const check of play.world.feedback.checks)
      if (check.headSha === headSha && check.required) expect(check.state).toBe('green');
    const told = new Set(play.task.acknowledged);
    for (const { id, mayWrite, verdict: said } of play.world.feedback.remarks)
      if (mayWrite && said !== 'approve')
        expect([...told].some((one) => one.startsWith(`remark:${id}:`))).toBe(true);
    if (verdict?.by === 'critic') expect(play.world.change.files).not.toContain('WORKFLOW.md');
    expect(play.world.issue).toMatchObject({ state: 'open', textHash: contract.hash });
    expect(new Set(play.task.acknowledged).size).toBe(play.task.acknowledged.length);
  }

  return { play, step };
}
