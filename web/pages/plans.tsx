/** Plans that are kept, and the loops that were started from them. */
import { useState } from 'preact/hooks';
import { act } from '../actions.tsx';
import { type Answer, useAnswer } from '../api.ts';
import { count } from '../format.ts';
import { Markdown } from '../markdown.tsx';
import { Ago, Empty, Glyph, Says, Section, Spent, shownState, Waited } from '../parts.tsx';
import { go, taskLink } from '../route.ts';

const CHANGES = ({ type }: { type: string }): boolean =>
  /plan|transition|phase|milestone|audit|task_created|hold/.test(type);

export function Plans() {
  const loops = useAnswer('loop.list', { all: true }, CHANGES);
  const plans = useAnswer('plan.list', {}, CHANGES);
  return (
    <>
      <h1>Plans</h1>
      <Section title="Loops">
        <Waited asking={loops}>
          {(all) => (
            <>
              {all.length === 0 && (
                <Empty
                  text="No plan was started yet. A plan is Markdown, cut into milestones:"
                  command={'forge-loop plan new tidy-cli\nforge-loop loop start tidy-cli.md'}
                />
              )}
              <ul class="rows">
                {all.toReversed().map((loop) => (
                  <LoopRow key={loop.task.id} loop={loop} />
                ))}
              </ul>
            </>
          )}
        </Waited>
      </Section>
      <Section title="Kept plans">
        <Waited asking={plans}>
          {(all) => (
            <>
              {all.length === 0 && (
                <Empty
                  text="No plan is kept. Let a planner draft one from an issue:"
                  command="forge-loop plan draft 7"
                />
              )}
              <ul class="rows tight">
                {all.map((plan) => (
                  <li key={plan.id} class="task-row" data-row>
                    <div class="need-what">
                      <a href={`/plans/${plan.id}`}>
                        <b>{plan.name}</b> {plan.id}
                      </a>{' '}
                      <span class="note">
                        {plan.status}, {count(plan.milestones.length, 'milestone')}
                        {plan.loops.length > 0 && `, started as ${plan.loops.join(', ')}`}
                      </span>
                    </div>
                    <span class="course note">
                      <Ago at={plan.changedAt} />
                    </span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </Waited>
      </Section>
    </>
  );
}

function LoopRow({ loop }: { loop: Answer<'loop.list'>[number] }) {
  const { milestones, findings } = loop;
  return (
    <li class="task-row" data-row>
      <div class="need-what">
        <Glyph of={shownState(loop.task)} />{' '}
        <a href={taskLink(loop.task.id)}>
          <b>{loop.name}</b>
        </a>{' '}
        <span class="note">
          {loop.status}, {loop.place}
        </span>
        <p class="why">
          <Says text={loop.task.rests ?? loop.completionSummary ?? loop.task.why} />
        </p>
      </div>
      <span class="course note">
        <span>
          <meter
            min={0}
            max={Math.max(1, milestones.total)}
            value={milestones.done}
            aria-label={`milestones of ${loop.name}`}
          />{' '}
          {milestones.done} of {milestones.total}
        </span>
        <span>{count(findings.bugs, 'bug')}</span>
        <Spent
          of={{ costUsd: loop.task.costUsd, tokens: loop.task.tokens, complete: loop.task.spendComplete }}
        />
      </span>
    </li>
  );
}

export function PlanPage({ plan }: { plan: string }) {
  const asking = useAnswer('plan.show', { plan }, CHANGES);
  const [text, setText] = useState<string | null>(null);
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const says = 'The new text is kept; it needs approval.';
    const kept = await act<Answer<'plan.edit'>>('plan.edit', { plan, text, file: 'dashboard' }, says);
    if (!kept) return;
    setText(null);
    go(`/plans/${kept.id}`);
  };
  return (
    <Waited asking={asking}>
      {(found) => (
        <>
          <h1 dir="auto">{found.name}</h1>
          <p class="facts">
            <span>{found.status}</span>
            <span>{found.id}</span>
            <span>{count(found.milestones.length, 'milestone')}</span>
          </p>
          {found.problems.length > 0 && (
            <Section title="What is missing">
              <ul class="plain">
                {found.problems.map(({ line, problem }) => (
                  <li key={`${line} ${problem}`}>
                    line {line}: <Says text={problem} />
                  </li>
                ))}
              </ul>
            </Section>
          )}
          <div class="choices">
            {found.status !== 'approved' && found.status !== 'archived' && (
              <button
                type="button"
                class="is-main"
                data-key="a"
                onClick={() =>
                  void act(
                    'plan.approve',
                    { plan: found.id, start: false },
                    `Plan ${found.name} is approved.`,
                  )
                }
              >
                Approve
              </button>
            )}
            {found.status !== 'archived' && found.loops.length === 0 && (
              <button
                type="button"
                onClick={() =>
                  void act(
                    'plan.approve',
                    { plan: found.id, start: true },
                    `Plan ${found.name} is approved and started.`,
                  )
                }
              >
                {found.status === 'approved' ? 'Start' : 'Approve and start'}
              </button>
            )}
            {text === null && found.status !== 'archived' && (
              <button type="button" onClick={() => setText(found.text)}>
                Edit
              </button>
            )}
          </div>
          {text === null ? (
            <Section title="Text">
              <Markdown text={found.text} />
            </Section>
          ) : (
            <form class="write" onSubmit={(event) => void save(event)}>
              <label>
                Text of the plan
                <textarea
                  rows={30}
                  value={text}
                  onInput={({ currentTarget }) => setText(currentTarget.value)}
                />
              </label>
              <div class="choices">
                <button type="submit" class="is-main">
                  Keep the new text
                </button>
                <button type="button" onClick={() => setText(null)}>
                  Leave it
                </button>
              </div>
            </form>
          )}
        </>
      )}
    </Waited>
  );
}
