import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentStage } from '../../test/support/agent-stage.ts';
import { BARE } from '../../test/support/policy.ts';
import { hostParts } from '../../test/support/programs.ts';
import { startRunner } from '../../test/support/start-runner.ts';
import { accessOf } from '../core/role.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { TurnRequest } from './agent.ts';
import { commandAgent } from './command.ts';
import { type Act, type AgentUnderTest, agentContract, programContract } from './contract.ts';

const make = (sandbox?: Sandbox) => commandAgent(hostParts(sandbox));
const agent = make();

const subject: AgentUnderTest = {
  agent,
  isProgram: true,
  confinedBy: make,
  performing: async (acts) => ({ command: programFor(acts) }),
  remembered: (sessionDir) => readFile(join(sessionDir, 'prompts'), 'utf8'),
};
agentContract('command', subject);
programContract('command', subject);

/** A shell program that keeps its prompts in the session and writes its result anew whenever it grows. */
function programFor(acts: readonly Act[]): string {
  const result: Record<string, unknown> = {};
  const lines = acts.map((act) => {
    if ('shell' in act) return `(\n${act.shell}\n) || exit $?`;
    if ('say' in act) result.text = act.say;
    else if ('answer' in act) result.structured = act.answer;
    else Object.assign(result, act);
    return `printf %s '${JSON.stringify(result)}' > "$FORGE_RESULT"; echo told`;
  });
  return ['cat /dev/stdin >> "$FORGE_SESSION_DIR/prompts"', ...lines].join('\n');
}

describe('a command that is alone', () => {
  const { turnOf, inWorkspace, appeared } = agentStage(subject);

  test('has what it said last for an answer, where it left no result', async () => {
    const startedAt = Date.now();
    const acts = [{ shell: 'touch begun; until [ -e go ]; do sleep 0.02; done; echo said alone' }];
    const turn = await turnOf(acts);
    const runner = await startRunner({ release: true, agent: 'command', turn });
    await appeared('begun');
    runner.kill();
    await writeFile(inWorkspace('go'), '');
    const find = () => agent.finished({ ...turn, startedAt }, () => {});
    await expect
      .poll(find, { timeout: 200_000 })
      .toMatchObject({ result: { status: 'finished', text: 'said alone\n', usageKnown: false } });
  });
});

