/**
 * What is worth telling people, to whom, and when: events and waits of the loop become notices; each channel gathers those it
 * wants, and sends them as messages. The first is sent at once; what follows soon after it, or in quiet hours, waits and is
 * sent together, as a digest. While a message is on its way, or can't be sent, the next one is still being gathered: a channel
 * that fails has one message in the outbox, however much happens meanwhile.
 */
import type { LoopEvent } from '../event.ts';
import { needsPerson } from '../hold.ts';
import type { LoopWait } from '../loop/loop-waits.ts';
import { REASONS } from '../machine.ts';
import type { Task } from '../task.ts';
import { type NoticeText, noticeText, waitNotice } from '../words/notices.ts';

export const CHANNEL_KINDS = ['desktop', 'webhook', 'slack', 'discord', 'ntfy', 'command'] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

export const NOTICE_KINDS = [
  'needs_you',
  'merged',
  'completed',
  'abandoned',
  'budget',
  'loop_held',
  'idle',
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** From one minute of the day up to another, where `timeZone` is; past midnight when the second is the smaller. */
export interface QuietHours {
  from: number;
  to: number;
  timeZone: string;
}

export interface ChannelPolicy {
  name: string;
  kind: ChannelKind;
  /** What it is told. */
  events: readonly NoticeKind[];
  /** After a message, what comes within this time is gathered. */
  digestMs: number;
  quiet: QuietHours | null;
  /** Secrets: null where the variable is not set, or the kind needs none. */
  url: string | null;
  secret: string | null;
  token: string | null;
  command: string | null;
  /** Variables of the operator's that a command gets. */
  passEnv: readonly string[];
}

export interface Notice extends NoticeText {
  /** Names it for ever, whichever message tells it: the number of its event, or what the loop waits for. */
  id: string;
  /** What it is, and what else it is. */
  kinds: readonly NoticeKind[];
  at: number;
  task: string | null;
  issue: number | null;
}

/** What one channel is sent: one notice, or several as a digest. Sent again, it has the same id. */
export interface Message {
  id: string;
  at: number;
  project: string;
  notices: readonly Notice[];
  /** How many more there were. */
  more: number;
}

interface Gathered {
  waiting: readonly Notice[];
  /** Left out, since there were too many. */
  more: number;
  /** When the last message was made. */
  sentAt: number | null;
}

/** Kept in the loop's row; written only by the runner that has the intake lease. */
export interface NotifyState {
  /** The last event that was looked at. */
  considered: number;
  /** What is told and still lasts: a task's hold, what the loop waits for. It is told again when it has been over. */
  told: Readonly<Record<string, string>>;
  channels: Readonly<Record<string, Gathered>>;
}

/** What happened before anybody was to be told is not told. */
export const notifyFrom = (newest: number): NotifyState => ({ considered: newest, told: {}, channels: {} });

interface Seen {
  /** After those that were considered, in sequence. */
  events: readonly LoopEvent[];
  /** Null: not looked at. */
  waits: readonly LoopWait[] | null;
  taskOf(id: string): Task | undefined;
}

/** Gathers for each channel what it wants. Channels that are gone are forgotten. */
export function gather(
  state: NotifyState,
  seen: Seen,
  channels: readonly ChannelPolicy[],
  now: number,
): NotifyState {
  const told = new Map(Object.entries(state.told));
  const considered = seen.events.at(-1)?.seq ?? state.considered;
  const notices = [
    ...seen.events.flatMap((one) => noticeOf(one, told, seen.taskOf) ?? []),
    ...(seen.waits ? newWaits(seen.waits, told, considered, now) : []),
  ];
  return {
    considered,
    told: Object.fromEntries(told),
    channels: Object.fromEntries(
      channels.map(({ name, events }) => {
        const before = state.channels[name] ?? NOTHING;
        const wanted = notices.filter(({ kinds }) => kinds.some((kind) => events.includes(kind)));
        return [name, wanted.length === 0 ? before : withNotices(before, wanted)];
      }),
    ),
  };
}

const NOTHING: Gathered = { waiting: [], more: 0, sentAt: null };
/** As many as the narrowest channel can show. */
const MOST_NOTICES = 40;

function withNotices({ waiting, more, sentAt }: Gathered, added: readonly Notice[]): Gathered {
  const all = [...waiting, ...added];
  return {
    waiting: all.slice(0, MOST_NOTICES),
    more: more + Math.max(0, all.length - MOST_NOTICES),
    sentAt,
  };
}

interface Sending {
  now: number;
  project: string;
  /** Channels that have a message in the outbox. */
  busy: ReadonlySet<string>;
  /** Nobody will be there to send it later: only quiet hours keep it back. */
  isLast: boolean;
  newId(): string;
}

/** The messages that are due, and what is left to gather. */
export function compose(
  state: NotifyState,
  channels: readonly ChannelPolicy[],
  { now, project, busy, isLast, newId }: Sending,
): { state: NotifyState; messages: { channel: string; message: Message }[] } {
  const due = channels.filter((channel) => {
    const { waiting, sentAt } = state.channels[channel.name] ?? NOTHING;
    if (waiting.length === 0 || busy.has(channel.name) || isQuiet(channel.quiet, now)) return false;
    // A clock that was set back makes nobody wait longer.
    return isLast || sentAt === null || now < sentAt || now - sentAt >= channel.digestMs;
  });
  const messages = due.map(({ name }) => {
    const { waiting: notices, more } = state.channels[name]!;
    return { channel: name, message: { id: newId(), at: now, project, notices, more } };
  });
  const emptied = due.map(({ name }) => [name, { waiting: [], more: 0, sentAt: now }]);
  return { state: { ...state, channels: { ...state.channels, ...Object.fromEntries(emptied) } }, messages };
}

export function isQuiet(quiet: QuietHours | null, now: number): boolean {
  if (quiet === null) return false;
  const { from, to, timeZone } = quiet;
  const minute = minuteOfDay(now, timeZone);
  return from <= to ? from <= minute && minute < to : from <= minute || minute < to;
}

function minuteOfDay(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  }).formatToParts(at);
  const part = (type: 'hour' | 'minute'): number => Number(parts.find((one) => one.type === type)?.value);
  return part('hour') * 60 + part('minute');
}

