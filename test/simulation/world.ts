/**
 * The world outside the runners: repository, issues, pull requests, workspaces, sessions, processes. It outlives every
 * crash, and it watches: what must never happen is noticed here, independently of what the loop believes.
 */
import type { FailureCode, UnheardEnd, UsageReport } from '../../src/agent/agent.ts';
import type { Check, Remark } from '../../src/core/change/remark.ts';
import { type Frontier, NO_FRONTIER } from '../../src/core/direction/frontier.ts';
import { textHash } from '../../src/core/issue/text-hash.ts';
import type { BootClock } from '../../src/core/lease.ts';
import type { Role } from '../../src/core/role.ts';
import type { Message } from '../../src/core/tell/notify.ts';
import type { Issue, Pull } from '../../src/forge/forge.ts';
import type { Store } from '../../src/store/store.ts';
import { memoryStore } from '../support/memory-store.ts';
import type { Random } from './random.ts';
import { type SpecifierWord, TEXTS, type Wording } from './readers.ts';
import { createRepository, type SimRepository, type Tree } from './repository.ts';
import type { Timeline } from './time.ts';

/** What judges the work: the script of the gate, and a test. Whoever changes them decides what a pass means. */
export const JUDGING = { 'ci/test.sh': 'good gate', 'test/one.test.js': "good\ntest('one', run);" };

export interface SimPull extends Pull {
  marker: string;
  body: string;
  baseSha: string;
}

export interface SimWorkspace {
  task: string;
  branch: string;
  base: string;
  head: string;
  files: Tree;
  mergeParent: string | null;
}

export interface SimProcess {
  pid: number;
  task: string;
  purpose: string;
  cwd: string;
  kill(): void;
}

export interface FinishedTurn extends UnheardEnd {
  task: string;
  role: Role;
  turn: number;
  sessionId: string;
  used: UsageReport[];
  /** The last event before its end, whatever clocks say. */
  after: number;
}

export interface World {
  time: Timeline;
  random: Random;
  store: Store;
  repository: SimRepository;
  issues: Map<number, Issue>;
  comments: { issue: number; marker: string; body: string }[];
  pulls: SimPull[];
  remarks: Remark[];
  checks: Check[];
  replies: { to: string; marker: string; body: string }[];
  /** Heads whose check is red, and since when. */
  redSince: Map<string, number>;
  /** What was in the prompts of coder turns that finished. */
  heard: string[];
  workspaces: Map<string, SimWorkspace>;
  /** Work trees that somebody deleted, each with the last event before it. */
  losses: { task: string; after: number }[];
  exports: Map<string, Tree>;
  sessions: Map<string, { messages: number; cwd: string }>;
  processes: Map<number, SimProcess>;
  /** Turns that came to their end, whoever heard it; and the texts kept beside them. */
  finished: FinishedTurn[];
  texts: Map<string, string>;
  deadOwners: Set<string>;
  /** Who is told when a runner dies, and which. */
  onDeath: ((owner: string) => void)[];
  /** Told by the world itself, not by the loop's records. */
  approvedHeads: Set<string>;
  passedTrees: Set<string>;
  testedTrees: Set<string>;
  /** Trees that were green wherever the gate ran. */
  greenTrees: Set<string>;
  /** How long a gate of this task runs. */
  gateMs(task: string): number;
  /** What is kept of setups. */
  setups: Set<string>;
  /** What commands last printed, by their log. */
  output: Map<string, string>;
  /** Whether the gate names the tests that fail. */
  reportsTests: boolean;
  /** `gate.preexisting` of the story. */
  allowsRedBefore: boolean;
  landings: { pull: number; issue: number | null; at: number; candidate: string; untested: boolean }[];
  /** How candidates land: as they are, as a commit of the forge's own, or by its merge queue; and who is in that. */
  lands: 'itself' | 'anew' | 'queue';
  queue: Map<number, { tested: string }>;
  /** Every commit that was built to land. */
  candidates: Set<string>;
  /** The forge takes nothing that no person has approved. */
  wantsReview: boolean;
  closedAt: Map<number, number>;
  /** Deploys and hooks that really ran, by what they were told. */
  deploys: { id: string; sha: string }[];
  hooksRun: { task: string; sha: string }[];
  /** How often a person asked for another try of a deploy. */
  deploysAskedFor: number;
  /** What channels were sent, from which event on, and when a crash, a lost answer or a standstill may have sent it again. */
  messages: { channel: string; message: Message; at: number }[];
  toldFrom: number | null;
  mishaps: number[];
  /** How each issue was worded, what its specifier said last, and the tasks whose proposal a person agreed to. */
  wordings: Map<number, Wording>;
  lastWord: Map<number, SpecifierWord>;
  agreedTo: Set<string>;
  /** Contents that a forced push took out of trunk. */
  takenBack: Set<string>;
  /** `unseen` blocks a landing although nothing can be seen before. */
  dirtyCheckout: 'no' | 'seen' | 'unseen';
  blockedLandings: Map<number, number>;
  wasSuspended: boolean;
  /** How every turn of everybody fails now. */
  outage: FailureCode | null;
  /** What the direction says now: people edit it between any two looks. */
  readonly frontier: Frontier;
  /** One runner at a time, and nobody meddles. */
  isCalm: boolean;
  /** `recovery.mode: manual`: who was being tested when its runner died stands beside the line. */
  isManual: boolean;
  violations: string[];
  violate(what: string): void;
  trunk(): string;
  startProcess(process: Omit<SimProcess, 'pid'>): SimProcess;
}

