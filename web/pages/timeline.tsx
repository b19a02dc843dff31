/** The course of a task to scale: states above, turns and gates below, what was decided between. A bar opens its log. */
import { clock, count, exact, lasting } from '../format.ts';
import { useNow } from '../parts.tsx';
import { ask } from '../route.ts';
import type { Detail } from './task.tsx';

type Timeline = Detail['timeline'];

const MARKS: Record<Timeline['marks'][number]['kind'], string> = {
  verdict: '◆',
  hold: '‖',
  merge: '✓',
  person: '●',
  problem: '!',
};

const NONE_YET = { turn: 'no turn yet', gate: 'no gate has run yet' } as const;

/** From its first turn to the end of its last one, which is the critic's; open while one of them runs. */
function roundsOf({ turnsTaken }: Detail): { round: number; from: string; to: string | null }[] {
  const numbers = [...new Set(turnsTaken.map(({ round }) => round))].sort((a, b) => a - b);
  return numbers.map((round) => {
    const turns = turnsTaken.filter((turn) => turn.round === round);
    const ends = turns.map(({ endedAt }) => endedAt);
    return {
      round,
      from: turns.map(({ startedAt }) => startedAt).sort()[0]!,
      to: ends.includes(null) ? null : ends.sort().at(-1)!,
    };
  });
}

/** However short, it can be seen and pressed. */
const LEAST = 0.6;

export function TimelineOf({ detail, chosen }: { detail: Detail; chosen: string | null }) {
  const now = useNow();
  const { states, work, marks } = detail.timeline;
  const start = Date.parse(states[0]!.from);
  const end = detail.endedAt === null ? now : Math.max(Date.parse(detail.endedAt), start + 1);
  const at = (time: string): number => (100 * (Date.parse(time) - start)) / Math.max(1, end - start);
  const span = (from: string, to: string | null) => {
    const left = Math.min(100 - LEAST, Math.max(0, at(from)));
    return {
      left: `${left}%`,
      width: `${Math.max(LEAST, Math.min(100, to === null ? 100 : at(to)) - left)}%`,
    };
  };
  const rounds = roundsOf(detail);
  return (
    <>
      <div class="timeline">
        <div class="lane" role="list" aria-label="States">
          {states
            .filter(({ to, from }) => to !== from)
            .map(({ state, from, to, why }) => (
              <span
                key={from + state}
                role="listitem"
                class={`bar-of is-${state}`}
                style={span(from, to)}
                title={`${state.replaceAll('_', ' ')} for ${lasting((to === null ? now : Date.parse(to)) - Date.parse(from))}: ${why}`}
              >
                {state.replaceAll('_', ' ')}
              </span>
            ))}
        </div>
        {rounds.length > 0 && (
          <div class="lane" role="list" aria-label="Rounds">
            {rounds.map(({ round, from, to }) => (
              <span
                key={round}
                role="listitem"
                class="bar-of is-round"
                style={span(from, to)}
                title={`round ${round}: ${lasting((to === null ? now : Date.parse(to)) - Date.parse(from))}`}
              >
                round {round}
              </span>
            ))}
          </div>
        )}
        {(['turn', 'gate'] as const).map((kind) => (
          <div key={kind} class="lane">
            {!work.some((one) => one.kind === kind) && <span class="lane-empty note">{NONE_YET[kind]}</span>}
            {work
              .filter((one) => one.kind === kind)
              .map(({ what, role, from, to, outcome, logs }) => {
                const log = logs.at(-1) ?? null;
                return (
                  <button
                    key={from + what}
                    type="button"
                    class={`bar-of is-${kind} is-${role ?? outcome} ${log !== null && log === chosen ? 'is-chosen' : ''}`}
                    style={span(from, to)}
                    disabled={log === null}
                    aria-pressed={log !== null && log === chosen}
                    aria-label={`${what}, ${outcome ?? 'running'}, ${clock(from)}`}
                    title={`${what}: ${outcome ?? 'running'}, ${lasting((to === null ? now : Date.parse(to)) - Date.parse(from))}`}
                    onClick={() => ask({ log })}
                  >
                    {what}
                  </button>
                );
              })}
          </div>
        ))}
        <div class="lane marks" role="list" aria-label="What was decided">
          {marks.map((mark) => (
            <span
              key={mark.at + mark.text}
              role="listitem"
              class={`mark is-${mark.kind}`}
              style={{ left: `${Math.min(99, Math.max(0, at(mark.at)))}%` }}
              title={`${exact(mark.at)}: ${mark.text}`}
            >
              {MARKS[mark.kind]}
            </span>
          ))}
        </div>
        <div class="scale note">
          <span>{clock(states[0]!.from)}</span>
          <span>{lasting(end - start)}</span>
          <span>{detail.endedAt === null ? 'now' : clock(detail.endedAt)}</span>
        </div>
      </div>
      {marks.length > 0 && (
        <details>
          <summary>{count(marks.length, 'decision')}</summary>
          <ol class="marks-list">
            {marks.map((mark) => (
              <li key={mark.at + mark.text}>
                <span class={`glyph mark-glyph is-${mark.kind}`} aria-hidden="true">
                  {MARKS[mark.kind]}
                </span>
                <time class="note" dateTime={mark.at} title={exact(mark.at)}>
                  {clock(mark.at)}
                </time>
                <span dir="auto">{mark.text}</span>
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}
