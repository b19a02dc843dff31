/**
 * Where the token comes from: WORKFLOW.md (`tracker.provider.token`, usually `$VAR`), then GITHUB_TOKEN or GH_TOKEN,
 * then the GitHub CLI. It is asked for again when GitHub stops accepting it. A GitHub App makes its own: app.ts.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ForgeUnavailable, UserError } from '../../errors.ts';

interface TokenSource {
  /** In words for people: where the token is from, never the token. */
  readonly from: string;
  /** `again`: the one read last is not accepted any more. */
  read(again?: boolean): Promise<string>;
}

export async function findToken(options: {
  given: string | null;
  env: NodeJS.ProcessEnv;
  host: string;
}): Promise<TokenSource> {
  const { given, env, host } = options;
  if (given) return { from: 'tracker.provider.token', read: async () => given };
  for (const name of ['GITHUB_TOKEN', 'GH_TOKEN']) {
    const value = env[name];
    if (value) return { from: name, read: async () => value };
  }
  let known = await fromCli(host, env);
  const read = async (again = false): Promise<string> => {
    if (again) known = await fromCli(host, env).catch(toBeRenewed);
    return known;
  };
  return { from: '`gh auth token`', read };
}

/** There was one, so nothing is wrong with what asks for it: tasks wait until there is one again. */
export function toBeRenewed(problem: unknown): never {
  if (!(problem instanceof UserError)) throw problem;
  const { message, hint } = problem;
  throw new ForgeUnavailable(message, null, {
    cause: problem,
    isRefusal: true,
    ...(hint === null ? {} : { hint }),
  });
}

async function fromCli(host: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('gh', ['auth', 'token', '--hostname', host], {
      env,
      timeout: 10_000,
    });
    if (stdout.trim() !== '') return stdout.trim();
  } catch {
    // Not installed, not logged in: both end in the same advice.
  }
  throw new UserError(
    `There is no token for ${host}.`,
    'Set GITHUB_TOKEN, or tracker.provider.token: $VAR in WORKFLOW.md, or run: gh auth login',
  );
}
