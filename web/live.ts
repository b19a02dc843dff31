/** One stream of events for the whole tab. Whoever shows something is told of news, and asks for what it shows. */
import { useEffect, useState } from 'preact/hooks';
import { parsed } from './text.ts';

/** An event as recorded; `doing` and `connected` are the stream's own. */
export interface Happened {
  type: string;
  seq: number;
  at: string;
  task: string | null;
  data: Record<string, unknown>;
}

type Listener = (news: Happened) => void;

const listeners = new Set<Listener>();
const watchers = new Set<(isLive: boolean) => void>();
let source: EventSource | null = null;
let lastSeq: number | null = null;
let isLive: boolean | null = null;

export function onNews(listener: Listener): () => void {
  listeners.add(listener);
  if (!source) open();
  return () => void listeners.delete(listener);
}

function open(): void {
  source = new EventSource(lastSeq === null ? '/api/events.stream' : `/api/events.stream?after=${lastSeq}`);
  source.addEventListener('connected', ({ lastEventId }) => {
    lastSeq = Number(lastEventId);
    live(true);
    pass({ ...NOTHING, type: 'connected' });
  });
  source.addEventListener('doing', ({ data }) =>
    pass({ ...NOTHING, type: 'doing', data: parsed(data) as Happened['data'] }),
  );
  source.addEventListener('message', ({ data, lastEventId }) => {
    lastSeq = Number(lastEventId);
    pass(parsed(data) as Happened);
  });
  source.addEventListener('error', () => {
    live(false);
    // Some browsers try again by themselves, others give up when nobody listens there.
    if (source?.readyState !== EventSource.CLOSED) return;
    setTimeout(open, AGAIN_MS);
  });
}

const AGAIN_MS = 2000;
const NOTHING: Happened = { type: '', seq: 0, at: '', task: null, data: {} };

function pass(news: Happened): void {
  for (const listener of listeners) listener(news);
}

function live(now: boolean): void {
  if (isLive === now) return;
  isLive = now;
  for (const watch of watchers) watch(now);
}

/** Whether what is shown is what is; null before the first answer. */
export function useLive(): boolean | null {
  const [shown, setShown] = useState(isLive);
  useEffect(() => {
    watchers.add(setShown);
    return () => void watchers.delete(setShown);
  }, []);
  return shown;
}
