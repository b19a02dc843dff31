/**
 * A repository after many nights, made without an agent: tasks in every state, with turns, costs, findings, logs and a real change.
 * Titles, names and texts are of the kind that breaks pages: hostile, long, right to left.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Context } from '../../../src/context.ts';
import type { Finding } from '../../../src/core/change/findings.ts';
import { type Checkpoint, event, type HoldReason, type NewEvent } from '../../../src/core/event.ts';
import { contractOf } from '../../../src/core/issue/criteria.ts';
import type { Reason, State } from '../../../src/core/machine.ts';
import type { Phase } from '../../../src/core/plan/phase.ts';
import { openContext } from '../../../src/main.ts';
import { perform } from '../../../src/operations.ts';
import { ownerIdentity } from '../../../src/process/owner.ts';
import { INTAKE_LEASE, runnerLease, type Store, taskLease } from '../../../src/store/store.ts';

const OWNER = ownerIdentity();
const STATE = mkdtempSync(join(tmpdir(), 'forge-state-'));
process.on('exit', () => rmSync(STATE, { recursive: true, force: true }));
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** If any of it runs, loads or is drawn as an element, the tests see it. */
export const HOSTILE =
  '<img src=x onerror="alert(1)"><script>alert(2)</script>"\'></textarea>{{constructor}}';
export const HOSTILE_FILE = 'src/<img src=x onerror=alert(3)> "q" \u202etxt.js';
const LONG =
  'Make the importer accept files with a byte order mark, blank lines, quoted separators and numbers of every locale, and say which line was wrong';
const RIGHT_TO_LEFT = 'إضافة دالة لتنظيف العناوين 🚀 וגם בעברית';

/** What people and agents wrote in this world. */
interface Words {
  titles: string[];
  /** Of the task at work. */
  title: string;
  long: string;
  request: string;
  criterion: string;
  code: string;
  file: string;
  evidence: [string, string, string];
  finding: [string, string];
  says: string;
  doing: string;
  tool: [string, string];
  tests: (at: number) => string;
  milestones: string[];
}

const HOSTILE_WORDS: Words = {
  titles: ['Add slug()', LONG, 'Retry on 429', RIGHT_TO_LEFT, HOSTILE],
  title: HOSTILE,
  long: LONG,
  request: HOSTILE,
  criterion: HOSTILE,
  code: HOSTILE,
  file: HOSTILE_FILE,
  evidence: [`met: ${HOSTILE}`, `unmet: ${HOSTILE}`, `unclear: ${HOSTILE}`],
  finding: [HOSTILE, HOSTILE],
  says: HOSTILE,
  doing: `editing src/session.ts ${HOSTILE}`,
  tool: [HOSTILE, HOSTILE],
  tests: (at) => `✓ test ${at} ${RIGHT_TO_LEFT}`,
  milestones: ['Read them', LONG, HOSTILE],
};

/** As in a repository that is well kept: for pictures. */
export const PLAIN_WORDS: Words = {
  titles: [
    'Add slug()',
    'Import CSV with quoted separators',
    'Retry on 429',
    'Show totals by month',
    'Sort names as people do',
  ],
  title: 'Session expiry',
  long: 'Say which line of a file was wrong',
  request: 'A session ends after `ttl` seconds without a request.',
  criterion: 'a session that has ended asks to sign in',
  code: '// A session ends by itself.',
  file: 'src/expiry.ts',
  evidence: ['src/session.test.ts says so', 'nothing asks to sign in', 'no benchmark'],
  finding: ['`now + ttl` mixes milliseconds and seconds', 'A session of a minute ends after 60 ms.'],
  says: 'It ends too early: the clock is in milliseconds. I correct that and run the tests.',
  doing: 'editing src/session.ts',
  tool: ['Bash', 'npm test'],
  tests: (at) => `✓ session ${at} ends after its time`,
  milestones: ['Read them', 'Say which line was wrong', 'Write the guide'],
};

let words = HOSTILE_WORDS;

