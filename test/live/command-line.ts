/** What the person who runs the proof says, and what they are told when it does not fit. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface Asked {
  repository: string;
  apiUrl: string | null;
  /** The loop's token: the one that is on trial. */
  token: string;
  /** Sets the stage: repository, issues, branch rule. The loop's own where no other is given. */
  stageToken: string;
  report: string;
  /** Between two writes, as GitHub asks of programs. */
  pauseMs: number;
  minutes: number;
}

/** Said on standard error, exit code 2: nothing was done. */
export class Usage extends Error {
  override name = 'Usage';
}

export const HELP = `Usage: npm run test:github -- --repo owner/name [options]

Plays forge-loop's story on a repository of the real GitHub, from ready issues to merged pull requests: Actions runs the CI,
a classic rule wants heads up to date, and 101 issues are open. A script stands in for the agent: no model is paid.
Then it cleans up, and writes a report.

The repository must be a throwaway: empty, or marked as one (docs/github.md, "Prove it live").

Options:
  --repo owner/name  the throwaway repository
  --api-url <url>    for GitHub Enterprise: https://host/api/v3, or https://api.name.ghe.com
  --report <file>    where the report goes (default: github-report.md)
  --minutes <n>      how long the story may take before it is given up (default: 60)
  --pause-ms <n>     between two writes (default: 1000); 0 where no limit holds
  -h, --help         show help

Environment:
  GITHUB_TOKEN        the loop's token, best a fine-grained one
  GITHUB_STAGE_TOKEN  sets the stage in its place (push, issues, branch rule); give it Administration: write, and the loop's
                      token can do without

Exit codes: 0 all was seen as it should be; 1 something was not, or it was interrupted; 2 nothing was done: wrong usage, or not
a throwaway; 3 all that was tried was as it should be, but rights were missing for the rest.
`;

export function asked(argv: readonly string[], env: NodeJS.ProcessEnv): Asked | 'help' {
  const { values } = parsed(argv);
  if (values.help) return 'help';
  const repository = values.repo ?? '';
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository)) throw new Usage('Give the repository as --repo owner/name.');
  const apiUrl = values['api-url'] ?? null;
  if (apiUrl !== null && !URL.canParse(apiUrl))
    throw new Usage(`--api-url must be an address such as https://host/api/v3, not ${apiUrl}.`);
  const token = env.GITHUB_TOKEN;
  if (!token)
    throw new Usage('There is no token: set GITHUB_TOKEN (docs/github.md says which rights it needs).');
  return {
    repository,
    apiUrl,
    token,
    stageToken: env.GITHUB_STAGE_TOKEN || token,
    report: resolve(values.report ?? 'github-report.md'),
    pauseMs: number('--pause-ms', values['pause-ms'] ?? '1000'),
    minutes: number('--minutes', values.minutes ?? '60'),
  };
}

function parsed(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    repo: text,
    'api-url': text,
    report: text,
    minutes: text,
    'pause-ms': text,
    help: { type: 'boolean', short: 'h' },
  } as const;
  try {
    return parseArgs({ args: [...argv], options });
  } catch (problem) {
    throw new Usage((problem as Error).message);
  }
}

function number(option: string, given: string): number {
  if (!/^\d+$/.test(given)) throw new Usage(`${option} must be a whole number, not ${given}.`);
  return Number(given);
}
