/** What keeps a run from starting although its task could go on: a broken template, a missing sandbox, a half-made workspace. */
import { describe, expect, test } from 'vitest';
import {
  APPROVE,
  awaiting,
  changes,
  EXPAND,
  landing,
  merging,
  Play,
  revising,
  running,
} from '../../test/support/play.ts';
import { type PolicyChange, testPolicy } from '../../test/support/policy.ts';
import { MAX_FETCH_FAILURES, MAX_WORKSPACE_FAILURES } from './decision.ts';
import { event, type HoldReason } from './event.ts';
import { HOLDS } from './hold.ts';
import { REASONS } from './machine.ts';
import { type RequestKind, refusal } from './request.ts';
import { occupiesSlot } from './task.ts';
import { statusText } from './words/words.ts';

describe('a hold that a person ends while no slot is free', () => {
  const paused = (): Play => {
    const play = running().worked('c1', 'fail').ask('pause');
    return play.turn().change({ slotsFull: true });
  };

  test('is released by them, and gone when there is one', () => {
    const play = paused().ask('resume');
    expect(play.of('hold_released')).toEqual([{ by: 'ann' }]);
    expect(play.task.hold).toMatchObject({ reason: 'operator_pause', until: 0 });
    expect(play.decide()).toMatchObject({ kind: 'rest', for: 'grant' });
    play.change({ slotsFull: false });
    expect(play.of('hold_cleared')).toEqual([{ reason: 'operator_pause', by: 'loop' }]);
    expect(play.fold()).toEqual(play.task);
  });

  test('as older versions wrote it: a hold whose time is over', () => {
    const play = paused();
    play.commit([event('hold_set', { ...play.task.hold!, until: 0 })], []);
    expect(play.decide()).toMatchObject({ kind: 'rest', for: 'grant' });
    play.change({ slotsFull: false });
    expect(play.task.hold).toBeNull();
  });
});

describe('a prompt that can’t be rendered', () => {
  const broken = (play: Play): Play => {
    const action = play.run();
    if (action?.kind !== 'turn') throw new Error('no turn is pending');
    const problem = `The ${action.prompt} prompt can't be rendered, line 3: unknown variable "isue".`;
    return play.answer({ kind: 'prompt_broken', prompt: action.prompt, problem, digest: 'd1' });
  };

  test.each([
    ['first', running, 'task', 1],
    ['revision’s', revising, 'revise', 2],
    ['critic’s', awaiting, 'critic', 1],
  ] as const)('the %s: held with its name and the problem, the turn not counted', (_, start, kind, turn) => {
    const play = broken(start());
    expect(play.task.hold).toMatchObject({ reason: 'prompt_broken', until: null });
    expect(play.task.hold?.detail).toContain(`The ${kind} prompt can't be rendered, line 3`);
    expect(play.run()).toBeNull();
    expect(play.decide()).toMatchObject({ kind: 'rest', until: null });
    play.change({ promptChanged: true });
    if (kind !== 'critic') play.checkpoint('c1', { empty: kind === 'task' });
    expect(play.task.hold).toBeNull();
    expect(play.run()).toMatchObject({ kind: 'turn', prompt: kind, turn });
  });

  test('is tried again when a person says so, and never ends the task as interrupted', () => {
    const play = running();
    for (let times = 0; times < 5; times++) {
      broken(play).ask('resume').checkpoint('c1', { empty: true });
      expect(play.run()).toMatchObject({ prompt: 'task', turn: 1 });
    }
  });
});

describe('a sandbox that is required and not there', () => {
  const MISSING = 'no sandbox here';

  test.each([
    ['a turn', () => running(), 'running'],
    ['a gate', () => running().turn().checkpoint('c1'), 'running'],
    ['a critic', () => awaiting(), 'awaiting_critic'],
    ['a revision', () => revising(), 'revising'],
  ] as const)('stops %s, starts nothing more, and goes on when the setting changes', (_, start, state) => {
    const play = start();
    expect(play.run()).not.toBeNull();
    play.change({ unconfined: MISSING });
    expect(play.story.filter((step) => 'stop' in step)).toEqual([
      { stop: { kind: 'stop', status: 'cancelled', why: MISSING, code: null } },
    ]);
    expect(play.task).toMatchObject({ state, hold: { reason: 'sandbox_unavailable', detail: MISSING } });
    expect(play.run()).toBeNull();
    expect(play.decide()).toMatchObject({ kind: 'rest' });
    play.change({ unconfined: null });
    expect(play.task.hold).toBeNull();
    expect(play.pending).toHaveLength(1);
  });

  test('a merge steps aside before its gate', () => {
    const play = merging();
    play.world.unconfined = MISSING;
    play.candidate();
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: { reason: 'sandbox_unavailable' } });
    expect(play.actionsOf('gate').filter(({ scope }) => scope === 'candidate')).toEqual([]);
  });
});

