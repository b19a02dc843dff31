/**
 * The embedded forge: issues and pull requests are Markdown files under .forge/ in the repository, everything else is
 * git. Trunk is a local branch; a remote is neither needed nor pushed to.
 */
import { join } from 'node:path';
import { hasLabel } from '../../core/line/schedule.ts';
import type { Labels } from '../../core/policy.ts';
import { ForgeUnavailable, GitFailed, UserError } from '../../errors.ts';
import { type Git, identity } from '../../git/git.ts';
import { landedAs } from '../../git/landed.ts';
import { readHeads, resolve, treeOf } from '../../git/objects.ts';
import { worktreesOf } from '../../git/worktrees.ts';
import type { IssueDesk, PullDesk } from '../desk.ts';
import type { Forge, ForgeProblem, Issue, Pull } from '../forge.ts';
import { openConversation } from './conversation.ts';
import { ensureExcluded } from './exclude.ts';
import { noSuchIssue, openIssues } from './issues.ts';
import { type Landing, openLanding } from './landing.ts';
import { type Exclusively, withLock } from './lock.ts';
import { mapAt, setList } from './markdown.ts';
import { openPulls } from './pulls.ts';
import { openReadings } from './readings.ts';
import { trunkName } from './trunk.ts';

export interface LocalForge extends Forge, IssueDesk, PullDesk {
  readonly kind: 'local';
}

interface LocalOptions {
  git: Git;
  /** The repository's top level. */
  root: string;
  now: () => number;
  labels: Labels;
  trunk?: string;
  /** The branch that work landed on so far, where no setting names one. */
  remembered?: () => Promise<string | null>;
  /** Worktrees below it are tasks', never the operator's. */
  workspaceRoot?: string;
}

