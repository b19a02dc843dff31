/**
 * What would keep the loop from working here, each with the right or setting that is missing. Rights are tried, since a
 * fine-grained token can't be asked for them: by reading, and by writing what GitHub can't but turn down. It looks at
 * the right first (403), at what is wrong with the request then (422).
 */
import type { Labels } from '../../core/policy.ts';
import { ForgeUnavailable, UserError } from '../../errors.ts';
import { identity } from '../../git/git.ts';
import type { ForgeProblem } from '../forge.ts';
import { Refused } from './client.ts';
import type { Place } from './place.ts';
import { isReader } from './reach.ts';
import { type BranchRules, contradictionOf, type MergeMethod, type Rules } from './rules.ts';
import { labelShape, nothing, PROJECT_FIELD, type RepositoryRow, repositoryShape } from './shapes.ts';

export async function problemsOf(
  place: Place,
  labels: Labels,
  rules: Rules,
  method: MergeMethod,
): Promise<ForgeProblem[]> {
  const { client, at } = place;
  const name = `${at.owner}/${at.repo}`;
  const problems: ForgeProblem[] = [];
  const block = (what: string, fix: string): void => void problems.push({ what, fix, blocks: true });
  const warn = (what: string, fix: string): void => void problems.push({ what, fix });
  if ((await identity(place.git)) === null) {
    block(
      'git does not know who you are, so no candidate can be committed.',
      'git config --global user.name "Your Name" && git config --global user.email you@example.com',
    );
  }
  try {
    const repository = await client.get('/repos/{owner}/{repo}', at, repositoryShape);
    if (repository === null) {
      block(
        `GitHub shows this token no repository ${name}.`,
        'Check the name (tracker.provider.repository), and that the token may see it (fine-grained: Metadata, read).',
      );
      return problems;
    }
    if (repository.full_name.toLowerCase() !== name.toLowerCase())
      warn(
        `${name} is called ${repository.full_name} now.`,
        'Point origin there (git remote set-url origin <url>), and tracker.provider.repository where it is set.',
      );
    if (repository.archived) block(`${name} is archived: nothing can be pushed or merged.`, 'Unarchive it.');
    if (!repository.has_issues)
      block(`Issues are disabled in ${name}.`, 'Settings → General → Features → Issues.');
    if (await isReader(place, repository))
      block(
        `This token may not push to ${name}.`,
        'Give its account the role Write, and a fine-grained token: Contents, Issues, Pull requests, Commit statuses: read and write; Metadata: read.',
      );
    await place.self();
    const trunk = await place.trunkBranch();
    if ((await place.remote.head(trunk)) === null)
      block(`The branch ${trunk} is not on GitHub.`, `git push origin ${trunk}, or set tracker.trunk.`);
    if (repository.has_issues) await missingLabels(place, labels, warn);
    rulesInTheWay(await rules.read(), repository, method, warn);
  } catch (problem) {
    const lacking = await blockingRights(place, rules, problem);
    if (lacking.length > 0) problems.push(...lacking);
    else if (problem instanceof UserError) block(problem.message, problem.hint ?? '');
    else if (problem instanceof ForgeUnavailable)
      problems.push({
        what: problem.message,
        fix: problem.hint ?? 'Check the network and tracker.provider.api_url.',
        blocks: true,
        ...(problem.isRefusal ? {} : { isSilence: true }),
      });
    else throw problem;
  }
  return problems;
}

/** Once one right is missing, all that are: whoever edits the token does it once. */
async function blockingRights(place: Place, rules: Rules, problem: unknown): Promise<ForgeProblem[]> {
  const isOne =
    (problem instanceof Refused && problem.status === 403) ||
    (problem instanceof ForgeUnavailable && problem.isRefusal);
  if (!isOne) return [];
  const missing = await missingRights(place, rules).catch(() => []);
  return missing.filter(({ blocks }) => blocks);
}

/** Nothing to say where the account itself may not write: that is said already. */
export async function missingRights(place: Place, rules: Rules): Promise<ForgeProblem[]> {
  const { client, at } = place;
  const repository = await client.get('/repos/{owner}/{repo}', at, repositoryShape);
  if (!repository || repository.archived || (await isReader(place, repository))) return [];
  const trunk = await place.trunkBranch();
  const found = await rules.read();
  const missing: ForgeProblem[] = [];
  for (const right of RIGHTS) {
    if (!(await isRefused(right.try(place, trunk)))) continue;
    const what = `This token lacks ${right.name}: ${right.costs(found)}`;
    missing.push({ what, fix: right.fix, ...(right.blocks && { blocks: true }) });
  }
  return [...missing, ...withoutAdministration(found), ...withoutWorkflows(client.scopes())];
}

