/** Issues: what waits, what readiness says of each, writing one, making one ready. */
import { useState } from 'preact/hooks';
import { act, Confirm } from '../actions.tsx';
import { type Answer, useAnswer } from '../api.ts';
import { Markdown } from '../markdown.tsx';
import { Ago, Empty, Says, Section, Segments, Waited } from '../parts.tsx';
import { ask, go, issueLink, taskLink } from '../route.ts';

const CHANGES = ({ type }: { type: string }): boolean =>
  /transition|request|issue|readiness|task_created|hold/.test(type);
const PAGE = 100;

export function Issues({ query }: { query: URLSearchParams }) {
  const isAll = query.get('all') === '1';
  const search = (query.get('search') ?? '').toLowerCase();
  const page = Math.max(1, Number(query.get('page') ?? 1) || 1);
  const asking = useAnswer('issue.list', { all: isAll }, CHANGES);
  const why = useAnswer('why', {}, CHANGES);
  const reasons = new Map(why.data?.issues.map((line) => [line.issue, line]));
  return (
    <>
      <h1>Issues</h1>
      <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Search issues"
          placeholder="Number, title or label"
          value={query.get('search') ?? ''}
          onInput={({ currentTarget }) => ask({ search: currentTarget.value, page: null })}
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
      </form>
      <WriteIssue />
      <Waited asking={asking}>
        {(issues) => {
          const shown = issues.filter(({ number, title, labels }) =>
            `#${number} ${title} ${labels.join(' ')}`.toLowerCase().includes(search),
          );
          return (
            <Section title={`${shown.length} ${isAll ? 'in all' : 'open'}`}>
              {shown.length === 0 && search === '' && (
                <Empty
                  text="No issue yet. Say what to do, and how to tell it is done:"
                  command={
                    'forge-loop issue new --ready \\\n  --title "Add slug()" \\\n  --body "slug(\'Ünder Wörld\') returns \'under-world\'."'
                  }
                />
              )}
              <ul class="rows">
                {shown.slice(0, page * PAGE).map((issue) => (
                  <li key={issue.number} class="task-row" data-row>
                    <div class="need-what">
                      <a href={issueLink(issue.number)}>
                        <b>#{issue.number}</b> <span dir="auto">{issue.title}</span>
                      </a>{' '}
                      {issue.labels.map((label) => (
                        <span key={label} class="label">
                          {label}
                        </span>
                      ))}
                      <p class="why">
                        <Says
                          text={issue.state === 'closed' ? 'closed' : (reasons.get(issue.number)?.why ?? '')}
                        />
                      </p>
                    </div>
                    <span class="course note">
                      <Ago at={issue.updatedAt} />
                    </span>
                  </li>
                ))}
              </ul>
              {shown.length > page * PAGE && (
                <button type="button" onClick={() => ask({ page: `${page + 1}` })}>
                  {shown.length - page * PAGE} more
                </button>
              )}
            </Section>
          );
        }}
      </Waited>
    </>
  );
}

function WriteIssue() {
  const [title, setTitle] = useState('');
  const [body, setBody] = useState('');
  const [checked, setChecked] = useState<string | null>(null);
  const text = `${title}\n\n${body}`;
  const save = async (ready: boolean): Promise<void> => {
    const says = ready
      ? 'The issue is written and ready: a runner takes it up.'
      : 'The issue is written; it is not ready yet.';
    const made = await act<Answer<'issue.new'>>('issue.new', { title, body, ready }, says);
    if (!made) return;
    setTitle('');
    setBody('');
    setChecked(null);
    go(issueLink(made.number));
  };
  return (
    <details class="write">
      <summary>Write an issue</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setChecked(text);
        }}
      >
        <label>
          Title{' '}
          <input value={title} onInput={({ currentTarget }) => setTitle(currentTarget.value)} dir="auto" />
        </label>
        <label>
          What to do, and how to tell it is done
          <textarea
            rows={8}
            value={body}
            onInput={({ currentTarget }) => setBody(currentTarget.value)}
            dir="auto"
          />
        </label>
        <div class="choices">
          <button type="submit" disabled={title.trim() === ''}>
            Check it
          </button>
          <button
            type="button"
            class="is-main"
            disabled={title.trim() === ''}
            onClick={() => void save(true)}
          >
            Write and make ready
          </button>
          <button type="button" disabled={title.trim() === ''} onClick={() => void save(false)}>
            Write it
          </button>
        </div>
      </form>
      {checked !== null && <Readiness input={{ text: checked }} />}
    </details>
  );
}

function Readiness({ input }: { input: { issue: number } | { text: string } }) {
  const asking = useAnswer('issue.lint', input, ({ type }) => /issue|request/.test(type));
  return (
    <Waited asking={asking}>
      {({ decision, score, rules, questions }) => (
        <Section title={`Readiness: ${decision}`} note={`${score} points`}>
          {questions.length > 0 && (
            <ul>
              {questions.map((question) => (
                <li key={question}>
                  <Says text={question} />
                </li>
              ))}
            </ul>
          )}
          <Points rules={rules} />
        </Section>
      )}
    </Waited>
  );
}

