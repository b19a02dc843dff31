/**
 * The throwaway repository: whether it is one, what is laid into it, and how it is left. Nothing here rests on what an earlier
 * step remembers: a run that was killed is cleaned up by the next.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Address } from '../../src/forge/github/address.ts';
import { type Hub, type Json, Refused } from './hub.ts';

const MARK = 'THROWAWAY.md';
const MARKED = 'forge-loop may overwrite this repository.';
export const WORKFLOW = '.github/workflows/ci.yml';
export const CHECK = 'ci';
/** Of all issues that the proof opens. */
export const TITLE = '[forge-loop live]';

/** Nothing was changed. */
export class NotAThrowaway extends Error {
  override name = 'NotAThrowaway';
}

export interface Stage {
  hub: Hub;
  /** A clone, in which the loop runs. */
  root: string;
  trunk: string;
  /** Where trunk was when the stage was set, and is put back to. */
  start: string;
}

/** Its default branch, and where that is: null when the repository is empty. Throws when it is not evidently a throwaway. */
export async function lookAt(
  hub: Hub,
  address: Address,
  root: string,
): Promise<{ trunk: string; tip: string | null; repository: Json }> {
  const named = `${address.owner}/${address.name}`;
  const { status, body: repository, said } = await hub.ask('GET', '');
  if (status === 404) throw new NotAThrowaway(`${named} does not exist, or this token can't see it.`);
  if (said !== null) throw new NotAThrowaway(`GitHub refused to show ${named} (${status}): ${said}`);
  if (repository.archived) throw new NotAThrowaway(`${named} is archived.`);
  if (!repository.has_issues)
    throw new NotAThrowaway(`${named} has no issues: switch them on in its settings.`);
  const trunk: string = repository.default_branch;
  mkdirSync(root, { recursive: true });
  await hub.git(root, 'init', '--quiet', '--initial-branch', trunk);
  await hub.git(root, 'remote', 'add', 'origin', address.gitUrl);
  await hub.git(root, 'config', 'user.name', 'forge-loop live');
  await hub.git(root, 'config', 'user.email', 'forge-loop@users.noreply.github.com');
  const heads = await hub.git(root, 'ls-remote', '--heads', 'origin');
  const issues = await hub.must('GET', '/issues?state=all&per_page=1');
  if (heads === '' && issues.length === 0) return { trunk, tip: null, repository };
  if (heads !== '') {
    await hub.git(root, 'fetch', '--quiet', 'origin', `+refs/heads/${trunk}:refs/remotes/origin/${trunk}`);
    const mark = await hub.git(root, 'show', `origin/${trunk}:${MARK}`).catch(() => '');
    if (mark.split('\n')[0] === MARKED)
      return { trunk, tip: await hub.git(root, 'rev-parse', `origin/${trunk}`), repository };
  }
  throw new NotAThrowaway(
    `${named} is not evidently a throwaway: it is not empty, and ${trunk} has no ${MARK}.\n` +
      `The proof pushes to ${trunk}, opens and closes more than a hundred issues and sets a branch rule.\n` +
      `Give it an empty repository, or commit a file ${MARK} to ${trunk} whose first line reads: ${MARKED}`,
  );
}

/** Marks an empty repository. Where trunk is then: what it is put back to. */
export async function markTrunk(hub: Hub, root: string, trunk: string, tip: string | null): Promise<string> {
  if (tip !== null) {
    await hub.git(root, 'checkout', '--quiet', '-B', trunk, tip);
    return tip;
  }
  lay(root, { [MARK]: `${MARKED}\n\nIts issues, branches and trunk come and go.\n` });
  return landed(hub, root, trunk, 'Mark this repository as a throwaway');
}

/** Lays the project onto trunk. GitHub's words where it did not take the workflow; null where it did. */
export async function layProject({ hub, root, trunk }: Stage, settings: object): Promise<string | null> {
  lay(root, {
    'agent.sh': AGENT,
    'ci.sh': CI,
    'gate.sh': GATE,
    ...settled(settings),
  });
  await landed(hub, root, trunk, 'Set the stage');
  // One that a person put there is theirs.
  if (existsSync(join(root, WORKFLOW))) return null;
  lay(root, { [WORKFLOW]: ACTIONS });
  try {
    await landed(hub, root, trunk, 'Run the checks in GitHub Actions');
    return null;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    await hub.git(root, 'reset', '--quiet', '--hard', 'HEAD~1');
    return problem.message;
  }
}

