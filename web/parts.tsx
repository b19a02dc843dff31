/** What every page is made of. Text is always text: nothing here or elsewhere makes HTML of what somebody wrote. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { TaskView } from '../src/view.ts';
import type { Asking } from './api.ts';
import { ago, exact, lasting, tokens, usd } from './format.ts';

/** Known by shape as well as by colour. */
const GLYPHS = {
  queued: '○',
  dispatched: '◔',
  running: '▸',
  awaiting_critic: '◇',
  revising: '↻',
  merging: '⇥',
  merged: '✓',
  completed: '✓',
  abandoned: '✗',
  held: '‖',
  interrupted: '!',
} as const;

export type Shown = keyof typeof GLYPHS;

export const shownState = (task: Pick<TaskView, 'state' | 'hold' | 'interrupted'>): Shown =>
  task.interrupted ? 'interrupted' : task.hold ? 'held' : task.state;

export function Glyph({ of }: { of: Shown }) {
  return (
    <span class={`glyph is-${of}`} aria-hidden="true">
      {GLYPHS[of]}
    </span>
  );
}

export function StateOf({ task }: { task: Pick<TaskView, 'state' | 'hold' | 'interrupted' | 'reason'> }) {
  const shown = shownState(task);
  const words = [
    task.state === 'abandoned' && task.reason ? task.reason : task.state,
    ...(shown === 'held' || shown === 'interrupted' ? [shown] : []),
  ];
  return (
    <span class={`state is-${shown}`}>
      <Glyph of={shown} /> {words.join(', ').replaceAll('_', ' ')}
    </span>
  );
}

const ticking = new Set<() => void>();
setInterval(() => {
  if (!document.hidden) for (const tick of ticking) tick();
}, 5000);

/** The time, for what says how long ago something was. Only what is shown changes; nobody is asked. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = (): void => setNow(Date.now());
    ticking.add(tick);
    return () => void ticking.delete(tick);
  }, []);
  return now;
}

export function Ago({ at }: { at: string | null }) {
  const now = useNow();
  if (at === null) return null;
  return (
    <time dateTime={at} title={exact(at)}>
      {ago(at, now)}
    </time>
  );
}

export function Since({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={`since ${exact(at)}`}>
      {lasting(now - Date.parse(at))}
    </time>
  );
}

/** Money, or the tokens of a subscription that is not paid by them; `of` is where it comes from. */
export function Spent({ of }: { of: { costUsd: number | null; tokens?: number | null; complete: boolean } }) {
  const title = of.tokens === undefined ? '' : `${tokens(of.tokens)} tokens`;
  return (
    <span
      class="money"
      title={of.complete ? title : `${title}${title && '; '}not everything that was used is known`}
    >
      {usd(of.costUsd, of.complete)}
    </span>
  );
}

/** A sentence of the loop's, its commands and names set apart. */
export function Says({ text }: { text: string }) {
  const parts = text.split(/`([^`\n]+)`/);
  return (
    <span dir="auto">{parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</span>
  );
}

export function Section({
  title,
  note,
  children,
  id,
}: {
  title: ComponentChildren;
  note?: ComponentChildren;
  children: ComponentChildren;
  id?: string;
}) {
  return (
    <section id={id}>
      <header class="section-head">
        <h2>{title}</h2>
        {note !== undefined && <p class="note">{note}</p>}
      </header>
      {children}
    </section>
  );
}

/** What is not there yet, and how to have it. */
export function Empty({ text, command }: { text: string; command?: string }) {
  return (
    <div class="empty">
      <p>{text}</p>
      {command !== undefined && <pre>{command}</pre>}
    </div>
  );
}

/** What was asked for, or why it is not there. */
export function Waited<T>({
  asking,
  children,
}: {
  asking: Asking<T>;
  children: (data: T) => JSX.Element | null;
}) {
  const { data, problem } = asking;
  return (
    <>
      {problem && (
        <div class="problem" role="alert">
          <Says text={problem.message} />
          {problem.hint && (
            <p class="note">
              <Says text={problem.hint} />
            </p>
          )}
        </div>
      )}
      {data !== null ? children(data) : problem ? null : <p class="note loading">Loading …</p>}
    </>
  );
}

/** What is wider than the page; by key it is moved, too. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** Of a few, one is chosen. */
export function Segments<T extends string>({
  label,
  options,
  value,
  onPick,
}: {
  label: string;
  options: readonly (readonly [T, string])[];
  value: T;
  onPick(value: T): void;
}) {
  return (
    <fieldset class="segments">
      <legend class="only-read">{label}</legend>
      {options.map(([key, text]) => (
        <button key={key} type="button" aria-pressed={key === value} onClick={() => onPick(key)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}