export interface FullWorld {
  root: string;
  context: Context;
  /** The task with a change, findings and a transcript. */
  task: string;
  /** The task of a plan with a milestone that is done and one at work. */
  plan: string;
  close(): Promise<void>;
}

export async function fullWorld({
  ended = 25,
  isAlive = true,
  said = HOSTILE_WORDS,
} = {}): Promise<FullWorld> {
  words = said;
  const { root, git } = scratch();
  const base = git('rev-parse', 'HEAD');
  const head = change(root, git);
  const context = await openContext(root);
  const store = await context.writing();
  const made = await maker(context, store, isAlive);
  if (isAlive) await store.acquireLease(runnerLease(1), OWNER, Date.now(), HOUR, () => true);

  for (let at = 0; at < ended; at++) await made.ended(at);
  await made.held('protected_paths', 'touches WORKFLOW.md, which is protected', 'Rotate signing keys');
  await made.held('body_edited', 'issue text was edited after it was made ready', 'Import CSV');
  await made.held('gate_could_not_run', '`npm test` was not found (exit 127)', words.titles[4]!);
  await made.live('awaiting_critic', 'Retry on 429');
  await made.live('merging', 'Add an index');
  await made.live('revising', words.titles[3]!);
  const task = await made.live('running', words.title, { base, head });
  const plan = await made.plan();
  for (const title of ['Docs for export', words.long, words.titles[3]!])
    await perform(context, 'issue.new', { title, body: 'It is done when `x` prints 1.', ready: true });
  await perform(context, 'issue.new', { title: words.titles[4], body: words.request });
  return opened(root, context, task, plan);
}

/** As it is right after `init`. */
export async function emptyWorld(): Promise<FullWorld> {
  const { root } = scratch();
  return opened(root, await openContext(root), '', '');
}

const opened = (root: string, context: Context, task: string, plan: string): FullWorld => ({
  root,
  context,
  task,
  plan,
  async close() {
    await context.close();
    rmSync(root, { recursive: true, force: true });
  },
});

function scratch(): { root: string; git(...args: string[]): string } {
  const root = mkdtempSync(join(tmpdir(), 'forge-full-'));
  process.env.XDG_STATE_HOME = STATE;
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Eva');
  git('config', 'user.email', 'eva@example.com');
  const settings = 'agent: { kind: claude }\ngate: { commands: ["npm test"] }\nbudget: { day: { usd: 60 } }';
  writeFileSync(join(root, 'WORKFLOW.md'), `---\n${settings}\n---\n{{ issue.body }}\n`);
  git('add', '.');
  git('commit', '-qm', 'start');
  return { root, git };
}

/** Five thousand lines in one file, a name that is an attack, a file that is gone. */
function change(root: string, git: (...args: string[]) => string): string {
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  git('switch', '-qc', 'loop/work');
  write(
    'src/session.ts',
    `${words.code}\nexport const ttl = 60;\nexport const keep = (now: number) => now + ttl;\n`,
  );
  write(words.file, `${words.code}\n`);
  write('src/table.ts', Array.from({ length: 5000 }, (_, at) => `export const row${at} = ${at};`).join('\n'));
  git('add', '.');
  git('commit', '-qm', 'work');
  const head = git('rev-parse', 'HEAD');
  git('switch', '-q', 'main');
  return head;
}

