/**
 * Where work comes from. The forge's issues are the only one: plans and goals are started by people, and are tasks at once. Another
 * is a function like `issues`, a row in `everySource`, and its rules in core/claim.ts.
 */
import type { WorkItem } from '../core/claim.ts';
import { readiness } from '../core/issue/readiness.ts';
import { planReadiness } from '../core/plan/start.ts';
import { slugOf } from '../core/text/slug.ts';
import type { Forge, Issue } from '../forge/forge.ts';

export interface Source {
  /** Everything that is open there, whether anybody made it ready or not. */
  items(): Promise<WorkItem[]>;
}

export function everySource(forge: Forge): Source {
  const sources = [issues(forge)];
  return { items: async () => (await Promise.all(sources.map((one) => one.items()))).flat() };
}

function issues(forge: Forge): Source {
  // A forge that saw no change hands out the very same snapshots: each text is judged once, not on every poll.
  const known = new WeakMap<Issue, WorkItem>();
  const itemOf = (issue: Issue): WorkItem => {
    const item = known.get(issue) ?? issueItem(issue);
    known.set(issue, item);
    return item;
  };
  return { items: async () => (await forge.openIssues()).map(itemOf) };
}

export function issueItem(issue: Issue): WorkItem {
  let judged: ReturnType<WorkItem['readiness']> | null = null;
  return {
    ...issue,
    kind: 'issue',
    slug: slugOf(issue.title),
    readiness: () => {
      judged ??= planReadiness(issue.body) ?? readiness(issue.title, issue.body);
      return judged;
    },
  };
}
