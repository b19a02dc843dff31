/** From what WORKFLOW.md says under `tracker` to a forge: the repository, the token, and what may be set beside them. */
import { resolve } from 'node:path';
import { z } from 'zod';
import type { Labels } from '../../core/policy.ts';
import { UserError } from '../../errors.ts';
import type { Git } from '../../git/git.ts';
import { type Address, addressOf } from './address.ts';
import { type App, openApp } from './app.ts';
import { type GitHubForge, githubForge } from './github.ts';
import type { Role } from './roles.ts';
import type { MergeMethod } from './rules.ts';
import { findToken } from './token.ts';

export async function openGitHub(options: {
  git: Git;
  root: string;
  labels: Labels;
  trunk: string | null;
  remembered: () => Promise<string | null>;
  auth: 'token' | 'app';
  provider: Record<string, unknown>;
  trusted(): Role;
  method(): MergeMethod;
  pollMs?(): number;
  env: NodeJS.ProcessEnv;
  /** Told of what can't be read or shown, and is done without. */
  warn(message: string): void;
}): Promise<GitHubForge> {
  const { git, root, labels, trunk, remembered, trusted, method, pollMs, env } = options;
  const given = readProvider(options.provider);
  // As git would fetch from it: `url.<base>.insteadOf` may stand for the host.
  const remote = await git(['ls-remote', '--get-url', 'origin']);
  const address = addressOf({
    repository: given.repository ?? null,
    apiUrl: given.api_url ?? null,
    // Git repeats a name that it does not know.
    remoteUrl: remote.stdout.trim() === 'origin' ? null : remote.stdout.trim(),
  });
  const now = (): number => Date.now();
  const token =
    options.auth === 'app'
      ? asApp(given, address, root, now).token
      : (await findToken({ given: given.token ?? null, env, host: address.host })).read;
  return githubForge({
    git,
    root,
    address,
    labels,
    trunk,
    remembered,
    trusted,
    method,
    token,
    now,
    drafts: given.drafts,
    priorityField: given.priority_field ?? null,
    requestsPerHour: given.requests_per_hour,
    paced: given.paced,
    ...(given.paced ? { writesPerHour: WRITES_PER_HOUR } : {}),
    freshMs: FRESH_MS,
    ...(pollMs ? { pollMs } : {}),
    warn: options.warn,
  });
}

/** One look at a task asks for its issue, its pull request and its branch; the next look is a few seconds later. */
const FRESH_MS = 5000;

/** Of "content-generating requests" GitHub takes as many, by its REST documentation on rate limits. */
const WRITES_PER_HOUR = 500;

function asApp(given: Provider, address: Address, root: string, now: () => number): App {
  const { app_id: id, app_key_file: keyFile } = given;
  if (!id || !keyFile)
    throw new UserError(
      'tracker.auth: app needs tracker.provider.app_id and tracker.provider.app_key_file.',
      'See docs/github.md.',
    );
  return openApp({
    id,
    keyFile: resolve(root, keyFile),
    installation: given.installation_id ?? null,
    apiUrl: address.apiUrl,
    repository: address,
    now,
  });
}

/** Written as YAML has it, or in quotes. */
const onOff = z
  .union([z.boolean(), z.enum(['true', 'false'])], 'must be true or false')
  .default(true)
  .transform((given) => given === true || given === 'true');
const numeral = z.union([z.string(), z.int().nonnegative()]).transform(String);

const providerShape = z.strictObject({
  repository: z.string().optional(),
  api_url: z.url().optional(),
  token: z.string().optional(),
  app_id: numeral.optional(),
  app_key_file: z.string().optional(),
  installation_id: numeral.pipe(z.string().regex(/^\d+$/, 'must be a number')).optional(),
  drafts: onOff,
  priority_field: z.string().trim().min(1).optional(),
  requests_per_hour: z
    .union([z.number(), z.string()])
    .transform(Number)
    .pipe(z.number().int().min(10))
    .default(2500),
  paced: onOff,
});

type Provider = z.output<typeof providerShape>;

function readProvider(provider: Record<string, unknown>): Provider {
  const read = providerShape.safeParse(provider);
  if (read.success) return read.data;
  const problem = read.error.issues[0]!;
  const key = ['tracker', 'provider', ...problem.path].join('.');
  const known = Object.keys(providerShape.shape).join(', ');
  throw new UserError(`${key}: ${problem.message}`, `GitHub takes: ${known}. See docs/github.md.`);
}
