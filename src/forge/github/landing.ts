/**
 * Merging on GitHub: the candidate is built and tested here, then GitHub is asked to merge the same head, and no other,
 * while trunk is still what the candidate was built on. GitHub makes the commit that lands; its tree is compared
 * with the one that was tested.
 */
import type { Candidate } from '../../core/event.ts';
import { shortSha } from '../../core/words/short-sha.ts';
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

type Landing = Required<Pick<Forge, 'trunk' | 'mergesAlone' | 'buildCandidate' | 'land' | 'onTrunk'>>;

export function openLanding(parts: {
  place: Place;
  pulls: Pulls;
  rules: Rules;
  exclusively: Exclusively;
}): Landing {
  const { place, pulls, rules, exclusively } = parts;
  const { client, at, git, remote } = place;

  /** Branches of which GitHub showed that heads have to contain them, though their protection may not be read. */
  const strict = new Set<string>();

  const tip = async (now: boolean): Promise<{ branch: string; sha: string }> => {
    const branch = await place.trunkBranch();
    const head = now ? await remote.headNow(branch) : await remote.head(branch);
    if (!head)
      throw new ForgeUnavailable(`The branch ${branch} is not on GitHub.`, null, {
        isRefusal: true,
        hint: `git push origin ${branch}, or set tracker.trunk.`,
      });
    return { branch, sha: head.sha };
  };

  const land: Landing['land'] = (number, candidate) =>
    exclusively('land', async () => {
      const before = await pulls.row(number);
      if (before === null) return { kind: 'refused', detail: `there is no pull request #${number}.` };
      const settled = await outcomeOf(number, before, candidate);
      if (settled) return settled;
      const refusal = await whyUnfit(candidate);
      if (refusal !== null) return { kind: 'refused', detail: refusal };
      const still = before.draft ? await whyStillDraft(before) : null;
      if (still !== null) return passing(still);
      const wanted = await rules.read();
      if (wanted.resolvedThreads) await pulls.resolveOwn(number);
      const hasQueue = wanted.queue || (await pulls.facts(number, 'look'))?.isMergeQueueEnabled;
      // Whatever comes of it, what was known before is not known any more.
      pulls.forget(number);
      // Asked to merge, GitHub would let an account that may bypass the rules jump the queue.
      if (hasQueue) return enqueue(number, candidate);
      let merged: string;
      try {
        const answer = await client.write(
          'PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge',
          { ...at, pull_number: number, sha: candidate.headSha, ...(await wording(candidate)) },
          mergeShape,
        );
        merged = answer.sha;
      } catch (problem) {
        if (!(problem instanceof Refused)) throw problem;
        rules.forget();
        if (/merge queue/i.test(problem.message)) return enqueue(number, candidate);
        return afterRefusal(number, candidate, problem);
      }
      return landed(number, merged, candidate);
    });

  /** Null when it is out of draft now. */
  const whyStillDraft = async (pull: PullRow): Promise<string | null> => {
    try {
      await pulls.markReady(pull.node_id);
      return null;
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      return problem.message;
    }
  };

  /** What a pull request shows by itself: it is merged, closed, moved or behind. Null when it may be merged. */
  const outcomeOf = async (
    number: number,
    pull: PullRow,
    candidate: Candidate,
  ): Promise<LandResult | null> => {
    if (pull.merged_at !== null) return landed(number, pull.merge_commit_sha, candidate);
    if (pull.state !== 'open') return { kind: 'refused', detail: `pull request #${number} is closed.` };
    const { branch, sha: trunk } = await tip(true);
    if (trunk !== candidate.trunk) return { kind: 'trunk_moved' };
    // A head that moved is looked at anew, as a trunk that moved is; git knows, and GitHub may show it late.
    if ((await remote.head(pull.head.ref))?.sha !== candidate.headSha) return { kind: 'trunk_moved' };
    if (pull.head.sha !== candidate.headSha)
      return passing(`GitHub still shows ${shortSha(pull.head.sha)} as the head of #${number}.`);
    if (pull.mergeable_state !== 'behind' || (await isAncestor(git, trunk, candidate.headSha))) return null;
    strict.add(branch);
    return { kind: 'behind', trunk };
  };

  /**
   * GitHub says 405 and 409 both for what will never be merged and for what it has not finished to look at, and the words
   * for a head that is behind are those for a check that is missing. What the pull request shows now tells them apart.
   */
  const afterRefusal = async (
    number: number,
    candidate: Candidate,
    problem: Refused,
  ): Promise<LandResult> => {
    const after = await pulls.row(number);
    const settled = after && (await outcomeOf(number, after, candidate));
    if (settled) return settled;
    const { branch, sha: trunk } = await tip(false);
    const isBehind = !(await isAncestor(git, trunk, candidate.headSha));
    if (isBehind && /out of date/i.test(problem.message)) {
      strict.add(branch);
      return { kind: 'behind', trunk };
    }
    const mayPass = problem.status === 405 || problem.status === 409;
    return mayPass ? passing(problem.message) : { kind: 'refused', detail: problem.message };
  };

  const enqueue = async (number: number, candidate: Candidate): Promise<LandResult> => {
    try {
      await pulls.enqueue(number, candidate.headSha);
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      rules.forget();
      return passing(problem.message);
    }
    return { kind: 'merge_queued', detail: `pull request #${number} waits in GitHub's merge queue` };
  };

  /** What GitHub made of it. Another tree than the tested one is said: trunk moved in between, or somebody else merged. */
  const landed = async (number: number, sha: string | null, candidate: Candidate): Promise<LandResult> => {
    pulls.forget(number);
    const { sha: trunk } = await tip(true);
    const tree = sha === null ? null : await treeIfThere(git, sha);
    if (sha === null || tree === null || !(await isAncestor(git, sha, trunk)))
      throw new ForgeUnavailable(`Pull request #${number} is merged, but its commit is not on trunk yet.`);
    pulls.noteMerged(number, sha);
    return tree === candidate.tree ? { kind: 'landed', sha } : { kind: 'landed', sha, untested: { tree } };
  };

  const whyUnfit = async (candidate: Candidate): Promise<string | null> => {
    const tree = await treeIfThere(git, candidate.sha);
    if (tree === null) return `the candidate ${shortSha(candidate.sha)} is not in the repository.`;
    return tree === candidate.tree ? null : `the candidate ${shortSha(candidate.sha)} has another tree.`;
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

  const isStrict = async (): Promise<boolean> =>
    strict.has(await place.trunkBranch()) || (await rules.read()).upToDate;

  return {
    trunk: () => tip(false),
    mergesAlone: async () => (await isStrict()) || (await rules.read()).queue,
    buildCandidate: async (input) => {
      const { sha } = await tip(true);
      const isBehind = (await isStrict()) && !(await isAncestor(git, sha, input.headSha));
      const built = await buildCandidate(git, { ...input, trunk: input.onto ?? sha });
      return built.kind === 'clean' && isBehind ? { kind: 'behind', trunk: sha } : built;
    },
    land,
    // Only a no can be out of date.
    onTrunk: async (sha) =>
      (await landedAs(git, sha, (await tip(false)).sha)) !== null ||
      (await landedAs(git, sha, (await tip(true)).sha)) !== null,
  };
}

const passing = (detail: string): LandResult => ({ kind: 'refused', detail, passing: true });
