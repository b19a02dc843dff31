/** What a task changes, file by file, each opened when it is looked at; what was found is shown at its line. */

import { useMemo, useState } from 'preact/hooks';
import type { Finding } from '../../src/core/change/findings.ts';
import { visible } from '../../src/core/words/visible.ts';
import { act } from '../actions.tsx';
import { type Answer, useAnswer } from '../api.ts';
import { count, short } from '../format.ts';
import { Section, Waited } from '../parts.tsx';
import { type Hunk, parse } from '../patch.ts';

interface Props {
  task: string;
  head: string | null;
  /** It has not ended: the coder can be told. */
  isLive: boolean;
  findings: readonly Finding[];
}

/** A few small files are shown at once. */
const OPENED = 4;
const OPENED_LINES = 200;

export function Change(props: Props) {
  const asking = useAnswer(
    'task.change',
    { task: props.task },
    ({ type, task }) => task === props.task && /checkpoint|merge_observed|work_updated/.test(type),
  );
  return (
    <Section title="Change" id="change">
      <Waited asking={asking}>
        {(change) =>
          change.base === null ? (
            <p class="note">Nothing is changed yet.</p>
          ) : (
            <>
              <p class="note">
                {count(change.files.length, 'file')}, <code>{short(change.base)}</code> to{' '}
                <code>{short(change.head)}</code>
              </p>
              {change.files.map((file, at) => (
                <FileOf
                  key={`${change.head} ${file.path}`}
                  {...props}
                  file={file}
                  isOpen={at < OPENED && file.added + file.removed <= OPENED_LINES}
                />
              ))}
            </>
          )
        }
      </Waited>
    </Section>
  );
}

type ChangedFile = Answer<'task.change'>['files'][number];

function FileOf({ task, isLive, findings, file, isOpen }: Props & { file: ChangedFile; isOpen: boolean }) {
  const [open, setOpen] = useState(isOpen);
  const here = findings.filter((finding) => finding.file === file.path);
  const isStanding = here.filter(({ status }) => status === 'open').length;
  return (
    <details class="file" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span dir="auto" class="path">
          {file.from !== null && `${visible(file.from)} → `}
          {visible(file.path)}
        </span>{' '}
        {file.kind !== 'modified' && <span class="note">{file.kind}</span>}{' '}
        <span class="plus">+{file.added}</span> <span class="minus">−{file.removed}</span>{' '}
        {isStanding > 0 && <span class="count">{count(isStanding, 'finding')}</span>}
      </summary>
      {open && <Patch task={task} file={file.path} isLive={isLive} findings={here} />}
    </details>
  );
}

const MOST_LINES = 3000;

function Patch({
  task,
  file,
  isLive,
  findings,
}: {
  task: string;
  file: string;
  isLive: boolean;
  findings: readonly Finding[];
}) {
  const asking = useAnswer('task.change', { task, file }, () => false);
  return (
    <Waited asking={asking}>{(change) => <Lines {...{ task, change, file, isLive, findings }} />}</Waited>
  );
}

