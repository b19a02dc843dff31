/**
 * What was said in a turn, or printed by a command. Of an agent that tells what it does, its transcript: text, calls, their output.
 * Of everything else the file as it is: the end first, earlier pieces when asked for. New ones as they come.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Role } from '../../src/core/role.ts';
import { type Answer, Refused, read } from '../api.ts';
import { bytes, count } from '../format.ts';
import { onNews } from '../live.ts';
import { ask } from '../route.ts';

type Log = Answer<'task.log'>;
type Entry = Answer<'logs'>['turns'][number]['entries'][number];
interface Piece {
  from: number;
  next: number;
  text: string;
}

export function Transcript({ task, log, isLive }: { task: string; log: string | null; isLive: boolean }) {
  const [pieces, setPieces] = useState<Piece[]>([]);
  const [entries, setEntries] = useState<Entry[]>([]);
  const [shown, setShown] = useState(SHOWN_ENTRIES);
  const [seen, setSeen] = useState<Log | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  /** Until somebody moves in it: what is drawn only now is longer than it was taken for. */
  const isMoved = useRef(false);
  const moved = (): void => {
    isMoved.current = true;
  };

  useEffect(() => {
    let isGone = false;
    let next: number | null = null;
    let last: number | null = null;
    let name = log;
    let isAsking = false;
    let isStale = false;
    const begin = (): void => {
      next = null;
      last = null;
      setPieces([]);
      setEntries([]);
      setShown(SHOWN_ENTRIES);
      isAtEnd.current = true;
      isMoved.current = false;
    };
    const readTold = async (turn: ToldTurn): Promise<void> => {
      const { role, number, session } = turn;
      const { turns } = await read('logs', { task, role, turn: number, after: last });
      const news = turns.findLast(({ sessionId }) => sessionId.startsWith(session))?.entries ?? [];
      if (isGone || news.length === 0) return;
      last = news.at(-1)!.offset;
      setEntries((before) => joined(before, news));
    };
    const readPrinted = (found: Log): void => {
      const piece = { from: found.from, next: found.next, text: found.text };
      if (next === null) setPieces([piece]);
      else if (found.text !== '') setPieces((before) => [...before, piece].slice(-MOST_PIECES));
      const isFirst = next === null;
      next = found.next;
      if (!isFirst && next < found.bytes) queueMicrotask(() => void more());
    };
    const more = async (): Promise<void> => {
      isStale = isAsking;
      if (isAsking) return;
      isAsking = true;
      try {
        const found = await read('task.log', { task, log: name, after: next });
        if (isGone) return;
        setSeen(found);
        setProblem(null);
        name = found.log;
        const told = toldTurn(name);
        if (told) await readTold(told);
        else readPrinted(found);
      } catch (error) {
        if (!isGone) setProblem(error instanceof Refused ? error.message : 'The server does not answer.');
      } finally {
        isAsking = false;
        if (isStale && !isGone) void more();
      }
    };
    begin();
    void more();
    const stop = onNews((news) => {
      if (!isLive) return;
      const doing =
        news.type === 'doing' ? (news.data[task] as { log: string | null } | undefined) : undefined;
      // Another turn or command has begun: it is followed, unless one log was chosen.
      if (log === null && doing && name !== null && doing.log !== name) {
        name = null;
        begin();
      }
      if (news.task === task || news.type === 'connected' || (news.type === 'doing' && task in news.data))
        void more();
    });
    return () => {
      isGone = true;
      stop();
    };
  }, [task, log, isLive]);

  useEffect(() => {
    const here = box.current;
    if (here && isAtEnd.current) here.scrollTop = here.scrollHeight;
  }, [pieces, entries]);

  const earlier = async (): Promise<void> => {
    const first = pieces[0];
    isAtEnd.current = false;
    moved();
    setShown((before) => before + SHOWN_ENTRIES);
    if (!first || seen?.log == null) return;
    const from = Math.max(0, first.from - PIECE_BYTES);
    const found: Piece[] = [];
    for (let at = from; at < first.from; ) {
      const part = await read('task.log', { task, log: seen.log, after: at });
      const isOver = part.next >= first.from || part.next === at;
      found.push({ from: at, next: Math.min(part.next, first.from), text: upTo(part, first.from) });
      if (isOver) break;
      at = part.next;
    }
    setPieces((before) => [...found, ...before]);
  };

  if (problem !== null) return <p class="note">{problem}</p>;
  if (seen !== null && seen.log === null) return <p class="note">Nothing was said or printed yet.</p>;
  return (
    <div class="transcript">
      <div class="transcript-head">
        <label>
          <span class="only-read">Log</span>
          <select value={seen?.log ?? ''} onChange={({ currentTarget }) => ask({ log: currentTarget.value })}>
            {seen?.logs.map(({ name, bytes: size }) => (
              <option key={name} value={name}>
                {name} ({bytes(size)})
              </option>
            ))}
          </select>
        </label>
        {(entries.length > shown || (pieces[0] && pieces[0].from > 0)) && (
          <button type="button" onClick={() => void earlier()}>
            Earlier
          </button>
        )}
        {log !== null && (
          <button type="button" onClick={() => ask({ log: null })}>
            Newest
          </button>
        )}
      </div>
      <section
        class="pieces"
        ref={box}
        tabIndex={0}
        aria-label="Transcript"
        onWheel={moved}
        onTouchStart={moved}
        onPointerDown={moved}
        onKeyDown={moved}
        onScroll={({ currentTarget: at }) => {
          const isClose = at.scrollHeight - at.scrollTop - at.clientHeight < 40;
          if (isMoved.current) isAtEnd.current = isClose;
          else if (!isClose) at.scrollTop = at.scrollHeight;
        }}
      >
        {pieces.map(({ from, text }) => (
          <pre key={from} dir="auto">
            {text}
          </pre>
        ))}
        {entries.slice(-shown).map((entry) => (
          <EntryOf key={entry.offset} entry={entry} />
        ))}
      </section>
    </div>
  );
}

