/**
 * What trunk asks for before anything lands on it, by rulesets and by classic protection: read, so that a person is told
 * what is missing before a merge is tried. Classic protection is shown to administrators only; where it can't be read,
 * GitHub's own judgement of the reviews stands in for it, and GitHub refuses whatever else it wants.
 */
import { Refused } from './client.ts';
import type { Place } from './place.ts';
import { branchShape, type PullFacts, protectionShape, pullRuleShape, ruleShape } from './shapes.ts';

export type MergeMethod = 'squash' | 'merge' | 'rebase';

export interface BranchRules {
  branch: string;
  /** It has classic protection, which this token may not see in detail. */
  isHidden: boolean;
  /** Names of checks. */
  checks: readonly string[];
  /** Those among them that are the loop's own to set. */
  own: readonly string[];
  /** A head has to contain trunk before it may land. */
  upToDate: boolean;
  /** How many people have to approve, and of which kind. */
  approvals: number;
  byCodeOwner: boolean;
  afterLastPush: boolean;
  resolvedThreads: boolean;
  /** A merge queue decides by itself how it merges. */
  queue: boolean;
  linear: boolean;
  signed: boolean;
  /** The repository may allow fewer. */
  methods: readonly MergeMethod[];
}

export interface Rules {
  read(): Promise<BranchRules>;
  /** A merge rests on them, or what GitHub refused may be refused by a rule that is new. */
  forget(): void;
}

const FRESH_MS = 300_000;

/** Statuses of the loop's, which are not CI's. */
export const OWN = 'forge-loop/';

export function openRules({ client, at, now, trunkBranch }: Place): Rules {
  let known: { rules: BranchRules; at: number } | null = null;
  let mayReadProtection = true;

  const protectionOf = async (branch: string) => {
    if (!mayReadProtection) return null;
    const route = '/repos/{owner}/{repo}/branches/{branch}/protection';
    const found = await unlessForbidden(client.get(route, { ...at, branch }, protectionShape));
    mayReadProtection = found !== null;
    return found;
  };

  const ask = async (): Promise<BranchRules> => {
    const branch = await trunkBranch();
    const one = { ...at, branch };
    const rulesets =
      (await unlessForbidden(client.list('/repos/{owner}/{repo}/rules/branches/{branch}', one, ruleShape))) ??
      [];
    const found = await unlessForbidden(
      client.get('/repos/{owner}/{repo}/branches/{branch}', one, branchShape),
    );
    const classic = found?.protection;
    const full = classic?.enabled ? await protectionOf(branch) : null;
    const given = (type: string) =>
      rulesets.filter((rule) => rule.type === type).map((rule) => rule.parameters ?? {});
    const pulls = given('pull_request').map((parameters) => pullRuleShape.parse(parameters));
    const checks = given('required_status_checks');
    const reviews = full?.required_pull_request_reviews;
    const named = checks.flatMap((rule) => (rule.required_status_checks ?? []) as { context: string }[]);
    const required = [
      ...new Set([
        ...named.map(({ context }) => context),
        ...(classic?.required_status_checks?.contexts ?? []),
      ]),
    ];
    return {
      branch,
      isHidden: classic?.enabled === true && full === null,
      checks: required.filter((name) => !name.startsWith(OWN)),
      own: required.filter((name) => name.startsWith(OWN)),
      upToDate:
        checks.some((rule) => rule.strict_required_status_checks_policy === true) ||
        full?.required_status_checks?.strict === true,
      approvals: Math.max(
        0,
        reviews?.required_approving_review_count ?? 0,
        ...pulls.map((rule) => rule.required_approving_review_count),
      ),
      byCodeOwner:
        reviews?.require_code_owner_reviews === true || pulls.some((rule) => rule.require_code_owner_review),
      afterLastPush:
        reviews?.require_last_push_approval === true || pulls.some((rule) => rule.require_last_push_approval),
      resolvedThreads:
        full?.required_conversation_resolution?.enabled === true ||
        pulls.some((rule) => rule.required_review_thread_resolution),
      queue: given('merge_queue').length > 0,
      linear: given('required_linear_history').length > 0 || full?.required_linear_history?.enabled === true,
      signed: given('required_signatures').length > 0 || full?.required_signatures?.enabled === true,
      methods: METHODS.filter((method) =>
        pulls.every((rule) => rule.allowed_merge_methods?.includes(method) ?? true),
      ),
    };
  };

  return {
    async read() {
      if (known === null || now() - known.at >= FRESH_MS) known = { rules: await ask(), at: now() };
      return known.rules;
    },
    forget: () => {
      known = null;
    },
  };
}

