/** From what WORKFLOW.md says under `tracker` to a forge: the repository, the token, and what may be set beside them. */
import { z } from 'zod';
import type { Labels } from '../../core/policy.ts';
import { UserError } from '../../errors.ts';
import type { Git } from '../../git/git.ts';
import { addressOf } from './address.ts';
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
  provider: Record<string, string>;
  trusted(): Role;
  method(): MergeMethod;
  env: NodeJS.ProcessEnv;
  /** Told of what can't be read or shown, and is done without. */
  warn(message: string): void;
}): Promise<GitHubForge> {
  const { git, root, labels, trunk, remembered, trusted, method, env } = options;
  const given = readProvider(options.provider);
  // As git would fetch from it: `url.<base>.insteadOf` may stand for the host.
  const remote = await git(['ls-remote', '--get-url', 'origin']);
  const address = addressOf({
    repository: given.repository ?? null,
    apiUrl: given.api_url ?? null,
    // Git repeats a name that it does not know.
    remoteUrl: remote.stdout.trim() === 'origin' ? null : remote.stdout.trim(),
  });
  const token = await findToken({ given: given.token ?? null, env, host: address.host });
  return githubForge({
    git,
    root,
    address,
    labels,
    trunk,
    remembered,
    trusted,
    method,
    token: token.read,
    now: () => Date.now(),
    drafts: given.drafts === 'true',
    priorityField: given.priority_field ?? null,
    requestsPerHour: given.requests_per_hour,
    paced: given.paced === 'true',
    freshMs: FRESH_MS,
    warn: options.warn,
  });
}

/** One look at a task asks for its issue, its pull request and its branch; the next look is a few seconds later. */
const FRESH_MS = 5000;

const onOff = z.enum(['true', 'false']);

const providerShape = z.strictObject({
  repository: z.string().optional(),
  api_url: z.url().optional(),
  token: z.string().optional(),
  drafts: onOff.default('true'),
  priority_field: z.string().trim().min(1).optional(),
  requests_per_hour: z.coerce.number().int().min(10).default(2500),
  paced: onOff.default('true'),
});

function readProvider(provider: Record<string, string>): z.output<typeof providerShape> {
  const read = providerShape.safeParse(provider);
  if (read.success) return read.data;
  const problem = read.error.issues[0]!;
  const key = ['tracker', 'provider', ...problem.path].join('.');
  const known = Object.keys(providerShape.shape).join(', ');
  throw new UserError(`${key}: ${problem.message}`, `GitHub takes: ${known}. See docs/github.md.`);
}
