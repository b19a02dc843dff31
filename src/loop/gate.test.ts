/** The gate with real processes on real trees. What the outcomes mean is in core/gate.test.ts. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { running } from '../../test/support/play.ts';
import { merged, type PolicyChange, testPolicy } from '../../test/support/policy.ts';
import { BY_SHAPE } from '../core/access/redact.ts';
import { type Contract, event } from '../core/event.ts';
import { gateDigest } from '../core/gate.ts';
import { contractOf } from '../core/issue/criteria.ts';
import type { Ahead } from '../core/line/line.ts';
import type { Policy } from '../core/policy.ts';
import type { Task } from '../core/task.ts';
import { resultText } from '../core/words/gate-text.ts';
import { openGateway } from '../gateway/server.ts';
import { childEnvironment } from '../process/environment.ts';
import { hostProcesses } from '../process/host.ts';
import { noSandbox } from '../sandbox/none.ts';
import { INTAKE_LEASE, type Lease } from '../store/store.ts';
import { cloneWorkspaces } from '../workspace/clone.ts';
import { makeScene, removeTemplate, type Scene } from '../workspace/contract.ts';
import { watchTestReports } from '../workspace/test-reports.ts';
import { runGate } from './gate.ts';
import type { Ports } from './ports.ts';

let scene: Scene;
let ports: Ports;
let policy: Policy;
let lease: Lease;
let warned: string[];

beforeEach(async () => {
  scene = await makeScene(cloneWorkspaces);
  policy = testPolicy({ gate: { timeoutMs: 30_000 } });
  const store = memoryStore();
  lease = (await store.acquireLease('task:t1', 'me', 0, 1e15, () => false))!;
  warned = [];
  const at = (...parts: string[]): string => join(scene.dir, ...parts);
  const identity = { name: 'n', email: 'e' };
  ports = {
    store,
    workspaces: scene.workspaces,
    processes: hostProcesses(),
    sandbox: noSandbox(),
    gateway: openGateway({}),
    settings: { policy: () => policy },
    places: { home: () => at('home'), session: () => '', log: (task, name) => at('logs', task, name) },
    watchTestReports,
    prepareHome: async (home) => {
      mkdirSync(home, { recursive: true });
      return [];
    },
    childEnvironment: async (env, { task, home }) => childEnvironment({ home, mark: task, identity, env }),
    clock: { now: () => 5 },
    log: (level, message) => level === 'warn' && warned.push(message),
    repository: { treeOf: async () => 'the tree of trunk' },
    redact: BY_SHAPE,
  } satisfies Partial<{ [K in keyof Ports]: Partial<Ports[K]> | Ports[K] }> as unknown as Ports;
  mkdirSync(at('home'));
});
afterEach(() => scene.dispose());
afterAll(removeTemplate);

/** The gate on the operator's checkout, in the place of a workspace, compared with what is committed there. */
async function gate(
  commands: string[],
  change: PolicyChange['gate'] = {},
  body = 'b',
  scope: 'work' | 'candidate' = 'work',
  others: Ahead[] = [],
) {
  policy = merged(policy, { gate: { commands, ...change } });
  const task: Task = {
    ...running().task,
    workspace: scene.repo,
    contract: contractOf({ title: 't', body, textHash: 'h' }),
  };
  const base = scene.run(['rev-parse', 'main']).trim();
  const commit = scene.run(['rev-parse', 'HEAD']).trim();
  const action = { kind: 'gate' as const, scope, tree: 'tree', commit, base, with: others };
  const found = await runGate(ports, task, action, lease, new AbortController().signal);
  const { evidence, bases } = found!;
  const [first] = evidence.results;
  return { evidence, bases, first: first!, outcome: evidence.outcome };
}

const put = (path: string, text: string, mode = 0o644): void => {
  writeFileSync(join(scene.repo, path), text);
  chmodSync(join(scene.repo, path), mode);
};
const count = (name: string): string => `echo x >> '${join(scene.dir, name)}'`;
const counted = (name: string): number => readFileSync(join(scene.dir, name), 'utf8').length / 2;

