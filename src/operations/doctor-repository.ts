/** What in the repository itself needs the operator's own setup: filters, Git LFS, submodules, signatures. */
import type { Context } from '../context.ts';
import { type FilteredPaths, filteredText } from '../core/words/words.ts';
import { UserError } from '../errors.ts';
import {
  mentionsFilters,
  submodulesOf,
  trySignature,
  unsupportedFilters,
  wantsSignatures,
} from '../git/repository.ts';
import type { Check } from './doctor.ts';

export async function repositoryNeeds(context: Context): Promise<Check[]> {
  const trunk = await trunkOf(context);
  if (trunk === null) return [];
  return [
    ...(await filters(context, trunk)),
    ...(await submodules(context, trunk)),
    ...(await signatures(context)),
  ];
}

/** Also what `init` warns of, while somebody is there to read it. */
export async function filtersOnTrunk(context: Context): Promise<FilteredPaths[]> {
  const trunk = await trunkOf(context);
  return trunk === null ? [] : unsupportedFilters(context.git, trunk);
}

export const filterAdvice = (found: readonly FilteredPaths[]): string =>
  found.every(({ filter }) => filter === 'lfs')
    ? 'git lfs install (with git-lfs on the PATH)'
    : 'Remove the attribute on trunk: see docs/repositories.md.';

/** A trunk that can't be read has a line of its own. */
async function trunkOf(context: Context): Promise<string | null> {
  try {
    return (await (await context.forge()).trunk()).sha;
  } catch {
    return null;
  }
}

async function filters(context: Context, trunk: string): Promise<Check[]> {
  const found = await unsupportedFilters(context.git, trunk);
  if (found.length > 0)
    return [{ name: 'filters', level: 'fail', what: filteredText(found), fix: filterAdvice(found) }];
  return lfs(context, trunk);
}

async function lfs({ git }: Context, trunk: string): Promise<Check[]> {
  if (!git.lfs || !(await mentionsFilters(git, trunk, 'lfs'))) return [];
  const version = await git(['lfs', 'version'], { allow: [1] });
  if (version.exitCode === 0) return [{ name: 'lfs', level: 'ok', what: version.stdout.trim(), fix: null }];
  return [
    {
      name: 'lfs',
      level: 'fail',
      what: 'trunk has files in Git LFS, and git-lfs is not on the PATH',
      fix: 'Install git-lfs.',
    },
  ];
}

async function submodules(context: Context, trunk: string): Promise<Check[]> {
  const all = await submodulesOf(context.git, trunk);
  if (all.length === 0) return [];
  const missing = all.filter(({ module }) => module === null).map(({ path }) => path);
  if (missing.length === 0)
    return [{ name: 'submodules', level: 'ok', what: all.map(({ path }) => path).join(', '), fix: null }];
  const what = `not initialised here, so empty in every workspace: ${missing.join(', ')}`;
  return [{ name: 'submodules', level: 'warn', what, fix: 'git submodule update --init --recursive' }];
}

/** Only the local forge makes the commits that land. */
async function signatures(context: Context): Promise<Check[]> {
  const { settings } = await context.settings();
  if (settings.tracker.kind !== 'local' || !(await wantsSignatures(context.git))) return [];
  try {
    const problem = await trySignature(context.git);
    if (problem === null)
      return [{ name: 'signing', level: 'ok', what: 'commit.gpgsign: a signature was made', fix: null }];
    return [
      {
        name: 'signing',
        level: 'fail',
        what: problem,
        fix: 'Unlock the signing key, or turn signing off: git config commit.gpgsign false',
      },
    ];
  } catch (error) {
    // Without an identity there is nothing to sign with, which has a line of its own.
    if (error instanceof UserError) return [];
    throw error;
  }
}
