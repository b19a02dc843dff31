import { test, vi } from 'vitest';
import { NEEDED, realGitHub } from '../../../test/support/github/real.ts';
import { githubScratch } from '../../../test/support/github/scratch.ts';
import { forgeContract } from '../contract.ts';

forgeContract('github', () => githubScratch({ freshMs: 1000 }));
/**
 * Each of our own calls meets copies that lack what the calls before it did; people take their time. Each test has a seed of
 * its own, so that late is another thing in each.
 */
let seed = 0;
forgeContract('github with late copies', () => {
  seed += 1;
  return githubScratch({ freshMs: 1000 }, { seed, ms: 9000 });
});

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