function Lines(props: {
  task: string;
  change: Answer<'task.change'>;
  file: string;
  isLive: boolean;
  findings: readonly Finding[];
}) {
  const { task, change, file, isLive, findings } = props;
  const [isAll, setAll] = useState(false);
  const [commented, setCommented] = useState<number | null>(null);
  const hunks = useMemo(() => parsed(change.patch ?? ''), [change.patch]);
  if (hunks === null) return <pre class="raw">{change.patch}</pre>;
  const total = hunks.reduce((sum, hunk) => sum + hunk.changes.length, 0);
  if (total === 0) return <p class="note">No lines: a binary file, or only its name or mode.</p>;
  let room = isAll ? Number.POSITIVE_INFINITY : MOST_LINES;
  const elsewhere = findings.filter(({ line }) => line === null || !hunks.some((hunk) => has(hunk, line)));
  return (
    <>
      {elsewhere.map((finding) => (
        <Note key={finding.id} finding={finding} />
      ))}
      {hunks.map((hunk) => {
        const lines = hunk.changes.slice(0, Math.max(0, room));
        room -= hunk.changes.length;
        if (lines.length === 0) return null;
        return (
          <table key={hunk.content} class="hunk">
            <caption>{hunk.content}</caption>
            <tbody>
              {lines.map((line, at) => {
                const number = line.type === 'normal' ? line.newLineNumber : line.lineNumber;
                const isNew = line.type !== 'delete';
                const sign = line.type === 'insert' ? '+' : line.type === 'delete' ? '−' : ' ';
                return [
                  <tr key={at} class={`line is-${line.type}`}>
                    <td class="line-number">
                      {isNew && isLive ? (
                        <button
                          type="button"
                          aria-label={`Comment on line ${number}`}
                          onClick={() => setCommented(number)}
                        >
                          {number}
                        </button>
                      ) : (
                        number
                      )}
                    </td>
                    <td class="sign" aria-hidden="true">
                      {sign}
                    </td>
                    <td class="code">{line.content}</td>
                  </tr>,
                  ...(isNew ? findings.filter((finding) => finding.line === number) : []).map((finding) => (
                    <tr key={`${at} ${finding.id}`}>
                      <td colSpan={3}>
                        <Note finding={finding} />
                      </td>
                    </tr>
                  )),
                  isNew && commented === number && (
                    <tr key={`${at} comment`}>
                      <td colSpan={3}>
                        <Comment task={task} file={file} line={number} onOver={() => setCommented(null)} />
                      </td>
                    </tr>
                  ),
                ];
              })}
            </tbody>
          </table>
        );
      })}
      {!isAll && total > MOST_LINES && (
        <button type="button" onClick={() => setAll(true)}>
          Show all {total} lines
        </button>
      )}
      {change.isCut && <p class="note">The file goes on: it is too long to be shown.</p>}
    </>
  );
}

/** Null where the parser makes nothing of it, such as of a merge. */
function parsed(patch: string): Hunk[] | null {
  try {
    return parse(patch).flatMap(({ hunks }) => hunks);
  } catch {
    return null;
  }
}

const has = ({ changes }: Hunk, line: number): boolean =>
  changes.some((one) =>
    one.type === 'normal' ? one.newLineNumber === line : one.type === 'insert' && one.lineNumber === line,
  );

function Note({ finding }: { finding: Finding }) {
  return (
    <div class={`finding-note is-${finding.status}`}>
      <b>
        {finding.severity} {finding.status}
      </b>{' '}
      <span class="note">
        {finding.id} by {finding.source}
      </span>
      <p dir="auto">{finding.message}</p>
      {finding.suggestion && (
        <p class="note" dir="auto">
          {finding.suggestion}
        </p>
      )}
    </div>
  );
}

function Comment({ task, file, line, onOver }: { task: string; file: string; line: number; onOver(): void }) {
  const [description, setDescription] = useState('');
  const [isAdvice, setAdvice] = useState(false);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    const severity = isAdvice ? 'warning' : 'bug';
    const finding = { task, description, severity, file, line };
    if (await act('findings.write', finding, `Said at ${visible(file)}:${line}; the coder is told.`))
      onOver();
  };
  return (
    <form class="comment" onSubmit={(event) => void send(event)}>
      <label>
        <span class="only-read">Comment for the coder</span>
        <textarea
          autofocus
          rows={2}
          value={description}
          onInput={({ currentTarget }) => setDescription(currentTarget.value)}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={isAdvice}
          onChange={({ currentTarget }) => setAdvice(currentTarget.checked)}
        />{' '}
        Only advice: it may be merged without
      </label>
      <div class="choices">
        <button type="submit" class="is-main" disabled={description.trim() === ''}>
          Tell the coder
        </button>
        <button type="button" onClick={onOver}>
          Leave it
        </button>
      </div>
    </form>
  );
}
