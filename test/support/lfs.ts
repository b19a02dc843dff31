/** git-lfs is a program of its own, which not every machine has. CI has to: there, nothing may be skipped in silence. */
import { spawnSync } from 'node:child_process';

export const hasLfs = spawnSync('git', ['lfs', 'version']).status === 0;

if (!hasLfs) {
  const missing = 'git-lfs is not installed';
  if (process.env.CI) throw new Error(`${missing}, and CI does not skip the tests of it. Install git-lfs.`);
  console.warn(`${missing}: the tests of Git LFS are skipped`);
}
