/**
 * What an issue waits for: GitHub's own dependencies, and what its text names ("Blocked by #3", "Depends on
 * acme/other#4"). An issue of another repository is named in full and never taken for one of ours. What is open there,
 * or can't be seen, blocks; it is asked about again from time to time, since nothing here changes when it is closed.
 */
import { markdownLines } from '../../core/issue/markdown.ts';
import type { Issue } from '../forge.ts';
import { Refused } from './client.ts';
import { withPlainLines } from './issue.ts';
import type { Place } from './place.ts';
import { blockerShape, type IssueRow } from './shapes.ts';

export interface Blocking {
  here: number[];
  elsewhere: NonNullable<Issue['blockedElsewhere']>;
}

export interface Blockers {
  of(row: IssueRow): Promise<Blocking>;
  /** What its text alone says of this repository, without asking. */
  inText(row: IssueRow): Blocking;
  /** Something of another repository blocks it, and was asked about a while ago. */
  isStale(issue: number): boolean;
}

const ASK_AGAIN_MS = 300_000;

export function openBlockers(place: Place): Blockers {
  const { client, at, now } = place;
  const askedAt = new Map<number, number>();

  /** By GitHub's own dependencies; it leaves out those that this token may not see, and counts them all the same. */
  const linked = async ({
    number,
    issue_dependencies_summary: summary,
  }: IssueRow): Promise<{ named: Named[]; hasUnseen: boolean }> => {
    if (!summary?.total_blocked_by) return { named: [], hasUnseen: false };
    const path = '/repos/{owner}/{repo}/issues/{issue_number}/dependencies/blocked_by';
    const rows = await client.list(path, { ...at, issue_number: number }, blockerShape);
    const named = rows.map((row) => ({
      repository: /\/repos\/([^/]+\/[^/]+)$/.exec(row.repository_url ?? '')?.[1] ?? null,
      number: row.number,
      state: row.state,
    }));
    const open = named.filter(({ state }) => state === 'open').length;
    return { named, hasUnseen: (summary.blocked_by ?? 0) > open };
  };

  const textual = ({ body }: IssueRow): Named[] => namedIn(withPlainLines(body ?? ''), place.host);

  const blocks = async ({ repository, number, state }: Elsewhere): Promise<Blocking['elsewhere']> => {
    const name = `${repository}#${number}`;
    const found = state ?? (await stateOf(repository, number));
    return found === 'closed' ? [] : [{ name, isSeen: found === 'open' }];
  };

  const stateOf = async (repository: string, number: number): Promise<'open' | 'closed' | null> => {
    const [owner, repo, ...deeper] = repository.split('/');
    if (deeper.length > 0) return null;
    const route = '/repos/{owner}/{repo}/issues/{issue_number}';
    try {
      return (await client.get(route, { owner, repo, issue_number: number }, blockerShape))?.state ?? null;
    } catch (problem) {
      if (!(problem instanceof Refused)) throw problem;
      return problem.status === 410 ? 'closed' : null;
    }
  };

  const uniquely = (row: IssueRow, numbers: readonly number[]): number[] =>
    [...new Set(numbers)].filter((number) => number !== row.number);

  return {
    inText: (row) => {
      askedAt.delete(row.number);
      const local = textual(row).filter(({ repository }) => repository === null);
      return {
        here: uniquely(
          row,
          local.map(({ number }) => number),
        ),
        elsewhere: [],
      };
    },
    isStale: (issue) => now() - (askedAt.get(issue) ?? Number.POSITIVE_INFINITY) >= ASK_AGAIN_MS,
    async of(row) {
      const { named, hasUnseen } = await linked(row);
      const all = [...named, ...textual(row)];
      const ours = all.some(({ repository }) => repository !== null) ? await place.names() : [];
      const isHere = ({ repository }: Named): boolean =>
        repository === null || ours.includes(repository.toLowerCase());
      const here = all.filter(isHere).map(({ number }) => number);
      const others = new Map<string, Elsewhere>();
      for (const one of all) {
        const name = `${one.repository}#${one.number}`.toLowerCase();
        if (!isHere(one) && !others.has(name)) others.set(name, one as Elsewhere);
      }
      const elsewhere = (await Promise.all([...others.values()].map(blocks))).flat();
      if (hasUnseen) elsewhere.push(UNSEEN);
      if (elsewhere.length > 0) askedAt.set(row.number, now());
      else askedAt.delete(row.number);
      return { here: uniquely(row, here), elsewhere };
    },
  };
}

const UNSEEN = { name: 'an issue of another repository', isSeen: false };

interface Named {
  /** `owner/name`, or `host/owner/name` of another server; null is this repository. */
  repository: string | null;
  number: number;
  /** Null where it has to be asked for. */
  state: 'open' | 'closed' | null;
}
type Elsewhere = Named & { repository: string };

const REFERENCE = String.raw`(?:https?:\/\/([\w.:-]+)\/)?([\w.-]+\/[\w.-]+)?(?:#|\/(?:issues|pull)\/)(\d+)`;
const CLAUSE = new RegExp(
  String.raw`\b(?:blocked\s+by|depends\s+on):?\s+((?:${REFERENCE}(?:\s*(?:,|and|&)\s*)*)+)`,
  'gi',
);

/** "Blocked by #3", "Depends on #4, acme/other#5 and https://github.com/acme/other/issues/6", outside quoted code. */
function namedIn(body: string, host: string): Named[] {
  const prose = markdownLines(body)
    .flatMap(({ kind, raw }) => (kind === 'code' ? [] : raw.replace(/`[^`]*`/g, '')))
    .join('\n');
  return [...prose.matchAll(CLAUSE)].flatMap(([, list]) =>
    [...list!.matchAll(new RegExp(REFERENCE, 'g'))].map(([, server, path, number]) => {
      const isOther = server !== undefined && server.toLowerCase() !== host.toLowerCase();
      const repository = path === undefined ? null : isOther ? `${server}/${path}` : path;
      return { repository, number: Number(number), state: null };
    }),
  );
}
