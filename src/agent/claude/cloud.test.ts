import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findCredential, signInOf } from './credential.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'forge-cloud-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const find = (env: Record<string, string>) => findCredential({ HOME: home, ...env }, 0);
function has(path: string): string {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), '');
  return join(home, path);
}

const KEYS = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };
const PROJECT = { CLOUD_ML_REGION: 'global', ANTHROPIC_VERTEX_PROJECT_ID: 'p' };

test('what is of AWS is handed on to who chose Bedrock, and nothing of another provider', async () => {
  const chosen = { CLAUDE_CODE_USE_BEDROCK: '1', ...KEYS };
  has('.aws/credentials');
  expect(
    await find({ ...chosen, ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: 'x', GITHUB_TOKEN: 't' }),
  ).toEqual({
    source: 'Bedrock (AWS_ACCESS_KEY_ID)',
    env: chosen,
  });
});

test.each([[undefined], ['0'], ['false']])('without that choice (%s) nothing of AWS is', async (chosen) => {
  const env = { ...KEYS, ...(chosen && { CLAUDE_CODE_USE_BEDROCK: chosen }), ANTHROPIC_API_KEY: 'key' };
  expect(await find(env)).toEqual({ source: 'ANTHROPIC_API_KEY', env: { ANTHROPIC_API_KEY: 'key' } });
});

test('a profile is found in the operator’s own files, which a turn’s home has not', async () => {
  const credentials = has('.aws/credentials');
  const config = has('.aws/config');
  const chosen = { CLAUDE_CODE_USE_BEDROCK: 'true', AWS_PROFILE: 'models', AWS_REGION: 'eu-west-1' };
  expect(await find(chosen)).toEqual({
    source: 'Bedrock (AWS_PROFILE)',
    env: { ...chosen, AWS_SHARED_CREDENTIALS_FILE: credentials, AWS_CONFIG_FILE: config },
  });
  const named = { ...chosen, AWS_CONFIG_FILE: '/elsewhere' };
  expect(await find(named)).toMatchObject({ env: { AWS_CONFIG_FILE: '/elsewhere' } });
});

test('Vertex has its project, and the default credentials of gcloud', async () => {
  const chosen = { CLAUDE_CODE_USE_VERTEX: '1', ...PROJECT, VERTEX_REGION_CLAUDE_HAIKU_4_5: 'us-east5' };
  expect(await find({ ...chosen, ...KEYS })).toEqual({
    source: 'Vertex (the role of this machine)',
    env: chosen,
  });
  const file = has('.config/gcloud/application_default_credentials.json');
  expect(await find(chosen)).toEqual({
    source: `Vertex (${file})`,
    env: { ...chosen, GOOGLE_APPLICATION_CREDENTIALS: file },
  });
  expect(await find({ ...chosen, GOOGLE_APPLICATION_CREDENTIALS: '/key.json' })).toMatchObject({
    source: 'Vertex (GOOGLE_APPLICATION_CREDENTIALS)',
    env: { GOOGLE_APPLICATION_CREDENTIALS: '/key.json' },
  });
});

test('doctor says by which cloud, and by what', async () => {
  const env = { HOME: home, CLAUDE_CODE_USE_BEDROCK: '1', CLAUDE_CODE_SKIP_BEDROCK_AUTH: '1' };
  expect(await signInOf(env, 0)).toEqual({ by: 'Bedrock (a gateway that signs)' });
});