describe('a command', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'forge-command-'));
    await mkdir(join(dir, 'work'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const run = (command: string) => {
    const turn: TurnRequest = {
      task: 't1',
      role: 'coder',
      number: 1,
      cwd: join(dir, 'work'),
      prompt: '',
      sessionId: 's-1',
      sessionDir: join(dir, 's-1'),
      resume: false,
      policy: {
        kind: 'command',
        command,
        script: null,
        attachCommand: null,
        preset: null,
        model: null,
        fallbackModels: [],
        effort: null,
        prices: {},
        toolCalls: 20,
        forgeRequests: 20,
        turnTimeoutMs: 100_000,
        stallTimeoutMs: 100_000,
        env: BARE,
        read: [],
        write: [],
        network: 'host',
        secrets: [],
        mcp: [],
        gateway: 'all',
        toolTimeoutMs: 0,
        repeatedCalls: 0,
      },
      access: accessOf('coder', {
        cwd: join(dir, 'work'),
        home: join(dir, 'home'),
        session: join(dir, 's-1'),
      }),
      identity: { name: 'Ada', email: 'ada@example.com' },
      home: join(dir, 'home'),
      logPath: join(dir, 'turn.log'),
      mark: `mark-${dir}`,
    };
    const hooks = {
      signal: new AbortController().signal,
      onHeld: async () => {},
      onUsage() {},
      onProgress() {},
    };
    return agent.run(turn, hooks);
  };

  test('without a result file the output is the answer, and usage is unknown', async () => {
    const result = await run('echo hello; echo "issue [$FORGE_ISSUE]"');
    expect(result).toEqual({
      status: 'finished',
      text: 'hello\nissue []\n',
      structured: null,
      usageKnown: false,
    });
  });

  test('what a coder says of its work is read as its tool would take it', async () => {
    const said = '{"summary":"made it","choices":["a list: it is short"]}';
    expect(await run(`echo '{"text":"ok","summary":${said}}' > "$FORGE_RESULT"`)).toMatchObject({
      status: 'finished',
      summary: { summary: 'made it', tests: '', open: [], choices: ['a list: it is short'] },
    });
    expect(await run(`echo '{"text":"ok","summary":"made it"}' > "$FORGE_RESULT"`)).toMatchObject({
      status: 'failed',
      code: 'invalid_result',
    });
  });

  test.each([
    [
      '{"code":"rate_limit","message":"429","retry_at":"2030-01-31T06:00:00Z"}',
      'rate_limit',
      '429',
      1896069600000,
    ],
    ['{"code":"try_later"}', 'overload', 'it said try_later', null],
    ['{"code":"auth","message":"key expired"}', 'auth', 'key expired', null],
  ])('says what went wrong: %s', async (error, code, message, retryAt) => {
    const said = `echo '{"error":${error}}' > "$FORGE_RESULT"`;
    const wanted = { status: 'failed', code, message, retryAt };
    expect(await run(`${said}; exit 1`)).toMatchObject(wanted);
    expect(await run(said), 'whatever its exit code').toMatchObject(wanted);
  });

  test('the line that names the failure comes first, also where a stack trace follows it', async () => {
    const trace = ['Error: EROFS: no space', '  at open', '  at write', '  errno: -30,', '}', 'Node.js v20'];
    const result = await run(`printf '%s\\n' ${trace.map((line) => `'${line}'`).join(' ')} >&2; exit 1`);
    expect(result).toMatchObject({
      code: 'exit_nonzero',
      message: `the agent's program exited with 1: ${trace.join('\n')}`,
    });
  });

  test('exit 75 means try later', async () => {
    expect(await run('echo busy; exit 75')).toMatchObject({
      status: 'failed',
      code: 'overload',
      message: 'busy',
    });
  });

  test.each([
    ['{"code":"oops"}', 'error.code: not one of rate_limit'],
    ['{"code":"network","retry_at":"soon"}', 'error.retry_at: not a time'],
  ])('an error that can’t be used is said: %s', async (error, problem) => {
    const result = await run(`echo '{"error":${error}}' > "$FORGE_RESULT"; exit 3`);
    expect(result).toMatchObject({
      status: 'failed',
      code: 'exit_nonzero',
      message: expect.stringContaining(problem),
    });
  });

  test('a result without usage leaves it unknown', async () => {
    expect(await run(`echo '{"text":"hi","costUsd":null}' > "$FORGE_RESULT"`)).toMatchObject({
      status: 'finished',
      text: 'hi',
      usageKnown: false,
    });
  });

  test.each([
    ['no figure', '{}', false],
    ['names of somebody else', '{"input_tokens":100,"output_tokens":10}', false],
    ['a figure of nothing', '{"input":0}', true],
  ])('usage with %s', async (_what, usage, usageKnown) => {
    expect(await run(`echo '{"usage":${usage}}' > "$FORGE_RESULT"`)).toMatchObject({ usageKnown });
  });

  test('a result that can not be used fails the turn and says why', async () => {
    const message = async (command: string) => {
      const result = await run(command);
      expect(result).toMatchObject({ status: 'failed', code: 'invalid_result', usageKnown: false });
      return 'message' in result ? result.message : '';
    };
    expect(await message('echo "{" > "$FORGE_RESULT"')).toContain('JSON');
    expect(await message(`echo '{"usage":{"input":-1}}' > "$FORGE_RESULT"`)).toContain('usage.input');
    expect(await message('echo "{}" > real; ln -s "$PWD/real" "$FORGE_RESULT"')).toContain('symbolic link');
    expect(await message('echo "{}" > real; ln "$PWD/real" "$FORGE_RESULT"')).toContain('hard link');
    expect(await message('mkfifo "$FORGE_RESULT"')).toContain('not a regular file');
    expect(await message('mkdir "$FORGE_RESULT"')).toContain('not a regular file');
    expect(await message('head -c 5000000 /dev/zero > "$FORGE_RESULT"')).toContain('more than 4194304');
    const swap =
      'd=$(dirname "$FORGE_RESULT"); rm -r "$d"; mkdir other; echo "{}" > other/result.json; ln -s "$PWD/other" "$d"';
    expect(await message(swap)).toContain('replaced by a link');
  });

  test('a program that is missing or can not be run could not start; one that is killed crashed', async () => {
    expect(await run('no-such-program')).toMatchObject({ code: 'could_not_start' });
    expect(await run('touch plain; ./plain')).toMatchObject({ code: 'could_not_start' });
    const crashed = await run('echo last words; kill -SEGV $$');
    expect(crashed).toMatchObject({ code: 'crashed' });
    expect(crashed).toHaveProperty('message', expect.stringMatching(/SIGSEGV.*last words/));
  });
});

test.each([
  ['a program on the PATH', 'sh -c true', true],
  ['one that is not there', 'no-such-agent --headless', false],
  ['a path', '/bin/sh -c true', true],
  ['a path that leads nowhere', '/no/such/agent.sh', false],
  ['a file that may not be run', '/etc/passwd', false],
  ['a path in the work tree, which may yet be written', './agent.sh', true],
  ['a word of the shell', '. /etc/agent.env && my-agent', true],
  ['a keyword of the shell', 'if true; then my-agent; fi', true],
  ['a variable before it', 'MODE=night my-agent', true],
  ['a variable in its place', '$AGENT --headless', true],
  ['a group', '(my-agent)', true],
  ['quotes', '"my agent" --headless', true],
  ['nothing', null, false],
])('what can be said beforehand of a command: %s', async (_what, command, isThere) => {
  const said = await agent.unavailable({ command } as TurnRequest['policy']);
  expect(said === null).toBe(isThere);
});
