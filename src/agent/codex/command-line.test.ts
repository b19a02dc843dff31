import { describe, expect, test } from 'vitest';
import { agentStage } from '../../../test/support/agent-stage.ts';
import { hostParts } from '../../../test/support/programs.ts';
import { codexAgent } from './codex.ts';

/** Answers the first question with a word of its own. */
const says = (word: string): string => `read line; printf '{"id":1,"error":{"message":"%s"}}\\n' "${word}"`;

const found = ['/bin/sh', '-c', says('the program that was found'), 'codex'];
const operator = { OPENAI_API_KEY: 'key' };
const agent = codexAgent({ ...hostParts(), program: found, operator, now: Date.now });

describe('symphony 1: codex.command', () => {
  const { turnOf, watched } = agentStage({ agent, performing: async () => ({}) });

  async function heard(command: string | null): Promise<unknown> {
    const turn = await turnOf([]);
    return agent.run({ ...turn, policy: { ...turn.policy, command } }, watched().hooks);
  }

  test('is run by the shell, in the workspace, and is what is talked to', async () => {
    const result = await heard(`cd / && cd "$OLDPWD"; ${says('$(basename "$PWD") $((1 + 1))')}`);
    const { cwd } = await turnOf([]);
    expect(result).toMatchObject({
      status: 'failed',
      message: expect.stringContaining(`${cwd.split('/').at(-1)} 2`),
    });
  });

  test.each([null, ' codex  app-server '])('%j is the program that was found', async (command) => {
    expect(await heard(command)).toMatchObject({
      message: expect.stringContaining('the program that was found'),
    });
  });

  test('symphony 12: the thread, the turn, the usage and the limits it tells are handed on', async () => {
    const lines = [
      { id: 1, result: {} },
      { id: 2, result: { thread: { id: 'th1' }, model: 'gpt-x' } },
      { id: 3, result: { turn: { id: 'tu1' } } },
    ].map((line) => `read line; echo '${JSON.stringify(line)}'`);
    const total = {
      totalTokens: 15,
      inputTokens: 10,
      cachedInputTokens: 0,
      outputTokens: 5,
      reasoningOutputTokens: 0,
    };
    const told = [
      {
        method: 'account/rateLimits/updated',
        params: { rateLimits: { primary: { usedPercent: 42, resetsAt: 7 }, secondary: null } },
      },
      { method: 'thread/tokenUsage/updated', params: { threadId: 'th1', tokenUsage: { total } } },
      { method: 'turn/completed', params: { threadId: 'th1', turn: { status: 'completed', error: null } } },
    ].map((line) => `echo '${JSON.stringify(line)}'`);
    const [hello = '', ...rest] = lines;
    // After the first answer comes a word that wants none.
    const script = [hello, 'read line', ...rest, ...told, 'cat > /dev/null'].join('; ');
    const turn = await turnOf([]);
    const { hooks, told: heardOf, reports } = watched();
    const result = await agent.run({ ...turn, policy: { ...turn.policy, command: script } }, hooks);
    expect(result).toMatchObject({ status: 'finished' });
    expect(heardOf).toContainEqual({ kind: 'session', thread: 'th1', turn: 'tu1' });
    expect(heardOf).toContainEqual({
      kind: 'limits',
      windows: [{ name: 'primary', usedPercent: 42, resetsAt: 7 }],
    });
    expect(reports).toContainEqual(expect.objectContaining({ input: 10, output: 5 }));
  });

  test('whose program is not there is told before a turn', async () => {
    const { policy } = await turnOf([]);
    const of = (command: string | null) => agent.unavailable!({ ...policy, command });
    expect(await of('no-such-codex --config x=1 app-server')).toBe(
      'agent.command: no-such-codex not found or not executable',
    );
    expect(await of('sh -c true')).toBe(null);
    expect(await of(null)).toBe(null);
  });
});
