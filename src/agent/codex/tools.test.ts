import { PassThrough } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import type { Progress } from '../../core/tell/progress.ts';
import { toolsOf } from '../../core/words/turn-tools.ts';
import type { TurnTools } from '../agent.ts';
import { appServer } from './app-server.ts';
import { answerCall, CALL, offeredTools } from './tools.ts';

function toolbox(answer: Awaited<ReturnType<TurnTools['call']>>) {
  const calls: unknown[] = [];
  const call: TurnTools['call'] = async (...given) => {
    calls.push(given);
    return answer;
  };
  return { calls, tools: { list: toolsOf('coder', { hasPlan: false, asksForge: true }), call } };
}

const told: (Progress | undefined)[] = [];
const hooked = (tools?: TurnTools) => ({
  ...(tools && { tools }),
  onProgress: (one?: Progress) => void told.push(one),
});
beforeEach(() => void told.splice(0));

test('every tool is offered with the schema of its input', () => {
  const [space] = offeredTools(toolbox({ text: '', isError: false }).tools).dynamicTools;
  expect(space?.tools.map(({ name }) => name)).toEqual(
    toolsOf('coder', { hasPlan: false, asksForge: true }).map(({ name }) => name),
  );
  expect(space?.tools.find(({ name }) => name === 'finish')?.inputSchema).toMatchObject({
    type: 'object',
    required: ['summary'],
  });
});

test.each([
  ['an answer', false],
  ['a refusal', true],
])('%s goes back with its words', async (_, isError) => {
  const { calls, tools } = toolbox({ text: 'Noted.', isError });
  const said = await answerCall(hooked(tools), {
    namespace: 'forge',
    tool: 'finish',
    arguments: { summary: 'x' },
  });
  expect(said).toEqual({ contentItems: [{ type: 'inputText', text: 'Noted.' }], success: !isError });
  expect(calls).toEqual([['finish', { summary: 'x' }]]);
});

test.each([
  ['of another namespace', { namespace: 'mcp__other', tool: 'finish', arguments: {} }, 'mcp__other.finish'],
  ['of none', { namespace: null, tool: 'finish', arguments: {} }, 'finish'],
  ['without a name', { namespace: 'forge' }, 'forge'],
  ['that is nothing', null, 'unknown'],
])('a call %s reaches nobody, fails at once, and is told', async (_, params, tool) => {
  const { calls, tools } = toolbox({ text: 'Noted.', isError: false });
  expect(await answerCall(hooked(tools), params)).toMatchObject({ success: false });
  expect(calls).toEqual([]);
  expect(told).toMatchObject([{ kind: 'refused', code: 'tool_missing', tool }]);
});

test('whoever has no tools answers none', async () => {
  const params = { namespace: 'forge', tool: 'finish', arguments: {} };
  expect(await answerCall(hooked(), params)).toMatchObject({ success: false });
});

test('a question whose answer fails is answered with what failed', async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  appServer(stdin, stdout, {
    onNotification: () => {},
    onRequest: () => Promise.reject(new Error('the disk is full')),
  });
  stdout.write(`${JSON.stringify({ id: 7, method: CALL, params: {} })}\n`);
  const [line] = await stdin.take(1).toArray();
  expect(JSON.parse(String(line))).toEqual({ id: 7, error: { code: -32603, message: 'the disk is full' } });
});
