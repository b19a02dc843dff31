/** Doing something: what it will do is said before, what it became is shown after. What ends a task is asked once more. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Choice } from '../src/core/tell/choices.ts';
import type { OperationName } from '../src/operations.ts';
import { Refused, tell } from './api.ts';
import { type Happened, onNews } from './live.ts';
import { Says } from './parts.tsx';

interface Said {
  id: number;
  text: string;
  hint: string | null;
  isProblem: boolean;
  /** What came of it, by its number in the log. */
  event: Happened | null;
}

let saids: Said[] = [];
let show: (now: Said[]) => void = () => {};
let nextId = 1;

function say(said: Omit<Said, 'id' | 'event'>): Said {
  const one = { ...said, id: nextId++, event: null };
  set([...saids.slice(-2), one]);
  setTimeout(() => set(saids.filter(({ id }) => id !== one.id)), SHOWN_MS);
  return one;
}

const SHOWN_MS = 12_000;

function set(now: Said[]): void {
  saids = now;
  show(now);
}

export function refused(error: unknown): void {
  const { message, hint = null } =
    error instanceof Refused ? error : { message: 'The server does not answer.' };
  say({ text: message, hint, isProblem: true });
}

/** Null when it was refused, which is said. */
export async function act<T>(
  operation: OperationName,
  input: Record<string, unknown>,
  text: string | ((answer: T) => string),
): Promise<T | null> {
  // An event may be told before the call that it comes of is answered.
  const heard: Happened[] = [];
  let said: Said | null = null;
  let became: number | undefined;
  const naming = (): void => {
    const event = heard.find(({ seq }) => seq === became);
    if (!said || !event) return;
    stop();
    name(said, event);
  };
  const stop = onNews((news) => {
    heard.push(news);
    naming();
  });
  setTimeout(stop, SHOWN_MS);
  try {
    const { answer, events } = await tell(operation, input);
    became = events[0];
    const isAlone = (answer as { runnerAlive?: boolean }).runnerAlive === false;
    const hint = isAlone ? 'No runner is running: the next `forge-loop run` does it.' : null;
    said = say({ text: typeof text === 'string' ? text : text(answer as T), hint, isProblem: false });
    naming();
    return answer as T;
  } catch (error) {
    stop();
    refused(error);
    return null;
  }
}

/** What came of it, beside what was said. */
const name = ({ id }: Said, event: Happened): void =>
  set(saids.map((one) => (one.id === id ? { ...one, event } : one)));

export function Saids() {
  const [now, setNow] = useState(saids);
  useEffect(() => {
    show = setNow;
  }, []);
  return (
    <div class="saids" role="status">
      {now.map(({ id, text, hint, isProblem, event }) => (
        <div key={id} class={isProblem ? 'said is-problem' : 'said'}>
          <Says text={text} />
          {hint && (
            <p class="note">
              <Says text={hint} />
            </p>
          )}
          {event && (
            <a href={`/events?from=${event.seq}`} class="note">
              event {event.seq}: {event.type.replaceAll('_', ' ')}
            </a>
          )}
        </div>
      ))}
    </div>
  );
}

const KEYS: Partial<Record<Choice['operation'], string>> = {
  'task.approve': 'a',
  'issue.ready': 'a',
  'task.retry': 'r',
  resume: 'r',
  pause: 'p',
};

/** `few`: only what settles it, and what ends it. */
export function Choices({ of, name, few = false }: { of: readonly Choice[]; name: string; few?: boolean }) {
  const [asked, setAsked] = useState<Choice | null>(null);
  const [written, setWritten] = useState<Choice | null>(null);
  const settling = of.filter(({ settles }) => settles);
  const shown = few ? [...settling, ...of.filter(({ operation }) => operation === 'task.abandon')] : of;
  const main = settling[0] ?? null;
  const run = (choice: Choice): void => {
    if (choice.ends) setAsked(choice);
    else if (choice.asks) setWritten(choice);
    else void act(choice.operation, choice.input, `${choice.label}: ${name}. ${choice.says}`);
  };
  return (
    <div class="choices">
      {shown.map((choice) => (
        <button
          key={choice.label}
          type="button"
          class={choice === main ? 'is-main' : choice.ends ? 'is-end' : ''}
          title={choice.says}
          aria-label={`${choice.label}: ${name}`}
          data-key={KEYS[choice.operation]}
          onClick={() => run(choice)}
        >
          {choice.label}
          {choice.asks && ' …'}
        </button>
      ))}
      {written && <Write choice={written} name={name} onOver={() => setWritten(null)} />}
      {asked && (
        <Confirm
          question={`${asked.label} ${name}?`}
          says={asked.says}
          yes={asked.label}
          onYes={() => void act(asked.operation, asked.input, `${asked.label}: ${name}. ${asked.says}`)}
          onOver={() => setAsked(null)}
        />
      )}
    </div>
  );
}

/** What a person has to say for it. */
function Write({ choice, name, onOver }: { choice: Choice; name: string; onOver(): void }) {
  const { operation, input, label, says, asks } = choice;
  const [text, setText] = useState('');
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await act(operation, { ...input, [asks!.field]: text }, `${label}: ${name}. ${says}`))
      dialog.current?.close();
  };
  const title = `${label}: ${name}`;
  return (
    <dialog ref={dialog} onClose={onOver} aria-label={title}>
      <form onSubmit={(event) => void send(event)}>
        <h2 dir="auto">{title}</h2>
        <p>
          <Says text={says} />
        </p>
        <label>
          {asks!.label}
          <textarea
            autofocus
            rows={3}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <div class="choices">
          <button type="submit" class="is-main" disabled={text.trim() === ''}>
            {label}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Leave it
          </button>
        </div>
      </form>
    </dialog>
  );
}

export function Confirm(props: {
  question: string;
  says: string;
  yes: string;
  onYes(): void;
  onOver(): void;
}) {
  const { question, says, yes, onYes, onOver } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={onOver} aria-label={question}>
      <h2 dir="auto">{question}</h2>
      <p>
        <Says text={says} />
      </p>
      <div class="choices">
        <button
          type="button"
          class="is-end is-main"
          onClick={() => {
            dialog.current?.close();
            onYes();
          }}
        >
          {yes}
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Leave it
        </button>
      </div>
    </dialog>
  );
}