/** All machines share the database of one, and so its boot. */
export const bootClockOf = ({ now }: Timeline): BootClock => ({ id: 'boot', now });

const DIRECTIONS: readonly Frontier[] = [
  NO_FRONTIER,
  { ...NO_FRONTIER, goal: 'Finish.', nextExpansion: ['returns'], hotFiles: ['f1.txt'] },
  {
    ...NO_FRONTIER,
    currentProblem: 'customers ask',
    rejected: [{ approach: 'returns', why: null }],
  },
];

export function createWorld(time: Timeline, random: Random): World {
  const repository = createRepository();
  const root = repository.commit({ 'README.md': 'hello', ...JUDGING }, [], 'root');
  repository.refs.set('main', root.sha);
  const violations: string[] = [];
  let nextPid = 100;
  const directing = random.fork('direction');
  let frontier = NO_FRONTIER;
  const world: World = {
    time,
    random,
    store: memoryStore(bootClockOf(time)),
    repository,
    issues: new Map(),
    comments: [],
    pulls: [],
    remarks: [],
    checks: [],
    replies: [],
    redSince: new Map(),
    heard: [],
    workspaces: new Map(),
    losses: [],
    exports: new Map(),
    sessions: new Map(),
    processes: new Map(),
    finished: [],
    texts: new Map(),
    deadOwners: new Set(),
    onDeath: [],
    approvedHeads: new Set(),
    passedTrees: new Set(),
    testedTrees: new Set(),
    greenTrees: new Set(),
    output: new Map(),
    reportsTests: false,
    gateMs: () => 500 + random.int(3000),
    setups: new Set(),
    allowsRedBefore: false,
    landings: [],
    lands: 'itself',
    queue: new Map(),
    candidates: new Set(),
    wantsReview: false,
    closedAt: new Map(),
    deploys: [],
    hooksRun: [],
    deploysAskedFor: 0,
    messages: [],
    toldFrom: null,
    mishaps: [],
    wordings: new Map(),
    lastWord: new Map(),
    agreedTo: new Set(),
    takenBack: new Set(),
    dirtyCheckout: 'no',
    blockedLandings: new Map(),
    wasSuspended: false,
    outage: null,
    get frontier() {
      if (directing.chance(0.2)) frontier = directing.pick(DIRECTIONS);
      return frontier;
    },
    isCalm: false,
    isManual: false,
    violations,
    violate: (what) => violations.push(`${time.now()}: ${what}`),
    trunk: () => repository.refs.get('main')!,
    startProcess(process) {
      const started = { ...process, pid: nextPid++ };
      const rival = [...world.processes.values()].find(
        (other) => other.cwd === process.cwd && isAgent(other) && isAgent(started),
      );
      if (rival)
        world.violate(`two agents at once in ${process.cwd}: ${rival.purpose} and ${process.purpose}`);
      world.processes.set(started.pid, started);
      return started;
    },
  };
  return world;
}

const isAgent = (process: SimProcess | Omit<SimProcess, 'pid'>): boolean =>
  process.purpose.startsWith('agent');

/** Some tasks have gates that others overtake. */
export function mixGates(world: World, slowShare = 0.5): void {
  const slow = new Map<string, boolean>();
  world.gateMs = (task) => {
    if (!slow.has(task)) slow.set(task, world.random.chance(slowShare));
    return slow.get(task) ? 60_000 : 1000;
  };
}

/** Criteria are listed only where the wording is sure: they would make any other sure, too. */
export function addIssue(world: World, number: number, wording: Wording, listed: string[] = []): void {
  const { title, body: said } = TEXTS[wording](number);
  const body = wording === 'sure' ? [said, ...listed].join('\n') : said;
  world.wordings.set(number, wording);
  const pinned = textHash({ title, body });
  world.issues.set(number, {
    number,
    title,
    body,
    textHash: pinned,
    state: 'open',
    labels: ['loop:ready'],
    priority: number % 3 === 0 ? 1 : null,
    blockedBy: [],
    readyHash: pinned,
    readyAt: world.time.now(),
    createdAt: number,
    updatedAt: number,
  });
}