describe('a filter on trunk that is not applied here', () => {
  const FILTERED = 'secret.key: filter=git-crypt, and forge-loop does not run it';

  test('holds before the first turn, and goes on when trunk has it no more', () => {
    const play = new Play();
    play.world.unfiltered = FILTERED;
    play.claim();
    expect(play.task).toMatchObject({
      state: 'queued',
      turns: 0,
      hold: { reason: 'filter_unsupported', detail: FILTERED },
    });
    expect(play.actionsOf('prepare_workspace')).toEqual([]);
    play.change({ unfiltered: null });
    expect(play.task).toMatchObject({ hold: null, state: 'running' });
  });

  test('leaves work alone that has begun', () => {
    const play = running();
    play.change({ unfiltered: FILTERED });
    expect(play.task).toMatchObject({ hold: null, state: 'running' });
  });
});

describe('a push that the forge refuses', () => {
  const SAYS =
    'refusing to allow a Personal Access Token to create or update workflow `.github/workflows/ci.yml` without `workflow` scope';
  const refused = (): Play => {
    const play = running();
    play.failing.set('push', [{ kind: 'publish_refused', detail: SAYS }]);
    return play.worked('c1');
  };

  test('is an answer: it is held in the forge’s words, gives its slot back, tells the issue and tries nothing more', () => {
    const play = refused();
    expect(play.task).toMatchObject({
      state: 'running',
      hold: { reason: 'publish_refused', detail: SAYS, until: null },
    });
    expect(occupiesSlot(play.task)).toBe(false);
    expect(statusText(play.task)).toContain('without `workflow` scope');
    expect([play.pending, play.actionsOf('push').length, play.task.pull]).toEqual([[], 1, null]);
    expect(play.wait(86_400_000).actionsOf('push')).toHaveLength(1);
  });

  test('resumed, it is pushed again without another turn', () => {
    const play = refused().ask('resume');
    expect(play.actionsOf('push')).toHaveLength(2);
    expect(play.task).toMatchObject({
      state: 'awaiting_critic',
      hold: null,
      turns: 1,
      published: { sha: 'c1' },
    });
  });

  test('resumed while nothing is free, it waits for a slot like any other', () => {
    const play = refused();
    play.world.slotsFull = true;
    expect(play.ask('resume').decide()).toMatchObject({ kind: 'rest', for: 'grant', grant: 'slot' });
    expect(play.change({ slotsFull: false }).task.state).toBe('awaiting_critic');
  });
});

describe('a pull request that the forge refuses to open', () => {
  const SAYS = 'GitHub Actions is not permitted to create or approve pull requests';

  test('is held like a push that it refuses, and resumed it is opened without another push', () => {
    const play = running();
    play.failing.set('ensure_pull', [{ kind: 'publish_refused', detail: SAYS }]);
    play.worked('c1');
    expect(play.task).toMatchObject({ state: 'running', hold: { reason: 'publish_refused', detail: SAYS } });
    expect([occupiesSlot(play.task), play.pending]).toEqual([false, []]);
    expect(play.wait(86_400_000).actionsOf('ensure_pull')).toHaveLength(1);

    play.ask('resume');
    expect([play.actionsOf('push').length, play.actionsOf('ensure_pull').length]).toEqual([1, 2]);
    expect(play.task).toMatchObject({ state: 'awaiting_critic', hold: null, turns: 1 });
  });
});

