/** Does anything need me, what happened while I was away, what is it doing, what is next: in this order. */
import { useState } from 'preact/hooks';
import type { TaskView } from '../../src/view.ts';
import { Choices } from '../actions.tsx';
import { type Answer, useAnswer } from '../api.ts';
import { clock, count, lasting, short } from '../format.ts';
import {
  Ago,
  Empty,
  Glyph,
  Says,
  Section,
  Segments,
  Since,
  Spent,
  StateOf,
  shownState,
  Waited,
} from '../parts.tsx';
import { issueLink, taskLink } from '../route.ts';
import { lookedLast } from '../seen.ts';

type Morning = Answer<'morning'>;
type Range = 'last' | '12h' | '24h' | '7d';

export function Morning({ status }: { status: Answer<'status'> | null }) {
  const last = lookedLast();
  const [range, setRange] = useState<Range>(last === null ? '12h' : 'last');
  const asking = useAnswer('morning', { since: range === 'last' ? last! : range }, ({ type }) =>
    CHANGES.test(type),
  );
  return (
    <>
      <h1 class="only-read">This morning</h1>
      <Waited asking={asking}>
        {(seen) => (
          <>
            <Needs seen={seen} />
            <SinceThen seen={seen} range={range} hasLast={last !== null} onRange={setRange} />
            <Now status={status} seen={seen} />
            <Waiting seen={seen} />
          </>
        )}
      </Waited>
    </>
  );
}

/** What an agent says within a turn changes nothing here. */
const CHANGES =
  /transition|hold|loop|request|declined|withdrawn|task_created|config|gate|look|runner|deploy|turn_/;

