/**
 * Who made an issue ready, when, and with which text.
 *
 * GitHub's history of labels names the person; their rights decide whether it counts. A text that was edited or renamed
 * since is not what was agreed. GitHub counts whole seconds, so an edit in the same second as the label counts as later.
 *
 * The history may lag behind the text. So text and history are read in one answer, and that answer is believed only
 * where it agrees with the list and accounts for the last change of the issue, or was given long enough after it. Until then
 * the issue is unproved. A label that came in the second of the last change is believed ten seconds later, since that second
 * may hold an edit, too. No time proves what speaks against it: the edit that the history shows last has another text or title, so
 * it lags for certain; or another text was seen with this label before, which is an edit whatever the history says later.
 * What was proved is asked again before a merge; a history that knows of an edit by then wins.
 */

import { textHash } from '../../core/issue/text-hash.ts';
import { hasLabel } from '../../core/line/schedule.ts';
import type { Labels } from '../../core/policy.ts';
import type { Issue } from '../forge.ts';
import { isAboutOne, Refused } from './client.ts';
import { textOf, withPlainLines } from './issue.ts';
import type { Place } from './place.ts';
import { openPortions } from './portions.ts';
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
  PROJECT_FIELD,
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

/** The text of an issue as it was seen with the label that made it ready at `at`. */
interface SeenText {
  at: number;
  hash: string;
  /** When the issue had changed last as it was first seen with this text: no edit made it so later. */
  since: number;
  /** It was seen with this label and another text before. */
  isChanged: boolean;
  isProved: boolean;
}

const EDITED_SINCE = 'edited since it was made ready';

/** By then GitHub's history of events has caught up with what it tells of. */
const SETTLED_MS = 10_000;
/** By then it shows an edit, too. */
const EDITS_SHOW_MS = 120_000;
const ASK_AGAIN_MS = 5000;
const ASK_LATE_MS = 60_000;

