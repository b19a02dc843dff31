/** What would keep the loop from working here, each with the right or setting that is missing. */
import type { Labels } from '../../core/policy.ts';
import { ForgeUnavailable, UserError } from '../../errors.ts';
import { identity } from '../../git/git.ts';
import type { ForgeProblem } from '../forge.ts';
import { Refused } from './client.ts';
import type { Place } from './place.ts';
import { labelShape, repositoryShape } from './shapes.ts';

export async function problemsOf(place: Place, labels: Labels): Promise<ForgeProblem[]> {
  const { client, at } = place;
  const name = `${at.owner}/${at.repo}`;
  const problems: ForgeProblem[] = [];
  const say = (what: string, fix: string): void => void problems.push({ what, fix });
  if ((await identity(place.git)) === null) {
    say(
      'git does not know who you are, so no candidate can be committed.',
      'git config --global user.name "Your Name" && git config --global user.email you@example.com',
    );
  }
  try {
    const repository = await client.get('/repos/{owner}/{repo}', at, repositoryShape);
    if (repository === null) {
      say(
        `GitHub shows this token no repository ${name}.`,
        'Check the name (tracker.provider.repository), and that the token may see it (fine-grained: Metadata, read).',
      );
      return problems;
    }
    if (repository.full_name.toLowerCase() !== name.toLowerCase())
      say(
        `${name} is called ${repository.full_name} now.`,
        `git remote set-url origin … and tracker.provider.repository: ${repository.full_name}`,
      );
    if (repository.archived) say(`${name} is archived: nothing can be pushed or merged.`, 'Unarchive it.');
    if (!repository.has_issues)
      say(`Issues are disabled in ${name}.`, 'Settings → General → Features → Issues.');
    if (!repository.permissions?.push)
      say(
        `This token may not push to ${name}.`,
        'Give its account the role Write, and a fine-grained token: Contents, Issues, Pull requests, Commit statuses: read and write; Metadata: read.',
      );
    await place.self();
    const trunk = await place.trunkBranch();
    if ((await place.remote.head(trunk)) === null)
      say(`The branch ${trunk} is not on GitHub.`, `git push origin ${trunk}, or set tracker.trunk.`);
    if (repository.has_issues) await missingLabels(place, labels, say);
  } catch (problem) {
    if (problem instanceof UserError) say(problem.message, problem.hint ?? '');
    else if (problem instanceof Refused || problem instanceof ForgeUnavailable)
      say(problem.message, 'See docs/github.md for the rights the token needs.');
    else throw problem;
  }
  return problems;
}

async function missingLabels(
  { client, at }: Place,
  labels: Labels,
  say: (what: string, fix: string) => void,
): Promise<void> {
  const there = await client.list('/repos/{owner}/{repo}/labels', at, labelShape);
  const names = new Set(there.map((label) => label.name.toLowerCase()));
  const missing = Object.values(labels).filter((label) => !names.has(label.toLowerCase()));
  if (missing.length > 0)
    say(
      `These labels do not exist yet: ${missing.join(', ')}.`,
      'Create them on the Labels page of the repository, so that people can pick them; the loop makes those it sets itself.',
    );
}
