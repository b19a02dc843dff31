/** The settings in force and where each comes from; and what `doctor` says, when asked. */
import { useState } from 'preact/hooks';
import { useAnswer } from '../api.ts';
import { Says, Scroll, Section, Waited } from '../parts.tsx';

export function Settings() {
  const asking = useAnswer('config', {}, ({ type }) => /^config/.test(type));
  const [search, setSearch] = useState('');
  return (
    <>
      <h1>Settings</h1>
      <Doctor />
      <Waited asking={asking}>
        {({ path, problem, warnings, keys }) => (
          <Section title="In force" note={<code dir="auto">{path}</code>}>
            {problem && (
              <p class="problem" role="alert">
                <Says text={problem} />
              </p>
            )}
            {warnings.map(({ message }) => (
              <p key={message} class="is-held">
                ! <Says text={message} />
              </p>
            ))}
            <form class="search" role="search" onSubmit={(event) => event.preventDefault()}>
              <input
                type="search"
                aria-label="Search settings"
                placeholder="Key"
                value={search}
                onInput={({ currentTarget }) => setSearch(currentTarget.value)}
              />
            </form>
            <Scroll label="Settings">
              <table class="settings">
                <thead>
                  <tr>
                    <th scope="col">Key</th>
                    <th scope="col">Value</th>
                    <th scope="col">From</th>
                  </tr>
                </thead>
                <tbody>
                  {keys
                    .filter(
                      ({ key }) =>
                        key !== 'body' && !key.startsWith('prompts.') && key.includes(search.trim()),
                    )
                    .map(({ key, value, origin }) => (
                      <tr key={key} data-row>
                        <td>
                          <code>{key}</code>
                        </td>
                        <td class="value">
                          <code>{JSON.stringify(value)}</code>
                        </td>
                        <td>{origin === 'file' ? <b>file</b> : <span class="note">{origin}</span>}</td>
                      </tr>
                    ))}
                </tbody>
              </table>
            </Scroll>
          </Section>
        )}
      </Waited>
    </>
  );
}

const LEVELS = { ok: ['✓', 'merged'], warn: ['!', 'held'], fail: ['✗', 'abandoned'] } as const;

/** It looks at the whole machine, so only when somebody wants to know. */
function Doctor() {
  const [isAsked, setAsked] = useState(false);
  const asking = useAnswer('doctor', isAsked ? {} : null, () => false);
  return (
    <Section
      title="Doctor"
      note={
        <button
          type="button"
          onClick={() => {
            if (isAsked) asking.again();
            setAsked(true);
          }}
        >
          {isAsked ? 'Look again' : 'Look at this machine'}
        </button>
      }
    >
      {isAsked && (
        <Waited asking={asking}>
          {({ checks }) => (
            <ul class="criteria">
              {checks.map(({ name, level, what, fix }) => (
                <li key={`${name} ${what}`}>
                  <span class={`glyph is-${LEVELS[level][1]}`} role="img" aria-label={level}>
                    {LEVELS[level][0]}
                  </span>
                  <div>
                    <b>{name}</b> <Says text={what} />
                    {fix && (
                      <p class="note">
                        <Says text={fix} />
                      </p>
                    )}
                  </div>
                </li>
              ))}
            </ul>
          )}
        </Waited>
      )}
    </Section>
  );
}