export function openReadiness(
  place: Place,
  labels: Labels,
  roles: Roles,
  trusted: () => Role,
  /** The field of a project that says how urgent an issue is; null where labels alone do. */
  priorityField: string | null,
): Readiness {
  const { client, at, now } = place;
  const texts = new Map<number, SeenText>();
  /** When it has to be read again though nothing changed; null when it has not. */
  const dueAt = new Map<number, number | null>();

  const portions = openPortions<IssueRow>(place, ({ number }) => number);
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
    return read.success ? read.data : unreadable(issue, read);
  };

  const unreadable = (issue: number, { error }: { error: Parameters<typeof whatIsWrong>[0] }): null => {
    client.warn(`The history of issue #${issue} can't be read: ${whatIsWrong(error)}.`);
    return null;
  };

  /** The last time it was made ready, however often it got other labels since; null where that can't be read. */
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
      const found = older.repository?.issue as History | null | undefined;
      const read = labellingsShape(say).safeParse(found?.timelineItems);
      if (!read.success) return unreadable(issue, read);
      page = read.data;
    }
  };

  const unknown = (why: string, history: History | null): Ready => ({
    at: null,
    hash: null,
    problem: null,
    unproved: { why, until: now() + ASK_AGAIN_MS },
    priority: history && priorityOf(history),
  });

  const unread = (problem: string): Ready => {
    const why = `who made it ready can't be read: ${problem}`;
    return { ...unknown(why, null), unproved: { why, until: now() + ASK_LATE_MS } };
  };

  const ifAboutOne = (problem: unknown): Ready => {
    if (!isAboutOne(problem)) throw problem;
    return unread(problem.message);
  };

  const readyOf = async (row: IssueRow, history: History | null): Promise<Ready | null> => {
    const isAsked = hasLabel(row.labels, labels.ready);
    const hash = textHash(textOf(row));
    if (history === null) return isAsked ? unknown('GitHub shows no history of it', null) : null;
    const last = await lastLabelling(row.number, history);
    if (last === null) return unknown('GitHub shows only a part of its history', history);
    if (history.updatedAt < row.updated_at || textHash(textOf(history)) !== hash)
      return isAsked || last ? unknown('its history at GitHub is older than its text', history) : null;
    if (!last) return isAsked ? unknown(`GitHub does not show yet who added ${labels.ready}`, history) : null;

    const edits = [history.lastEditedAt, ...history.renames.nodes.map(({ createdAt }) => createdAt)].filter(
      (edit) => edit !== null,
    );
    const isKnownEdit = edits.some((edit) => edit >= last.createdAt);
    const { title, body } = textOf(row);
    const shown = [
      { told: titleShown(history), is: title },
      { told: bodyShown(history), is: body },
    ];
    const isBehind = shown.some(({ told, is }) => told !== null && told !== is);
    const isShown = shown.every(({ told, is }) => told === is);
    const before = texts.get(row.number);
    const isKnown = before?.at === last.createdAt && before.hash === hash;
    const isChanged = before?.at === last.createdAt && (before.isChanged || !isKnown);
    // What was said since does not put off the end of the wait: the text was there by then.
    const since = isKnown ? before.since : row.updated_at;
    const changedAt = since - client.ahead();
    const settlesAt = changedAt + (isShown ? SETTLED_MS : EDITS_SHOW_MS);
    const isSettled = now() >= settlesAt;
    // What was seen needs no history to tell of it.
    const isEdited = isKnownEdit || (isChanged && isSettled);
    const isExplained = row.updated_at <= Math.max(last.createdAt, ...edits) && !isChanged;
    // The label accounts for its whole second, in which there may have been an edit as well.
    const recheckAt = row.updated_at + SETTLED_MS - client.ahead();
    const isInDoubt = row.updated_at === last.createdAt && !isShown && now() < recheckAt;
    const isProved =
      isEdited || (!isBehind && ((isExplained && !isInDoubt) || isSettled || (isKnown && before.isProved)));
    texts.set(row.number, { at: last.createdAt, hash, since, isChanged, isProved: isProved && !isEdited });
    // One in hand is delayed for a moment only: its text was proved before work began. Until it is again, no text is agreed to.
    const isBrief = !isAsked && !isBehind;
    const isUnproved = !isProved && !(isBrief && now() >= changedAt + SETTLED_MS);
    const nextAskMs = isSettled ? ASK_LATE_MS : ASK_AGAIN_MS;
    const provedAt = isBehind ? now() + nextAskMs : isExplained ? recheckAt : settlesAt;
    const until = isUnproved && isBrief ? changedAt + SETTLED_MS : provedAt;
    const isRechecked = isExplained && now() < recheckAt;
    dueAt.set(row.number, isProved ? (isRechecked ? recheckAt : null) : until);
    const why = isBehind
      ? 'its history at GitHub does not show its last edit yet'
      : 'it changed a moment ago, and an edit may not show in its history yet';
    return {
      at: last.createdAt,
      hash: isEdited ? EDITED_SINCE : isProved || isUnproved ? hash : null,
      problem: await problemOf(last.actor?.login ?? null),
      unproved: isUnproved ? { why, until } : null,
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
      for (const kept of [texts, dueAt])
        for (const number of kept.keys()) if (!issues.has(number)) kept.delete(number);
    },
    doubt: () => {
      for (const issue of dueAt.keys()) dueAt.set(issue, now());
    },
    async of(rows) {
      const found = new Map<number, Ready>();
      const set = (row: IssueRow, ready: Ready | null): void => {
        if (!ready) return;
        if (ready.at === null) dueAt.set(row.number, ready.unproved!.until);
        found.set(row.number, ready);
      };
      for (const portion of await portions.ask(rows, BATCH, histories)) {
        if ('tooMuch' in portion) {
          set(portion.row, unread(portion.tooMuch));
          continue;
        }
        const { repository } = portion.answer;
        labelIds = ours.map((_, n) => labelIdShape.parse(repository?.[`l${n}`]));
        for (const row of portion.rows) {
          dueAt.set(row.number, null);
          const history = historyIn(repository?.[`i${row.number}`], row.number);
          set(row, await readyOf(row, history).catch(ifAboutOne));
        }
      }
      return found;
    },
  };
}

/** What its last renaming made of the title; null where there is none. */
const titleShown = ({ renames }: History): string | null => renames.nodes[0]?.currentTitle ?? null;

/** What its last edit made of the text; null where there is none, or that was taken out of the history. */
function bodyShown({ lastEditedAt, userContentEdits: edits }: History): string | null {
  const newest = edits?.nodes?.[0];
  if (lastEditedAt === null || newest?.editedAt !== lastEditedAt || newest.diff === null) return null;
  return withPlainLines(newest.diff);
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
  const given = `$owner: String!, $name: String!${asksProject ? ', $field: String!' : ''}`;
  return `query(${given}) { repository(owner: $owner, name: $name) { ${fields.join(' ')} } }
fragment history on Issue { number title body updatedAt lastEditedAt userContentEdits(first: 1) { nodes { editedAt diff } } ${asksProject ? PROJECT_FIELD : ''} timelineItems(last: 100, itemTypes: [LABELED_EVENT]) ${LABELLINGS}
  renames: timelineItems(last: 1, itemTypes: [RENAMED_TITLE_EVENT]) { nodes { ... on RenamedTitleEvent { createdAt currentTitle } } } }`;
}