export async function localForge(options: LocalOptions): Promise<LocalForge> {
  const { git, root, now, labels } = options;
  const forgeDir = join(root, '.forge');
  /** The first write makes the folder; looking at a repository leaves no trace in it. */
  const exclusively: Exclusively = (name, section) => {
    ensureExcluded(git);
    return withLock(join(forgeDir, `${name}.lock`), section);
  };

  let named: string | null = null;
  const trunkBranch = async (): Promise<string> => {
    // Found once: an operator who switches branches does not change where merges land.
    named ??= await trunkName(git, options.trunk ?? null, (await options.remembered?.()) ?? null);
    return named;
  };
  const trunk = async () => {
    const branch = await trunkBranch();
    const sha = await resolve(git, `refs/heads/${branch}`);
    if (sha === null)
      throw new UserError(
        `The branch ${branch}, which is trunk, is gone.`,
        `Restore it (git branch ${branch} <commit>), or name another as tracker.trunk in WORKFLOW.md.`,
      );
    return { branch, sha };
  };
  const issues = openIssues({ forgeDir, readyLabel: labels.ready, now, exclusively });
  const pulls = openPulls({ git, forgeDir, now, exclusively, trunkBranch });
  const conversation = openConversation({ git, forgeDir, now, exclusively, pulls, issues });
  const landing = openLanding({
    git,
    exclusively,
    workspaceRoot: options.workspaceRoot ?? null,
    trunk,
    trunkBranch,
    pulls,
  });

  /** Deleting the branch would not lose the commit: something else refers to it. */
  const isKept = async (branch: string, sha: string): Promise<boolean> => {
    if (await pulls.keepsHead(branch, sha)) return true;
    const { stdout } = await git(['for-each-ref', '--format=%(refname)', `--contains=${sha}`]);
    return stdout.split('\n').some((name) => name !== '' && name !== `refs/heads/${branch}`);
  };

  const existing = (number: number): Issue => {
    const issue = issues.find(number);
    if (!issue) throw noSuchIssue(number);
    return issue;
  };
  const setState = (number: number, state: 'open' | 'closed') =>
    issues.edit(number, (front, issue) => {
      if (issue.state !== state) front.set('state', state);
    });

  const markReady: LocalForge['markReady'] = async (number, by) => {
    const found = await issues.edit(number, (front, issue) => {
      const stale = [labels.needsReview, labels.needsSpec, labels.abandon, labels.merged];
      const kept = withoutLabels(issue.labels, [...stale, labels.ready]);
      setList(front, 'labels', [...kept, labels.ready]);
      front.set('state', 'open');
      const ready = mapAt(front, 'ready');
      ready.set('at', new Date(now()).toISOString());
      ready.set('by', by);
      ready.set('text_hash', issue.textHash);
      ready.delete('body_hash');
      ready.delete('taken');
    });
    if (!found) throw noSuchIssue(number);
    return existing(number);
  };

  return {
    kind: 'local',
    check: async () => [
      ...issues.problems(),
      ...pulls.problems(),
      ...(await repositoryProblems(git, trunk, landing)),
    ],

    openIssues: async () => issues.open(),
    unreadable: async () => issues.problems(),
    issue: async (number) => issues.find(number),
    relabel: async (number, change) => {
      await issues.relabel(number, change);
    },
    ensureComment: (number, marker, body) => issues.ensureComment(number, marker, body),
    closeIssue: async (number) => {
      await setState(number, 'closed');
    },

    seen: async (of) => {
      const heads = await readHeads(
        git,
        of.map(({ branch }) => branch),
      );
      return of.map(({ issue, pull, branch }) =>
        orNull(() => [
          issue === null ? null : issues.find(issue),
          pull === null ? null : pulls.find(pull),
          heads.get(branch),
        ]),
      );
    },

    trunk,
    push: async (branch, sha, expected) => {
      if (branch === (await trunkBranch())) throw new Error(`${branch} is trunk: only a merge moves it`);
      const ref = `refs/heads/${branch}`;
      if ((await resolve(git, ref)) !== sha) {
        const problem = await refused(git.moveRefs([{ ref, to: sha, from: expected }]));
        const at = problem === null ? sha : await resolve(git, ref);
        if (at !== sha && at !== expected) return 'moved';
        if (at !== sha) throw new ForgeUnavailable(`git could not move ${ref}: ${problem}`);
      }
      await pulls.recordHead(branch, sha);
      return 'pushed';
    },
    branchHead: async (branch) => {
      const sha = await resolve(git, `refs/heads/${branch}`);
      return sha === null ? null : { sha, tree: await treeOf(git, sha) };
    },
    deleteBranch: async (branch) => {
      const ref = `refs/heads/${branch}`;
      const sha = await resolve(git, ref);
      if (sha === null || (await isCheckedOut(git, ref))) return;
      if ((await isKept(branch, sha)) || (await landedAs(git, sha, (await trunk()).sha)) !== null) {
        await refused(git.moveRefs([{ ref, to: null, from: sha }]));
      }
    },

    ensurePull: pulls.ensurePull,
    pull: pulls.pull,
    updatePull: pulls.updatePull,
    postReview: pulls.postReview,
    closePull: pulls.closePull,
    feedback: conversation.feedback,
    commands: conversation.commands,
    reply: conversation.reply,
    buildCandidate: landing.buildCandidate,
    mergeBlocker: landing.mergeBlocker,
    land: landing.land,

    onTrunk: async (sha) => (await landedAs(git, sha, (await trunk()).sha)) !== null,
    ...openReadings({ git, issues, pulls, feedback: conversation.feedback, trunkBranch }),

    newIssue: async ({ ready, by, ...issue }) => {
      const made = await issues.create(issue);
      return ready ? markReady(made.number, by ?? 'unknown') : made;
    },
    markReady,
    setState: async (number, state) => {
      if (!(await setState(number, state))) throw noSuchIssue(number);
    },
    addComment: (number, by, text) => issues.comment(number, by, text),
    comments: async (number) => issues.comments(existing(number).number),
    listIssues: async (all) => (all ? issues.all() : issues.open()),
    approvePull: (number, by) =>
      conversation.remark(number, { by, verdict: 'approve', body: '', file: null, line: null }),
    listPulls: async (wanted) => {
      const seen: (Pull & { title: string; body: string })[] = [];
      for (const { number, title, body } of pulls.all()) {
        const pull = await pulls.pull(number);
        if (pull && (wanted || pull.state === 'open')) seen.push({ ...pull, title, body });
      }
      return seen;
    },
    remark: conversation.remark,
    reportCheck: conversation.reportCheck,
  };
}

/** A file that can't be read is for the look to complain about. */
function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function withoutLabels(all: readonly string[], removed: readonly string[]): string[] {
  return all.filter((label) => !hasLabel(removed, label));
}

async function isCheckedOut(git: Git, ref: string): Promise<boolean> {
  return (await worktreesOf(git)).some((worktree) => worktree.branch === ref);
}

/** What git said against a move; null when it was made. */
async function refused(move: Promise<void>): Promise<string | null> {
  try {
    await move;
    return null;
  } catch (error) {
    if (error instanceof GitFailed) return error.stderr.trim();
    throw error;
  }
}

async function repositoryProblems(
  git: Git,
  trunk: Forge['trunk'],
  landing: Landing,
): Promise<ForgeProblem[]> {
  const problems: ForgeProblem[] = [];
  try {
    await trunk();
    for (const path of await landing.unsettled()) {
      problems.push({
        what: `A merge into ${path} was cut short.`,
        fix: 'The next merge of `forge-loop run` finishes it.',
      });
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    problems.push({ what: error.message, fix: error.hint ?? '' });
  }
  if ((await identity(git)) === null) {
    problems.push({
      what: 'git does not know who you are, so no merge can be committed.',
      fix: 'git config --global user.name "Your Name" && git config --global user.email you@example.com',
    });
  }
  return problems;
}
