import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { CODER_TOOLS } from '../../core/words/coder-tools.ts';
import type { TurnTools } from '../agent.ts';
import { appServer } from './app-server.ts';
import { answerCall, CALL, offeredTools } from './tools.ts';

function toolbox(answer: Awaited<ReturnType<TurnTools['call']>>) {
  const calls: unknown[] = [];
  const call: TurnTools['call'] = async (...given) => {
    calls.push(given);
    return answer;
  };
  return { calls, tools: { list: CODER_TOOLS, call } };
}

test('every tool is offered with the schema of its input', () => {
  const [space] = offeredTools(toolbox({ text: '', isError: false }).tools).dynamicTools;
  expect(space?.tools.map(({ name }) => name)).toEqual(CODER_TOOLS.map(({ name }) => name));
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
  const said = await answerCall(tools, { namespace: 'forge', tool: 'finish', arguments: { summary: 'x' } });
  expect(said).toEqual({ contentItems: [{ type: 'inputText', text: 'Noted.' }], success: !isError });
  expect(calls).toEqual([['finish', { summary: 'x' }]]);
});

test.each([
  ['of another namespace', { namespace: 'mcp__other', tool: 'finish', arguments: {} }],
  ['of none', { namespace: null, tool: 'finish', arguments: {} }],
  ['without a name', { namespace: 'forge' }],
  ['that is nothing', null],
])('a call %s reaches nobody, and fails', async (_, params) => {
  const { calls, tools } = toolbox({ text: 'Noted.', isError: false });
  expect(await answerCall(tools, params)).toMatchObject({ success: false });
  expect(calls).toEqual([]);
});

test('whoever has no tools answers none', async () => {
  const params = { namespace: 'forge', tool: 'finish', arguments: {} };
  expect(await answerCall(undefined, params)).toMatchObject({ success: false });
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
