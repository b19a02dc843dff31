/**
 * Claude through the operator's cloud: Bedrock of AWS, Vertex of Google. Only for who chose it by Claude's own variable;
 * then what that cloud's programs look for is handed on, and nothing of Anthropic's.
 *
 * A turn has a home of its own, so credentials that lie in the operator's are handed on as the path of their file.
 */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../program-path.ts';
import type { Credential } from './credential.ts';

interface Cloud {
  name: string;
  chosenBy: string;
  /** Where it is and how it is asked. */
  settings: readonly string[];
  /** What proves who somebody is; the first that is set is told to people. */
  proofs: readonly string[];
  /** Files that its programs look for in a home, by the variables that name them; for who has no proof in a variable. */
  files(operator: Environment): Record<string, string>;
}

const MODELS = [
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'ANTHROPIC_SMALL_FAST_MODEL',
];

const CLOUDS: readonly Cloud[] = [
  {
    name: 'Bedrock',
    chosenBy: 'CLAUDE_CODE_USE_BEDROCK',
    settings: [
      ...MODELS,
      'ANTHROPIC_BEDROCK_BASE_URL',
      'ANTHROPIC_CUSTOM_HEADERS',
      'ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION',
      'CLAUDE_CODE_SKIP_BEDROCK_AUTH',
      'AWS_REGION',
      'AWS_DEFAULT_REGION',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_SESSION_TOKEN',
      'AWS_ROLE_ARN',
      'AWS_ROLE_SESSION_NAME',
      'AWS_CONTAINER_AUTHORIZATION_TOKEN',
      'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
    ],
    proofs: [
      'AWS_BEARER_TOKEN_BEDROCK',
      'AWS_ACCESS_KEY_ID',
      'AWS_WEB_IDENTITY_TOKEN_FILE',
      'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
      'AWS_CONTAINER_CREDENTIALS_FULL_URI',
      'AWS_PROFILE',
      'AWS_SHARED_CREDENTIALS_FILE',
      'AWS_CONFIG_FILE',
    ],
    files: ({ HOME = '' }) => ({
      AWS_SHARED_CREDENTIALS_FILE: join(HOME, '.aws', 'credentials'),
      AWS_CONFIG_FILE: join(HOME, '.aws', 'config'),
    }),
  },
  {
    name: 'Vertex',
    chosenBy: 'CLAUDE_CODE_USE_VERTEX',
    settings: [
      ...MODELS,
      'ANTHROPIC_VERTEX_BASE_URL',
      'ANTHROPIC_VERTEX_PROJECT_ID',
      'ANTHROPIC_CUSTOM_HEADERS',
      'CLAUDE_CODE_SKIP_VERTEX_AUTH',
      'CLOUD_ML_REGION',
      'GOOGLE_CLOUD_PROJECT',
      'GCLOUD_PROJECT',
    ],
    proofs: ['GOOGLE_APPLICATION_CREDENTIALS'],
    files: ({ HOME = '', CLOUDSDK_CONFIG }) => ({
      GOOGLE_APPLICATION_CREDENTIALS: join(
        CLOUDSDK_CONFIG || join(HOME, '.config', 'gcloud'),
        'application_default_credentials.json',
      ),
    }),
  },
];

/** A profile is looked up in the files; a key is not. */
const IN_FILES = ['AWS_PROFILE', 'AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE'];

/** Null when the operator chose none. */
export async function cloudCredential(operator: Environment): Promise<Credential | null> {
  const cloud = CLOUDS.find(({ chosenBy }) => isOn(operator[chosenBy]));
  if (!cloud) return null;
  const { name, chosenBy, settings, proofs, files } = cloud;
  // What one region is called for one model ends in the model's name.
  const regions = Object.keys(operator).filter((one) => one.startsWith('VERTEX_REGION_'));
  const wanted = [chosenBy, ...settings, ...proofs, ...(name === 'Vertex' ? regions : [])];
  const given = Object.fromEntries(
    wanted.flatMap((one) => (operator[one] ? [[one, operator[one] as string]] : [])),
  );
  const proof = proofs.find((one) => given[one]);
  const found = proof === undefined || IN_FILES.includes(proof) ? await existing(files(operator)) : {};
  const [file] = Object.values(found);
  return { source: `${name} (${proof ?? file ?? otherwise(name, given)})`, env: { ...found, ...given } };
}

const isOn = (value: string | undefined): boolean => /^(1|true|yes|on)$/i.test(value ?? '');

async function existing(files: Record<string, string>): Promise<Record<string, string>> {
  const found = await Promise.all(
    Object.entries(files).map(async ([name, path]) =>
      access(path).then(
        () => [[name, path]],
        () => [],
      ),
    ),
  );
  return Object.fromEntries(found.flat());
}

/** A gateway may sign what it passes on, and a machine in the cloud has a role of its own. */
const otherwise = (name: string, given: Readonly<Record<string, string>>): string =>
  given[`CLAUDE_CODE_SKIP_${name.toUpperCase()}_AUTH`] ? 'a gateway that signs' : 'the role of this machine';
