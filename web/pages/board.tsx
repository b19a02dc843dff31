/** Every task: those in flight by state, the ended ones a page at a time. */

import type { State } from '../../src/core/machine.ts';
import { type Answer, useAnswer } from '../api.ts';
import { count, short } from '../format.ts';
import { Ago, Empty, Glyph, Scroll, Section, Spent, StateOf, Waited } from '../parts.tsx';
import { ask, taskLink } from '../route.ts';
import { TaskRow } from './morning.tsx';

const ORDER: readonly State[] = ['merging', 'awaiting_critic', 'revising', 'running', 'dispatched', 'queued'];
const PAGE = 50;

export function Board({ query, status }: { query: URLSearchParams; status: Answer<'status'> | null }) {
  const search = query.get('search') ?? '';
  const page = Math.max(0, Number(query.get('page') ?? 0) || 0);
  const looked = search === '' ? {} : { search };
  const live = useAnswer(
    'task.list',
    looked,
    ({ type }) => type === 'doing' || /transition|hold|turn_|gate|task_/.test(type),
  );
  const ended = useAnswer(
    'task.list',
    { ...looked, ended: true, limit: PAGE + 1, skip: page * PAGE },
    ({ type }) => /transition/.test(type),
  );
  return (
    <>
      <h1>Board</h1>
      <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
        <input
          type="search"
          aria-label="Search tasks"
          placeholder="Name, title or reason"
          value={search}
          onInput={({ currentTarget }) => ask({ search: currentTarget.value, page: null })}
        />
      </form>
      {status && <Slots status={status} />}
      <Waited asking={live}>
        {(tasks) => (
          <>
            {tasks.length === 0 && (
              <Section title="In flight">
                {search === '' ? (
                  <Empty
                    text="No task is in flight. A runner takes up issues that are ready:"
                    command="forge-loop run"
                  />
                ) : (
                  <p class="note">None matches.</p>
                )}
              </Section>
            )}
            {ORDER.map((state) => {
              const here = tasks.filter((task) => task.state === state);
              if (here.length === 0) return null;
              return (
                <Section
                  key={state}
                  title={
                    <>
                      <Glyph of={state} /> {state.replaceAll('_', ' ')}{' '}
                      <span class="count is-quiet">{here.length}</span>
                    </>
                  }
                >
                  <ul class="rows">
                    {here.map((task) => (
                      <TaskRow key={task.id} task={task} />
                    ))}
                  </ul>
                </Section>
              );
            })}
          </>
        )}
      </Waited>
      <Section title="Ended">
        <Waited asking={ended}>
          {(tasks) => (
            <>
              {tasks.length === 0 && (
                <p class="note">{page > 0 || search !== '' ? 'None here.' : 'No task has ended yet.'}</p>
              )}
              <EndedTable tasks={tasks.slice(0, PAGE)} />
              {(page > 0 || tasks.length > PAGE) && (
                <nav class="pager" aria-label="Pages of ended tasks">
                  <button
                    type="button"
                    disabled={page === 0}
                    onClick={() => ask({ page: page > 1 ? `${page - 1}` : null })}
                  >
                    Newer
                  </button>
                  <span class="note">page {page + 1}</span>
                  <button
                    type="button"
                    disabled={tasks.length <= PAGE}
                    onClick={() => ask({ page: `${page + 1}` })}
                  >
                    Older
                  </button>
                </nav>
              )}
            </>
          )}
        </Waited>
      </Section>
    </>
  );
}

function Slots({ status }: { status: Answer<'status'> }) {
  const { slots, backlog, deploy, limitWindows } = status;
  return (
    <p class="note facts">
      <span>
        {slots.used} of {count(slots.max, 'slot')} in use
      </span>
      {backlog.text !== '' && <span>{backlog.text}</span>}
      {limitWindows.map(({ name, usedPercent, text }) => (
        <span key={name} class={usedPercent >= 90 ? 'is-held' : ''}>
          <meter min={0} max={100} value={usedPercent} aria-label={`used of ${name}`} /> {text}
        </span>
      ))}
      {deploy && (
        <span class={deploy.last.problem ? 'is-held' : ''}>
          deploy of {short(deploy.last.sha)} {deploy.last.status} {deploy.last.problem}
        </span>
      )}
    </p>
  );
}

function EndedTable({ tasks }: { tasks: Answer<'task.list'> }) {
  if (tasks.length === 0) return null;
  return (
    <Scroll label="Ended tasks">
      <table>
        <thead>
          <tr>
            <th scope="col">Task</th>
            <th scope="col">Outcome</th>
            <th scope="col" class="number">
              Turns
            </th>
            <th scope="col" class="number">
              Rounds
            </th>
            <th scope="col" class="number">
              Cost
            </th>
            <th scope="col">Ended</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <tr key={task.id} data-row>
              <td class="wide">
                <a href={taskLink(task.id)}>
                  <b>{task.name}</b> <span dir="auto">{task.title}</span>
                </a>
                {task.attempt > 1 && <span class="note"> attempt {task.attempt}</span>}
              </td>
              <td>
                <StateOf task={task} />
              </td>
              <td class="number">{task.turns}</td>
              <td class="number">{task.criticRounds}</td>
              <td class="number">
                <Spent of={{ costUsd: task.costUsd, tokens: task.tokens, complete: task.spendComplete }} />
              </td>
              <td>
                <Ago at={task.endedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
