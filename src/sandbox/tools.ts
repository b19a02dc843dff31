/** Which folders of this machine a command needs for its tools. */
import { statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { isWithin, passedOn, TOOLCHAIN_VARIABLES } from '../core/access/toolchains.ts';
import { entriesOf, realOf } from './machine.ts';
import type { Command, SandboxOptions } from './sandbox.ts';
import { placesOf } from './strays.ts';
import { isOfSystem } from './system.ts';

/**
 * Where its tools are: what its command names, the PATH, and what its environment says of toolchains. `writable`: where agents may
 * have left links.
 */
export function tools(
  { programs, hidden }: Pick<SandboxOptions, 'programs' | 'hidden'>,
  { argv, env }: Command,
  isOwn: (path: string) => boolean,
  writable: readonly string[],
): string[] {
  const split = (text = ''): string[] => text.split(delimiter).filter(isAbsolute);
  const path = split(env.PATH);
  const said = Object.values(passedOn(env, TOOLCHAIN_VARIABLES)).flatMap(split);
  const linked = path
    .filter((folder) => !isOfSystem(folder))
    .flatMap((folder) => linkedIn(folder, hidden, writable));
  return [
    ...[...programs, ...path, ...said, ...linked].filter((one) => isHarmless(one, hidden)),
    ...argv.filter((path) => isAbsolute(path) && !isOwn(path)).flatMap(packageOf),
  ];
}

/**
 * What the links in a folder of programs lead to: a package, or a folder whose `bin` it is. One that lies right in the
 * operator's home, as `~/.local`, holds more than tools. A link that an agent may have made leads to nothing outside of where it
 * may write.
 */
function linkedIn(folder: string, hidden: readonly string[], writable: readonly string[]): string[] {
  const links = entriesOf(folder).filter((entry) => entry.isSymbolicLink());
  return links.flatMap(({ name }) => {
    const link = join(folder, name);
    const real = realOf(link);
    if (real === null || isOfSystem(real)) return [];
    const [own] = /^.*(?=\/bin\/[^/]+$)/.exec(real) ?? [];
    const isTools = own !== undefined && !hidden.includes(dirname(own));
    const places = placesOf(link, writable);
    return [...packageOf(real), ...(isTools ? [own] : [])].filter((path) =>
      places.every((place) => isWithin(path, place)),
    );
  });
}

/** Neither a part of what is hidden, nor something that has a part of it inside. */
const isHarmless = (path: string, hidden: readonly string[]): boolean => {
  const real = realOf(path);
  return real !== null && real !== '/' && !hidden.some((one) => isWithin(one, real));
};

/** A program of a package comes with the packages around it. */
export function packageOf(path: string): string[] {
  const real = realOf(path);
  if (real === null || !statSync(real).isFile()) return [];
  const [, packages] = /^(.*?\/node_modules)\//.exec(real) ?? [];
  return [path, packages ?? real];
}
