/** The command line as a child process on real repositories: what a person types, sees and gets as exit code. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Snapshot } from '../../src/view.ts';
import { type Project, project, WRITE_RESULT, workflow } from '../support/command-line.ts';

let repo: Project;
afterEach(() => repo.remove());

/** The coder waits as long as the file is there. */
const heldBy = (file: string): string =>
  `touch "${file}.begun"; while [ -e "${file}" ]; do sleep 0.05; done\n${WRITE_RESULT}`;

describe('the whole path', () => {
  test('ready issues become commits on trunk, and the checkout stays clean', async () => {
    repo = project();
    repo.agent(
      'coder',
      `[ "$FORGE_ISSUE-$FORGE_TURN" = 2-1 ] && { cat >/dev/null; echo broken > result-2.txt; exit 0; }\n${WRITE_RESULT}`,
    );
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    await repo.issue('Add two', 'result-2.txt must contain "ok"');
    const run = await repo.run('run', '--until-idle');
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toContain('#2 gate failed: `! grep -q broken result-*.txt` exit 1');
    expect(run.stdout).toContain('#2 turn 2 started (continuation)');
    expect(repo.git('log', '--format=%s %an').trim().split('\n').sort()).toEqual([
      'Add one Eva',
      'Add two Eva',
      'start Eva',
    ]);
    expect(repo.git('status', '--porcelain')).toBe('');
    expect(readFileSync(join(repo.path, 'result-1.txt'), 'utf8')).toBe('ok\n');

    const { tasks, slots } = await repo.json<Snapshot>('status');
    expect(slots).toEqual({ used: 0, max: 3 });
    expect(tasks.find((task) => task.issue === 2)).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}$/),
      name: '#2',
      issue: 2,
      title: 'Add two',
      attempt: 1,
      state: 'merged',
      reason: null,
      why: expect.any(String),
      hold: null,
      turns: 2,
      maxTurns: 20,
      criticRounds: 1,
      spec: null,
      sessionId: expect.any(String),
      sessionIds: [expect.any(String)],
      turn: null,
      atWork: null,
      choices: [],
      lastLine: null,
      rests: null,
      interrupted: false,
      workspace: null,
      branch: 'loop/2-add-two',
      pull: expect.any(Number),
      headSha: expect.stringMatching(/^[0-9a-f]{40}$/),
      mergedSha: expect.stringMatching(/^[0-9a-f]{40}$/),
      costUsd: 0.01,
      tokens: 15,
      spendComplete: false,
      unpricedTokens: expect.any(Number),
      startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      endedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const events = (await repo.run('events', '--json')).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    expect(Object.keys(events[0])).toEqual(['seq', 'at', 'type', 'task', 'name', 'data', 'says']);
    expect((await repo.run('issue', 'show', '1')).stdout).toMatch(/closed · loop:merged[\s\S]*Merged as `/);
    expect((await repo.run('task', 'restart', '1')).stderr).toMatch(/is merged: there is nothing left to do/);
  });

  test('a runner killed with -9 in a turn: boot shows it, recover fixes it, boot is clean, the session goes on (dispatch 40)', async () => {
    repo = project();
    const hold = join(repo.folder, 'hold');
    writeFileSync(hold, '');
    repo.agent('coder', heldBy(hold));
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    const run = repo.start('run');
    await run.says(/turn 1 started/);
    await appears(`${hold}.begun`);
    run.process.kill('SIGKILL');
    await run.ended;

    const before = await repo.json<{ stale: { key: string }[]; tasks: { interrupted: boolean }[] }>('boot');
    expect(before.stale.map(({ key }) => key.split(':')[0])).toEqual(['intake', 'task']);
    expect(before.tasks).toMatchObject([{ interrupted: true, state: 'running', turns: 1 }]);
    expect((await repo.run('why')).stdout).toMatch(
      /no runner is running[\s\S]*#1 .*interrupted in turn 1 of the coder/,
    );
    expect((await repo.run('doctor')).stdout).toMatch(/warn {2}processes .*still alive/);

    const recovered = await repo.run('recover');
    expect(recovered.stdout).toMatch(/^task \w{8} \(#1, running\): resume session$/m);
    expect(await repo.json('boot')).toMatchObject({ stale: [], tasks: [{ turns: 0, interrupted: false }] });
    expect((await repo.run('doctor')).stdout).toMatch(/ok +processes +no orphans/);

    rmSync(hold);
    expect(await repo.run('run', '--until-idle')).toMatchObject({ code: 0 });
    const { tasks } = await repo.json<Snapshot>('status');
    expect(tasks).toMatchObject([{ state: 'merged', turns: 1, sessionIds: [expect.any(String)] }]);
    expect(repo.git('log', '--format=%s').trim().split('\n')).toEqual(['Add one', 'start']);
  });
});

describe('stopping', () => {
  test('stop drains a runner that is waiting, and with nobody running says so', async () => {
    repo = project();
    expect((await repo.run('stop')).stdout).toBe('No runner is running.\n');
    const hold = join(repo.folder, 'hold');
    writeFileSync(hold, '');
    repo.agent('coder', heldBy(hold));
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    const run = repo.start('run');
    await run.says(/turn 1 started/);
    await appears(`${hold}.begun`);
    expect((await repo.run('stop')).stdout).toMatch(/Stopping when this has finished: .*turn 1/);
    await run.says(/stop requested by Eva/);
    expect(await repo.json<Snapshot>('status')).toMatchObject({ stopRequested: 'drain' });
    rmSync(hold);
    expect(await run.ended).toMatchObject({ code: 0 });
  });
});

describe('what only a person can end', () => {
  test('a gate that can’t run ends run --until-idle with 3 before any turn, and corrected it goes on', async () => {
    repo = project('gate: { commands: ["no-such-tool --check"] }\n');
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    const held = await repo.run('run', '--until-idle');
    expect(held.code).toBe(3);
    expect(held.stderr).toMatch(
      /Waiting for you:\n {2}the gate could not run on trunk: `no-such-tool --check` command not found.*`forge-loop resume`/,
    );
    expect((await repo.run('why', '1')).stdout).toContain('the gate could not run on trunk');
    expect((await repo.run('status')).stdout).toContain('the gate could not run on trunk');
    expect(await repo.run('doctor', '--gate')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/fail +gate run +could not run on trunk.*no-such-tool/),
    });
    repo.write('WORKFLOW.md', workflow(repo.folder, ''));
    expect((await repo.run('doctor', '--gate')).stdout).toMatch(/ok +gate run +passes on trunk/);
    // The edited WORKFLOW.md is nothing the merge changes: it stays as it is.
    expect(await repo.run('run', '--until-idle')).toMatchObject({ code: 0 });
    expect(repo.git('log', '-1', '--format=%s').trim()).toBe('Add one');
  });

  test('without a critic a person approves', async () => {
    repo = project('critic: { enabled: false }\n');
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    expect((await repo.run('run', '--until-idle')).stderr).toMatch(
      /needs_approval.*forge-loop task approve 1/,
    );
    expect(await repo.run('task', 'approve', '1')).toMatchObject({ code: 0 });
    expect(await repo.run('run', '--until-idle')).toMatchObject({ code: 0 });
    expect((await repo.run('task', 'approve', '1')).stderr).toMatch(/has ended: merged/);
  });

  test('a paused loop is idle, and says who paused it', async () => {
    repo = project();
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    await repo.run('pause');
    const run = await repo.run('run', '--until-idle');
    expect([run.code, run.stderr]).toEqual([3, expect.stringContaining('the loop is paused by Eva')]);
    await repo.run('resume');
    expect(await repo.run('run', '--until-idle')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('merged'),
    });
  });
});

describe('what a run came to', () => {
  test('one issue merges, one is given up, one is declined: 4, said once more at the end; the next run is clean', async () => {
    repo = project();
    repo.write(
      'WORKFLOW.md',
      workflow(repo.folder, '').replace('kind: command,', 'kind: command, max_turns: 1,'),
    );
    repo.git('commit', '-qam', 'One turn');
    repo.agent(
      'coder',
      `[ "$FORGE_ISSUE" = 2 ] && { cat >/dev/null; echo broken > result-2.txt; exit 0; }\n${WRITE_RESULT}`,
    );
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    await repo.issue('Add two', 'result-2.txt must contain "ok"');
    await repo.issue('Make it nicer', '');
    const run = await repo.run('run', '--until-idle');
    expect(run.code).toBe(4);
    expect(run.stdout).toMatch(
      /\nMerged: 1\n {2}#1 Add one, \w{10}\nNot merged: 2\n {2}#2 Add two: .*\(max_turns_reached\)\n {5}See what its last turn.*\n {2}#3: .*\(declined\)\n.*\nSpent: at least \$0\.01, 15 tokens, in 3 turns\nNothing left to do\.\n$/,
    );

    const again = await repo.run('run', '--until-idle', '--json');
    expect(again.code).toBe(0);
    const lines = again.stdout.trim().split('\n');
    expect(JSON.parse(lines.at(-1)!)).toEqual({
      summary: {
        exitCode: 0,
        ended: 'idle',
        merged: [],
        completed: [],
        notMerged: [],
        needsPerson: [],
        spent: { turns: 0, tokens: 0, costUsd: null, complete: true },
        billing: 'usd',
      },
    });
    expect(lines.slice(0, -1).every((line) => JSON.parse(line).seq > 0)).toBe(true);
  });
});

describe('steering tasks', () => {
  test('cancel acts on a turn in flight; restart goes on with the same task; retry starts attempt 2', async () => {
    repo = project();
    const hold = join(repo.folder, 'hold');
    writeFileSync(hold, '');
    repo.agent('coder', heldBy(hold));
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    const run = repo.start('run');
    await run.says(/turn 1 started/);
    expect((await repo.run('task', 'restart', '1')).stderr).toMatch(
      /is running, not ended\.\nhint: `--force`/,
    );
    expect((await repo.run('task', 'cancel', '1')).stdout).toMatch(/the runner applies it/);
    await run.says(/abandoned \(cancelled\)/);
    const [cancelled] = (await repo.json<Snapshot>('status')).tasks;
    expect(cancelled).toMatchObject({
      state: 'abandoned',
      reason: 'cancelled',
      workspace: expect.any(String),
    });
    expect((await repo.run('why')).stdout).toMatch(/#1 {2}Add one: attempt 1 ended \(cancelled\)/);

    expect(await repo.run('task', 'restart', cancelled!.id)).toMatchObject({ code: 0 });
    await run.says(/queued again[\s\S]*turn 1 started/);
    const forced = repo.start('task', 'restart', '1', '--force');
    expect(await forced.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('queued again') });
    await run.says(/queued again[\s\S]*queued again[\s\S]*turn 1 started/);
    await repo.run('task', 'abandon', '#1');
    await run.says(/abandoned \(operator_abandon\)/);

    rmSync(hold);
    expect((await repo.run('task', 'retry', '1')).stdout).toMatch(
      /^#1 is ready again: attempt 2 starts when a slot is free/,
    );
    await run.says(/ merged: /);
    run.process.kill('SIGTERM');
    await run.ended;
    const { tasks } = await repo.json<Snapshot>('status');
    expect(tasks.map(({ attempt, state, reason }) => ({ attempt, state, reason }))).toEqual([
      { attempt: 1, state: 'abandoned', reason: 'operator_abandon' },
      { attempt: 2, state: 'merged', reason: null },
    ]);
  });

  test('restart makes a worktree anew that is gone, and is refused when its branch is gone, too', async () => {
    repo = project();
    const hold = join(repo.folder, 'hold');
    writeFileSync(hold, '');
    repo.agent('coder', heldBy(hold));
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    const run = repo.start('run');
    await run.says(/turn 1 started/);
    await repo.run('task', 'cancel', '1');
    await run.says(/abandoned/);
    run.process.kill('SIGTERM');
    await run.ended;
    const [task] = (await repo.json<Snapshot>('status')).tasks;
    rmSync(task!.workspace!, { recursive: true });
    const rebuilt = await repo.run('task', 'restart', '1');
    expect(rebuilt).toMatchObject({ code: 0, stdout: expect.stringContaining('not committed is lost') });
    rmSync(hold);
    const again = repo.start('run', '--until-idle');
    expect(await again.ended).toMatchObject({ code: 0 });
    expect((await repo.json<Snapshot>('status')).tasks).toMatchObject([{ id: task!.id, state: 'merged' }]);

    writeFileSync(hold, '');
    await repo.issue('Add two', 'result-2.txt must contain "ok"');
    const second = repo.start('run');
    await second.says(/#2 turn 1 started/);
    await repo.run('task', 'cancel', '2');
    await second.says(/#2 abandoned/);
    second.process.kill('SIGTERM');
    await second.ended;
    const lost = (await repo.json<Snapshot>('status')).tasks.find(({ issue }) => issue === 2)!;
    rmSync(lost.workspace!, { recursive: true });
    repo.git('update-ref', '-d', `refs/heads/${lost.branch}`);
    for (const ref of ['base', 'head']) repo.git('update-ref', '-d', `refs/forge/${lost.id}/${ref}`);
    expect(await repo.run('task', 'restart', '2')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/missing[\s\S]*is gone, too[\s\S]*forge-loop task retry 2/),
    });
    expect((await repo.run('task', 'show', '9')).stderr).toMatch(
      /There is no task 9\.\nhint: Known: \w{8} \(#2, abandoned\)/,
    );
  });
});

describe('before it starts', () => {
  test.each([
    [
      'no identity',
      (own: Project) => own.git('config', '--remove-section', 'user'),
      /who you are.*\nhint: .*user\.name.*user\.email/,
    ],
    [
      'no agent',
      (own: Project) => own.write('WORKFLOW.md', '---\ngate: none\n---\n{{ issue.body }}\n'),
      /agent\.command is not set/,
    ],
    [
      'an agent that is not there',
      (own: Project) => rmSync(join(own.folder, 'coder.sh')),
      /agent\.command: .*coder\.sh not found or not executable/,
    ],
    [
      'a broken WORKFLOW.md',
      (own: Project) => own.write('WORKFLOW.md', '---\nagent: { max_turns: no }\n---\n'),
      /WORKFLOW\.md:2: agent\.max_turns: expected whole number/,
    ],
    [
      'no WORKFLOW.md',
      (own: Project) => rmSync(join(own.path, 'WORKFLOW.md')),
      /does not exist\.\nhint: Run "forge-loop init"/,
    ],
    [
      'a sandbox that is required',
      (own: Project) =>
        own.write(
          'WORKFLOW.md',
          workflow(
            own.folder,
            'sandbox: required\nenv: { pass: [ANTHROPIC_API_KEY] }\nworkspace: { kind: worktree }\n',
          ),
        ),
      /sandbox: required`, and a linked worktree writes to your repository's \.git/,
    ],
  ])('%s is one clear error', async (_name, spoil, message) => {
    repo = project();
    spoil(repo);
    const run = await repo.run('run', '--until-idle');
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(message) });
    expect(await repo.run('doctor')).toMatchObject({ code: 1 });
  });

  test('a repository without commits is told to make one', async () => {
    repo = project();
    const empty = join(repo.folder, 'empty');
    mkdirSync(empty);
    repo.git('init', '-q', empty);
    repo.git('-C', empty, 'config', 'user.name', 'Eva');
    repo.git('-C', empty, 'config', 'user.email', 'eva@example.com');
    writeFileSync(join(empty, 'WORKFLOW.md'), workflow(repo.folder, ''));
    expect(await repo.run('-C', empty, 'run')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no commits yet[\s\S]*git commit/),
    });
    expect(await repo.run('-C', empty, 'issue', 'new', '--title', 'T')).toMatchObject({ code: 0 });
  });

  test('a detached HEAD is worked around and mentioned', async () => {
    repo = project();
    repo.git('switch', '-q', '--detach');
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    expect(await repo.run('run', '--until-idle')).toMatchObject({ code: 0 });
    expect(repo.git('log', '-1', '--format=%s', 'main').trim()).toBe('Add one');
    expect(existsSync(join(repo.path, 'result-1.txt'))).toBe(false);
    expect((await repo.run('doctor')).stdout).toMatch(/warn +checkout +HEAD is detached/);
  });
});