async function maker(context: Context, store: Store, isAlive: boolean) {
  const owner = isAlive ? OWNER : 'gone';
  const places = await context.places();
  let next = 1;
  const now = Date.now();

  async function born(title: string, at: number) {
    const body = `${words.request}\n\n- [ ] \`slug('a b')\` returns \`'a-b'\`\n- [ ] ${words.criterion}\n- [ ] it stays fast\n`;
    const { number } = await perform(context, 'issue.new', { title, body, ready: true });
    const id = `${(next++).toString(16).padStart(4, '0')}face`;
    const contract = contractOf((await (await context.forge()).issue(number))!);
    const branch = `loop/${number}-slug`;
    const created = event('task_created', {
      kind: 'issue',
      issue: number,
      attempt: 1,
      slug: 'slug',
      branch,
      contract,
    });
    const lease = (await store.acquireLease(INTAKE_LEASE, 'test', now, MINUTE, () => true))!;
    const stored = (await store.claim({
      lease,
      taskId: id,
      issue: number,
      events: [created],
      actions: [],
      at,
    }))!;
    await store.releaseLease(lease);
    let { version } = stored;
    let clock = at;
    const mine = (await store.acquireLease(taskLease(id), owner, now, HOUR, () => true))!;
    const commit = async (afterMs: number, events: NewEvent[], findings: Finding[] = []): Promise<void> => {
      clock += afterMs;
      const done = { lease: mine, taskId: id, expectedVersion: version, events, findings, at: clock };
      version = (await store.commit(done)).version;
    };
    const spend = (turn: number, role: 'coder' | 'critic', costUsd: number | null): Promise<void> =>
      store.addUsage(mine, [
        {
          ...{
            task: id,
            turn,
            role,
            sessionId: 'abcdef0123',
            model: role === 'coder' ? 'opus-5' : 'gpt-6-codex',
          },
          ...{ key: `${id} ${role} ${turn}`, at: clock, costUsd, input: 2400, output: 1800 },
          ...{ cacheRead: 64_000, cacheWrite: 3000, reasoning: 400 },
        },
      ]);
    return { id, number, commit, spend, release: () => store.releaseLease(mine) };
  }

  type Born = Awaited<ReturnType<typeof born>>;

  async function worked(task: Born, turns: number): Promise<void> {
    await task.commit(4000, [
      moved('queued', 'dispatched'),
      event('pull_ensured', { pull: task.number, headSha: 'a'.repeat(40) }),
    ]);
    await task.commit(6000, [moved('dispatched', 'running')]);
    for (let turn = 1; turn <= turns; turn++) {
      await task.commit(1000, [started('coder', turn)]);
      await task.spend(turn, 'coder', turn === 3 ? null : 0.31);
      await task.commit(4 * MINUTE, [completed('coder', turn), checkpointed('a'.repeat(40), 'd'.repeat(40))]);
      await task.commit(90_000, [gate(turn === turns ? 'pass' : 'fail')]);
    }
    await task.commit(2000, [moved('running', 'awaiting_critic'), started('critic', 1)]);
    await task.spend(1, 'critic', 0.12);
    await task.commit(70_000, [completed('critic', 1), verdict('REQUEST_CHANGES', 1)]);
  }

  return {
    async ended(at: number): Promise<void> {
      const { titles } = words;
      const task = await born(titles[at % titles.length]!, now - HOUR - at * 37 * MINUTE);
      await worked(task, 1 + (at % 3));
      const reasons: Reason[] = ['max_critic_rounds', 'no_progress', 'budget_exhausted'];
      if (at % 5 === 3)
        await task.commit(5000, [moved('awaiting_critic', 'abandoned', reasons[at % reasons.length]!)]);
      else {
        await task.commit(5000, [moved('awaiting_critic', 'merging'), verdict('APPROVE', 2)]);
        const sha = (at + 1).toString(16).padStart(40, 'c0ffee');
        await task.commit(30_000, [event('merge_observed', { sha, by: 'loop' }), moved('merging', 'merged')]);
      }
      await task.release();
      const forge = await context.forge();
      await forge.setState(task.number, 'closed');
    },
    async plan(): Promise<string> {
      const { task: id } = await perform(context, 'loop.start', { text: plan(), name: 'import-files' });
      const lease = (await store.acquireLease(taskLease(id), owner, now, HOUR, () => true))!;
      const head = { sha: 'a'.repeat(40), tree: 'b'.repeat(40) };
      const enters = (phase: Phase, milestone: number): NewEvent =>
        event('phase_entered', { phase, milestone, isFresh: false });
      const done = { done: `Every file is read. ${words.says}`, deviations: [], followUps: [] };
      const course = [
        moved('queued', 'dispatched'),
        moved('dispatched', 'running'),
        enters('auditing', 0),
        audit(1, 0, head, false),
        enters('coding', 0),
        enters('auditing', 0),
        audit(2, 0, head, true),
        event('milestone_completed', { milestone: 0, title: 'Read', summary: done, commit: head.sha, head }),
        enters('coding', 1),
      ];
      let { version } = (await store.task(id))!;
      let at = now - HOUR;
      for (const one of course) {
        at += MINUTE;
        const change = { lease, taskId: id, expectedVersion: version, events: [one], findings: [], at };
        version = (await store.commit(change)).version;
      }
      return id;
    },
    async held(reason: HoldReason, detail: string, title: string): Promise<void> {
      const task = await born(title, now - 3 * HOUR);
      await worked(task, 2);
      await task.commit(
        1000,
        [event('hold_set', { reason, detail, until: null })],
        [finding(task.id, 'a'.repeat(40), 'wontfix')],
      );
    },
    async live(
      state: State,
      title: string,
      work: { base: string; head: string } | null = null,
    ): Promise<string> {
      const task = await born(title, now - 24 * MINUTE);
      if (state === 'running') await task.commit(4000, [moved('queued', 'dispatched')]);
      if (state === 'running') await task.commit(5000, [moved('dispatched', 'running')]);
      else await worked(task, 2);
      if (work) {
        await task.commit(1000, [
          checkpointed(work.head, work.base),
          event('pull_ensured', { pull: task.number, headSha: work.head }),
        ]);
        const met = ['met', 'unmet', 'unclear'] as const;
        const criteria = met.map((one, at) => ({
          id: `c${at + 1}`,
          criterion: '',
          met: one,
          evidence: words.evidence[at]!,
        }));
        const judged = {
          headSha: work.head,
          verdict: 'REQUEST_CHANGES' as const,
          by: 'critic',
          round: 1,
          blocking: [],
          criteria,
        };
        await task.commit(MINUTE, [event('verdict_recorded', judged)], [finding(task.id, work.head)]);
      }
      if (state === 'merging') await task.commit(1000, [moved('awaiting_critic', 'merging')]);
      if (state === 'revising' || state === 'running') {
        if (state === 'revising') await task.commit(1000, [moved('awaiting_critic', 'revising')]);
        await task.commit(MINUTE, [...(work ? [reached()] : []), started('coder', 4)]);
        await task.spend(4, 'coder', 0.4);
        const log = places.log(task.id, 'coder-4-abcdef01.log');
        mkdirSync(dirname(log), { recursive: true });
        writeFileSync(
          log,
          `${Array.from({ length: 20_000 }, (_, at) => `${at} ${at % 97 === 0 ? words.says : 'reading src/session.ts'}`).join('\n')}\n`,
        );
        if (work) writeFileSync(places.log(task.id, TRANSCRIPT), told());
        const doing = { role: 'coder', turn: 4, at: now, doing: words.doing };
        writeFileSync(places.log(task.id, 'doing.json'), JSON.stringify(doing));
      }
      return task.id;
    },
  };
}

