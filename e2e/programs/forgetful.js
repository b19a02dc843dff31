/** A program that speaks ACP badly. Its argument says how: `forgets` what it loads, `cannot-load`, or says `nothing`. */
import { createInterface } from 'node:readline';

const how = process.argv[2];
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const say = (text) =>
  send({
    method: 'session/update',
    params: {
      sessionId: 's-1',
      update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
    },
  });

createInterface(process.stdin).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize')
    send({ id, result: { protocolVersion: 1, agentCapabilities: { loadSession: how !== 'cannot-load' } } });
  else if (method === 'session/new') send({ id, result: { sessionId: 's-1' } });
  else if (method === 'session/load') send({ id, result: {} });
  else if (method === 'session/prompt') {
    if (how !== 'nothing') say(`heard: ${params.prompt[0].text}`);
    send({ id, result: { stopReason: 'end_turn' } });
  }
});
