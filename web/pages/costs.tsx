/** What was spent: by day as a plot, and by whatever else as a table. */
import { type Answer, useAnswer } from '../api.ts';
import { count, known, percent, usd } from '../format.ts';
import { Empty, Scroll, Section, Segments, Spent, Waited } from '../parts.tsx';
import { Plot } from '../plot.tsx';
import { ask } from '../route.ts';

const GROUPS = [
  ['issue', 'Issue'],
  ['role', 'Role'],
  ['model', 'Model'],
  ['day', 'Day'],
  ['round', 'Round'],
  ['turn', 'Turn'],
] as const;
const RANGES = [
  ['today', 'Today'],
  ['7d', '7 d'],
  ['30d', '30 d'],
  ['all', 'All'],
] as const;
type Group = (typeof GROUPS)[number][0];
type Range = (typeof RANGES)[number][0];
const PAGE = 100;

const SPENDS = ({ type }: { type: string }): boolean => type === 'turn_completed';

export function Costs({ query }: { query: URLSearchParams }) {
  const by = (query.get('by') ?? 'issue') as Group;
  const range = (query.get('since') ?? '30d') as Range;
  const since = range === 'all' ? {} : { since: range };
  const days = useAnswer('cost', { by: 'day', ...since }, SPENDS);
  const lines = useAnswer('cost', { by, ...since }, SPENDS);
  return (
    <>
      <h1>Costs</h1>
      <div class="search">
        <Segments
          label="From when"
          options={RANGES}
          value={range}
          onPick={(value) => ask({ since: value })}
        />
      </div>
      <Waited asking={days}>{(report) => <Sums report={report} />}</Waited>
      <Section
        title="By"
        note={<Segments label="By" options={GROUPS} value={by} onPick={(value) => ask({ by: value })} />}
      >
        <Waited asking={lines}>{(report) => <Lines report={report} />}</Waited>
      </Section>
    </>
  );
}

function Sums({ report }: { report: Answer<'cost'> }) {
  const { total, merged, abandoned, lines, warnings, pulls } = report;
  if (lines.length === 0) return <Empty text="Nothing was spent in this time." />;
  const facts: [string, string, string?][] = [
    [
      'Spent',
      usd(total.costUsd, total.complete),
      `${known(total.tokens, total.complete)} tokens, ${count(total.turns, 'turn')}`,
    ],
    [
      'Per merged pull request',
      merged.pulls === 0 ? 'none merged' : usd(merged.allInPerPullUsd, total.complete),
      merged.pulls === 0 ? '' : `${merged.pulls} merged, with everything spent beside`,
    ],
    [
      'Abandoned work',
      abandoned.share === null ? 'none' : percent(abandoned.share),
      `${count(abandoned.tasks, 'task')}, ${usd(abandoned.tasks === 0 ? 0 : abandoned.costUsd, abandoned.complete)}`,
    ],
    [
      'Read from cache',
      total.cacheHitRatio === null ? 'unknown' : percent(total.cacheHitRatio),
      'of what went in',
    ],
  ];
  return (
    <>
      <dl class="sums">
        {facts.map(([name, value, more]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <b>{value}</b> <span class="note">{more}</span>
            </dd>
          </div>
        ))}
      </dl>
      <Section title="By day" note={`list prices as of ${report.pricesAsOf}`}>
        <Plot
          label="Dollars by day"
          names={lines.map(({ key }) => key)}
          values={lines.map(({ costUsd }) => costUsd)}
          says={(value) => usd(value)}
        />
      </Section>
      {pulls.length > 0 && (
        <Section title="Per merged pull request" note="what each cost itself, the newest last">
          <Plot
            label="Dollars per merged pull request"
            names={pulls.map(({ name }) => name)}
            values={pulls.map(({ costUsd }) => costUsd)}
            says={(value) => usd(value)}
          />
        </Section>
      )}
      {warnings.length > 0 && (
        <Section title="Turns that cost more than they should">
          <ul class="plain">
            {warnings.slice(-20).map(({ task, role, turn, kind, text }) => (
              <li key={`${task} ${role} ${turn} ${kind}`}>
                <a href={`/tasks/${task}#cost`}>! {text}</a>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Lines({ report: { lines, by } }: { report: Answer<'cost'> }) {
  if (lines.length === 0) return <p class="note">Nothing.</p>;
  const isPlotted = by === 'role' || by === 'model';
  const most = Math.max(...lines.map(({ costUsd }) => costUsd ?? 0), 0.0001);
  return (
    <>
      {isPlotted && (
        <Plot
          label={`Dollars by ${by}`}
          names={lines.map(({ key }) => key)}
          values={lines.map(({ costUsd }) => costUsd)}
          says={(value) => usd(value)}
        />
      )}
      <Scroll label="Costs">
        <table>
          <thead>
            <tr>
              <th scope="col">{by}</th>
              <th scope="col" class="number">
                Turns
              </th>
              <th scope="col" class="number">
                In
              </th>
              <th scope="col" class="number">
                From cache
              </th>
              <th scope="col" class="number">
                Out
              </th>
              <th scope="col" class="number">
                Cost
              </th>
              <th scope="col">
                <span class="only-read">Share</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {lines.slice(0, PAGE).map((line) => (
              <tr key={line.key} data-row>
                <td class="wide">
                  {by === 'issue' && /^#\d+$/.test(line.key) ? (
                    <a href={`/tasks/${line.key.slice(1)}`}>{line.key}</a>
                  ) : (
                    line.key
                  )}{' '}
                  <span dir="auto">{line.title}</span>
                </td>
                <td class="number">{line.turns}</td>
                <td class="number">{known(line.input + line.cacheRead + line.cacheWrite, line.complete)}</td>
                <td class="number">{percent(line.cacheHitRatio)}</td>
                <td class="number">{known(line.output, line.complete)}</td>
                <td class="number">
                  <Spent of={line} />
                </td>
                <td>
                  <meter min={0} max={most} value={line.costUsd ?? 0} aria-label={`cost of ${line.key}`} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {lines.length > PAGE && <p class="note">and {lines.length - PAGE} more</p>}
      </Scroll>
    </>
  );
}