describe('a command that can’t run', () => {
  const MISSING = '#!/no/such/interpreter\nexit 0\n';
  const TABLE: [string, string, () => void, RegExp][] = [
    ['no such program', 'no-such-program --now', () => {}, /not found \(exit 127\)/],
    [
      'no such program inside npm test',
      'npm test --silent',
      () => put('package.json', '{"scripts":{"test":"no-such-program"}}'),
      /not found/,
    ],
    [
      'no such program inside make',
      'make check',
      () => put('Makefile', 'check:\n\tno-such-program\n'),
      /make could not run/,
    ],
    ['a script without its interpreter', './check.sh', () => put('check.sh', MISSING, 0o755), /exit 12[67]/],
    ['a script that is not executable', './check.sh', () => put('check.sh', '#!/bin/sh\n'), /not executable/],
    ['a signal', 'kill -9 $$', () => {}, /killed by SIGKILL/],
    ['a timeout', 'sleep 60', () => {}, /timed out/],
  ];
  test.each(TABLE)(
    '%s: neither pass nor fail, and not run again',
    async (what, command, arrange, problem) => {
      arrange();
      const timeoutMs = what === 'a timeout' ? 4000 : 30_000;
      const { first, outcome, bases } = await gate([`${count('runs')}; ${command}`], { timeoutMs });
      expect(outcome).toBe('could_not_run');
      expect(first.problem).toMatch(problem);
      expect([counted('runs'), bases]).toEqual([1, []]);
      expect(warned, 'the operator’s log has it').toEqual([
        expect.stringContaining('the gate could not run'),
      ]);
    },
  );

  test('a setup that fails is one too, and nothing is run after it', async () => {
    const { outcome, evidence } = await gate(['true'], { setup: ['true', 'echo offline; exit 3'] });
    expect(outcome).toBe('could_not_run');
    expect(evidence.results).toMatchObject([
      { command: 'echo offline; exit 3', problem: 'setup failed: exit 3', tail: 'offline\n' },
    ]);
  });
});

