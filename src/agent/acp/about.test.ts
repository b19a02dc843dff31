import { expect, test } from 'vitest';
import { testPolicy } from '../../../test/support/policy.ts';
import { aboutAcp } from './about.ts';

const { coder } = testPolicy().agents;

test('each preset tells whether it is there and who pays; a program of one’s own tells nothing', async () => {
  const own = { ...coder, kind: 'acp', command: './mine' };
  const known = await aboutAcp([own, own], { PATH: '', GEMINI_API_KEY: 'g', OPENAI_API_KEY: 'o' }, 0);
  expect(known.map(({ name, installed, signIn }) => [name, installed, signIn])).toEqual([
    ['acp claude-agent-acp', false, 'none'],
    ['acp codex-acp', false, { by: 'OPENAI_API_KEY' }],
    ['acp opencode', false, { unknown: expect.stringContaining('agent.model') }],
    ['acp gemini', false, { by: 'GEMINI_API_KEY' }],
    ['acp `./mine`', true, { unknown: expect.stringContaining('your own') }],
  ]);
});
