/**
 * Who made an issue ready, when, and with which text.
 *
 * GitHub's history of labels names the person; their rights decide whether it counts. The text, title and body, is
 * pinned as it was at that moment: one that was edited or renamed later is not what was agreed. GitHub counts whole
 * seconds, so an edit in the same second as the label counts as later.
 */

import { textHash } from '../../core/issue/text-hash.ts';
import type { Labels } from '../../core/policy.ts';
import { hasLabel } from '../../core/schedule.ts';
import type { Issue } from '../forge.ts';
import { Refused } from './client.ts';
import { textOf } from './issue.ts';
import type { Place } from './place.ts';
import { isAtLeast, type Role, type Roles } from './roles.ts';
import {
  ACTOR,
  type Aliases,
  aliasesShape,
  type History,
  historyShape,
  type IssueRow,
  labellingsShape,
  whatIsWrong,
} from './shapes.ts';

export interface Ready {
  at: number;
  /** The hash of the text then; a value no text has when the text was edited since and was not seen before. */
  hash: string;
  /** Why it does not count; null when it does. */
  problem: string | null;
  /** As a project says it, where one is asked. */
  priority: string | null;
}

export interface Readiness {
  /** For each issue that was ever made ready. */
  of(rows: readonly IssueRow[]): Promise<Map<number, Ready>>;
  /** Was it looked up so soon after a change that another change of the same second may have been missed? */
  isStale(issue: number): boolean;
  isDue(issues: readonly Issue[]): boolean;
  /** Forgets all others; one that is opened again is looked up anew. */
  keepOnly(issues: ReadonlySet<number>): void;
}

const EDITED_SINCE = 'edited since it was made ready';

export function openReadiness(
  place: Place,
  labels: Labels,
  roles: Roles,
  trusted: () => Role,
  /** The field of a project that says how urgent an issue is; null where labels alone do. */
  priorityField: string | null,
): Readiness {
  const { client, at, now } = place;
  const pins = new Map<number, { at: number; hash: string }>();
  const lookedAt = new Map<number, { at: number; changed: number }>();

  const problemOf = async (login: string | null): Promise<string | null> => {
    if (login === null) return 'the account that labelled it is gone';
    const wanted = trusted();
    const role = await roles.of(login);
    if (isAtLeast(role, wanted)) return null;
    return `${labels.ready} was added by ${login}, who has the role ${role} and needs ${wanted} (trust.ready_by)`;
  };

  const say = (problem: string): void =>
    client.warn(`A part of an issue's history can't be read and is left out: ${problem}.`);

  let field = priorityField;
  /** Without the project once it turns out that the token may not see it: a classic one is refused all for that. */
  const histories = async (batch: readonly IssueRow[]): Promise<Aliases> => {
    const where = { owner: at.owner, name: at.repo, ...(field === null ? {} : { field }) };
    try {
      return await client.graphql(historyQuery(batch, field !== null), where, aliasesShape);
    } catch (problem) {
      const lacksScope = problem instanceof Refused && /required scopes/i.test(problem.message);
      if (field === null || !lacksScope) throw problem;
      client.warn(
        `The project's field ${field} is not read (tracker.provider.priority_field): ${problem.message}`,
      );
      field = null;
      return histories(batch);
    }
  };

  /** Null when there is none, or none that can be read: then nobody made it ready. */
  const historyIn = (given: unknown, issue: number): History | null => {
    if ((given ?? null) === null) return null;
    const read = historyShape(say).safeParse(given);
    if (read.success) return read.data;
    client.warn(`The history of issue #${issue} can't be read: ${whatIsWrong(read.error)}.`);
    return null;
  };

  /** The last time it was made ready, however often it got other labels since. */
  const lastLabelling = async (issue: number, { timelineItems: newest }: History) => {
    for (let page = newest; ; ) {
      const last = page.nodes.filter((node) => hasLabel([node.label.name], labels.ready)).at(-1);
      const { hasPreviousPage, startCursor } = page.pageInfo;
      if (last || !hasPreviousPage || startCursor === null) return last;
      const older = await client.graphql(
        `query($owner: String!, $name: String!, $cursor: String!) { repository(owner: $owner, name: $name) {
          issue(number: ${issue}) { timelineItems(last: 100, before: $cursor, itemTypes: [LABELED_EVENT]) ${LABELLINGS} } } }`,
        { owner: at.owner, name: at.repo, cursor: startCursor },
        aliasesShape,
      );
      page = labellingsShape(say).parse((older.repository?.issue as History | undefined)?.timelineItems);
    }
  };

  const readyOf = async (row: IssueRow, history: History): Promise<Ready | null> => {
    const last = await lastLabelling(row.number, history);
    if (!last) return null;
    const pinned = pins.get(row.number);
    const hash = textHash(textOf(row));
    const edits = [history.lastEditedAt, ...history.renames.nodes.map(({ createdAt }) => createdAt)];
    const editedSince = edits.some((edit) => edit !== null && edit >= last.createdAt);
    if (pinned?.at !== last.createdAt)
      pins.set(row.number, { at: last.createdAt, hash: editedSince ? EDITED_SINCE : hash });
    return {
      at: last.createdAt,
      hash: pins.get(row.number)!.hash,
      problem: await problemOf(last.actor?.login ?? null),
      priority: history.projectItems?.nodes.map((item) => item.fieldValueByName?.name).find(Boolean) ?? null,
    };
  };

  const isStale = (issue: number): boolean => {
    const looked = lookedAt.get(issue);
    return looked !== undefined && looked.at - looked.changed < 2000 && now() - looked.changed >= 2000;
  };

  return {
    isStale,
    isDue: (issues) => issues.some((issue) => isStale(issue.number)),
    keepOnly: (issues) => {
      for (const kept of [pins, lookedAt])
        for (const number of kept.keys()) if (!issues.has(number)) kept.delete(number);
    },
    async of(rows) {
      const found = new Map<number, Ready>();
      for (let from = 0; from < rows.length; from += BATCH) {
        const batch = rows.slice(from, from + BATCH);
        const asked = await histories(batch);
        for (const row of batch) {
          lookedAt.set(row.number, { at: now(), changed: row.updated_at });
          const history = historyIn(asked.repository?.[`i${row.number}`], row.number);
          const ready = history ? await readyOf(row, history) : null;
          if (ready) found.set(row.number, ready);
        }
      }
      return found;
    },
  };
}

const BATCH = 50;

const LABELLINGS = `{ nodes { ... on LabeledEvent { createdAt actor { ${ACTOR} } label { name } } }
  pageInfo { hasPreviousPage startCursor } }`;

function historyQuery(rows: readonly IssueRow[], asksProject: boolean): string {
  const fields = rows.map((row) => `i${row.number}: issue(number: ${row.number}) { ...history }`);
  const project = `projectItems(first: 10) { nodes { fieldValueByName(name: $field) {
  ... on ProjectV2ItemFieldSingleSelectValue { name } } } }`;
  const given = `$owner: String!, $name: String!${asksProject ? ', $field: String!' : ''}`;
  return `query(${given}) { repository(owner: $owner, name: $name) { ${fields.join(' ')} } }
fragment history on Issue { number lastEditedAt ${asksProject ? project : ''} timelineItems(last: 100, itemTypes: [LABELED_EVENT]) ${LABELLINGS}
  renames: timelineItems(last: 1, itemTypes: [RENAMED_TITLE_EVENT]) { nodes { ... on RenamedTitleEvent { createdAt } } } }`;
}
