/** The ledger of defects, and a person's word on each. */
import { useState } from 'preact/hooks';
import { visible } from '../../src/core/words/visible.ts';
import { act } from '../actions.tsx';
import { type Answer, useAnswer } from '../api.ts';
import { Empty, Says, Section, Segments, Waited } from '../parts.tsx';
import { ask, taskLink } from '../route.ts';

type Listed = Pick<
  Answer<'findings.list'>[number],
  'id' | 'task' | 'severity' | 'status' | 'source' | 'file' | 'line' | 'message' | 'scenario' | 'suggestion'
> & { issue?: number | null };

const PAGE = 200;

export function Findings({ query }: { query: URLSearchParams }) {
  const isAll = query.get('all') === '1';
  const task = query.get('task');
  const search = (query.get('search') ?? '').toLowerCase();
  const asking = useAnswer(
    'findings.list',
    { open: !isAll, ...(task === null ? {} : { task }) },
    ({ type }) => /verdict|finding|inspected|audit|gate_completed/.test(type),
  );
  const isShown = ({ file, message, id }: Listed): boolean =>
    search === '' || `${file ?? ''} ${message} ${id}`.toLowerCase().includes(search);
  return (
    <>
      <h1>Findings</h1>
      <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Search findings"
          placeholder="File or text"
          value={query.get('search') ?? ''}
          onInput={({ currentTarget }) => ask({ search: currentTarget.value })}
        />
        <Segments
          label="Which"
          options={[
            ['open', 'Open'],
            ['all', 'All'],
          ]}
          value={isAll ? 'all' : 'open'}
          onPick={(which) => ask({ all: which === 'all' ? '1' : null })}
        />
        {task !== null && (
          <button type="button" onClick={() => ask({ task: null })}>
            of task {task} ×
          </button>
        )}
      </form>
      <Waited asking={asking}>
        {(findings) => {
          const shown = findings.filter(isShown);
          return (
            <Section title={`${shown.length} ${isAll ? 'in all' : 'open'}`}>
              {shown.length === 0 && (
                <Empty text="No finding here. The critic, the gate and people add them while work is judged." />
              )}
              <ul class="rows">
                {shown
                  .slice(-PAGE)
                  .reverse()
                  .map((finding) => (
                    <FindingRow key={finding.id} finding={finding} isLinked />
                  ))}
              </ul>
              {shown.length > PAGE && <p class="note">The {PAGE} latest are shown; search for others.</p>}
            </Section>
          );
        }}
      </Waited>
    </>
  );
}

const STATUS = { open: ['✗', 'abandoned'], resolved: ['✓', 'merged'], wontfix: ['–', 'queued'] } as const;

export function FindingRow({ finding, isLinked = false }: { finding: Listed; isLinked?: boolean }) {
  const [glyph, kind] = STATUS[finding.status];
  return (
    <li class="finding" data-row tabIndex={isLinked ? undefined : -1}>
      <div class="need-what">
        <span class={`glyph is-${kind}`} role="img" aria-label={finding.status} title={finding.status}>
          {glyph}
        </span>{' '}
        <b>{finding.severity}</b>{' '}
        {isLinked ? (
          <a href={`${taskLink(finding.task)}#findings`}>{finding.id}</a>
        ) : (
          <span>{finding.id}</span>
        )}{' '}
        {finding.issue != null && <span>#{finding.issue}</span>}{' '}
        {finding.file && (
          <code dir="auto">
            {visible(finding.file)}
            {finding.line !== null && `:${finding.line}`}
          </code>
        )}{' '}
        <span class="note">by {finding.source}</span>
        <p class="why" dir="auto">
          <Says text={finding.message} />
          {finding.scenario && (
            <span class="note">
              {' '}
              <Says text={finding.scenario} />
            </span>
          )}
        </p>
        {finding.suggestion && (
          <p class="note" dir="auto">
            <Says text={finding.suggestion} />
          </p>
        )}
      </div>
      <Decide finding={finding} />
    </li>
  );
}

/** Leaving one as it is needs a reason: the critic is told it. */
function Decide({ finding: { id, status } }: { finding: Listed }) {
  const [why, setWhy] = useState<string | null>(null);
  if (status !== 'open')
    return (
      <div class="choices">
        <button
          type="button"
          onClick={() => void act('findings.reopen', { finding: id }, `Finding ${id} is opened again.`)}
        >
          Reopen
        </button>
      </div>
    );
  if (why === null)
    return (
      <div class="choices">
        <button type="button" onClick={() => setWhy('')}>
          Leave it as it is …
        </button>
      </div>
    );
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await act('findings.wontfix', { finding: id, why }, `Finding ${id} stays as it is.`)) setWhy(null);
  };
  return (
    <form class="comment" onSubmit={(event) => void send(event)}>
      <label>
        Why it stays <input value={why} onInput={({ currentTarget }) => setWhy(currentTarget.value)} />
      </label>
      <div class="choices">
        <button type="submit" class="is-main" disabled={why.trim() === ''}>
          Leave it
        </button>
        <button type="button" onClick={() => setWhy(null)}>
          Back
        </button>
      </div>
    </form>
  );
}
