/**
 * `commit.gpgsign` as the operator has set it. It is honoured for the commits that become trunk; those of branches and
 * checkpoints stay unsigned.
 */
import { join } from 'node:path';
import { SigningFailed } from '../errors.ts';
import { commitTree } from './commit.ts';
import type { Git } from './git.ts';
import { readCommit } from './objects.ts';
import { operatorConfig } from './operator-config.ts';
import { inScratch } from './scratch.ts';

export async function wantsSignatures(git: Git): Promise<boolean> {
  const value = (await operatorConfig(git.ownDir, '^commit\\.gpgsign$')).get('commit.gpgsign');
  return value !== undefined && /^(true|yes|on|[1-9]\d*)$/i.test(value);
}

export async function isSigned(git: Git, commit: string): Promise<boolean> {
  return /^gpgsig(-sha256)? /m.test((await readCommit(git, commit))?.headers ?? '');
}

/** Signs a commit that is thrown away; null when that works, else why not. Nothing is written to the repository. */
export async function trySignature(git: Git): Promise<string | null> {
  const tree = await git.resolve('HEAD^{tree}');
  if (tree === null) return null;
  return inScratch(async (folder) => {
    const env = {
      GIT_OBJECT_DIRECTORY: folder,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: join(git.gitDir, 'objects'),
    };
    try {
      await commitTree(git, { tree, parents: [], message: 'A signature is tried', sign: true, env });
      return null;
    } catch (error) {
      if (!(error instanceof SigningFailed)) throw error;
      return error.message;
    }
  });
}
