import { afterEach, expect, test } from 'vitest';
import { agentStage } from '../../../test/support/agent-stage.ts';
import { BARE } from '../../../test/support/policy.ts';
import { PLACEHOLDER } from '../passage.ts';
import { type Equipment, equip } from './presets.ts';

const { turnOf } = agentStage({ agent: { kind: 'acp' } as never, performing: async () => ({}) });
afterEach(() => {
  delete process.env.OPENAI_API_KEY;
});

const ownProgram = (env = BARE) => ({ preset: null, command: 'my-agent', model: null, env });

test('a program of the operator’s own that is passed a provider’s key has a placeholder for it', async () => {
  process.env.OPENAI_API_KEY = 'sk-real';
  const env = { ...BARE, pass: ['OPENAI_API_KEY'] };
  const { credential, setUp } = (await equip(ownProgram(env), process.env, 0)) as Equipment;
  expect(credential).toBe('key');
  const base = await turnOf([]);
  const turn = { ...base, policy: { ...base.policy, env } };
  const routes: unknown[] = [];
  const told = await setUp(turn, null, (route) => {
    routes.push(route);
    return 'http://door';
  });
  expect(told).toEqual({ OPENAI_API_KEY: PLACEHOLDER, OPENAI_BASE_URL: 'http://door' });
  expect(routes).toMatchObject([
    { headers: { authorization: 'Bearer sk-real' }, speaks: ['responses', 'chat'] },
  ]);
  expect(await setUp(turn, null, null), 'where the gateway holds nothing').toEqual({});
});

test('one that is passed none pays for itself', async () => {
  process.env.OPENAI_API_KEY = 'sk-real';
  expect(await equip(ownProgram(), process.env, 0)).toMatchObject({ credential: 'none' });
});