describe('a workspace that had to be made anew for a revision', () => {
  const failed = { kind: 'workspace_failed', problem: 'hook afterCreate failed (exit 3)' } as const;
  const remade = (times: number): Play => {
    const play = awaiting();
    play.failing.set('prepare_workspace', Array(times).fill(failed));
    return play.critic(changes());
  };

  test('gets no turn until its hook has succeeded', () => {
    const play = remade(1);
    expect(play.task).toMatchObject({
      state: 'revising',
      hold: { reason: 'retry_backoff', detail: 'hook afterCreate failed (exit 3)' },
    });
    expect(play.run()).toBeNull();
    play.wait(play.task.hold!.until! - play.now);
    expect(play.actionsOf('prepare_workspace')).toHaveLength(3);
    expect(play.run()).toMatchObject({ kind: 'turn', prompt: 'revise', turn: 2 });
  });

  test('ends the task with the problem when it never succeeds', () => {
    const play = remade(MAX_WORKSPACE_FAILURES);
    while (play.task.hold) play.wait(play.task.hold.until! - play.now);
    expect(play.task).toMatchObject({ state: 'abandoned', reason: 'workspace_failed', why: failed.problem });
    expect(play.actionsOf('turn').filter(({ role }) => role === 'coder')).toHaveLength(1);
  });

  test('waits without end for what can’t be fetched: with backoff, then for a person, and is never given up', () => {
    const unfetched = {
      ...failed,
      problem: 'the submodule lib could not be fetched',
      unfetched: true,
    } as const;
    const play = awaiting();
    play.failing.set('prepare_workspace', Array(MAX_FETCH_FAILURES + 1).fill(unfetched));
    play.critic(changes());
    while (play.task.hold?.reason === 'retry_backoff') play.wait(play.task.hold.until! - play.now);
    const held = { reason: 'fetch_failed', detail: unfetched.problem, until: null };
    expect(play.task).toMatchObject({ state: 'revising', hold: held });
    play.ask('resume');
    expect(play.task, 'tried once more').toMatchObject({ state: 'revising', hold: held });
    play.ask('resume');
    expect(play.run()).toMatchObject({ kind: 'turn', prompt: 'revise', turn: 2 });
    expect(play.task.streaks.workspace).toBe(0);
  });

  test('is not confused with a work tree that could not be saved', () => {
    const play = running().turn().answer({ kind: 'refused', problem: 'nested repository' });
    expect(play.run()).toMatchObject({ kind: 'turn', turn: 2 });
  });
});

describe('a hold whose cause is in WORKFLOW.md ends when that is another', () => {
  const unusable = (): Play => {
    const play = awaiting();
    while (play.task.hold?.reason !== 'critic_unusable') {
      if (play.task.hold) play.wait(300_000);
      else play.turn('finished', { structured: { nonsense: true } });
    }
    return play;
  };
  const ANOTHER = { ...testPolicy().agents.coder, kind: 'command', command: 'another' };
  const WITH_CA = { ...testPolicy().gate.env, pass: ['NODE_EXTRA_CA_CERTS'] };
  const refused = (): Play => landing().answer({ kind: 'merge_refused', detail: 'no squash here' });

  test.each<[HoldReason, () => Play, PolicyChange, PolicyChange, string]>([
    [
      'gate_could_not_run',
      () => running().worked('c1', 'could_not_run'),
      { maxTurns: 7 },
      { gate: { commands: ['npm run check'] } },
      'gate',
    ],
    [
      'gate_could_not_run',
      () => running().worked('c1', 'could_not_run'),
      { hooks: { env: WITH_CA } },
      { gate: { env: WITH_CA } },
      'gate',
    ],
    [
      'gate_could_not_run',
      () => merging().candidate().gate('could_not_run'),
      { maxTurns: 7 },
      { gate: { timeoutMs: 7 } },
      'build_candidate',
    ],
    [
      'gate_empty',
      () =>
        running({ gate: { commands: [] } })
          .turn()
          .checkpoint('c1'),
      {},
      { gate: { commands: ['x'] } },
      'gate',
    ],
    ['critic_unusable', unusable, { gate: { timeoutMs: 7 } }, { agents: { critic: ANOTHER } }, 'turn'],
    ['merge_refused', refused, { maxTurns: 7 }, { merge: { method: 'rebase' } }, 'build_candidate'],
    [
      'needs_approval',
      () => awaiting({ critic: { enabled: false } }),
      { maxTurns: 7 },
      { critic: { enabled: true } },
      'turn',
    ],
    [
      'needs_merge',
      () => awaiting({ merge: { enabled: false } }).critic(APPROVE),
      { maxTurns: 7 },
      { merge: { enabled: true } },
      'build_candidate',
    ],
  ])('%s', (reason, start, other, mended, next) => {
    const play = start();
    expect(play.task.hold?.reason).toBe(reason);
    expect(play.configure(other).task.hold?.reason).toBe(reason);
    play.configure(mended);
    expect(play.task.hold).toBeNull();
    expect(play.pending[0]?.action.kind).toBe(next);
  });

  test('a critic with other settings has all its chances again', () => {
    const play = unusable().configure({ agents: { critic: ANOTHER } });
    expect(play.task.roles.critic).toMatchObject({ unusable: 0, releasedAt: null });
    expect(play.turn('finished', { structured: {} }).run()).toMatchObject({ role: 'critic' });
  });

  test('an account that nobody is asked by any more holds nobody', () => {
    const until = 86_400_000;
    const play = running()
      .turn('failed', { code: 'usage_limit', message: 'used up', retryAt: until })
      .checkpoint('c1');
    expect(play.task.hold).toMatchObject({ reason: 'provider_limit' });
    expect(play.configure({ maxTurns: 7 }).task.hold).not.toBeNull();
    play.configure({ agents: { coder: ANOTHER } });
    expect(play.task.hold).toBeNull();
  });
});