function Needs({ seen: { needsYou } }: { seen: Morning }) {
  return (
    <Section
      title={<>Needs you {needsYou.length > 0 && <span class="count">{needsYou.length}</span>}</>}
      id="needs"
    >
      {needsYou.length === 0 ? (
        <p class="note">✓ Nothing needs you.</p>
      ) : (
        <ul class="rows">
          {needsYou.map((one) => (
            <li key={one.task ?? one.reason} class="need" data-row>
              <div class="need-what">
                <Glyph of="held" />{' '}
                {one.task === null ? (
                  <b>The loop</b>
                ) : (
                  <a href={taskLink(one.task)} dir="auto">
                    <b>{one.name}</b> {one.title}
                  </a>
                )}
                <span class="note">
                  <Ago at={one.since} />
                </span>
                <p class="why">
                  <Says text={one.text} />
                </p>
              </div>
              <Choices of={one.choices} name={one.name ?? 'the loop'} few />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function SinceThen(props: { seen: Morning; range: Range; hasLast: boolean; onRange(range: Range): void }) {
  const { seen, range, hasLast, onRange } = props;
  const { results } = seen;
  const good = results.filter(({ outcome }) => outcome === 'merged' || outcome === 'completed');
  const other = results.filter((one) => !good.includes(one));
  const given = other.filter(({ task }) => task !== null).length;
  const parts = [
    count(good.length, 'merged').replace(/s$/, ''),
    ...(given > 0 ? [`${given} given up`] : []),
    ...(other.length > given ? [`${other.length - given} declined`] : []),
  ];
  const ranges: [Range, string][] = [
    ['12h', '12 h'],
    ['24h', '24 h'],
    ['7d', '7 d'],
  ];
  return (
    <Section
      title={
        <>
          {range === 'last' ? 'Since you last looked' : 'Lately'}{' '}
          <span class="note">
            {clock(seen.since)} → {clock(seen.at)}
          </span>
        </>
      }
      note={
        <>
          {results.length > 0 && `${parts.join(' · ')} · `}
          <a href="/costs">
            <Spent of={seen.spent} />
          </a>
          <Segments
            label="From when"
            options={hasLast ? [['last', 'Last look'], ...ranges] : ranges}
            value={range}
            onPick={onRange}
          />
        </>
      }
    >
      {results.length === 0 && <p class="note">Nothing ended in this time.</p>}
      <ul class="rows">
        {other.map((one) => (
          <li key={one.name} class="result" data-row>
            <div class="need-what">
              <Glyph of="abandoned" /> <NameOf one={one} />{' '}
              <span class="note">{one.reason?.replaceAll('_', ' ')}</span>
              <p class="why">
                <Says text={one.why} />
                {one.openFindings > 0 && (
                  <>
                    {' '}
                    <a href={`/findings?task=${one.task}`}>{count(one.openFindings, 'open finding')}</a>
                  </>
                )}
                {one.advice && (
                  <span class="note">
                    {' '}
                    <Says text={one.advice} />
                  </span>
                )}
              </p>
            </div>
            <Course one={one} />
            <Choices of={one.choices} name={one.name} />
          </li>
        ))}
      </ul>
      <ul class="rows tight">
        {good.map((one) => (
          <li key={one.name} class="result" data-row>
            <div class="need-what">
              <Glyph of="merged" /> <NameOf one={one} />
            </div>
            <Course one={one} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

type Result = Morning['results'][number];

function NameOf({ one }: { one: Result }) {
  const to = one.task !== null ? taskLink(one.task) : one.issue !== null ? issueLink(one.issue) : null;
  const text = (
    <>
      <b>{one.name}</b> <span dir="auto">{one.title}</span>
    </>
  );
  return to === null ? <span>{text}</span> : <a href={to}>{text}</a>;
}

function Course({ one }: { one: Result }) {
  if (one.task === null) return null;
  return (
    <span class="course note">
      <span>{count(one.turns, 'turn')}</span>
      <span>{count(one.rounds, 'round')}</span>
      <span>{lasting(one.lastedMs)}</span>
      <Spent of={one} />
      <code>{short(one.mergedSha)}</code>
    </span>
  );
}

const MOST_NOW = 12;

function Now({ status, seen }: { status: Answer<'status'> | null; seen: Morning }) {
  if (!status) return null;
  const calls = new Set(seen.needsYou.map(({ task }) => task));
  const live = status.tasks
    .filter(({ id }) => !calls.has(id))
    .sort((a, b) => Number(b.atWork !== null) - Number(a.atWork !== null));
  const isRunning = status.runners.some(({ alive }) => alive);
  return (
    <Section
      title="Now"
      note={live.length > 0 ? <a href="/board">{count(live.length, 'task')} in flight</a> : undefined}
    >
      {status.errands.map((what) => (
        <p key={what} class="note">
          <Glyph of="running" /> <Says text={what} />
        </p>
      ))}
      {live.length === 0 && !isRunning && (
        <Empty text="No runner is running. Start one in the repository:" command="forge-loop run" />
      )}
      {live.length === 0 && isRunning && <p class="note">Nothing is at work.</p>}
      <ul class="rows">
        {live.slice(0, MOST_NOW).map((task) => (
          <TaskRow key={task.id} task={task} />
        ))}
      </ul>
      {live.length > MOST_NOW && (
        <p class="note">
          <a href="/board">and {live.length - MOST_NOW} more</a>
        </p>
      )}
    </Section>
  );
}

export function TaskRow({ task }: { task: TaskView }) {
  const { turn } = task;
  return (
    <li class="task-row" data-row>
      <div class="need-what">
        <Glyph of={shownState(task)} />{' '}
        <a href={taskLink(task.id)}>
          <b>{task.name}</b> <span dir="auto">{task.title}</span>
        </a>
        <p class="why">
          <Says text={task.rests ?? task.why} />
          {turn?.doing && (
            <span class="doing" dir="auto">
              {' '}
              {turn.doing}
            </span>
          )}
          {!turn && task.lastLine && <code class="doing">{task.lastLine}</code>}
        </p>
      </div>
      <span class="course note">
        <StateOf task={task} />
        <span class="turns" title={`turn ${task.turns} of ${task.maxTurns} at most`}>
          <meter min={0} max={task.maxTurns} value={task.turns} aria-label={`turns of ${task.name}`} /> turn{' '}
          {task.turns}
        </span>
        <span>{task.criticRounds > 0 && `round ${task.criticRounds}`}</span>
        <span>{task.startedAt && <Since at={task.startedAt} />}</span>
        <Spent of={{ costUsd: task.costUsd, tokens: task.tokens, complete: task.spendComplete }} />
      </span>
    </li>
  );
}

function Waiting({ seen: { waiting, loop } }: { seen: Morning }) {
  const hasNone = loop.some((line) => line.startsWith('there is no open issue'));
  return (
    <Section title={<>Waiting {waiting.count > 0 && <span class="count is-quiet">{waiting.count}</span>}</>}>
      {waiting.count === 0 && hasNone && (
        <Empty
          text="There is no open issue. Write one under Issues, or in the terminal:"
          command={
            'forge-loop issue new --ready \\\n  --title "Add slug()" \\\n  --body "slug(\'Ünder Wörld\') returns \'under-world\'."'
          }
        />
      )}
      {waiting.count === 0 && !hasNone && <p class="note">Nothing waits to begin.</p>}
      <ul class="rows tight">
        {waiting.lines.map((line) => (
          <li key={line.name} class="task-row" data-row>
            <div class="need-what">
              <Glyph of="queued" />{' '}
              <a href={line.issue === null ? '/plans' : issueLink(line.issue)}>
                <b>{line.name}</b> <span dir="auto">{line.title}</span>
              </a>
              <p class="why">
                <Says text={line.why} />
                {line.until && (
                  <>
                    {' '}
                    (<Ago at={line.until} />)
                  </>
                )}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {waiting.count > waiting.lines.length && (
        <p class="note">
          <a href="/issues">and {waiting.count - waiting.lines.length} more</a>
        </p>
      )}
    </Section>
  );
}
