/**
 * What the coder is told of people's remarks and of red CI.
 *
 * Each has an id by which it is told once: a remark by its words, so that an edited one is told again; a required check
 * by the head it failed at; any other check by what it said, so that one which is red for a reason of its own does not
 * ask for ever. Told means that the turn which carried it has finished: a turn that was cut off carries it again.
 */

import { event, type Feedback, type NewEvent } from '../event.ts';
import { commandIn } from '../issue/command.ts';
import type { Policy } from '../policy.ts';
import type { Task } from '../task.ts';
import { digestOf } from '../text/digest.ts';
import { checkText, remarkText } from '../words/feedback-text.ts';
import { isRequired } from './checks.ts';
import type { Check, PullFeedback, Remark } from './remark.ts';

/** What is new since the last look, as events; none when everything was heard. */
export function hear(task: Task, said: PullFeedback | null, policy: Policy): NewEvent[] {
  if (said === null) return [];
  const red = said.checks.filter((check) => check.state === 'red' && check.headSha === task.head?.sha);
  const wanted = [
    ...red.map((check) => ofCheck(check, policy)),
    ...said.remarks.filter((remark) => remark.mayWrite && isInstruction(remark)).map(ofRemark),
  ];
  const known = new Set([...task.acknowledged, ...task.feedback.map(({ id }) => id)]);
  const news = wanted.filter(({ id }) => !known.has(id));
  const strangers = said.remarks
    .filter((remark) => !remark.mayWrite && isInstruction(remark) && !task.ignored.includes(remark.id))
    .map(({ id, author }) => ({ id, author }));
  return [
    ...withdrawn(task, new Set(wanted.map(({ id }) => id))),
    ...news.map((feedback) => event('feedback_added', { feedback })),
    ...(strangers.length > 0 ? [event('remarks_ignored', { remarks: strangers })] : []),
  ];
}

/** Is there something for the coder among it? */
export const isNews = (events: readonly NewEvent[]): boolean =>
  events.some(({ type }) => type === 'feedback_added');

/** What asks for something: a word of approval does not, and a command is answered elsewhere. */
export function isInstruction({ verdict, body }: Remark): boolean {
  if (verdict === 'approve' || commandIn(body) !== null) return false;
  return verdict === 'request_changes' || body.trim() !== '';
}

function ofRemark(remark: Remark): Feedback & { id: string } {
  const { id, where, body } = remark;
  return {
    kind: 'review',
    id: `remark:${id}:${digest(body.trim())}`,
    text: remarkText(remark),
    remark: { id, where },
  };
}

function ofCheck(check: Check, policy: Policy): Feedback & { id: string } {
  const which = isRequired(check, policy) ? `@${check.headSha}` : `:${failureOf(check.logTail ?? '')}`;
  return { kind: 'ci', id: `check:${check.name}${which}`, text: checkText(check) };
}

/** CI that is not red any more, at this head, is nothing to work on. */
function withdrawn(task: Task, wanted: ReadonlySet<string>): NewEvent[] {
  const ids = task.feedback.flatMap(({ kind, id }) =>
    kind === 'ci' && id !== undefined && !wanted.has(id) ? [id] : [],
  );
  return ids.length > 0 ? [event('feedback_withdrawn', { ids, why: 'it is not red any more' })] : [];
}

/** A failure is the same whatever its times, counts and addresses. */
function failureOf(log: string): string {
  return digest(
    log
      .toLowerCase()
      .replace(/0x[0-9a-f]+|[^\p{L}]+/gu, ' ')
      .trim(),
  );
}

const digest = (text: string): string => digestOf(text, 12);
