/** Everything that happened, as it was recorded; new ones come by themselves. */
import { useEffect, useState } from 'preact/hooks';
import { type Answer, Refused, read } from '../api.ts';
import { clock, exact } from '../format.ts';
import { onNews } from '../live.ts';
import { Empty } from '../parts.tsx';
import { ask, taskLink } from '../route.ts';

type Listed = Answer<'events'>[number];
const PAGE = 200;
const REST_MS = 300;

export function Events({ query }: { query: URLSearchParams }) {
  const type = query.get('type') ?? '';
  const task = query.get('task') ?? '';
  const from = query.get('from');
  const [last, setLast] = useState(PAGE);
  const [events, setEvents] = useState<Listed[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const start = from === null ? null : Number(from) - 1;
    const filter = { ...(type === '' ? {} : { type }), ...(task === '' ? {} : { task }) };
    let shown: Listed[] | null = null;
    let isGone = false;
    let isAsking = false;
    let isStale = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    // What follows the last one that is shown, as the server filters it: nothing is left out and nothing is twice.
    const look = async (): Promise<void> => {
      timer = undefined;
      isAsking = true;
      isStale = false;
      const after = shown?.at(-1)?.seq ?? start;
      const isFirst = shown === null && start === null;
      const part = isFirst ? { last } : { after: after ?? 0, limit: shown === null ? last : PAGE };
      try {
        const found = await read('events', { ...filter, ...part });
        if (isGone) return;
        const isWhole = !isFirst && found.length === part.limit;
        shown =
          start === null ? [...(shown ?? []), ...found].slice(-last - PAGE) : [...(shown ?? []), ...found];
        if (isWhole && !isFull()) isStale = true;
        setEvents(shown);
        setProblem(null);
      } catch (error) {
        if (!isGone) setProblem(error instanceof Refused ? error.message : 'The server does not answer.');
      }
      isAsking = false;
      if (isStale) later();
    };
    // From a number on, the rest is shown when one asks for it.
    const isFull = (): boolean => start !== null && (shown?.length ?? 0) >= last;
    const later = (): void => {
      isStale = true;
      if (isGone || isAsking || timer !== undefined || isFull()) return;
      timer = setTimeout(() => void look(), REST_MS);
    };
    void look();
    const stop = onNews((news) => {
      const isOther = news.seq > 0 && type !== '' && news.type !== type;
      if (news.type !== 'doing' && !isOther) later();
    });
    return () => {
      isGone = true;
      clearTimeout(timer);
      stop();
    };
  }, [type, task, last, from]);
  const newest = from === null ? [...(events ?? [])].reverse() : (events ?? []);
  return (
    <>
      <h1>Events</h1>
      <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          key={`type ${type}`}
          type="search"
          list="types"
          aria-label="Type of event"
          placeholder="Type, such as verdict_recorded"
          defaultValue={type}
          onChange={({ currentTarget }) => ask({ type: typeNamed(currentTarget.value) })}
        />
        <datalist id="types">
          {[...new Set(events?.map((one) => one.type))].sort().map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <input
          key={`task ${task}`}
          type="search"
          aria-label="Task"
          placeholder="Task or issue"
          defaultValue={task}
          onChange={({ currentTarget }) => ask({ task: currentTarget.value.trim() })}
        />
        {from !== null && (
          <button type="button" onClick={() => ask({ from: null })}>
            from event {from} ×
          </button>
        )}
      </form>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {events?.length === 0 && (type !== '' || task !== '') && <p class="note">None matches.</p>}
      {events?.length === 0 && type === '' && task === '' && (
        <Empty text="No event here yet. A runner records everything it does:" command="forge-loop run" />
      )}
      <ul class="events">
        {newest.map((one) => (
          <li key={one.seq} data-row>
            <details>
              <summary>
                <span class="seq">{one.seq}</span>
                <time class="note" dateTime={one.at} title={exact(one.at)}>
                  {clock(one.at)}
                </time>
                {one.task !== null && <span>{one.name ?? one.task}</span>}
                <b>{one.type.replaceAll('_', ' ')}</b>
                <span class="excerpt" dir="auto">
                  {one.says ?? briefly(one.data)}
                </span>
              </summary>
              {one.task !== null && <a href={taskLink(one.task)}>task {one.task}</a>}
              <pre>{JSON.stringify(one.data, null, 2)}</pre>
            </details>
          </li>
        ))}
      </ul>
      {events !== null && events.length >= last && (
        <button type="button" onClick={() => setLast(last * 2)}>
          {from === null ? 'Older' : 'Later'}
        </button>
      )}
    </>
  );
}

/** What only the log needs to know has no sentence. */
const briefly = (data: Listed['data']): string =>
  Object.entries(data)
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value) && value !== '')
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');

/** As it is shown, or as it is recorded. */
const typeNamed = (text: string): string => text.trim().toLowerCase().replaceAll(/\s+/g, '_');