/** Where no rule requires the check, the loop is told to wait for it. */
export async function requireCheck({ hub, root, trunk }: Stage, settings: object): Promise<void> {
  lay(root, settled({ ...settings, merge: { required_checks: [CHECK] } }));
  await landed(hub, root, trunk, 'Wait for the checks');
}

const settled = (settings: object): Record<string, string> => ({
  'WORKFLOW.md': `---\n${JSON.stringify(settings, null, 2)}\n---\n`,
});

async function landed(hub: Hub, root: string, trunk: string, message: string): Promise<string> {
  await hub.git(root, 'add', '--all');
  await hub.git(root, 'commit', '--quiet', '--allow-empty', '--message', message);
  await hub.git(root, 'push', '--quiet', 'origin', `HEAD:refs/heads/${trunk}`);
  return hub.git(root, 'rev-parse', 'HEAD');
}

function lay(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** Each step is tried whatever became of the others. What could not be undone, in words. */
export async function cleanUp({ hub, root, trunk, start }: Stage, hasOwnRule: boolean): Promise<string[]> {
  const left: string[] = [];
  const tried = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    await act().catch((problem: Error) => left.push(`${what}: ${problem.message}`));
  };
  if (hasOwnRule)
    await tried(`The rule of ${trunk} is still there`, () =>
      hub.must('DELETE', `/branches/${trunk}/protection`),
    );
  await tried('Open issues are left', () => closeIssues(hub));
  await tried('Branches are left', async () => {
    const heads = await hub.git(root, 'ls-remote', '--heads', 'origin', 'refs/heads/loop/*');
    const refs = heads.split('\n').flatMap((line) => line.split('\t')[1] ?? []);
    if (refs.length > 0) await hub.git(root, 'push', '--quiet', 'origin', ...refs.map((ref) => `:${ref}`));
  });
  await tried(`${trunk} keeps what was merged`, async () => {
    const [now = ''] = (await hub.git(root, 'ls-remote', 'origin', `refs/heads/${trunk}`)).split('\t');
    const lease = `--force-with-lease=refs/heads/${trunk}:${now}`;
    if (now !== start)
      await hub.git(root, 'push', '--quiet', lease, 'origin', `${start}:refs/heads/${trunk}`);
  });
  return left;
}

/** Those of this or an earlier run; a pull request of the loop carries the title of its issue. */
export async function closeIssues(hub: Hub): Promise<void> {
  // The list may be late, in what it does not show yet as in what it still shows.
  for (let tries = 1; tries <= 3; tries += 1) {
    const ours = (await hub.all('/issues?state=open')).filter(({ title }) => title.startsWith(TITLE));
    if (ours.length === 0) return;
    for (const { number } of ours) await hub.must('PATCH', `/issues/${number}`, { state: 'closed' });
  }
}

/** Turn by turn: what the critic objects to, then what CI finds, then what both accept. */
const AGENT = `#!/bin/sh
# Stands in for an agent, so that the proof costs no model.
file="done-$FORGE_ISSUE.txt"
case "$FORGE_ROLE" in
coder)
  case "$FORGE_TURN" in
  1) echo whole > "$file" ;;
  2) printf 'half\\nsigned\\n' > "$file" ;;
  *) printf 'whole\\nsigned\\n' > "$file" ;;
  esac ;;
*)
  if grep -qx signed "$file"; then
    echo '{"structured":{"verdict":"APPROVE","findings":[],"earlier":[{"id":"1","addressed":"yes"}]}}'
  else
    echo '{"structured":{"verdict":"REQUEST_CHANGES","findings":[{"severity":"sev2","file":"'"$file"'","line":1,"message":"It is not signed."}]}}'
  fi > "$FORGE_RESULT" ;;
esac
`;

/** Less than CI asks for, so that CI has something to find. */
const GATE = `#!/bin/sh
for file in done-*.txt; do
  [ ! -e "$file" ] || [ -s "$file" ] || exit 1
done
`;

const CI = `#!/bin/sh
for file in done-*.txt; do
  [ -e "$file" ] || continue
  grep -qx whole "$file" || { echo "$file is only half done"; exit 1; }
done
`;

export const ACTIONS = `name: CI
on: push
permissions:
  contents: read
jobs:
  ${CHECK}:
    runs-on: ubuntu-latest
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@v4
      - run: sh ci.sh
`;
