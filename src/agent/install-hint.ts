/** How to install a package so that this forge-loop finds it, which depends on how forge-loop itself was installed. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A command, with where to run it; `packages` are specs such as `name@1.2.3`. */
export function installHint(packages: readonly string[], module: string = import.meta.url): string {
  const specs = packages.join(' ');
  const folder = packageOf(fileURLToPath(module));
  const modules = dirname(folder);
  // Without `-D` npm takes an optional peer of ours for one that need not be there, and installs nothing.
  if (basename(modules) !== 'node_modules')
    return `run \`npm install --no-save -D ${specs}\` in ${folder}, and again after each \`npm install\` there`;
  const holder = holderOf(modules);
  if (basename(dirname(holder)) === '_npx')
    return `start it with \`npx ${packages.map((one) => `-p ${one} `).join('')}-p forge-loop forge-loop …\``;
  return existsSync(join(holder, 'package.json'))
    ? `run \`npm install ${specs}\` in ${holder}`
    : `run \`npm install -g ${specs}\``;
}

/** The folder of our package, whichever of its files asks. */
function packageOf(file: string): string {
  let folder = dirname(file);
  while (nameIn(folder) !== 'forge-loop' && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function nameIn(folder: string): unknown {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name;
  } catch {
    return null;
  }
}

/** What has that `node_modules`; pnpm keeps packages in a store inside it. */
const holderOf = (modules: string): string =>
  modules.includes('/node_modules/.pnpm/')
    ? modules.replace(/\/node_modules\/\.pnpm\/.*$/, '')
    : dirname(modules);