describe('a red command', () => {
  test('is run once more; both runs are kept, with their logs', async () => {
    const { first, outcome } = await gate([`[ -e second ] || { touch second; echo unlucky; exit 4; }`]);
    expect(outcome).toBe('pass');
    expect(first).toMatchObject({ exitCode: 0, first: { outcome: 'fail', exitCode: 4, tail: 'unlucky\n' } });
    expect(readFileSync(first.first!.logPath!, 'utf8')).toContain('unlucky');
  });

  test('that could not run the second time could not run', async () => {
    const { outcome } = await gate([`[ ! -e second ] || exit 127; touch second; exit 1`]);
    expect(outcome).toBe('could_not_run');
  });

  test('is green on the base commit: its own red', async () => {
    put('src/a.txt', 'broken\n');
    const { first, outcome, bases } = await gate(['grep -x a src/a.txt'], { preexisting: 'allow_unchanged' });
    expect(outcome).toBe('fail');
    expect(first.base).toMatchObject({ outcome: 'pass', sha: scene.spec.baseSha });
    expect(bases).toHaveLength(1);
  });

  test('is red there too and looks the same: never allowed, since no report says which tests failed', async () => {
    const { first, outcome } = await gate(['pwd; echo "FAIL in $PWD/x after $$ ms"; exit 1'], {
      preexisting: 'allow_unchanged',
    });
    expect(outcome).toBe('fail');
    expect(first).toMatchObject({ outcome: 'fail', base: { outcome: 'fail', signature: first.signature } });
  });

  describe('by tests that a report names', () => {
    const TAP =
      'printf "TAP version 13\\nok 1 - good\\n"; n=1; for t in $(cat src/a.txt); do n=$((n+1)); echo "not ok $n - $t"; done; echo "1..$n"; exit 1';

    test.each([
      ['block', 'a\n', 'fail'],
      ['allow_unchanged', 'a\n', 'pass'],
      ['allow_unchanged', 'a b\n', 'fail'],
      ['allow_unchanged', 'b\n', 'fail'],
    ] as const)('TAP, under %s with %j failing here: %s', async (preexisting, here, whole) => {
      put('src/a.txt', here);
      const { first, outcome } = await gate([TAP], { preexisting });
      expect([outcome, first.failing, first.base?.failing]).toEqual([whole, here.trim().split(' '), ['a']]);
    });

    const junit = (where: string) =>
      `mkdir -p out && printf '<testsuite><testcase name="good"/><testcase name="%s"><failure/></testcase></testsuite>' "$(cat src/a.txt)" > ${where}; exit 1`;

    test('JUnit, from where the settings say', async () => {
      const reports = ['out/**/*.xml'];
      const allow = { preexisting: 'allow_unchanged', reports } as const;
      const { first, outcome } = await gate([junit('out/r.xml')], allow);
      expect([outcome, first.failing]).toEqual(['pass', ['a']]);
      expect((await gate([junit('elsewhere.xml')], allow)).outcome).toBe('fail');
    });

    describe('and tests that are not reported any more', () => {
      // As jest-junit does it: a file that can't be loaded is not in the report, and the exit code is that of a red test.
      const RUNNER = `mkdir -p out; { echo '<testsuites><testsuite><testcase classname="old" name="red"><failure/></testcase><testcase classname="old" name="green"/></testsuite>'; if [ -e src/broken ]; then echo "FAIL b: Cannot find module x" >&2; else echo '<testsuite><testcase classname="b" name="adds"/><testcase classname="b" name="counts"/></testsuite>'; fi; echo '</testsuites>'; } > out/r.xml; exit 1`;
      const allow = { preexisting: 'allow_unchanged' as const, reports: ['out/*.xml'] };

      test('are a red of the work: its file may not even load', async () => {
        expect((await gate([RUNNER], allow)).outcome).toBe('pass');
        put('src/broken', '');
        const { first, outcome } = await gate([RUNNER], allow);
        expect(first).toMatchObject({ failing: ['old: red'], base: { failing: ['old: red'] } });
        expect([outcome, first.vanished]).toEqual(['fail', { count: 2, some: ['b: adds', 'b: counts'] }]);
        expect(resultText(first)).toContain('missing here (do they still load?): b: adds, b: counts');
      });

      test('are told by what is remembered of the base commit too, which the evidence does not repeat', async () => {
        const { bases, first } = await gate([RUNNER], allow);
        expect(first.base).not.toHaveProperty('tests');
        await ports.store.record({ events: bases.map((base) => event('gate_base_completed', base)), at: 0 });
        put('src/broken', '');
        const again = await gate([RUNNER], allow);
        expect([again.outcome, again.bases, again.first.vanished?.count]).toEqual(['fail', [], 2]);
      });

      test('are found by a new run where an older version remembered none', async () => {
        const { bases } = await gate([RUNNER], allow);
        const old = bases.map(({ tests: _, ...base }) => event('gate_base_completed', base));
        await ports.store.record({ events: old, at: 0 });
        const again = await gate([RUNNER], allow);
        expect([again.outcome, again.bases.length]).toEqual(['pass', 1]);
      });
    });

    test('not a report that was there before the command', async () => {
      const reports = ['out/*.xml'];
      const allow = { preexisting: 'allow_unchanged', reports } as const;
      await gate([junit('out/r.xml')], allow);
      const { first, outcome } = await gate(['exit 1'], allow);
      expect([outcome, first.failing]).toEqual(['fail', undefined]);
    });
  });

  test('is not run on a base commit where it was run before, by whatever task', async () => {
    const command = `${count('runs')}; echo FAIL; exit 1`;
    const { bases } = await gate([command]);
    await ports.store.record({ events: bases.map((base) => event('gate_base_completed', base)), at: 0 });
    const again = await gate([command]);
    expect(again.bases).toEqual([]);
    expect(again.first.base).toMatchObject({ outcome: 'fail' });
    expect(counted('runs'), 'twice here, twice there, twice here').toBe(6);
    const other = await gate([command], { setup: ['true'] });
    expect(other.bases, 'another setup, another base').toHaveLength(1);
  });

  test('is not run on a base commit that passed it before it landed', async () => {
    const command = `${count('runs')}; grep -x a src/a.txt`;
    const landed = await gate([command], {}, 'b', 'candidate');
    const evidence = { ...landed.evidence, tree: 'the tree of trunk' };
    const events = [event('gate_completed', { scope: 'candidate', evidence })];
    await ports.store.record({ events, at: 0 });
    put('src/a.txt', 'changed\n');
    const { first, bases } = await gate([command]);
    expect(first).toMatchObject({ outcome: 'fail', base: { outcome: 'pass', sha: scene.spec.baseSha } });
    expect([counted('runs'), bases], 'once before it landed, twice here').toEqual([3, []]);
    const other = await gate([command], { setup: ['true'] });
    expect(other.bases, 'another setup, another base').toHaveLength(1);
  });

  test('is not compared with a base whose setup fails', async () => {
    put('only-here', '');
    const { first, outcome, bases } = await gate(['echo FAIL; exit 1'], {
      setup: ['[ -e only-here ]'],
      preexisting: 'allow_unchanged',
    });
    expect([outcome, first.base?.outcome, bases]).toEqual(['fail', 'could_not_run', []]);
  });
});