const PIECE_BYTES = 64 * 1024;
/** What a page keeps of a log that goes on and on. */
const MOST_PIECES = 200;
const SHOWN_ENTRIES = 300;
/** Of an output, before one asks for all of it. */
const MOST_OUTPUT_LINES = 12;

interface ToldTurn {
  role: Role;
  number: number;
  /** The beginning of its id. */
  session: string;
}

/** The turn whose transcript this file is. */
function toldTurn(name: string | null): ToldTurn | null {
  const [, role, number, session] = /^([a-z]+)-(\d+)-([^.]+)\.transcript\.jsonl$/.exec(name ?? '') ?? [];
  return role && number && session ? { role: role as Role, number: Number(number), session } : null;
}

/** Some agents tell a text again and again while it grows. */
function joined(before: readonly Entry[], news: readonly Entry[]): Entry[] {
  const last = before.at(-1);
  const grown = last?.kind === 'said' && news[0]?.kind === 'said' && news[0].text.startsWith(last.text);
  return [...(grown ? before.slice(0, -1) : before), ...news];
}

function EntryOf({ entry: { kind, tool, text } }: { entry: Entry }) {
  switch (kind) {
    case 'said':
      return (
        <p class="entry is-said" dir="auto">
          {text}
        </p>
      );
    case 'tool':
      return (
        <p class="entry is-tool">
          <b>{tool}</b> <code dir="auto">{text}</code>
        </p>
      );
    case 'output':
      return <Output text={text} />;
    case 'refused':
      return (
        <p class="entry is-warned">
          ! refused {tool}: <span dir="auto">{text}</span>
        </p>
      );
    case 'retrying':
      return <p class="entry is-warned">! tries again: {text}</p>;
    case 'compacted':
      return <p class="entry is-warned">! compacted its conversation: {text}</p>;
    case 'cut':
      return <p class="entry is-warned">! {text}</p>;
    default:
      return kind satisfies never;
  }
}

function Output({ text }: { text: string }) {
  const lines = text.trimEnd().split('\n');
  const rest = lines.slice(MOST_OUTPUT_LINES);
  return (
    <div class="entry is-output">
      <pre dir="auto">{lines.slice(0, MOST_OUTPUT_LINES).join('\n')}</pre>
      {rest.length > 0 && (
        <details>
          <summary>{count(rest.length, 'more line')}</summary>
          <pre dir="auto">{rest.join('\n')}</pre>
        </details>
      )}
    </div>
  );
}

/** Of a piece that reaches into the one that is shown already, what is before it. */
function upTo({ text, from }: Pick<Log, 'text' | 'from'>, end: number): string {
  const bytes = new TextEncoder().encode(text);
  return bytes.length <= end - from ? text : new TextDecoder().decode(bytes.subarray(0, end - from));
}