async function isRefused(tried: Promise<unknown>): Promise<boolean> {
  try {
    await tried;
    return false;
  } catch (problem) {
    if (problem instanceof Refused) return problem.status === 403;
    throw problem;
  }
}

interface Right {
  name: string;
  /** Nothing works without it. */
  blocks?: true;
  fix: string;
  costs(rules: BranchRules): string;
  try(place: Place, trunk: string): Promise<unknown>;
}

const NOBODYS = '0'.repeat(40);
const PROBE = 'forge-loop-probe';

const give = (right: string): string => `Edit the token: Repository permissions → ${right}.`;

const neverGreen = ({ branch, checks }: BranchRules): string =>
  checks.length > 0
    ? `; one of them among what ${branch} requires (${checks.join(', ')}) is never green`
    : '';

const RIGHTS: Right[] = [
  {
    name: 'Contents: write',
    blocks: true,
    fix: give('Contents: Read and write'),
    costs: () => 'nothing can be pushed or merged.',
    try: ({ client, at }) =>
      client.write(
        'POST /repos/{owner}/{repo}/git/refs',
        { ...at, ref: `refs/heads/${PROBE}`, sha: NOBODYS },
        nothing,
      ),
  },
  {
    name: 'Issues: write',
    blocks: true,
    fix: give('Issues: Read and write'),
    costs: () => 'nothing can be said, labelled or closed on issues.',
    try: ({ client, at }) => client.write('POST /repos/{owner}/{repo}/issues', { ...at, title: '' }, nothing),
  },
  {
    name: 'Pull requests: write',
    blocks: true,
    fix: give('Pull requests: Read and write'),
    costs: () => 'no pull request can be opened.',
    try: ({ client, at }, trunk) =>
      client.write(
        'POST /repos/{owner}/{repo}/pulls',
        { ...at, title: PROBE, head: PROBE, base: trunk },
        nothing,
      ),
  },
  {
    name: 'Commit statuses: write',
    fix: give('Commit statuses: Read and write'),
    costs: ({ branch, own }) =>
      own.length > 0
        ? `${own.join(' and ')} can't be set, which ${branch} requires: GitHub refuses every merge.`
        : 'forge-loop/gate and forge-loop/critic are not shown on commits.',
    try: ({ client, at }) =>
      client.write(
        'POST /repos/{owner}/{repo}/statuses/{sha}',
        { ...at, sha: NOBODYS, state: 'pending', context: PROBE },
        nothing,
      ),
  },
  {
    name: 'Commit statuses: read',
    fix: give('Commit statuses: Read and write'),
    costs: (rules) => `statuses that other services set are not seen${neverGreen(rules)}.`,
    try: ({ client, at }, trunk) =>
      client.get('/repos/{owner}/{repo}/commits/{ref}/status', { ...at, ref: trunk, per_page: 1 }, nothing),
  },
  {
    name: 'Actions: read',
    fix: give('Actions: Read-only'),
    costs: () => 'the coder is told which check of CI is red, but not what its log says.',
    try: ({ client, at }) =>
      client.get('/repos/{owner}/{repo}/actions/runs', { ...at, per_page: 1 }, nothing),
  },
  {
    name: 'Checks: read, which fine-grained tokens can’t have',
    fix: 'Give it Actions: read, use a classic token (repo) or a GitHub App, or let a person merge.',
    costs: (rules) =>
      `check runs of GitHub Actions are read as its jobs, those of other apps are not seen${neverGreen(rules)}.`,
    try: ({ client, at }, trunk) =>
      client.get(
        '/repos/{owner}/{repo}/commits/{ref}/check-runs',
        { ...at, ref: trunk, per_page: 1 },
        nothing,
      ),
  },
];

/** Only where there is classic protection does anything hang on it. */
function withoutAdministration({ branch, isHidden }: BranchRules): ForgeProblem[] {
  if (!isHidden) return [];
  const what = `This token lacks Administration: read: the classic protection of ${branch} is not shown in detail, so its rules are learned from GitHub's refusals.`;
  const fix = `Give its account the role Admin, and a fine-grained token Administration: Read-only, or use a ruleset, which everybody may read.`;
  return [{ what, fix }];
}