test('every command is run, in order, and each keeps its own log', async () => {
  const { evidence } = await gate(['echo one', 'echo two; exit 1', 'echo three']);
  expect(evidence.results.map(({ outcome, tail }) => [outcome, tail])).toEqual([
    ['pass', 'one\n'],
    ['fail', 'two\n'],
    ['pass', 'three\n'],
  ]);
  expect(new Set(evidence.results.map(({ logPath }) => logPath)).size).toBe(3);
});

test('a gate that is cut short is no evidence, though what it ran so far has passed', async () => {
  const cut = new AbortController();
  policy = merged(policy, { gate: { commands: ['true', 'true'] } });
  const launch = ports.processes.launch;
  ports.processes.launch = async (request) => {
    const ended = await launch(request);
    cut.abort();
    return ended;
  };
  const task: Task = { ...running().task, workspace: scene.repo };
  const action = { kind: 'gate' as const, scope: 'work' as const, tree: 't', commit: 'c' };
  expect(await runGate(ports, task, action, lease, cut.signal)).toBeNull();
});

describe('the candidate', () => {
  test('is tested on a tree and in a home of the loop’s own', async () => {
    put('uncommitted', '');
    mkdirSync(join(scene.repo, 'ignored'));
    writeFileSync(join(scene.dir, 'home', '.npmrc'), 'script-shell=/bin/true\n');
    const { first } = await gate(['ls -A . "$HOME"; pwd'], {}, 'b', 'candidate');
    expect(first.tail).toContain('readme.md');
    expect(first.tail).not.toMatch(/uncommitted|ignored|npmrc/);
    expect(execFileSync('ls', ['-A', join(scene.root)], { encoding: 'utf8' })).not.toContain('gate-');
  });
});

describe('a tree that can’t be made', () => {
  /** A submodule whose recorded commit is nowhere. */
  const missing = (): void => {
    const git = (...args: string[]) => scene.run(['-c', 'protocol.file.allow=always', ...args]);
    const lib = join(scene.dir, 'lib');
    scene.run(['clone', '-q', scene.repo, lib], scene.dir);
    git('submodule', '--quiet', 'add', lib, 'lib');
    git('update-index', '--cacheinfo', `160000,${'12'.repeat(20)},lib`);
    git('commit', '-q', '-m', 'x');
  };

  test.each(['candidate', 'work'] as const)('is a gate that could not run, in words (%s)', async (scope) => {
    missing();
    const { evidence, outcome } = await gate(['false'], {}, 'b', scope);
    const said = scope === 'candidate' ? evidence.results[0] : evidence.results[0]?.base;
    expect(said).toMatchObject({
      outcome: 'could_not_run',
      problem: expect.stringContaining('The submodule lib is recorded at 1212121212'),
      tail: expect.stringContaining('git submodule update --init lib'),
    });
    expect(outcome).toBe(scope === 'candidate' ? 'could_not_run' : 'fail');
  });
});

