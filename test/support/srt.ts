/** srt for tests. `npm run test:agents` installs the package beside the real agents. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';

const PACKAGE = '@anthropic-ai/sandbox-runtime';
export const BESIDE = new URL('../../e2e/package.json', import.meta.url).href;

/** Tests of agents do without bubblewrap, unless they say otherwise. */
export const WHOLE_PATH = process.env.WHOLE_PATH ?? process.env.PATH ?? '';

/** On Linux it has a /dev of its own, in which nothing of ours is. */
export const BELOW = '/var/tmp';

/** Whether what needs srt can't be run, said loudly. */
export function skippedWithoutSrt(what: string): boolean {
  const programs = ['bwrap', 'socat', 'rg'].filter(
    (name) => spawnSync('which', [name], { env: { PATH: WHOLE_PATH } }).status !== 0,
  );
  const missing = [...(isInstalled() ? [] : [PACKAGE]), ...programs];
  if (missing.length > 0)
    console.warn(`SKIPPED: ${what}, for want of ${missing.join(', ')}. See npm run test:agents.`);
  return missing.length > 0;
}

function isInstalled(): boolean {
  try {
    return createRequire(BESIDE).resolve(PACKAGE) !== '';
  } catch {
    return false;
  }
}