function Points({ rules }: { rules: Answer<'issue.lint'>['rules'] }) {
  return (
    <ul class="criteria">
      {rules.map((rule) => (
        <li key={rule.rule}>
          <span
            class={`glyph ${rule.points > 0 ? 'is-merged' : rule.points < 0 ? 'is-abandoned' : 'is-queued'}`}
          >
            {rule.points > 0 ? '+' : ''}
            {rule.points}
          </span>
          <span>
            {rule.rule.replaceAll('_', ' ')}{' '}
            <span class="note" dir="auto">
              {rule.because}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

export function IssuePage({ issue }: { issue: number }) {
  const asking = useAnswer('issue.show', { issue }, CHANGES);
  const why = useAnswer('why', { issue }, CHANGES);
  const [comment, setComment] = useState('');
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (await act('issue.comment', { issue, text: comment }, `Commented on #${issue}.`)) {
      setComment('');
      asking.again();
    }
  };
  const live = useAnswer('task.list', {}, CHANGES);
  const [asked, setAsked] = useState<'ready' | 'close' | null>(null);
  const makeReady = async (): Promise<void> => {
    const said = ({ reopened }: Answer<'issue.ready'>): string =>
      `#${issue} ${reopened ? 'was reopened and ' : ''}is ready: its text as it is now is the contract.`;
    if (await act('issue.ready', { issue }, said)) asking.again();
  };
  const close = async (): Promise<void> => {
    if (await act('issue.close', { issue }, `#${issue} is closed.`)) asking.again();
  };
  /** Null as long as nobody knows whether there is one. */
  const working = live.data?.filter((task) => task.issue === issue) ?? null;
  return (
    <Waited asking={asking}>
      {(found) => (
        <>
          <h1 dir="auto">
            #{found.number} {found.title}
          </h1>
          <p class="facts">
            <span>{found.state}</span>
            {found.labels.map((label) => (
              <span key={label} class="label">
                {label}
              </span>
            ))}
            {found.blockedBy.length > 0 && (
              <span>waits for {found.blockedBy.map((other) => `#${other}`).join(', ')}</span>
            )}
          </p>
          {why.data?.issues.map((line) => (
            <p key={line.name} class="why">
              <Says text={line.why} />{' '}
              {line.task !== null && <a href={taskLink(line.task)}>task {line.task}</a>}
            </p>
          ))}
          <div class="choices">
            <button
              type="button"
              class={why.data?.issues.some(({ task }) => task !== null) ? '' : 'is-main'}
              data-key="a"
              title="Its text as it is now becomes the contract."
              onClick={() => (found.state === 'closed' ? setAsked('ready') : void makeReady())}
            >
              {found.state === 'closed' ? 'Reopen and make ready …' : 'Make ready'}
            </button>
            {found.state === 'open' && (
              <button
                type="button"
                title="A task at work on it ends."
                onClick={() => (working?.length === 0 ? void close() : setAsked('close'))}
              >
                Close{working?.length !== 0 && ' …'}
              </button>
            )}
            {asked === 'ready' && (
              <Confirm
                question={`Reopen #${issue}?`}
                says={`${why.data?.issues[0]?.why ?? 'It is closed'}. A new attempt begins and costs again; its text as it is now is the contract.`}
                yes="Reopen and make ready"
                onYes={() => void makeReady()}
                onOver={() => setAsked(null)}
              />
            )}
            {asked === 'close' && (
              <Confirm
                question={`Close #${issue}?`}
                says={
                  working === null
                    ? 'A task at work on it ends; its worktree is kept.'
                    : `Its task ends (${working.map(({ state }) => state.replaceAll('_', ' ')).join(', ')}); its worktree is kept.`
                }
                yes="Close"
                onYes={() => void close()}
                onOver={() => setAsked(null)}
              />
            )}
          </div>
          <Section title="Text">
            <Markdown text={found.body} />
          </Section>
          <Readiness input={{ issue }} />
          <Section title={`Comments (${found.comments.length})`}>
            {found.comments.map(({ by, at, text }) => (
              <article key={at + by} class="comment-of">
                <p class="note">
                  <b dir="auto">{by}</b> <Ago at={new Date(at).toISOString()} />
                </p>
                <Markdown text={text} />
              </article>
            ))}
            <form class="comment" onSubmit={(event) => void send(event)}>
              <label>
                <span class="only-read">Comment</span>
                <textarea
                  rows={3}
                  value={comment}
                  onInput={({ currentTarget }) => setComment(currentTarget.value)}
                />
              </label>
              <div class="choices">
                <button type="submit" disabled={comment.trim() === ''}>
                  Comment
                </button>
              </div>
            </form>
          </Section>
        </>
      )}
    </Waited>
  );
}
