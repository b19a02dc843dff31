import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProvider, kindOf, notSignedIn, type Provider, shown, signInOf } from './provider.ts';

let HOME = '';
beforeAll(async () => {
  HOME = await mkdtemp(join(tmpdir(), 'forge-opencode-'));
  await mkdir(join(HOME, '.config', 'opencode'), { recursive: true });
  await mkdir(join(HOME, '.local', 'share', 'opencode'), { recursive: true });
  await writeFile(
    join(HOME, '.config', 'opencode', 'opencode.jsonc'),
    `{
      // A gateway of ours.
      "provider": { "ours": { "options": { "baseURL": "https://llm.example//v1", "apiKey": "{env:OUR_KEY}" }, }, },
      "mcp": { "other": { "command": ["steal"] } }
    }`,
  );
  await writeFile(
    join(HOME, '.local', 'share', 'opencode', 'auth.json'),
    JSON.stringify({
      openai: { type: 'api', key: 'sk-kept' },
      anthropic: { type: 'oauth', access: 'a', refresh: 'r', expires: 1 },
    }),
  );
});
afterAll(() => rm(HOME, { recursive: true, force: true }));

test.each([
  [
    'a key in the environment',
    'anthropic',
    { ANTHROPIC_API_KEY: 'sk-1', OTHER: 'x' },
    { ANTHROPIC_API_KEY: 'sk-1' },
  ],
  [
    'the keys of AWS',
    'amazon-bedrock',
    { AWS_ACCESS_KEY_ID: 'i', AWS_SECRET_ACCESS_KEY: 's', AWS_REGION: 'r', AWS_PROFILE: 'p' },
    { AWS_ACCESS_KEY_ID: 'i', AWS_SECRET_ACCESS_KEY: 's', AWS_REGION: 'r' },
  ],
  [
    'the file of a Google account',
    'google-vertex',
    {
      GOOGLE_APPLICATION_CREDENTIALS: '/k.json',
      GOOGLE_VERTEX_PROJECT: 'p',
      GOOGLE_VERTEX_LOCATION: 'global',
    },
    {
      GOOGLE_APPLICATION_CREDENTIALS: '/k.json',
      GOOGLE_VERTEX_PROJECT: 'p',
      GOOGLE_VERTEX_LOCATION: 'global',
    },
  ],
  ['a key by another name', 'google', { GEMINI_API_KEY: 'g' }, { GEMINI_API_KEY: 'g' }],
  ['the one that the configuration names', 'ours', { OUR_KEY: 'k', OPENAI_API_KEY: 'x' }, { OUR_KEY: 'k' }],
  [
    'the key that opencode kept',
    'openai',
    {},
    { OPENCODE_AUTH_CONTENT: '{"openai":{"type":"api","key":"sk-kept"}}' },
  ],
])('it gets %s and no other', async (_, id, operator, env) => {
  expect(await findProvider(id, { HOME, ...operator })).toMatchObject({ id });
  expect((await findProvider(id, { HOME, ...operator }))?.env).toEqual(env);
});

test('a provider of the operator’s own comes with its section, comments and all, and nothing else', async () => {
  expect(await findProvider('ours', { HOME })).toEqual({
    id: 'ours',
    config: { options: { baseURL: 'https://llm.example//v1', apiKey: '{env:OUR_KEY}' } },
    env: {},
    source: null,
  });
});

