/**
 * Who made an issue ready, when, and with which text.
 *
 * GitHub's history of labels names the person; their rights decide whether it counts. A text that was edited or renamed
 * since is not what was agreed. GitHub counts whole seconds, so an edit in the same second as the label counts as later.
 *
 * The history may lag behind the text. So text and history are read in one answer, and that answer is believed only
 * where it agrees with the list and accounts for the last change of the issue, or was given long enough after it. Until
 * then the issue is unproved. What was proved is asked again before a merge; a history that knows of an edit by then wins.
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
  labelIdShape,
  labellingsShape,
  whatIsWrong,
} from './shapes.ts';

export interface Ready {
  /** Null while nobody can tell. */
  at: number | null;
  /** The hash of the text then; a value no text has when the text was edited since. Null while nobody can tell. */
  hash: string | null;
  /** Why it does not count; null when it does. */
  problem: string | null;
  /** What the history does not show yet; null when it is proved. */
  unproved: NonNullable<Issue['unproved']> | null;
  /** As a project says it, where one is asked. */
  priority: string | null;
}

export interface Readiness {
  /** For each issue that was ever made ready. */
  of(rows: readonly IssueRow[]): Promise<Map<number, Ready>>;
  /** Something is about to rest on it: what was read so far is read again. */
  doubt(): void;
  isStale(issue: number): boolean;
  /** Of a label of the loop's, as it came with the last history; undefined where none is written like that. */
  labelId(name: string): string | undefined;
  /** Forgets all others; one that is opened again is looked up anew. */
  keepOnly(issues: ReadonlySet<number>): void;
}

const EDITED_SINCE = 'edited since it was made ready';

/** By then GitHub's history has caught up with what it tells of. */
const SETTLED_MS = 10_000;
const ASK_AGAIN_MS = 5000;

export function openReadiness(
  place: Place,
  labels: Labels,
  roles: Roles,
  trusted: () => Role,
  /** The field of a project that says how urgent an issue is; null where labels alone do. */
  priorityField: string | null,
): Readiness {
  const { client, at, now } = place;
  const proved = new Map<number, { at: number; hash: string }>();
  /** When it has to be read again though nothing changed; null when it has not. */
  const dueAt = new Map<number, number | null>();

  const ours = Object.values(labels);
  let labelIds: (string | undefined)[] = [];

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
      return await client.graphql(historyQuery(batch, ours, field !== null), where, aliasesShape);
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

  const unknown = (why: string, history: History | null): Ready => ({
    at: null,
    hash: null,
    problem: null,
    unproved: { why, until: now() + ASK_AGAIN_MS },
    priority: history && priorityOf(history),
  });

  const readyOf = async (row: IssueRow, history: History | null): Promise<Ready | null> => {
    const isAsked = hasLabel(row.labels, labels.ready);
    const hash = textHash(textOf(row));
    if (history === null) return isAsked ? unknown('GitHub shows no history of it', null) : null;
    const last = await lastLabelling(row.number, history);
    if (history.updatedAt < row.updated_at || textHash(textOf(history)) !== hash)
      return isAsked || last ? unknown('its history at GitHub is older than its text', history) : null;
    if (!last) return isAsked ? unknown(`GitHub does not show yet who added ${labels.ready}`, history) : null;

    const edits = [history.lastEditedAt, ...history.renames.nodes.map(({ createdAt }) => createdAt)].filter(
      (edit) => edit !== null,
    );
    const isEdited = edits.some((edit) => edit >= last.createdAt);
    const settlesAt = row.updated_at + SETTLED_MS - client.ahead();
    const isSettled = now() >= settlesAt;
    const isExplained = row.updated_at <= Math.max(last.createdAt, ...edits);
    const known = proved.get(row.number);
    const isProved = isExplained || isSettled || (known?.at === last.createdAt && known.hash === hash);
    if (isProved && !isEdited) proved.set(row.number, { at: last.createdAt, hash });
    dueAt.set(row.number, isSettled || (isProved && !isExplained) ? null : settlesAt);
    return {
      at: last.createdAt,
      hash: isEdited ? EDITED_SINCE : hash,
      problem: await problemOf(last.actor?.login ?? null),
      unproved: isProved
        ? null
        : { why: 'it changed a moment ago, and an edit may not show in its history yet', until: settlesAt },
      priority: priorityOf(history),
    };
  };

  const isStale = (issue: number): boolean => {
    const due = dueAt.get(issue) ?? null;
    return due !== null && now() >= due;
  };

  return {
    isStale,
    labelId: (name) => labelIds[ours.findIndex((one) => hasLabel([one], name))],
    keepOnly: (issues) => {
      for (const kept of [proved, dueAt])
        for (const number of kept.keys()) if (!issues.has(number)) kept.delete(number);
    },
    doubt: () => {
      for (const issue of dueAt.keys()) dueAt.set(issue, now());
    },
    async of(rows) {
      const found = new Map<number, Ready>();
      for (let from = 0; from < rows.length; from += BATCH) {
        const batch = rows.slice(from, from + BATCH);
        const asked = await histories(batch);
        labelIds = ours.map((_, n) => labelIdShape.parse(asked.repository?.[`l${n}`]));
        for (const row of batch) {
          dueAt.set(row.number, null);
          const ready = await readyOf(row, historyIn(asked.repository?.[`i${row.number}`], row.number));
          if (!ready) continue;
          if (ready.at === null) dueAt.set(row.number, ready.unproved!.until);
          found.set(row.number, ready);
        }
      }
      return found;
    },
  };
}

const priorityOf = ({ projectItems }: History): string | null =>
  projectItems?.nodes.map((item) => item.fieldValueByName?.name).find(Boolean) ?? null;

const BATCH = 50;

const LABELLINGS = `{ nodes { ... on LabeledEvent { createdAt actor { ${ACTOR} } label { name } } }
  pageInfo { hasPreviousPage startCursor } }`;

/** With the ids of our labels, which a swap of them needs a moment later. */
function historyQuery(rows: readonly IssueRow[], ours: readonly string[], asksProject: boolean): string {
  const fields = [
    ...rows.map((row) => `i${row.number}: issue(number: ${row.number}) { ...history }`),
    ...ours.map((name, n) => `l${n}: label(name: ${JSON.stringify(name)}) { id }`),
  ];
  const project = `projectItems(first: 10) { nodes { fieldValueByName(name: $field) {
  ... on ProjectV2ItemFieldSingleSelectValue { name } } } }`;
  const given = `$owner: String!, $name: String!${asksProject ? ', $field: String!' : ''}`;
  return `query(${given}) { repository(owner: $owner, name: $name) { ${fields.join(' ')} } }
fragment history on Issue { number title body updatedAt lastEditedAt ${asksProject ? project : ''} timelineItems(last: 100, itemTypes: [LABELED_EVENT]) ${LABELLINGS}
  renames: timelineItems(last: 1, itemTypes: [RENAMED_TITLE_EVENT]) { nodes { ... on RenamedTitleEvent { createdAt } } } }`;
}
