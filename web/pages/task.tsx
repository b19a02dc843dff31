/** One task on one scroll: what was asked, how it went, what it changed, why it stands where it stands, and what one can do. */
import { useEffect, useState } from 'preact/hooks';
import { act, Choices } from '../actions.tsx';
import { type Answer, useAnswer } from '../api.ts';
import { bytes, count, known, percent, short } from '../format.ts';
import { Markdown } from '../markdown.tsx';
import { Ago, Says, Scroll, Section, Spent, StateOf, Waited } from '../parts.tsx';
import { issueLink } from '../route.ts';
import { Change } from './change.tsx';
import { FindingRow } from './findings.tsx';
import { Course, Phases } from './graph.tsx';
import { Replay } from './replay.tsx';
import { TimelineOf } from './timeline.tsx';
import { Transcript } from './transcript.tsx';

export type Detail = Answer<'task.show'>;

export function TaskPage({ task, query }: { task: string; query: URLSearchParams }) {
  const asking = useAnswer('task.show', { task, network: true }, (news) =>
    news.type === 'doing'
      ? task in news.data
      : news.task === null || news.task === task || /^\d+$/.test(task),
  );
  return <Waited asking={asking}>{(detail) => <Task detail={detail} query={query} />}</Waited>;
}

function Task({ detail, query }: { detail: Detail; query: URLSearchParams }) {
  useEffect(() => seek(location.hash.slice(1) || (query.has('step') ? 'replay' : '')), [detail.id]);
  return (
    <>
      <header class="task-head">
        <h1 dir="auto">
          {detail.issue === null ? detail.name : <a href={issueLink(detail.issue)}>{detail.name}</a>}{' '}
          {detail.title}
        </h1>
        <p class="facts">
          <StateOf task={detail} />
          {detail.attempt > 1 && <span>attempt {detail.attempt}</span>}
          <span>
            turn {detail.turns} of {detail.maxTurns}
          </span>
          <span>{count(detail.criticRounds, 'round')}</span>
          <Spent of={{ costUsd: detail.costUsd, tokens: detail.tokens, complete: detail.spendComplete }} />
          <code dir="auto">{detail.branch}</code>
          {detail.headSha && <code>{short(detail.headSha)}</code>}
          {detail.pull !== null && <span>pull request #{detail.pull}</span>}
        </p>
      </header>
      <div class="columns">
        <div class="right">
          <Why detail={detail} />
          {detail.loop !== null && <Plan task={detail.id} />}
          <Section title="Course">
            <Course detail={detail} />
          </Section>
          {detail.merge && <MergeGate merge={detail.merge} />}
          <Costs detail={detail} />
          <Network rows={detail.network ?? []} />
        </div>
        <div class="left">
          <Asked detail={detail} />
        </div>
        <div class="middle">
          <Section title="Timeline">
            <TimelineOf detail={detail} chosen={query.get('log')} />
            <Transcript task={detail.id} log={query.get('log')} isLive={detail.endedAt === null} />
          </Section>
          <Replay task={detail.id} step={query.get('step')} />
          <Change
            task={detail.id}
            head={detail.headSha}
            isLive={detail.endedAt === null}
            findings={detail.findings}
          />
          <Findings detail={detail} />
        </div>
      </div>
    </>
  );
}

function Why({ detail }: { detail: Detail }) {
  return (
    <Section title="Why">
      <p class="why">
        <Says text={detail.hold?.text ?? detail.rests ?? detail.why} />
      </p>
      {detail.turn?.doing && (
        <p class="doing" dir="auto">
          {detail.turn.doing}
        </p>
      )}
      {detail.lastLine && <pre class="last-line">{detail.lastLine}</pre>}
      {detail.advice && (
        <p class="note">
          <Says text={detail.advice} />
        </p>
      )}
      {detail.requests.length > 0 && (
        <p class="note">
          Asked and not done yet: {detail.requests.map(({ kind, by }) => `${kind} by ${by}`).join(', ')}
        </p>
      )}
      {detail.pending.length > 0 && (
        <p class="note">
          Next:{' '}
          {detail.pending
            .map(
              ({ action, attempts }) =>
                `${action.replaceAll('_', ' ')}${attempts > 0 ? ` (tried ${attempts} times)` : ''}`,
            )
            .join(', ')}
        </p>
      )}
      <Choices of={detail.choices.filter(isButton)} name={detail.name} />
      {detail.endedAt === null && <Tell detail={detail} />}
    </Section>
  );
}

/** What a link is about stays in sight while the rest comes, until somebody moves on by themselves. */
function seek(id: string): (() => void) | undefined {
  const target = document.getElementById(id);
  if (target === null) return;
  const sizes = new ResizeObserver(() => target.scrollIntoView());
  sizes.observe(document.getElementById('main')!);
  const left = new AbortController();
  const leave = (): void => {
    sizes.disconnect();
    left.abort();
  };
  for (const moves of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
    addEventListener(moves, leave, { signal: left.signal });
  return leave;
}

/** To tell it something there is a form below. */
const isButton = ({ operation, settles }: Detail['choices'][number]): boolean =>
  settles || operation !== 'task.tell';

function Tell({ detail }: { detail: Detail }) {
  const [text, setText] = useState('');
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const says = `Told ${detail.name}; its coder gets it with the next prompt.`;
    if (await act('task.tell', { task: detail.id, text }, says)) setText('');
  };
  return (
    <form class="comment tell" onSubmit={(event) => void send(event)}>
      <label>
        <span class="only-read">Tell it something</span>
        <textarea
          rows={2}
          placeholder="Tell it something: its coder gets it with the next prompt"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={text.trim() === ''}>
        Tell it
      </button>
    </form>
  );
}

const JUDGED = { met: ['✓', 'merged'], unmet: ['✗', 'abandoned'], unclear: ['?', 'held'] } as const;

function Asked({ detail }: { detail: Detail }) {
  return (
    <>
      {detail.criteria.length > 0 && (
        <Section title="Criteria">
          <ul class="criteria">
            {detail.criteria.map(({ id, text, met, evidence, verify }) => {
              const [glyph, kind] = met === null ? ['?', 'queued'] : JUDGED[met];
              return (
                <li key={id}>
                  <span
                    class={`glyph is-${kind}`}
                    role="img"
                    aria-label={met ?? 'not judged'}
                    title={met ?? 'not judged'}
                  >
                    {glyph}
                  </span>
                  <div>
                    <Says text={text} />
                    {verify && <code class="block">{verify}</code>}
                    <p class="note">
                      <Says text={evidence || (met === null ? 'Nobody judged it yet.' : '')} />
                    </p>
                  </div>
                </li>
              );
            })}
          </ul>
        </Section>
      )}
      <Section title="What was asked">
        <Markdown text={detail.body} />
      </Section>
      {detail.specification && (
        <Section title={`Specification (${detail.spec?.status})`}>
          <Markdown text={detail.specification} />
        </Section>
      )}
    </>
  );
}

function MergeGate({ merge }: { merge: NonNullable<Detail['merge']> }) {
  return (
    <Section
      title="Merge gate"
      note={
        <>
          {merge.permitted ? 'permitted' : 'refused'} <Ago at={merge.at} />
        </>
      }
    >
      <ul class="criteria">
        {merge.conditions.map(({ name, met, value, evidence }) => (
          <li key={name}>
            <span
              class={`glyph ${met ? 'is-merged' : 'is-abandoned'}`}
              role="img"
              aria-label={met ? 'met' : 'not met'}
            >
              {met ? '✓' : '✗'}
            </span>
            <div>
              {name.replaceAll('_', ' ')}: <span dir="auto">{value}</span>
              {evidence && <span class="note"> {evidence}</span>}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What a plan is made of, and how far it has come. */
function Plan({ task }: { task: string }) {
  const asking = useAnswer(
    'loop.show',
    { loop: task },
    (news) => news.task === task && /phase|milestone|audit|finding|transition/.test(news.type),
  );
  return (
    <Section title="Plan">
      <Waited asking={asking}>
        {(loop) => (
          <>
            <p class="note">
              {loop.place}; {count(loop.audits, 'audit')}
              {loop.auditVerdict && `, the last: ${loop.auditVerdict}`}
            </p>
            {loop.milestones.total > 0 && (
              <p class="facts">
                <meter
                  min={0}
                  max={loop.milestones.total}
                  value={loop.milestones.done}
                  aria-label="milestones that are done"
                />{' '}
                {loop.milestones.done} of {count(loop.milestones.total, 'milestone')} done
              </p>
            )}
            <ol class="milestones">
              {loop.plan.map((one) => (
                <MilestoneOf key={one.number} one={one} isNow={one.number === loop.milestone} />
              ))}
            </ol>
            <Phases loop={loop} />
          </>
        )}
      </Waited>
    </Section>
  );
}

function MilestoneOf({ one, isNow }: { one: Answer<'loop.show'>['plan'][number]; isNow: boolean }) {
  const state = one.done ? 'done' : isNow ? 'at work' : 'to come';
  return (
    <li>
      <details>
        <summary>
          <span
            class={`glyph is-${one.done ? 'merged' : isNow ? 'running' : 'queued'}`}
            role="img"
            aria-label={state}
            title={state}
          >
            {one.done ? '✓' : isNow ? '▸' : '○'}
          </span>{' '}
          {one.number}. <span dir="auto">{one.title}</span>
          {one.attempts > 0 && <span class="note"> {count(one.attempts, 'pass')} sent back</span>}
        </summary>
        {one.done && (
          <p class="note">
            <Says text={one.done.done} />
          </p>
        )}
        <Markdown text={one.text} />
      </details>
    </li>
  );
}

type CostLine = Detail['rounds'][number];

function CostCells({ of }: { of: CostLine }) {
  return (
    <>
      <td class="number">{known(of.input + of.cacheRead + of.cacheWrite, of.complete)}</td>
      <td class="number">{percent(of.cacheHitRatio)}</td>
      <td class="number">{known(of.output, of.complete)}</td>
      <td class="number">
        <Spent of={of} />
      </td>
    </>
  );
}

/** Each round, and the turns that it is made of. */
function Costs({ detail: { rounds, turnsTaken } }: { detail: Detail }) {
  if (rounds.length === 0) return null;
  return (
    <Section title="Cost by round and turn" id="cost">
      <Scroll label="Cost by round and turn">
        <table>
          <thead>
            <tr>
              <th scope="col">Round, turn</th>
              {['In', 'From cache', 'Out', 'Cost'].map((head) => (
                <th key={head} scope="col" class="number">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          {rounds.map((line) => (
            <tbody key={line.key}>
              <tr class="is-sum">
                <th scope="row">
                  {line.key}, {count(line.turns, 'turn')}
                </th>
                <CostCells of={line} />
              </tr>
              {turnsTaken
                .filter(({ round }) => `round ${round}` === line.key)
                .map((turn) => (
                  <tr key={`${turn.role} ${turn.turn} ${turn.startedAt}`}>
                    <td>
                      {turn.role}, {turn.cost.key}
                      {turn.warnings.map(({ text }) => (
                        <p key={text} class="note is-held">
                          ! {text}
                        </p>
                      ))}
                    </td>
                    <CostCells of={turn.cost} />
                  </tr>
                ))}
            </tbody>
          ))}
        </table>
      </Scroll>
    </Section>
  );
}

const MOST_HOSTS = 40;

/** Through the gateway, the newest first. */
function Network({ rows }: { rows: NonNullable<Detail['network']> }) {
  if (rows.length === 0) return null;
  return (
    <Section title="Network" note="through the gateway, beside calls of its model">
      <Scroll label="Network">
        <table>
          <thead>
            <tr>
              <th scope="col">Where</th>
              <th scope="col">Let</th>
              <th scope="col" class="number">
                Sent
              </th>
              <th scope="col" class="number">
                Got
              </th>
              <th scope="col">By</th>
            </tr>
          </thead>
          <tbody>
            {rows
              .slice(-MOST_HOSTS)
              .reverse()
              .map((row, at) => (
                <tr key={at}>
                  <td class="code">
                    {row.host}:{row.port}
                  </td>
                  <td class={row.verdict === 'allowed' ? '' : 'is-held'}>
                    {row.verdict}
                    {row.times > 1 && `, ${row.times} times`}
                  </td>
                  <td class="number">{bytes(row.sentBytes)}</td>
                  <td class="number">{bytes(row.receivedBytes)}</td>
                  <td class="note">
                    {row.by} <Ago at={row.at} />
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      </Scroll>
      {rows.length > MOST_HOSTS && <p class="note">and {rows.length - MOST_HOSTS} earlier</p>}
    </Section>
  );
}

function Findings({ detail }: { detail: Detail }) {
  if (detail.findings.length === 0) return null;
  return (
    <Section title="Findings" id="findings">
      <ul class="rows">
        {detail.findings.map((finding) => (
          <FindingRow key={finding.id} finding={finding} />
        ))}
      </ul>
    </Section>
  );
}
