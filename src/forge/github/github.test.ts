import { test, vi } from 'vitest';
import { NEEDED, realGitHub } from '../../../test/support/github/real.ts';
import { githubScratch } from '../../../test/support/github/scratch.ts';
import { forgeContract } from '../contract.ts';

forgeContract('github', () => githubScratch({ freshMs: 1000 }));
/** No more than two seconds: people wait as long before whatever they do, and see what was done. */
forgeContract('github with late copies', () => githubScratch({}, { seed: 13, ms: 2000 }));

const real = realGitHub(process.env);
if (real) {
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });
  forgeContract('the real github', real);
} else {
  const missing = `the real GitHub is not tried: set ${NEEDED.join(', ')} (a scratch repository) to do so`;
  console.warn(missing);
  // It needs accounts and a repository that only people can give.
  test.skip(missing, () => {});
}
