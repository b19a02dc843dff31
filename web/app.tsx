/** The frame of every page: what the loop does now, where one can go, what was said. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { skippedText } from '../src/core/words/skipped.ts';
import { act, Confirm, Saids } from './actions.tsx';
import { type Answer, useAnswer } from './api.ts';
import { usd } from './format.ts';
import { SHORTCUTS, useShortcuts } from './keys.ts';
import { useLive } from './live.ts';
import { Board } from './pages/board.tsx';
import { Costs } from './pages/costs.tsx';
import { Events } from './pages/events.tsx';
import { Findings } from './pages/findings.tsx';
import { IssuePage, Issues } from './pages/issues.tsx';
import { Morning } from './pages/morning.tsx';
import { PlanPage, Plans } from './pages/plans.tsx';
import { Settings } from './pages/settings.tsx';
import { TaskPage } from './pages/task.tsx';
import { Says } from './parts.tsx';
import { followLink, type Place, usePlace } from './route.ts';

const PAGES: readonly (readonly [string, string, string])[] = [
  ['/', 'This morning', 'm'],
  ['/board', 'Board', 'b'],
  ['/issues', 'Issues', 'i'],
  ['/plans', 'Plans', 'l'],
  ['/findings', 'Findings', 'f'],
  ['/costs', 'Costs', 'c'],
  ['/events', 'Events', 'e'],
  ['/settings', 'Settings', 's'],
];

export function App() {
  const place = usePlace();
  const help = useRef<HTMLDialogElement>(null);
  useShortcuts(
    PAGES.map(([to, , key]) => [key, to] as const),
    () => help.current?.showModal(),
  );
  const status = useAnswer('status', { live: true });
  const at = `/${place.path[0] ?? ''}`;
  useEffect(() => {
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [at]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: links are followed here, by key as well
    // biome-ignore lint/a11y/useKeyWithClickEvents: a link that has the focus is clicked by Enter
    <div onClick={followLink}>
      <a class="skip" href="#main">
        To the content
      </a>
      <header class="top">
        <Bar status={status.data} />
        {status.problem && (
          <p class="is-held" role="alert">
            ! what the loop does is unknown: <Says text={status.problem.message} />
          </p>
        )}
        <nav aria-label="Pages">
          {PAGES.map(([to, title]) => (
            <a
              key={to}
              href={to}
              aria-current={to === at || (to === '/board' && at === '/tasks') ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        <Waits status={status.data} />
        {pageAt(place, status.data)}
      </main>
      <Saids />
      <dialog ref={help} aria-label="Keys">
        <h2>Keys</h2>
        <dl class="keys">
          {[...SHORTCUTS, ...PAGES.map(([, title, key]) => [`g ${key}`, title] as const)].map(
            ([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ),
          )}
        </dl>
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </div>
  );
}

function pageAt({ path, query }: Place, status: Answer<'status'> | null): JSX.Element {
  const [page, name] = path;
  if (page === undefined) return <Morning status={status} />;
  if (page === 'board') return <Board query={query} status={status} />;
  if (page === 'tasks' && name !== undefined) return <TaskPage key={name} task={name} query={query} />;
  if (page === 'issues')
    return name === undefined ? <Issues query={query} /> : <IssuePage key={name} issue={Number(name)} />;
  if (page === 'plans') return name === undefined ? <Plans /> : <PlanPage key={name} plan={name} />;
  if (page === 'findings') return <Findings query={query} />;
  if (page === 'costs') return <Costs query={query} />;
  if (page === 'events') return <Events query={query} />;
  if (page === 'settings') return <Settings />;
  return (
    <>
      <h1>Nothing is here</h1>
      <p>
        <a href="/">This morning</a> is the first page.
      </p>
    </>
  );
}

/** One line: is it at work, with how much, at what price, and for whom it waits. */
function Bar({ status }: { status: Answer<'status'> | null }) {
  const live = useLive();
  const project = status?.project ?? null;
  useEffect(() => {
    document.title = project === null ? 'forge-loop' : `${project} · forge-loop`;
  }, [project]);
  return (
    <div class="bar">
      <a class="brand" href="/">
        <b>forge-loop</b> <span dir="auto">{project}</span>
      </a>
      {status && <Running status={status} />}
      {status && (
        <span>
          {status.slots.used}/{status.slots.max} slots
        </span>
      )}
      {status && (
        <a href="/costs?by=day">
          {usd(status.today.costUsd, status.today.complete)}
          {status.today.limitUsd !== null && ` of ${usd(status.today.limitUsd)}`} today
        </a>
      )}
      {status?.accountLimits.map(({ account, until, outSince }) => (
        <span key={account} class="is-held">
          ‖ {account}: {outSince ? 'out' : 'limit'} until{' '}
          {new Date(until).toLocaleTimeString([], { timeStyle: 'short' })}
        </span>
      ))}
      {live === false && (
        <span class="is-abandoned" role="status">
          ! not connected: what is shown may be old
        </span>
      )}
      <PauseButton status={status} />
    </div>
  );
}