/** What the rules want of people before this pull request may land, in words; CI's checks are told elsewhere. */
export function wantedOf(rules: BranchRules, facts: PullFacts, self: string, method: MergeMethod): string[] {
  const { branch, approvals, byCodeOwner, afterLastPush } = rules;
  const wants: string[] = [];
  const contradiction = contradictionOf(rules, facts.baseRepository, method);
  if (contradiction) wants.push(contradiction.what);
  const words = lastWords(facts, self);
  const approving = words.filter(({ state }) => state === 'APPROVED');
  const isReviewed = approvals > 0 || byCodeOwner || afterLastPush || facts.reviewDecision !== null;
  const against = words.filter(({ state }) => state === 'CHANGES_REQUESTED').map(({ by }) => by);
  const head = facts.commits.nodes[0]?.commit.oid;
  if (isReviewed && against.length > 0)
    wants.push(
      `${branch} takes nothing while ${against.join(', ')} asks for changes: approve it, or dismiss that review`,
    );
  if (approving.length < approvals)
    wants.push(
      `${branch} wants ${approvals} approving review${approvals === 1 ? '' : 's'} by people with write access, and it has ${approving.length || 'none'}`,
    );
  else if (afterLastPush && !approving.some(({ headSha }) => headSha === head))
    wants.push(`${branch} wants an approving review of the head as it is since the last push`);
  else if (facts.reviewDecision === 'REVIEW_REQUIRED')
    wants.push(
      `${branch} wants an approving review by ${byCodeOwner ? 'an owner of the code it touches' : 'a person'}`,
    );
  const open = facts.reviewThreads.nodes.filter(
    (thread) => !thread.isResolved && thread.comments.nodes.some(({ author }) => author?.login !== self),
  );
  if (rules.resolvedThreads && open.length > 0)
    wants.push(
      `${branch} wants every conversation resolved, and ${open.length === 1 ? 'one is' : `${open.length} are`} open (${[...new Set(open.map(({ path }) => path))].slice(0, 3).join(', ')})`,
    );
  return wants;
}

/** Why nothing merged by this method can ever land, whoever approves it; null when it can. */
export function contradictionOf(
  { branch, queue, linear, signed, methods }: BranchRules,
  /** Null where it does not show which ways it allows: then it is taken to allow all. */
  repository: PullFacts['baseRepository'],
  method: MergeMethod,
): { what: string; fix: string } | null {
  if (queue) return null;
  const allowed = methods.filter((one) => repository?.[ALLOWED[one]] !== false);
  const fits = allowed.filter((one) => !(linear && one === 'merge') && !(signed && one !== 'squash'));
  if (fits.includes(method)) return null;
  const why = !allowed.includes(method)
    ? `${branch} does not take merges by ${method}`
    : signed
      ? `${branch} wants signed commits, which merges by ${method} do not have`
      : `${branch} wants a linear history, which merges by ${method} break`;
  const fix =
    fits.length > 0
      ? `Set merge.method to ${fits.join(' or ')} in WORKFLOW.md.`
      : `Allow a merge method in the repository's settings that the rules of ${branch} allow, too.`;
  return { what: `${why} (merge.method: ${method})`, fix };
}

/** Of each person with write access the last word; a review that only comments leaves the one before standing. */
export function lastWords(
  { reviews }: PullFacts,
  self: string,
): { by: string; state: string; headSha: string | null }[] {
  const last = new Map<string, { state: string; headSha: string | null }>();
  for (const { author, authorCanPushToRepository: mayPush, state, commit } of reviews.nodes) {
    if (author && mayPush && author.login !== self && state !== 'COMMENTED' && state !== 'PENDING')
      last.set(author.login, { state, headSha: commit?.oid ?? null });
  }
  return [...last].map(([by, word]) => ({ by, ...word }));
}

const METHODS = ['squash', 'merge', 'rebase'] as const;

const ALLOWED = {
  squash: 'allow_squash_merge',
  merge: 'allow_merge_commit',
  rebase: 'allow_rebase_merge',
} as const;

/** Whoever may not read the rules finds them out by the refusal. */
async function unlessForbidden<T>(reading: Promise<T | null>): Promise<T | null> {
  try {
    return await reading;
  } catch (problem) {
    if (problem instanceof Refused && (problem.status === 403 || problem.status === 404)) return null;
    throw problem;
  }
}
