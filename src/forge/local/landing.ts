/**
 * Candidates, and the moment one becomes trunk.
 *
 * The commit point is a compare-and-swap of trunk's ref. Before it everything can still be refused and nothing has
 * moved; after it the merge is a fact, and all that is left (checkouts, the pull request's file) is finished by whoever
 * asks next.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Candidate } from '../../core/event.ts';
import { shortSha } from '../../core/words/short-sha.ts';
import { ForgeUnavailable } from '../../errors.ts';
import { buildCandidate } from '../../git/candidate.ts';
import { changesBetween } from '../../git/changes.ts';
import type { Git } from '../../git/git.ts';
import { mergeTree } from '../../git/merge.ts';
import { isAncestor, resolve, treeIfThere } from '../../git/objects.ts';
import { isSigned, wantsSignatures } from '../../git/signing.ts';
import type { Forge, LandResult } from '../forge.ts';
import {
  catchUp,
  isUnsettled,
  type Locked,
  lockCheckout,
  settle,
  whyImmovable,
  whyLocked,
} from './advance.ts';
import { type Checkout, checkoutsOf, isAnyLocked, naming, whyTrunkIsTaken } from './checkout.ts';
import type { Exclusively } from './lock.ts';
import type { Pulls } from './pulls.ts';

export interface Landing extends Pick<Forge, 'buildCandidate' | 'mergeBlocker' | 'land'> {
  /** Checkouts that a landing which was cut short left behind. */
  unsettled(): Promise<string[]>;
}

export function openLanding(options: {
  git: Git;
  exclusively: Exclusively;
  workspaceRoot: string | null;
  trunk: () => Promise<{ branch: string; sha: string }>;
  trunkBranch: () => Promise<string>;
  pulls: Pulls;
}): Landing {
  const { git, exclusively, workspaceRoot, trunk, trunkBranch, pulls } = options;

  return {
    unsettled: async () => (await checkouts()).filter(isUnsettled).map((checkout) => checkout.path),

    buildCandidate: async (input) => {
      if (isAnyLocked(git)) await exclusively('land', async () => settleAll(await checkouts()));
      const sign = await wantsSignatures(git);
      return buildCandidate(git, { ...input, trunk: input.onto ?? (await trunk()).sha, sign });
    },

    mergeBlocker: async (headSha) => {
      const { branch, sha: tip } = await trunk();
      const taken = whyTrunkIsTaken(git, branch, workspaceRoot);
      if (taken !== null) return taken;
      const moving = await checkouts();
      // A conflict is found when the candidate is built, and is no reason to wait.
      const merged = moving.length > 0 && headSha !== undefined ? await mergeTree(git, tip, headSha) : null;
      for (const checkout of moving) {
        // The next landing finishes what was cut short before it looks again.
        if (isUnsettled(checkout)) continue;
        const why =
          whyLocked(checkout) ?? (await whyImmovable(checkout, tip, merged?.clean ? merged.tree : null));
        if (why !== null) return why;
      }
      return null;
    },

    land: (number, candidate) =>
      exclusively('land', async () => {
        const moving = await checkouts();
        const notes = await settleAll(moving);
        const { branch, sha: tip } = await trunk();
        const tree = await treeIfThere(git, candidate.sha);
        if (tip !== candidate.trunk) {
          if (tree === null || !(await isAncestor(git, candidate.sha, tip))) return { kind: 'trunk_moved' };
          if (tip === candidate.sha) {
            for (const checkout of moving)
              notes.push(await catchUp(checkout, candidate.trunk, candidate.sha));
          }
          return finish(number, candidate, notes);
        }
        const refusal = (await whyUnfit(candidate, tree)) ?? (await whyClosed(number));
        if (refusal !== null) return { kind: 'refused', detail: refusal };
        const taken = whyTrunkIsTaken(git, branch, workspaceRoot);
        if (taken !== null) return { kind: 'dirty_checkout', detail: taken };

        await pulls.recordCandidate(number, candidate);
        const locked: Extract<Locked, { kind: 'locked' }>[] = [];
        let moved = false;
        try {
          for (const checkout of moving) {
            const one = await lockCheckout(checkout, candidate.trunk, candidate.sha);
            if (one.kind === 'busy') return { kind: 'dirty_checkout', detail: one.why };
            locked.push(one);
          }
          moved = await swap(`refs/heads/${branch}`, candidate);
          if (!moved) return { kind: 'trunk_moved' };
          for (const checkout of locked) notes.push(await checkout.advance());
          for (const { path } of moving) notes.push(await outdatedModules(path, candidate));
        } finally {
          // Once trunk has moved, a checkout that could not follow stays locked until it does.
          if (!moved) for (const checkout of locked) checkout.release();
        }
        return finish(number, candidate, notes);
      }),
  };

  async function checkouts(): Promise<Checkout[]> {
    return checkoutsOf(git, await trunkBranch(), workspaceRoot);
  }

  async function settleAll(checkouts: readonly Checkout[]): Promise<(string | null)[]> {
    const notes: (string | null)[] = [];
    for (const checkout of checkouts) notes.push(await settle(checkout));
    return notes;
  }

  /** Only a commit that adds to the trunk it was built on, with the tree that was tested, may land. */
  async function whyUnfit(candidate: Candidate, tree: string | null): Promise<string | null> {
    if (tree === null) return `the candidate ${shortSha(candidate.sha)} is not in the repository.`;
    if (tree !== candidate.tree) return `the candidate ${shortSha(candidate.sha)} has another tree.`;
    if ((await wantsSignatures(git)) && !(await isSigned(git, candidate.sha)))
      return `the candidate ${shortSha(candidate.sha)} is not signed, and commit.gpgsign is set.`;
    if (await isAncestor(git, candidate.trunk, candidate.sha)) return null;
    return `the candidate ${shortSha(candidate.sha)} does not build on trunk.`;
  }

  async function whyClosed(number: number): Promise<string | null> {
    const pull = await pulls.pull(number);
    if (pull?.state === 'open') return null;
    return pull === null
      ? `there is no pull request #${number}.`
      : `pull request #${number} is ${pull.state}.`;
  }

  /** A merge leaves submodules where they are, as git's own does. */
  async function outdatedModules(checkout: string, { trunk, sha }: Candidate): Promise<string | null> {
    const moved = (await changesBetween(git, trunk, sha)).filter(({ to }) => to?.startsWith('160000 '));
    const stale = moved.map(({ path }) => path).filter((path) => existsSync(join(checkout, path, '.git')));
    if (stale.length === 0) return null;
    return `${naming(stale)} in ${checkout} is at another commit than the merge records; run: git submodule update`;
  }

  async function swap(ref: string, candidate: Candidate): Promise<boolean> {
    const reason = ['-m', 'forge-loop: merge'];
    const swapped = await git(['update-ref', ...reason, ref, candidate.sha, candidate.trunk], {
      allow: [1, 128],
    });
    if (swapped.exitCode === 0) return true;
    const tip = await resolve(git, ref);
    if (tip !== candidate.trunk) return tip === candidate.sha;
    throw new ForgeUnavailable(`git could not move ${ref}: ${swapped.stderr.trim()}`);
  }

  async function finish(
    number: number,
    candidate: Candidate,
    notes: readonly (string | null)[],
  ): Promise<LandResult> {
    await pulls.recordMerge(number, candidate.sha);
    const note = notes.filter((one) => one !== null).join(' ');
    return { kind: 'landed', sha: candidate.sha, ...(note === '' ? {} : { note }) };
  }
}
