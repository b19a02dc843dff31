/** The forge of the simulated world. Honest: heads, merges and conflicts come from its repository. */
import type { Policy } from '../../src/core/policy.ts';
import type { Forge, LandResult, Pull } from '../../src/forge/forge.ts';
import { enqueue, leaveQueue, mergeHead, sneakIn } from './landing.ts';
import { containing, judgeContents, judgeOrder } from './line.ts';
import { redFiles } from './repository.ts';
import type { SimPull, World } from './world.ts';

export function simForge(world: World, policy: Policy): Forge {
  const { repository, issues } = world;
  const { refs } = repository;
  const find = (number: number) => {
    const issue = issues.get(number);
    if (!issue) throw new Error(`no issue ${number}`);
    return issue;
  };
  const seen = (pull: SimPull): Pull => {
    const headSha = refs.get(pull.branch) ?? null;
    const merged = pull.mergedSha ?? byHand(headSha, pull);
    const told = merged && world.lands !== 'itself' ? { mergedTree: repository.get(merged).tree } : {};
    return { ...pull, ...told, headSha, state: merged ? 'merged' : pull.state, mergedSha: merged };
  };
  const byHand = (head: string | null, pull: SimPull): string | null =>
    head && head !== pull.baseSha && repository.isAncestor(head, world.trunk()) ? world.trunk() : null;

  return {
    kind: 'simulated',
    check: async () => [],
    openIssues: async () =>
      [...issues.values()].filter((issue) => issue.state === 'open').map((issue) => structuredClone(issue)),
    issue: async (number) => structuredClone(issues.get(number) ?? null),
    async relabel(number, { add, remove }) {
      const issue = find(number);
      issue.labels = [...new Set([...issue.labels.filter((label) => !remove.includes(label)), ...add])];
    },
    async ensureComment(issue, marker, body) {
      const found = world.comments.find((one) => one.issue === issue && one.marker === marker);
      if (found) found.body = body;
      else world.comments.push({ issue, marker, body });
    },
    async closeIssue(number) {
      find(number).state = 'closed';
    },
    trunk: async () => ({ branch: 'main', sha: world.trunk() }),
    async push(branch, sha, expected) {
      const now = refs.get(branch) ?? null;
      if (now === sha) return 'pushed';
      if (now !== expected) return 'moved';
      refs.set(branch, sha);
      return 'pushed';
    },
    async branchHead(branch) {
      const sha = refs.get(branch);
      return sha ? { sha, tree: repository.get(sha).tree } : null;
    },
    async deleteBranch(branch) {
      refs.delete(branch);
    },
    async ensurePull({ issue, branch, body, marker }) {
      const found = world.pulls.find((pull) => pull.branch === branch && pull.marker === marker);
      if (found) return seen(found);
      const isSame = (one: SimPull): boolean =>
        one.marker === marker || (issue !== null && one.issue === issue);
      if (world.pulls.some((pull) => isSame(pull) && seen(pull).state === 'open'))
        world.violate(`a second open pull request for ${issue === null ? marker : `issue ${issue}`}`);
      const made: SimPull = {
        number: world.pulls.length + 1,
        issue,
        branch,
        marker,
        body,
        state: 'open',
        headSha: null,
        mergedSha: null,
        approvals: [],
        baseSha: repository.mergeBase(refs.get(branch)!, world.trunk()),
      };
      world.pulls.push(made);
      return seen(made);
    },
    async pull(number) {
      const found = world.pulls.find((pull) => pull.number === number);
      return found ? seen(found) : null;
    },
    async updatePull(number, { body }) {
      const found = world.pulls.find((pull) => pull.number === number);
      if (found) found.body = body;
    },
    async postReview() {},
    async closePull(number) {
      const found = world.pulls.find((pull) => pull.number === number);
      if (found && seen(found).state === 'open') found.state = 'closed';
    },
    async leaveQueue(number) {
      const found = world.pulls.find((pull) => pull.number === number);
      if (found) leaveQueue(world, found);
    },
    async feedback(number) {
      const pull = world.pulls.find((one) => one.number === number);
      if (!pull) return null;
      const head = refs.get(pull.branch);
      return structuredClone({
        checks: world.checks.filter((check) => check.headSha === head),
        remarks: world.remarks.filter(({ where }) => where.kind === 'pull' && where.number === number),
        wants: isReviewed(pull, head) ? [] : ['main wants 1 approving review'],
      });
    },
    async commands(since) {
      const remarks = world.remarks.filter(({ at, body }) => at >= since && /^\/loop\b/m.test(body));
      return {
        remarks: structuredClone(remarks),
        seen: world.remarks.reduce((latest, { at }) => Math.max(latest, at), since),
      };
    },
    async reply(to, marker, body) {
      if (!world.replies.some((one) => one.marker === marker))
        world.replies.push({ to: to.id, marker, body });
    },
    mergesAlone: async () => world.lands === 'queue',
    async buildCandidate({ headSha, baseSha, message, task, onto }) {
      const trunk = onto ?? world.trunk();
      if (!repository.isAncestor(baseSha, trunk)) return { kind: 'rewritten', trunk };
      const { files, conflicts } = repository.merge(trunk, headSha);
      if (conflicts.length > 0) return { kind: 'conflict', files: conflicts, trunk };
      const made = repository.commit(files, [trunk], `${message}\n${task}`);
      if (made.tree === repository.get(trunk).tree) return { kind: 'empty', trunk };
      world.candidates.add(made.sha);
      const trunkTree = repository.get(trunk).tree;
      return { kind: 'clean', candidate: { sha: made.sha, tree: made.tree, trunk, trunkTree, headSha } };
    },
    mergeBlocker: async () => (world.dirtyCheckout === 'seen' ? DIRTY : null),
    async land(number, candidate) {
      const pull = world.pulls.find((one) => one.number === number)!;
      if (repository.isAncestor(candidate.sha, world.trunk())) return { kind: 'landed', sha: candidate.sha };
      if (pull.mergedSha !== null) return landedAs(pull.mergedSha, candidate.tree);
      if (world.dirtyCheckout !== 'no') {
        const times = (world.blockedLandings.get(number) ?? 0) + 1;
        world.blockedLandings.set(number, times);
        if (times > MOST_BLOCKED) world.violate(`landing pull ${number} was blocked ${times} times`);
        return { kind: 'dirty_checkout', detail: DIRTY };
      }
      if (world.trunk() !== candidate.trunk) return { kind: 'trunk_moved' };
      judgeLanding(pull, candidate);
      judgeContents(world, candidate);
      await judgeFindings(pull, candidate);
      await judgeOrder(world, pull);
      if (world.lands === 'queue') {
        enqueue(world, pull, candidate);
        return { kind: 'merge_queued', detail: 'it waits in the merge queue' };
      }
      if (world.lands === 'anew') {
        if (world.random.chance(0.3)) sneakIn(world);
        return mergeHead(world, pull, candidate)
          ? landedAs(pull.mergedSha!, candidate.tree)
          : { kind: 'trunk_moved' };
      }
      refs.set('main', candidate.sha);
      pull.mergedSha = candidate.sha;
      pull.state = 'merged';
      world.landings.push({
        pull: number,
        issue: pull.issue,
        at: world.time.now(),
        candidate: candidate.sha,
        untested: false,
      });
      return { kind: 'landed', sha: candidate.sha };
    },
    onTrunk: async (sha) => repository.isAncestor(sha, world.trunk()),
    // Its agents call no tools.
    readIssue: async () => null,
    readPull: async () => null,
    search: async () => ({ shown: [], total: 0 }),
  };

  function landedAs(sha: string, tested: string): LandResult {
    const { tree } = repository.get(sha);
    return tree === tested ? { kind: 'landed', sha } : { kind: 'landed', sha, untested: { tree } };
  }

  function isReviewed(pull: SimPull, head: string | undefined): boolean {
    return !world.wantsReview || pull.approvals.some(({ headSha }) => headSha === head);
  }

  /** Where the story allows it and the gate names its tests: tested, and red by no test that is green on trunk. */
  function isRedAsBefore({ sha, tree }: { sha: string; tree: string }): boolean {
    const [here, there] = [sha, world.trunk()].map((commit) =>
      redFiles(repository.get(commit).files).map((line) => line.split(' ')[0]),
    );
    const isAllowed = world.allowsRedBefore && world.reportsTests && world.testedTrees.has(tree);
    return isAllowed && here!.every((name) => there!.includes(name));
  }

  /** Only a person lets a change pass that meddles with what judges it. */
  async function judgeFindings(pull: SimPull, candidate: { sha: string; headSha: string }): Promise<void> {
    const verdict = (await world.store.task(pull.marker))?.task.verdict;
    const isPersons = verdict?.by !== 'critic' && verdict?.headSha === candidate.headSha;
    const findings = await world.store.findings(pull.marker);
    for (const { status, severity, source, id, history } of findings) {
      const isSeen = isPersons && source === 'rule';
      if (status === 'open' && severity !== 'sev3' && !isSeen) world.violate(`landed with ${id} open`);
      if (history.at(-1)?.status !== status) world.violate(`${id} is ${status}, its history says otherwise`);
    }
    if (isPersons) return;
    const [before, after] = [repository.get(world.trunk()).files, repository.get(candidate.sha).files];
    for (const path of ['ci/test.sh', 'WORKFLOW.md'])
      if (before[path] !== after[path]) world.violate(`landed a change to ${path} that no person approved`);
    const isLeft = findings.some(({ status, source }) => source === 'rule' && status === 'wontfix');
    if (
      after['critic-report.json'] !== before['critic-report.json'] &&
      !isLeft &&
      'critic-report.json' in after
    )
      world.violate('landed a report of its own that nobody agreed to');
    if ('test/one.test.js' in before && !('test/one.test.js' in after) && !isLeft)
      world.violate('landed the deletion of a test that nobody agreed to');
  }

  /** The invariants of merging, checked by the world at the moment trunk moves. */
  function judgeLanding(pull: SimPull, candidate: { sha: string; tree: string; headSha: string }): void {
    const head = refs.get(pull.branch);
    if (head !== candidate.headSha)
      world.violate(`landed ${candidate.headSha}, but the branch is at ${head}`);
    if (!isReviewed(pull, candidate.headSha))
      world.violate(`tried to land ${candidate.headSha} without a review`);
    if (!world.approvedHeads.has(candidate.headSha))
      world.violate(`landed ${candidate.headSha} without an approval of it`);
    const isGreen = (one: { sha: string; tree: string }): boolean =>
      world.passedTrees.has(one.tree) || isRedAsBefore(one);
    if (!isGreen(candidate) && !(policy.merge.queue.batch && containing(world, candidate.sha).some(isGreen)))
      world.violate(`landed tree ${candidate.tree} without a passing gate on it`);
    const [before, after] = [repository.get(world.trunk()).files, repository.get(candidate.sha).files];
    for (const [path, content] of Object.entries(after))
      if (before[path] !== content && world.takenBack.has(content))
        world.violate(`landed ${path} as it was before a forced push took that out of trunk`);
    const red = world.redSince.get(candidate.headSha);
    const check = world.checks.find((one) => one.headSha === candidate.headSha);
    const state = check?.state ?? 'pending';
    const counts = check?.required || policy.merge.requiredChecks.includes('build');
    if (counts && (state === 'pending' || (red !== undefined && world.time.now() - red > GRACE_MS)))
      world.violate(`landed ${candidate.headSha} with a required check that is ${state}`);
    for (const { body, mayWrite, verdict, at, where } of world.remarks) {
      const counts = mayWrite && verdict !== 'approve' && !body.startsWith('/loop');
      if (where.kind !== 'pull' || where.number !== pull.number || !counts) continue;
      if (world.time.now() - at > GRACE_MS && !world.heard.some((prompt) => prompt.includes(body)))
        world.violate(`landed pull ${pull.number}, and nobody told the coder: ${body}`);
    }
    const closed = pull.issue === null ? undefined : world.closedAt.get(pull.issue);
    if (closed !== undefined && world.time.now() - closed > GRACE_MS)
      world.violate(`landed the closed issue ${pull.issue}`);
    if (world.landings.some((one) => one.pull === pull.number))
      world.violate(`landed pull ${pull.number} twice`);
  }
}

/** A person may close an issue while the decision to land it is already on its way. */
const GRACE_MS = 3000;

const DIRTY = 'README.md is modified';

/** A checkout is dirty for minutes; whoever tries to land more often than this does not wait between tries. */
const MOST_BLOCKED = 30;
