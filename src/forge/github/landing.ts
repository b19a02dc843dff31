/**
 * Merging on GitHub: the candidate is built and tested here, then GitHub is asked to merge the same head, and no other,
 * while trunk is still what the candidate was built on. GitHub makes the commit that lands; its tree is compared
 * with the one that was tested.
 */
import type { Candidate } from '../../core/event.ts';
import { ForgeUnavailable } from '../../errors.ts';
import { buildCandidate } from '../../git/candidate.ts';
import { landedAs } from '../../git/landed.ts';
import { isAncestor, treeIfThere } from '../../git/objects.ts';
import type { Forge, LandResult } from '../forge.ts';
import { Refused } from './client.ts';
import type { Exclusively, Place } from './place.ts';
import type { Pulls } from './pulls.ts';
import type { Rules } from './rules.ts';
import { mergeShape, type PullRow } from './shapes.ts';

export type Landing = Pick<Forge, 'trunk' | 'buildCandidate' | 'land' | 'onTrunk'>;

export function openLanding(parts: {
  place: Place;
  pulls: Pulls;
  rules: Rules;
  exclusively: Exclusively;
}): Landing {
  const { place, pulls, rules, exclusively } = parts;
  const { client, at, git, remote } = place;

  const tip = async (now: boolean): Promise<{ branch: string; sha: string }> => {
    const branch = await place.trunkBranch();
    const head = now ? await remote.headNow(branch) : await remote.head(branch);
    if (!head) throw new ForgeUnavailable(`The branch ${branch} is not on GitHub.`);
    return { branch, sha: head.sha };
  };

  const land: Landing['land'] = (number, candidate) =>
    exclusively('land', async () => {
      const before = await pulls.row(number);
      if (before === null) return { kind: 'refused', detail: `there is no pull request #${number}.` };
      if (before.merged_at !== null) return landed(number, before, candidate);
      if (before.state !== 'open') return { kind: 'refused', detail: `pull request #${number} is closed.` };
      // A head that moved is looked at anew, as a trunk that moved is.
      if (before.head.sha !== candidate.headSha) return { kind: 'trunk_moved' };
      const { sha: trunk } = await tip(true);
      if (trunk !== candidate.trunk) return { kind: 'trunk_moved' };
      const refusal = await whyUnfit(candidate);
      if (refusal !== null) return { kind: 'refused', detail: refusal };
      if (before.draft) await pulls.markReady(before.node_id);
      if ((await rules.read()).resolvedThreads) await pulls.resolveOwn(number);
      // Whatever comes of it, what was known before is not known any more.
      pulls.forget(number);
      try {
        await client.write(
          'PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge',
          { ...at, pull_number: number, sha: candidate.headSha, ...(await wording(candidate)) },
          mergeShape,
        );
      } catch (problem) {
        if (!(problem instanceof Refused)) throw problem;
        if (problem.status === 409 || /was modified/i.test(problem.message)) return { kind: 'trunk_moved' };
        if (/merge queue/i.test(problem.message)) {
          await pulls.enqueue(before.node_id, candidate.headSha);
          pulls.forget(number);
          return { kind: 'merge_queued', detail: `pull request #${number} waits in GitHub's merge queue` };
        }
        return { kind: 'refused', detail: problem.message };
      }
      const after = await pulls.row(number);
      if (!after?.merged_at) throw new ForgeUnavailable(`GitHub merged #${number} but does not show it yet.`);
      return landed(number, after, candidate);
    });

  /** What GitHub made of it. Another tree than the tested one is said: trunk moved in between, or somebody else merged. */
  const landed = async (number: number, pull: PullRow, candidate: Candidate): Promise<LandResult> => {
    pulls.forget(number);
    const sha = pull.merge_commit_sha;
    const { sha: trunk } = await tip(true);
    const tree = sha === null ? null : await treeIfThere(git, sha);
    if (sha === null || tree === null || !(await isAncestor(git, sha, trunk)))
      throw new ForgeUnavailable(`Pull request #${number} is merged, but its commit is not on trunk yet.`);
    return tree === candidate.tree ? { kind: 'landed', sha } : { kind: 'landed', sha, untested: { tree } };
  };

  const whyUnfit = async (candidate: Candidate): Promise<string | null> => {
    const tree = await treeIfThere(git, candidate.sha);
    if (tree === null) return `the candidate ${candidate.sha} is not in the repository.`;
    return tree === candidate.tree ? null : `the candidate ${candidate.sha} has another tree.`;
  };

  /** The candidate's own form says how it is to be merged, so that what lands tells the same history. */
  const wording = async (candidate: Candidate) => {
    const said = await git(['log', '-1', '--format=%P%x00%B', candidate.sha]);
    const [parents = '', message = ''] = said.stdout.split('\0');
    const [title = '', ...rest] = message.trim().split('\n');
    const words = { commit_title: title, commit_message: rest.join('\n').trim() };
    if (parents.split(' ').length === 2) return { merge_method: 'merge', ...words };
    const head = (await git(['log', '-1', '--format=%B', candidate.headSha])).stdout.trim();
    return head === message.trim() ? { merge_method: 'rebase' } : { merge_method: 'squash', ...words };
  };

  return {
    trunk: () => tip(false),
    buildCandidate: async (input) => {
      const { sha } = await tip(true);
      const isBehind = (await rules.read()).upToDate && !(await isAncestor(git, sha, input.headSha));
      const built = await buildCandidate(git, { ...input, trunk: sha });
      return built.kind === 'clean' && isBehind ? { kind: 'behind', trunk: sha } : built;
    },
    land,
    // Only a no can be out of date.
    onTrunk: async (sha) =>
      (await landedAs(git, sha, (await tip(false)).sha)) !== null ||
      (await landedAs(git, sha, (await tip(true)).sha)) !== null,
  };
}