describe('what a person is told to do can be done', () => {
  /** The commands of an advice, in their order. */
  const commandsIn = (advice: string): string[] =>
    [...advice.matchAll(/`forge-loop ((?:task |issue |findings )?\w+)/g)].map(([, command]) => command!);
  const ASKS: Record<string, RequestKind> = {
    resume: 'resume',
    'task approve': 'approve',
    'task abandon': 'abandon',
    'task retry': 'retry',
    'findings wontfix': 'wontfix',
  };

  const held = (reason: HoldReason): Play => {
    if (reason === 'spec_proposed') {
      const play = new Play({ spec: { expand: 'propose' } });
      play.world.issue = { ...play.world.issue!, title: 'Token revocation', body: 'Customers ask for it.' };
      return play.claim().specifier(EXPAND);
    }
    const play = awaiting({ critic: { enabled: false } });
    play.commit([event('hold_set', { reason, detail: 'so it is', until: null })], []);
    return play;
  };

  test.each(Object.keys(HOLDS) as HoldReason[])('held: %s', (reason) => {
    const play = held(reason);
    expect(play.task.hold?.reason).toBe(reason);
    // What is offered instead of something else is tried by itself.
    const choices = HOLDS[reason].advice.split(/; or |, else |, or /).map(commandsIn);
    for (const commands of choices) {
      const mine = held(reason);
      for (const command of commands) {
        if (command === 'issue ready') continue;
        const kind = ASKS[command];
        expect(kind, command).toBeDefined();
        expect(refusal(mine.task, kind!, mine.world.requests), command).toBeNull();
        if (kind !== 'retry') mine.ask(kind!);
        expect(mine.world.requests, `${command} is answered`).toEqual([]);
        if (kind === 'resume') expect(mine.of('hold_cleared')).toMatchObject([{ reason, by: 'ann' }]);
      }
    }
  });

  test('where `resume` is the advice it is enough', () => {
    const told = Object.entries(HOLDS).filter(([, { advice }]) => commandsIn(advice).includes('resume'));
    for (const [reason, { resumes }] of told) expect(resumes, reason).toBe(true);
  });

  test.each(Object.keys(REASONS) as (keyof typeof REASONS)[])('ended: %s', (reason) => {
    const { task } = running().ask('cancel');
    for (const command of commandsIn(REASONS[reason].advice)) {
      if (['doctor', 'task restart', 'findings wontfix'].includes(command)) continue;
      const kind = ASKS[command];
      expect(kind, command).toBeDefined();
      expect(refusal({ ...task, reason }, kind!), command).toBeNull();
    }
  });
});