describe('looking', () => {
  test('changes nothing, also before the first run, also from a subdirectory', async () => {
    repo = project();
    const below = join(repo.path, 'some', 'folder');
    mkdirSync(below, { recursive: true });
    for (const args of [
      ['status'],
      ['why'],
      ['boot'],
      ['doctor'],
      ['config'],
      ['events'],
      ['task', 'list'],
      ['issue', 'list'],
      ['recover'],
      ['stop'],
    ]) {
      expect(await repo.run('-C', below, ...args), args.join(' ')).toMatchObject({ code: 0, stderr: '' });
    }
    expect(existsSync(join(repo.path, '.forge'))).toBe(false);
    expect(existsSync(repo.state)).toBe(false);
    expect(repo.git('status', '--porcelain')).toBe('');
  });

  test('brief shows the prompt, config the origin of each key', async () => {
    repo = project();
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    expect((await repo.run('brief', '#1')).stdout).toMatch(
      /^Do issue 1: Add one\n<<<issue[\s\S]*must contain "ok"/,
    );
    const { keys } = await repo.json<{ keys: { key: string; value: unknown; origin: string }[] }>('config');
    expect(keys).toContainEqual({ key: 'polling.interval_ms', value: 1000, origin: 'file' });
    expect(keys).toContainEqual({ key: 'agent.max_turns', value: 20, origin: 'default' });
  });

  test('events --follow prints what happens, until it is interrupted', async () => {
    repo = project();
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    await repo.run('run', '--until-idle');
    const follow = repo.start('events', '--follow', '--json', '--last', '1');
    await follow.says(/runner_stopped/);
    await repo.run('pause');
    await follow.says(/loop_paused/);
    follow.process.kill('SIGINT');
    expect(await follow.ended).toMatchObject({ code: 0 });
    const watch = repo.start('status', '--watch');
    await watch.says(/paused by Eva/);
    watch.process.kill('SIGINT');
    expect(await watch.ended).toMatchObject({ code: 0 });
  });

  test('a reader that leaves early is no error', async () => {
    repo = project();
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    await repo.run('run', '--until-idle');
    const events = repo.start('events', '--json');
    events.process.stdout!.destroy();
    expect(await events.ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('usage', () => {
  test('mistakes end with 2 and a hint, failures with 1, and both are JSON when asked', async () => {
    repo = project();
    expect(await repo.run('statsu')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: unknown command 'statsu'\nhint: .*status/),
    });
    expect(await repo.run('issue', 'show', 'x')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not an issue number'),
    });
    expect(await repo.run('why', 'x')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no loop "x"'),
    });
    expect(await repo.run('issue', 'new')).toMatchObject({ code: 2 });
    expect(await repo.run('issue', 'new', '--title', 'T', '--priority', '9')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('priority must be at most 4'),
    });
    expect(await repo.run('run', '--once', '--until-idle')).toMatchObject({ code: 2 });
    const failed = await repo.run('issue', 'show', '5', '--json');
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stderr)).toEqual({
      error: { message: 'There is no issue #5.', hint: expect.any(String) },
    });
    expect((await repo.run('events', '--type', 'turn_startd')).stderr).toBe(
      'No event of type turn_startd was recorded.\n',
    );
    const misused = await repo.run('--json', 'statsu');
    expect(JSON.parse(misused.stderr).error.message).toBe("unknown command 'statsu'");
    const outside = await repo.run('-C', repo.folder, 'status');
    expect(outside).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/not inside a git repository[\s\S]*git init/),
    });
  });

  test('init writes a WORKFLOW.md that can be used, and never overwrites one', async () => {
    repo = project();
    expect((await repo.run('init', '--yes')).stdout).toMatch(/already exists; it was left unchanged/);
    const before = readFileSync(join(repo.path, 'WORKFLOW.md'), 'utf8');
    expect(before).toContain('coder.sh');
    rmSync(join(repo.path, 'WORKFLOW.md'));
    repo.write('package.json', '{"scripts":{"test":"node --version","lint":"echo untidy; exit 3"}}');
    repo.git('add', 'package.json');
    repo.git('commit', '-q', '-m', 'a manifest');
    const made = await repo.run('init', '--command', 'sh my-agent');
    expect(made.code).toBe(0);
    expect(made.stdout).toMatch(/Gate, from package.json: npm test\n/);
    expect(made.stdout).toMatch(/Left out: npm run lint \(failed: exit 3\)\n.*untidy/s);
    expect(made.stderr).toMatch(/npm test …\n +ok npm test/);
    const text = readFileSync(join(repo.path, 'WORKFLOW.md'), 'utf8');
    expect(text).toMatch(
      /commands:\n +- "npm test"\n +# Commented out.*failed: exit 3\n +# - "npm run lint"/,
    );
    expect(await repo.json('config')).toMatchObject({ problem: null, warnings: [] });
    expect((await repo.run('doctor')).stdout).toMatch(/ok +coder +command: sh my-agent/);
    expect(repo.git('status', '--porcelain')).not.toContain('.forge');
  });

  test('init that is interrupted writes nothing and leaves nothing running', async () => {
    repo = project();
    rmSync(join(repo.path, 'WORKFLOW.md'));
    const mark = `600.${process.pid}`;
    repo.write('Makefile', `test:\n\tsleep ${mark}\n`);
    repo.git('add', '-A');
    repo.git('commit', '-q', '-m', 'an endless test');
    const init = repo.start('init', '--command', 'true');
    await init.says(/make test …/);
    init.process.kill('SIGINT');
    expect(await init.ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/Nothing was written/) });
    expect(existsSync(join(repo.path, 'WORKFLOW.md'))).toBe(false);
    expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain(`sleep ${mark}`);
  });
});

describe('replay', () => {
  test('means a task before a file of its name, and a file where a path is named', async () => {
    repo = project();
    repo.agent('coder', WRITE_RESULT);
    await repo.issue('Add one', 'result-1.txt must contain "ok"');
    expect((await repo.run('run', '--until-idle')).code).toBe(0);
    const story = await repo.run('replay', '1');
    expect(story.stdout).toContain('#1 Add one');
    writeFileSync(join(repo.path, '1'), 'no recording');
    expect((await repo.run('replay', '1')).stdout).toBe(story.stdout);
    expect((await repo.run('replay', './1')).stderr).toContain('./1 is not a task that');
    expect((await repo.run('task', 'export', '1', '--output', 'night')).code).toBe(0);
    expect((await repo.run('replay', 'night')).stdout).toContain('#1 Add one');
    mkdirSync(join(repo.path, 'notes'));
    expect((await repo.run('replay', 'notes')).stderr).toContain('There is no task notes.');
    expect((await repo.run('replay', 'gone/night.json')).stderr).toContain('gone/night.json');
  });
});

/** Until the file is there; its folder tells. */
function appears(path: string): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!existsSync(path)) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(dirname(path), look);
    look();
  });
}