function Running({ status }: { status: Answer<'status'> }) {
  const alive = status.runners.filter((runner) => runner.alive);
  if (status.paused) return <span class="is-held">‖ paused by {status.paused}</span>;
  if (alive.length === 0) return <span class="is-held">○ no runner is running</span>;
  const title = alive.map(({ pid }) => `pid ${pid}`).join(', ');
  if (status.stopRequested) return <span class="is-held">‖ stopping</span>;
  return (
    <span class="is-merged" title={title}>
      ● running{alive.length > 1 && ` (${alive.length})`}
    </span>
  );
}

function PauseButton({ status }: { status: Answer<'status'> | null }) {
  const [isAsking, setAsking] = useState(false);
  const [isAsked, setAsked] = useState(false);
  if (!status) return null;
  const run = async (): Promise<void> => {
    setAsking(true);
    if (status.paused) await act('resume', {}, 'The loop continues.');
    else await act('pause', {}, 'The loop is paused: turns end, nothing new starts.');
    setAsking(false);
  };
  const what = status.paused ? 'Resume the loop' : 'Pause the loop';
  // A thumb may hit it by mistake.
  const isThumb = matchMedia('(pointer: coarse)').matches;
  return (
    <>
      <button
        type="button"
        class="pause"
        aria-label={what}
        disabled={isAsking}
        onClick={() => (isThumb && !status.paused ? setAsked(true) : void run())}
        data-loop-pause
      >
        {status.paused ? '▸ Resume' : '‖ Pause'}
        <span class="on-wide"> the loop</span>
      </button>
      {isAsked && (
        <Confirm
          question="Pause the loop?"
          says="Turns at work end; nothing new starts until somebody resumes it."
          yes="Pause"
          onYes={() => void run()}
          onOver={() => setAsked(false)}
        />
      )}
    </>
  );
}

/** What keeps all of it from working, in the words of `status`. */
function Waits({ status }: { status: Answer<'status'> | null }) {
  if (!status) return null;
  const dead = status.runners.filter(({ alive }) => !alive).length;
  const lines = [
    ...status.waits.map(({ text }) => text),
    ...(status.configProblem ? [status.configProblem] : []),
    ...status.unreadable.map((what) => skippedText([what])),
    ...(status.stopRequested && status.atWork.length > 0
      ? [`stopping, waits for ${status.atWork.join(', ')}`]
      : []),
    ...(dead > 0
      ? [`${dead} dead runner${dead === 1 ? '' : 's'} left leases: the next \`forge-loop run\` takes over`]
      : []),
  ];
  if (lines.length === 0) return null;
  return (
    <ul class="waits" aria-label="What the loop waits for">
      {lines.map((line) => (
        <li key={line}>
          <Says text={line} />
        </li>
      ))}
    </ul>
  );
}
