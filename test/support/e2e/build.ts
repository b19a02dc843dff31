/** The end-to-end tests run what users run. It is built first when it is missing or older than its source. */
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

export function setup(): void {
  const built = statSync(join(root, 'dist', 'main.js'), { throwIfNoEntry: false });
  if (built && built.mtimeMs >= newestSource()) return;
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('`npm run build` failed: there is nothing to test end to end');
}

function newestSource(): number {
  const sources = ['src', 'web'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(tsx?|js|css|html)$/.test(name) && !/(\.test|contract)\.ts$/.test(name))
      .map((name) => join(root, folder, name)),
  );
  return Math.max(...sources.map((path) => statSync(path).mtimeMs));
}
