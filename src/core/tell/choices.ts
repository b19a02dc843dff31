/**
 * What a person can do about a task now, in the order in which one would: first what settles what it waits for. Each is one call of
 * an operation with its input, and says what it will do; a surface only offers it.
 */
import type { Finding } from '../change/findings.ts';
import type { HoldReason } from '../event.ts';
import { HOLDS } from '../hold.ts';
import { type RequestKind, refusal } from '../request.ts';
import { isEnded, nameOfTask, type Task } from '../task.ts';
import { shortSha } from '../words/short-sha.ts';

export interface Choice {
  operation:
    | 'task.approve'
    | 'task.retry'
    | 'task.restart'
    | 'task.cancel'
    | 'task.abandon'
    | 'task.tell'
    | 'findings.wontfix'
    | 'issue.comment'
    | 'issue.ready'
    | 'resume'
    | 'pause';
  input: Record<string, string | number>;
  /** Two or three words. */
  label: string;
  /** What it will do, in a sentence. */
  says: string;
  /** It ends what the task waits for. */
  settles: boolean;
  /** It ends the task: whoever offers it asks once more. */
  ends: boolean;
  /** A text that its input needs besides, and what to ask for it; absent where it needs none. */
  asks?: { field: 'why' | 'text'; label: string };
}

/** `pending`: what was asked of it and is not done yet; `findings`: its ledger, where a finding may be what it waits for. */
export function choicesFor(
  task: Task,
  pending: readonly { kind: string }[] = [],
  findings: readonly Finding[] = [],
): Choice[] {
  const can = (kind: RequestKind): boolean => refusal(task, kind, pending) === null;
  const name = nameOfTask(task);
  const choice = (
    operation: Choice['operation'],
    label: string,
    says: string,
    rest: Partial<Pick<Choice, 'settles' | 'ends' | 'input' | 'asks'>> = {},
  ): Choice => ({
    ...{ operation, label, says, input: { task: task.id }, settles: false, ends: false },
    ...rest,
  });

  if (isEnded(task)) {
    if (task.state !== 'abandoned') return [];
    const anew = choice('task.retry', 'New attempt', `${name} is marked ready again and starts from trunk.`);
    const goOn = choice('task.restart', 'Continue it', 'The same worktree, with a fresh session.');
    return [...(task.issue === null ? [] : [anew]), goOn];
  }
  const held = task.hold?.reason ?? null;
  const choices: Choice[] = [];
  if (can('approve')) {
    const isText = task.spec?.status === 'proposed';
    choices.push(
      choice(
        'task.approve',
        isText ? 'Agree to the specification' : `Approve head ${shortSha(task.headSha)}`,
        isText ? 'The coder starts on it.' : 'This head counts as approved by you; another head does not.',
        {
          ...(task.headSha !== null && !isText && { input: { task: task.id, head: task.headSha } }),
          settles: held !== null && APPROVAL_SETTLES.includes(held),
        },
      ),
    );
  }
  if (held === 'body_edited' && task.issue !== null)
    choices.push(
      choice('issue.ready', 'Accept the new text', 'The issue as it is now becomes the contract.', {
        input: { issue: task.issue },
        settles: true,
      }),
    );
  const stops = stoppedBy(task, findings);
  for (const { id, message } of stops) {
    const what = held === 'secret_found' ? 'It is no secret' : 'The change is wanted';
    const number = id.slice(id.lastIndexOf('.') + 1);
    const label = stops.length === 1 ? what : `${number}: ${what[0]!.toLowerCase()}${what.slice(1)}`;
    choices.push(
      choice('findings.wontfix', label, `Finding ${id} stays as it is: ${message}`, {
        input: { finding: id },
        asks: { field: 'why', label: 'Why it may stay' },
        settles: true,
      }),
    );
  }
  if (held !== null && WORTH_A_WORD.includes(held) && can('tell'))
    choices.push(
      choice('task.tell', 'Send back', 'Its coder continues with what you say.', {
        asks: { field: 'text', label: 'What its coder shall do' },
        settles: true,
      }),
    );
  if (can('resume') && (held === null || HOLDS[held].resumes))
    choices.push(
      choice(
        'resume',
        held === null || held === 'operator_pause' ? 'Resume' : 'Try again',
        `${name} continues.`,
        { settles: true },
      ),
    );
  else if (can('pause') && held !== 'operator_pause')
    choices.push(choice('pause', 'Pause', 'Its turn ends first; nothing new starts.'));
  if (can('tell') && !choices.some(({ operation }) => operation === 'task.tell'))
    choices.push(
      choice('task.tell', 'Tell its coder', 'Its coder gets it with the next prompt.', {
        asks: { field: 'text', label: 'What to tell it' },
      }),
    );
  choices.sort((a, b) => Number(b.settles) - Number(a.settles));
  return [
    ...choices,
    choice('task.cancel', 'Cancel', `${name} ends; its worktree is kept, and you can continue it later.`, {
      ends: true,
    }),
    choice('task.abandon', 'Give up', `${name} is abandoned; its worktree is kept.`, { ends: true }),
  ];
}

/** What an issue that never became a task waits for. Readiness is judged by its text alone. */
export function choicesForIssue(issue: number, reason: 'declined' | 'edited'): Choice[] {
  const ready = {
    operation: 'issue.ready',
    input: { issue },
    settles: true,
    ends: false,
  } as const;
  if (reason === 'edited')
    return [{ ...ready, label: 'Accept the new text', says: 'The issue as it is now becomes the contract.' }];
  return [
    {
      ...{ operation: 'issue.comment', input: { issue }, settles: false, ends: false, label: 'Answer' },
      says: 'It becomes a comment. What the loop judges is the text of the issue.',
      asks: { field: 'text', label: 'Your answer' },
    },
    { ...ready, label: 'Make ready', says: 'Its text is judged again, as it is now.' },
  ];
}

/** The findings at this head that nobody but a person can outweigh. */
function stoppedBy({ hold, inspected }: Task, findings: readonly Finding[]): Finding[] {
  const grave = findings.filter(({ id, status }) => status === 'open' && inspected?.grave.includes(id));
  if (hold?.reason === 'secret_found') return grave.filter(({ category }) => category === 'secret');
  return hold?.reason === 'verification_changed' ? grave : [];
}

const WORTH_A_WORD: readonly HoldReason[] = [
  'needs_approval',
  'protected_paths',
  'verification_changed',
  'secret_found',
  'changes_requested',
  'checks_red',
];

const APPROVAL_SETTLES: readonly HoldReason[] = ['needs_approval', 'protected_paths', 'spec_proposed'];