describe('where the gateway holds what a provider is signed in with', () => {
  const ours = (options: object, env: Record<string, string>, more: object = {}): Provider => ({
    id: 'ours',
    config: {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: 'https://llm.example/v1', ...options },
      ...more,
    },
    env,
    source: null,
  });

  /** What the gateway is given, and what opencode is told. */
  function held(provider: Provider, model = 'm-1') {
    const routes: unknown[] = [];
    const { config, env } = shown(provider, model, (route) => {
      routes.push(route);
      return 'http://door';
    });
    return { routes, told: JSON.stringify({ config, env }) };
  }

  const SECRETS = { OUR_KEY: 'sk-1', OUR_TOKEN: 'tok-2' };

  test.each([
    [
      'its key and literal headers',
      ours({ apiKey: 'sk-1', headers: { 'X-Team-Token': 'tok-2' } }, {}),
      { authorization: 'Bearer sk-1', 'x-team-token': 'tok-2' },
    ],
    [
      'both by variable',
      ours({ apiKey: '{env:OUR_KEY}', headers: { 'X-Team-Token': 'v1 {env:OUR_TOKEN}' } }, SECRETS),
      { authorization: 'Bearer sk-1', 'x-team-token': 'v1 tok-2' },
    ],
    [
      'a key by its usual name beside a header by variable',
      ours({ headers: { 'X-Team-Token': '{env:OUR_TOKEN}' } }, { OURS_API_KEY: 'sk-1', OUR_TOKEN: 'tok-2' }),
      { authorization: 'Bearer sk-1', 'x-team-token': 'tok-2' },
    ],
    [
      'headers alone',
      ours({ headers: { Authorization: 'Token {env:OUR_TOKEN}' } }, { OUR_TOKEN: 'tok-2' }),
      { authorization: 'Token tok-2' },
    ],
    [
      'headers of the model that is asked, and of no other',
      ours(
        { apiKey: 'sk-1' },
        {},
        {
          models: {
            'm-1': { name: 'One', headers: { 'x-one': 'tok-2' } },
            'm-2': { headers: { 'x-two': 'tok-3' } },
          },
        },
      ),
      { authorization: 'Bearer sk-1', 'x-one': 'tok-2' },
    ],
  ])('opencode is told nothing of %s', (_, provider, headers) => {
    expect(kindOf(provider, 'm-1')).toBe('key');
    const { routes, told } = held(provider);
    expect(routes).toEqual([{ upstream: 'https://llm.example/v1', headers, speaks: ['responses', 'chat'] }]);
    expect(told).not.toMatch(/sk-1|tok-2|tok-3/);
    expect(told).toContain('http://door');
  });

  test('its other settings stay, and its address may come from a variable', () => {
    const provider = ours(
      { apiKey: 'sk-1', baseURL: '{env:OUR_URL}/v1', timeout: 7 },
      { OUR_URL: 'https://there.example' },
      { models: { 'm-1': { name: 'One' } } },
    );
    const { routes, told } = held(provider);
    expect(routes).toMatchObject([{ upstream: 'https://there.example/v1' }]);
    expect(JSON.parse(told).config).toMatchObject({
      options: { timeout: 7 },
      models: { 'm-1': { name: 'One' } },
    });
  });

  test('one that keeps its credential keeps its headers', () => {
    const provider = ours({ headers: { 'X-Team-Token': '{env:OUR_TOKEN}' } }, { OUR_TOKEN: 'tok-2' });
    expect(shown(provider, 'm-1', null)).toBe(provider);
  });
});

test('a login that renews itself is not handed on', async () => {
  expect(await findProvider('anthropic', { HOME })).toBeNull();
  expect(notSignedIn('anthropic')).toContain('ANTHROPIC_API_KEY');
});

test.each([
  [
    'a key in the environment',
    ['anthropic/a'],
    { ANTHROPIC_API_KEY: 'sk-1' },
    { by: 'ANTHROPIC_API_KEY (anthropic)' },
  ],
  ['the key that opencode kept', ['openai/a', 'openai/b'], {}, { by: 'opencode auth login (openai)' }],
  ['no key', ['mistral/a'], {}, 'none'],
  ['one of two without a key', ['openai/a', 'mistral/a'], {}, 'none'],
])('signed in with %s', async (_, models, env, expected) => {
  expect(await signInOf(models, { HOME, ...env })).toEqual(expected);
});

test.each([
  ['without a model', []],
  ['with a provider of one’s own that names no key', ['ours/a']],
])('%s it can not be told', async (_, models) => {
  expect(await signInOf(models, { HOME })).toEqual({ unknown: expect.any(String) });
});
