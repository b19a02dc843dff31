/** What people are told by notifications. What strangers wrote (titles, output) is cut and has no invisible characters. */
import type { LoopEvent } from '../event.ts';
import { holdText } from '../hold.ts';
import type { LoopWait } from '../loop/loop-waits.ts';
import { nameOfTask, type Task } from '../task.ts';
import type { Message, Notice } from '../tell/notify.ts';
import { oneLine, plain } from './fence.ts';
import { shortSha } from './short-sha.ts';
import { adviceText } from './words.ts';

export interface NoticeText {
  title: string;
  text: string;
}

/** Of an event that is worth a notice. */
export function noticeText(one: LoopEvent, task: Task | undefined): NoticeText {
  const called = task ? named(task) : '';
  switch (one.type) {
    case 'hold_set':
      return said(`Needs you: ${called}`, holdText(one.data, task ? nameOfTask(task) : null));
    case 'issue_declined': {
      const { issue, problem, questions } = one.data;
      return said(`Needs you: #${issue} was not started`, [problem ?? '', ...questions].join(' '));
    }
    case 'readiness_withdrawn': {
      const { issue } = one.data;
      const how = `\`forge-loop issue ready ${issue}\` accepts the new text`;
      return said(`Needs you: #${issue} was edited after it was made ready`, how);
    }
    case 'budget_warned': {
      const { scope, says } = one.data;
      const whose = scope === 'task' ? called : scope === 'day' ? 'of the day' : 'of the loop';
      return said(`Budget nearly spent: ${whose}`, says);
    }
    case 'loop_idle': {
      const { waiting } = one.data;
      const left = waiting === 1 ? '1 item needs' : `${waiting} items need`;
      return said('The loop is idle', waiting === 0 ? 'No work is left.' : `${left} you.`);
    }
    case 'worker_state_transition':
      return task ? endText(one.data, task, called) : said(called, one.data.why);
    default:
      return said(called, one.type);
  }
}

type Ended = Extract<LoopEvent, { type: 'worker_state_transition' }>['data'];

function endText({ to, reason, why }: Ended, task: Task, called: string): NoticeText {
  const { plan, branch } = task;
  const by = plan ? `Started by ${plan.startedBy}. ` : '';
  if (plan?.draftOf !== undefined && to === 'completed') {
    const drafted = plan.drafted?.name ?? '';
    return said(
      `Needs you: a plan for #${plan.draftOf} is drafted`,
      `\`forge-loop plan show ${drafted}\`, then \`forge-loop plan approve ${drafted}\``,
    );
  }
  if (to === 'completed') return said(`Completed: ${called}`, `${by}Its work is on ${branch}: ${why}`);
  if (to === 'merged') {
    const sha = task.mergedSha ? ` as ${shortSha(task.mergedSha)}` : '';
    return said(`${plan ? 'Completed and merged' : 'Merged'}: ${called}`, `${by}Merged${sha}: ${why}`);
  }
  const advice = reason === task.reason ? (adviceText(task) ?? '') : '';
  return said(`Gave up: ${called}`, `${by}${reason}: ${why}. ${advice}`);
}

export const waitNotice = ({ reason, text }: LoopWait): NoticeText =>
  said(reason.endsWith('_budget') ? 'The budget is spent' : 'The loop is held', text);

const named = (task: Task): string => `${nameOfTask(task)} ${task.contract.title}`;

const TITLE_CHARS = 120;
const said = (title: string, text: string): NoticeText => ({
  title: cut(oneLine(plain(title)), TITLE_CHARS),
  text: oneLine(plain(text)),
});

/** Whole characters: half of one is shown as garbage, and some services refuse it. */
export function cut(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const end = text.slice(0, Math.max(0, chars - 1));
  return `${/[\uD800-\uDBFF]$/.test(end) ? end.slice(0, -1) : end}…`;
}

export function messageTitle({ project, notices, more }: Message): string {
  const [first] = notices;
  const count = notices.length + more;
  return `[${project}] ${count === 1 && first ? first.title : `${count} notices`}`;
}

/** The body of a message that has a title beside it: the text of its one notice, or all of a digest. */
export function messageLines({ notices, more }: Message): string[] {
  const [first] = notices;
  if (first && notices.length + more === 1) return [first.text];
  return [...notices.map(noticeLine), ...moreLine(more)];
}

const noticeLine = ({ title, text }: Notice): string => (text === '' ? title : `${title} — ${text}`);

export const moreLine = (more: number): string[] =>
  more === 0 ? [] : [`and ${more} more: \`forge-loop events\``];

/** For trying out a channel. */
export const sampleMessage = (
  channel: string,
  { id, at, project }: Omit<Message, 'notices' | 'more'>,
): Message => ({
  id,
  at,
  project,
  notices: [
    {
      id: 'test',
      kinds: ['idle'],
      at,
      task: null,
      issue: null,
      ...said('A test of notifications', `This is what ${channel} is sent. Nothing happened.`),
    },
  ],
  more: 0,
});