describe('commands that ask git', () => {
  const ASK = 'git ls-files | xargs -r grep -l "^never$"';
  const scopes = ['work', 'candidate'] as const;

  test.each(scopes)('see the files of the %s', async (scope) => {
    const clean = `! ${ASK}`;
    expect((await gate([clean], {}, 'b', scope)).outcome).toBe('pass');
    scene.run(['checkout', '-q', '--detach']);
    put('bad.txt', 'never\n');
    scene.run(['add', 'bad.txt']);
    scene.run(['commit', '-q', '-m', 'bad']);
    const { outcome, first } = await gate([clean], {}, 'b', scope);
    expect([outcome, first.tail.trim(), first.base?.outcome]).toEqual(['fail', 'bad.txt', 'pass']);
  });

  test('have a clean tree, tags, history and trunk on the candidate', async () => {
    scene.run(['tag', 'v1']);
    scene.run(['checkout', '-q', '--detach']);
    scene.run(['commit', '-q', '--allow-empty', '-m', 'candidate']);
    const commands = [
      'git diff --exit-code',
      'test -z "$(git status --porcelain)"',
      'git describe --tags | grep "^v1-1-g"',
      'test "$(git merge-base HEAD origin/main)" = "$(git rev-parse main)"',
      'test "$(git rev-list --count main..)" = 1',
    ];
    const { evidence } = await gate(commands, {}, 'b', 'candidate');
    expect(evidence.results.map(({ outcome, tail }) => [outcome, tail])).toEqual(
      commands.map(() => ['pass', expect.anything()]),
    );
  });
});

describe('a setup that is kept', () => {
  /** An install that says on which readme it ran. */
  const setup = ['mkdir node_modules && cp r*.md node_modules/of.txt'];
  const command = 'cat node_modules/of.txt';
  const change = (path: string): void => {
    scene.run(['switch', '-q', '--create', 'change']);
    put('readme.md', 'the change\n');
    put(path, '{ "changed": true }\n');
    scene.run(['add', '--all']);
    scene.run(['commit', '-q', '-m', 'x']);
  };
  beforeEach(() => {
    put('package-lock.json', '{}\n');
    scene.run(['add', '--all']);
    scene.run(['commit', '-q', '-m', 'a lockfile']);
  });

  test('is trunk’s: made there first, used for the candidate, and not run again', async () => {
    change('src/a.txt');
    const counted1 = [`${count('setups')}; ${setup[0]}`];
    const first = await gate([command], { setup: counted1 }, 'b', 'candidate');
    expect(first.first.tail, 'a candidate can’t plant what later ones get').toMatch(/^one\n/);
    await gate([command], { setup: counted1 }, 'b', 'candidate');
    expect(counted('setups')).toBe(1);
  });

  test('is made anew in another environment', async () => {
    const made = [`${count('setups')}; mkdir node_modules && echo "$MODE" > node_modules/mode`];
    const read = 'cat node_modules/mode';
    for (const MODE of ['production', 'test']) {
      const env = { ...policy.gate.env, set: { MODE } };
      const { first } = await gate([read], { setup: made, env }, 'b', 'candidate');
      expect(first.tail).toBe(`${MODE}\n`);
    }
    expect(counted('setups')).toBe(2);
  });

  test('is not used for a candidate that changes the lockfile, and its own is not kept', async () => {
    change('package-lock.json');
    for (const _ of [1, 2]) {
      const { first } = await gate([command], { setup }, 'b', 'candidate');
      expect(first.tail).toBe('the change\n');
    }
  });

  test('is not used where the operator says so', async () => {
    change('src/a.txt');
    const { first } = await gate([command], { setup, setupCache: false }, 'b', 'candidate');
    expect(first.tail).toBe('the change\n');
  });
});