/** The issues that changed last are looked at; in which project they are is shown to all, what stands there is not. */
export async function unreadProject({ client, at }: Place, field: string | null): Promise<ForgeProblem[]> {
  if (field === null) return [];
  const query = `query($owner: String!, $name: String!, $field: String!) { repository(owner: $owner, name: $name) {
    issues(first: 20, orderBy: { field: UPDATED_AT, direction: DESC }) { nodes { ${PROJECT_FIELD} } } } }`;
  const refusals: string[] = [];
  try {
    await client.graphql(query, { owner: at.owner, name: at.repo, field }, nothing, (error) => {
      if (error.path?.includes('projectItems')) refusals.push(error.message);
    });
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    refusals.push(problem.message);
  }
  const [refusal] = refusals;
  if (refusal === undefined) return [];
  const what = `The project's field ${field} (tracker.provider.priority_field) is not read: ${refusal}`;
  const fix =
    'Edit the token: a classic one needs the scope read:project, a fine-grained one Organization permissions → Projects: Read-only.';
  return [{ what, fix }];
}

/** Only a classic token says what it may; whether another may push workflows shows when it does. */
function withoutWorkflows(scopes: readonly string[] | null): ForgeProblem[] {
  if (scopes === null || scopes.includes('workflow')) return [];
  const what = 'This token lacks the scope workflow: a change to .github/workflows can’t be pushed.';
  return [{ what, fix: 'Edit the token: scope workflow.' }];
}

/** Rules that make every merge wait for a person, or that no merge can meet. */
function rulesInTheWay(
  rules: BranchRules,
  repository: RepositoryRow,
  method: MergeMethod,
  say: (what: string, fix: string) => void,
): void {
  const { branch, approvals, byCodeOwner } = rules;
  const contradiction = contradictionOf(rules, repository, method);
  if (contradiction) say(`No merge can land: ${contradiction.what}.`, contradiction.fix);
  if (approvals > 0 || byCodeOwner)
    say(
      `${branch} wants ${approvals > 1 ? `${approvals} approving reviews` : 'an approving review'}${byCodeOwner ? ' by owners of the code' : ''}: every merge waits for that.`,
      'Review each pull request (the loop says when), or let the account of the loop bypass the rule.',
    );
}

/** Makes those labels of the loop that the repository does not have; says which. */
export async function createLabels(place: Place, labels: Labels): Promise<string[]> {
  const { client, at } = place;
  const missing = await labelsToMake(place, labels);
  for (const [key, name] of missing) {
    const look = LOOKS[key];
    await client.write('POST /repos/{owner}/{repo}/labels', { ...at, name, ...look }, labelShape);
  }
  return missing.map(([, name]) => name);
}

const LOOKS: Record<keyof Labels, { color: string; description: string }> = {
  ready: { color: 'ffd700', description: 'May be worked on by forge-loop' },
  running: { color: '1d76db', description: 'forge-loop is at work' },
  needsReview: { color: 'd93f0b', description: 'forge-loop gave up; a person should look' },
  needsSpec: { color: 'fbca04', description: 'Leaves questions open that its author can answer' },
  blocked: { color: 'b60205', description: 'The critic judged the approach wrong or harmful' },
  abandon: { color: '000000', description: 'Stops forge-loop on this issue at once' },
  merged: { color: '0e8a16', description: 'Merged by forge-loop' },
};

async function labelsToMake({ client, at }: Place, labels: Labels): Promise<[keyof Labels, string][]> {
  const there = await client.list('/repos/{owner}/{repo}/labels', at, labelShape);
  const names = new Set(there.map((label) => label.name.toLowerCase()));
  const wanted = Object.entries(labels) as [keyof Labels, string][];
  return wanted.filter(([, label]) => !names.has(label.toLowerCase()));
}

async function missingLabels(
  place: Place,
  labels: Labels,
  say: (what: string, fix: string) => void,
): Promise<void> {
  const missing = (await labelsToMake(place, labels)).map(([, name]) => name);
  if (missing.length > 0)
    say(`These labels do not exist yet: ${missing.join(', ')}.`, 'forge-loop init --create-labels');
}