/** Of the task at work: what its agent told, as the loop keeps it. */
export const TRANSCRIPT = 'coder-4-abcdef01.transcript.jsonl';

/** A turn of some hundred steps, with what breaks pages in each field. */
function told(): string {
  const step = (at: number): object[] => [
    { kind: 'said', text: `I look at part ${at} of the table.` },
    { kind: 'tool', tool: 'Bash', detail: `sed -n ${at}p src/table.ts`, call: `c${at}` },
    {
      kind: 'tool_over',
      call: `c${at}`,
      result: 'r',
      output: `export const row${at} = ${at};\n${words.code}`,
    },
  ];
  const end = [
    { kind: 'tool', tool: words.tool[0], detail: words.tool[1], call: 'd' },
    {
      kind: 'tool_over',
      call: 'd',
      result: 'r',
      output: Array.from({ length: 400 }, (_, at) => words.tests(at)).join('\n'),
    },
    { kind: 'refused', code: 'publish', tool: 'Bash', detail: 'git push', why: 'the loop publishes' },
    { kind: 'said', text: `Now the session.\n\n${words.says}` },
  ];
  return [...Array.from({ length: 150 }, (_, at) => step(at)).flat(), ...end]
    .map((one, at) => `${JSON.stringify({ at, ...one })}\n`)
    .join('');
}

