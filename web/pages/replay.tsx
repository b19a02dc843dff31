/** A task's story step by step: what happened, what the agent was asked, what came of it, the work at that point. */
import { useEffect, useState } from 'preact/hooks';
import { type Answer, useAnswer } from '../api.ts';
import { exact, short } from '../format.ts';
import { Section, Waited } from '../parts.tsx';
import { ask } from '../route.ts';

type Replayed = Answer<'replay'>;

/** Nothing is asked for before somebody looks. */
export function Replay({ task, step }: { task: string; step: string | null }) {
  return (
    <Section title="Replay" id="replay">
      {step === null ? (
        <button type="button" onClick={() => ask({ step: '1' })}>
          Step through what happened
        </button>
      ) : (
        <Story task={task} step={step} />
      )}
    </Section>
  );
}

function Story({ task, step }: { task: string; step: string }) {
  const asking = useAnswer('replay', { task, at: step }, (news) => news.task === task);
  // While the next step is on its way, the last one stays.
  const [seen, setSeen] = useState<Replayed | null>(null);
  useEffect(() => {
    if (asking.data) setSeen(asking.data);
  }, [asking.data]);
  const data = asking.data ?? (asking.problem ? null : seen);
  return <Waited asking={{ ...asking, data }}>{(replayed) => <Steps {...replayed} />}</Waited>;
}

function Steps({ steps, at }: Replayed) {
  const shown = at?.step ?? 1;
  const [aimed, setAimed] = useState(shown);
  useEffect(() => setAimed(shown), [shown]);
  const go = (to: number): void => ask({ step: String(Math.min(steps.length, Math.max(1, to))) });
  const aim = steps[aimed - 1];
  return (
    <div class="replay">
      <div class="choices">
        <button type="button" onClick={() => go(shown - 1)} disabled={shown <= 1}>
          Back
        </button>
        <input
          type="range"
          min={1}
          max={steps.length}
          value={aimed}
          aria-label="Step"
          aria-valuetext={`${aimed} of ${steps.length}: ${aim?.type}`}
          onInput={({ currentTarget }) => setAimed(Number(currentTarget.value))}
          onChange={({ currentTarget }) => go(Number(currentTarget.value))}
        />
        <button type="button" onClick={() => go(shown + 1)} disabled={shown >= steps.length}>
          Forward
        </button>
        <button type="button" onClick={() => ask({ step: null })}>
          Close
        </button>
      </div>
      {aim && (
        <p>
          <b>
            {aim.step} of {steps.length}
          </b>{' '}
          <code>{aim.type}</code>{' '}
          <span class="note">
            <time dateTime={aim.at}>{exact(aim.at)}</time> · {aim.state.replaceAll('_', ' ')}
            {aim.hold && `, held (${aim.hold})`}: <span dir="auto">{aim.why}</span>
          </span>
        </p>
      )}
      {at && <Step at={at} />}
    </div>
  );
}

function Step({ at }: { at: NonNullable<Replayed['at']> }) {
  return (
    <>
      <Part name="What was recorded" text={JSON.stringify(at.data, null, 2)} isOpen />
      {at.asked && (
        <Part
          name={`What the ${at.asked.role} was asked in turn ${at.asked.turn} (${at.asked.prompt})`}
          text={at.asked.text ?? 'The prompt is not kept any more.'}
        />
      )}
      {at.cameOf && (
        <p class="note">
          What came of it: step {at.cameOf.step}, <code>{at.cameOf.type}</code>{' '}
          <button type="button" onClick={() => ask({ step: String(at.cameOf!.step) })}>
            Go there
          </button>
        </p>
      )}
      {at.diff && (
        <Part
          name={`The work then, ${short(at.diff.base)} to ${short(at.diff.head)}`}
          text={at.diff.patch ?? 'Its commits are gone.'}
        />
      )}
    </>
  );
}

const MOST_CHARS = 100_000;

function Part({ name, text, isOpen = false }: { name: string; text: string; isOpen?: boolean }) {
  return (
    <details open={isOpen}>
      <summary>{name}</summary>
      <pre class="raw" dir="auto">
        {text.slice(0, MOST_CHARS)}
      </pre>
      {text.length > MOST_CHARS && <p class="note">It goes on: `forge-loop replay` shows all of it.</p>}
    </details>
  );
}