describe('criteria that name a command', () => {
  const body =
    '## Acceptance\n\n- [ ] It answers.\n  verify: ./answer.sh\n- [ ] It is tested.\n  verify: true\n';

  test('are verified after the operator’s own commands, each result with its criterion', async () => {
    const { evidence, outcome } = await gate(['true'], {}, body);
    expect(evidence.results.map(({ command, criterion, outcome }) => [command, criterion, outcome])).toEqual([
      ['true', undefined, 'pass'],
      ['./answer.sh', 'c1', 'fail'],
      ['true', 'c2', 'pass'],
    ]);
    expect(outcome, 'what the work has to bring is missing').toBe('fail');
    put('answer.sh', '#!/bin/sh\n', 0o755);
    expect((await gate(['true'], {}, body)).outcome).toBe('pass');
  });

  test('are not compared with the base commit, where they are red by nature', async () => {
    const { outcome, bases } = await gate([], { commands: 'none', preexisting: 'allow_unchanged' }, body);
    expect([outcome, bases]).toEqual(['fail', []]);
  });

  describe('of all that are tested together', () => {
    /** Another in line, whose criterion this command verifies. */
    async function beside(verify: string): Promise<{ others: Ahead[]; contract: Contract }> {
      const { store } = ports;
      const intake = (await store.acquireLease(INTAKE_LEASE, 'me', 0, 1e15, () => false))!;
      const text = `- [ ] It greets.\n  verify: ${verify}\n`;
      const contract = contractOf({ title: 'o', body: text, textHash: 'o' });
      const birth = { kind: 'issue', issue: 8, attempt: 1, slug: 'o', branch: 'o', contract } as const;
      const events = [event('task_created', birth)];
      await store.claim({ lease: intake, taskId: 't8', issue: 8, events, actions: [], at: 0 });
      return { others: [{ task: 't8', issue: 8 }], contract };
    }

    test('are verified, each by its own name', async () => {
      const { others, contract } = await beside('./greet.sh');
      const { evidence, outcome } = await gate(['true'], {}, body, 'work', others);
      expect(evidence.results.map(({ command, criterion, of }) => [command, criterion, of])).toEqual([
        ['true', undefined, undefined],
        ['./answer.sh', 'c1', 't1'],
        ['true', 'c2', 't1'],
        ['./greet.sh', 'c1', 't8'],
      ]);
      expect(outcome).toBe('fail');
      expect(evidence.alsoFor).toEqual([gateDigest(policy.gate, contract)]);
    });

    test.each([
      ['green when run again, is flaky and passes', './once.sh', 'pass'],
      ['red again, fails', './never.sh', 'fail'],
    ])('one of another, %s', async (_how, command, outcome) => {
      put('once.sh', '#!/bin/sh\n[ -e second ] || { touch second; exit 4; }\n', 0o755);
      put('never.sh', '#!/bin/sh\nexit 4\n', 0o755);
      const { others } = await beside(command);
      const { evidence } = await gate(['true'], {}, 'b', 'work', others);
      expect(evidence.outcome).toBe(outcome);
      expect(evidence.results.at(-1)).toMatchObject({
        command,
        of: 't8',
        outcome,
        first: { outcome: 'fail', exitCode: 4 },
      });
    });
  });

  test('are not run with the operator’s rights, but for one that is the operator’s own', async () => {
    put('answer.sh', '#!/bin/sh\ntouch ran\n', 0o755);
    const { evidence } = await gate(['true'], { criteriaCommands: 'confined' }, body);
    expect(evidence).toMatchObject({
      outcome: 'could_not_run',
      results: [
        { command: 'true', outcome: 'pass' },
        {
          command: './answer.sh',
          outcome: 'could_not_run',
          problem: expect.stringContaining('gate.criteria_commands: always'),
        },
        { command: 'true', outcome: 'pass' },
      ],
    });
  });

  test('are left alone where the operator refuses', async () => {
    const { evidence } = await gate(['true'], { criteriaCommands: 'never' }, body);
    expect(evidence.results).toHaveLength(1);
  });
});