const moved = (from: State, to: State, reason: Reason | null = null): NewEvent =>
  event('worker_state_transition', {
    ...{ from, to, reason, sessionId: null, turn: 0, headSha: null },
    why: reason === null ? '' : `the critic asked for changes 3 times: "${words.finding[0]}"`,
  });

const plan = (): string =>
  [
    '# Import files of every kind',
    '',
    'Loop Name: import-files',
    '',
    '<!-- forge-plan:start -->',
    'Files of people are imported as they are.',
    ...words.milestones.flatMap((title) => ['<!-- forge-section -->', `## ${title}`, '', 'All of it.']),
    '<!-- forge-plan:end -->',
  ].join('\n');

const audit = (number: number, milestone: number, head: Checkpoint, isClean: boolean): NewEvent =>
  event('audit_recorded', {
    ...{
      audit: number,
      phase: 'auditing',
      milestone,
      head,
      isClean,
      open: [],
      summary: null,
      amendments: [],
    },
    says: isClean ? 'Clean: all of it is there.' : `One bug: ${words.finding[0]}`,
  });

const reached = (): NewEvent =>
  event('network_used', {
    by: 'turn 4 of the coder',
    requests: [
      {
        ...{ host: 'registry.npmjs.org', port: 443, verdict: 'allowed', times: 12 },
        ...{ sentBytes: 9000, receivedBytes: 4_200_000 },
      },
      {
        ...{ host: `${'a'.repeat(60)}.example.com`, port: 8443, verdict: 'refused', times: 1 },
        ...{ sentBytes: 0, receivedBytes: 0 },
      },
    ],
  });

const checkpointed = (sha: string, baseSha: string): NewEvent =>
  event('checkpointed', { head: { sha, tree: 'b'.repeat(40) }, baseSha, changed: true, empty: false });

const started = (role: 'coder' | 'critic', turn: number): NewEvent =>
  event('turn_started', {
    turn,
    role,
    sessionId: 'abcdef0123',
    prompt: role === 'coder' ? 'task' : 'critic',
  } as never);

const completed = (role: 'coder' | 'critic', turn: number): NewEvent =>
  event('turn_completed', {
    ...{ turn, role, sessionId: 'abcdef0123', status: 'finished', code: null, message: '', retryAt: null },
    ...{ durationMs: 60_000, usage: 'known' },
  });

const gate = (outcome: 'pass' | 'fail'): NewEvent =>
  event('gate_completed', {
    scope: 'work',
    evidence: {
      ...{ tree: 'b'.repeat(40), outcome, at: 1 },
      results: [
        {
          command: 'npm test',
          outcome,
          exitCode: outcome === 'pass' ? 0 : 1,
          problem: null,
          tail: words.says,
          logPath: null,
          durationMs: 80_000,
        },
      ],
    },
  });

const verdict = (said: 'APPROVE' | 'REQUEST_CHANGES', round: number): NewEvent =>
  event('verdict_recorded', {
    ...{ headSha: 'a'.repeat(40), verdict: said, by: 'critic', round, blocking: [], criteria: [] },
  });

const finding = (task: string, sha: string, status: Finding['status'] = 'open'): Finding => ({
  ...{ id: `${task}.1`, task, source: 'critic', status, severity: 'sev1', category: 'correctness' },
  ...{
    file: 'src/session.ts',
    line: 2,
    message: words.finding[0],
    scenario: words.finding[1],
    suggestion: 'Use `ttl` in ms.',
  },
  ...{ rounds: [1], history: [{ status, by: 'critic', at: 1, sha, why: null }] },
});