/** Longer each time, up to an hour. */
export function resendMs(attempt: number, jitter: number): number {
  const base = Math.min(10_000 * 2 ** Math.min(attempt - 1, 10), 3_000_000);
  return Math.round(base * (1 + jitter / 5));
}

/** What could not be sent for so long is history. */
export const isStale = ({ at }: Message, now: number): boolean => now - at > 86_400_000;

/** `told` is brought up to date with the event. */
function noticeOf(one: LoopEvent, told: Map<string, string>, taskOf: Seen['taskOf']): Notice | null {
  const task = one.task === null ? undefined : taskOf(one.task);
  const kinds = task ? kindsOfTask(one, task, told) : kindsOfLoop(one);
  if (kinds.length === 0) return null;
  const issue = task ? task.issue : 'issue' in one.data ? one.data.issue : null;
  return { id: `${one.seq}`, kinds, at: one.at, task: one.task, issue, ...noticeText(one, task) };
}

function kindsOfLoop({ type }: LoopEvent): NoticeKind[] {
  if (type === 'issue_declined' || type === 'readiness_withdrawn') return ['needs_you'];
  if (type === 'budget_warned') return ['budget'];
  return type === 'loop_idle' ? ['idle'] : [];
}

function kindsOfTask(one: LoopEvent, task: Task, told: Map<string, string>): NoticeKind[] {
  const key = `task ${task.id}`;
  switch (one.type) {
    case 'hold_set': {
      if (!needsPerson(one.data)) return [];
      const about = `${one.data.reason}: ${one.data.detail}`;
      if (told.get(key) === about) return [];
      told.set(key, about);
      return ['needs_you'];
    }
    case 'hold_cleared':
    case 'hold_released':
      told.delete(key);
      return [];
    case 'budget_warned':
      return ['budget'];
    case 'worker_state_transition': {
      const { to, reason } = one.data;
      if (to === 'merged') return task.plan ? ['completed', 'merged'] : ['merged'];
      // A plan that was drafted waits to be read.
      if (to === 'completed')
        return task.plan?.draftOf === undefined ? ['completed'] : ['needs_you', 'completed'];
      if (to !== 'abandoned') return [];
      told.delete(key);
      return [
        'abandoned',
        ...(reason && REASONS[reason].outcome === 'failure' ? (['needs_you'] as const) : []),
        ...(reason === 'budget_exhausted' ? (['budget'] as const) : []),
      ];
    }
    default:
      return [];
  }
}

/** What the loop waits for that was not told yet; what is over is forgotten. */
function newWaits(
  waits: readonly LoopWait[],
  told: Map<string, string>,
  considered: number,
  now: number,
): Notice[] {
  const lasting = waits.flatMap((wait) => {
    const kinds = kindsOfWait(wait);
    return kinds.length === 0 ? [] : [{ wait, kinds, key: keyOfWait(wait) }];
  });
  const keys = new Set(lasting.map(({ key }) => key));
  for (const key of told.keys()) if (key.startsWith(WAIT) && !keys.has(key)) told.delete(key);
  return lasting.flatMap(({ wait, kinds, key }): Notice[] => {
    if (told.has(key)) return [];
    told.set(key, wait.reason);
    return [{ id: `${considered} ${key}`, kinds, at: now, task: null, issue: null, ...waitNotice(wait) }];
  });
}

const WAIT = 'wait ';

/** Its words may change while it lasts: they tell the time, or what is spent. */
function keyOfWait({ reason, account, until, detail }: LoopWait): string {
  const about = account?.account ?? (reason.endsWith('_budget') ? `${until}` : detail);
  return `${WAIT}${reason} ${about}`;
}

/** Whoever paused the loop knows it; what ends by itself before long needs nobody. */
function kindsOfWait({ reason, endsBy }: LoopWait): NoticeKind[] {
  if (reason === 'day_budget') return ['budget'];
  if (reason === 'loop_budget') return ['budget', 'loop_held', 'needs_you'];
  return reason === 'operator_pause' || endsBy === 'time' ? [] : ['loop_held', 'needs_you'];
}
