/** Installs the real agents beside these tests, unless what is there is what the lockfile names. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('./', import.meta.url));
const stamp = `${here}node_modules/.installed`;
const wanted = createHash('sha256')
  .update(readFileSync(`${here}package.json`))
  .update(readFileSync(`${here}package-lock.json`))
  .update(`${process.platform} ${process.arch}`)
  .digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  const begun = performance.now();
  execFileSync('npm', ['install', '--no-audit', '--no-fund'], { cwd: here, stdio: 'inherit' });
  writeFileSync(stamp, wanted);
  console.log(`installed the agents in ${Math.round((performance.now() - begun) / 1000)} s`);
}
