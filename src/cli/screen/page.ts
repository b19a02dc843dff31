/** The pages of the full screen: what each asks of the loop, and what of the answer is a row, a text, or a way on. */
import type { Context } from '../../context.ts';
import type { Choice } from '../../core/tell/choices.ts';
import { clock } from '../../core/words/wall-time.ts';
import { count } from '../../core/words/words.ts';
import { perform, type Result } from '../../operations.ts';
import { usd } from '../cost-text.ts';
import type { Terminal } from '../terminal.ts';
import { TEXT } from '../text.ts';

type PageName =
  | 'board'
  | 'morning'
  | 'plans'
  | 'log'
  | 'why'
  | 'cost'
  | 'task'
  | 'transcript'
  | 'change'
  | 'plan'
  | 'loop'
  | 'help';

/** A page, and what it is about: a task, a plan, a file of a change. */
export interface Place {
  page: PageName;
  of: string;
  file?: string;
}

export interface Row {
  cells: readonly string[];
  opens: Place | null;
  choices: readonly Choice[];
  /** A stored plan, for the keys that are about one. */
  plan?: string;
}

/** What a page shows, below its title where its text has none. A list has rows that one can be at; a text is read, from its beginning or from its end. */
export interface Sight {
  title: string;
  rows: readonly Row[];
  /** Said where there are no rows, or below them. */
  text: string;
  /** What can be done about what the page is about. */
  choices: readonly Choice[];
  /** Other pages about the same. */
  links: readonly { key: string; label: string; opens: Place }[];
  plan?: string;
  readsFromEnd: boolean;
}

/** The same with every text as it may be seen. */
export const seenAs = (sight: Sight, shown: (text: string) => string): Sight => ({
  ...sight,
  title: shown(sight.title),
  text: shown(sight.text),
  rows: sight.rows.map((row) => ({ ...row, cells: row.cells.map(shown) })),
});

type Painted = Pick<Terminal, 'paint' | 'columns'>;

/** The pages that one goes to from anywhere, by the number of their place here. */
export const TABS: readonly { page: PageName; label: string }[] = [
  { page: 'board', label: 'board' },
  { page: 'morning', label: 'morning' },
  { page: 'plans', label: 'plans' },
  { page: 'log', label: 'log' },
  { page: 'why', label: 'why' },
  { page: 'cost', label: 'cost' },
];

const EVENTS_SHOWN = 500;
const ENDED_SHOWN = 20;
const TURNS_SHOWN = 3;

const NOTHING: Omit<Sight, 'title'> = { rows: [], text: '', choices: [], links: [], readsFromEnd: false };

export async function look(context: Context, { page, of, file }: Place, terminal: Terminal): Promise<Sight> {
  switch (page) {
    case 'board': {
      const open = await perform(context, 'task.list', {});
      const ended = await perform(context, 'task.list', { ended: true, limit: ENDED_SHOWN });
      return board([...open, ...ended], terminal);
    }
    case 'morning':
      return morning(await perform(context, 'morning', { since: '12h' }), terminal);
    case 'plans':
      return plans(
        await perform(context, 'plan.list', {}),
        await perform(context, 'loop.list', {}),
        terminal,
      );
    case 'log': {
      const events = await perform(context, 'events', {
        last: EVENTS_SHOWN,
        ...(of !== '' && { task: of }),
      });
      return log(events, terminal);
    }
    case 'why':
      return { ...NOTHING, title: 'why', text: TEXT.why(await perform(context, 'why', {}), terminal) };
    case 'cost':
      return { ...NOTHING, title: 'cost', text: TEXT.cost(await perform(context, 'cost', {}), terminal) };
    case 'task':
      return task(await perform(context, 'task.show', { task: of }), terminal);
    case 'transcript': {
      const logs = await perform(context, 'logs', { task: of, last: TURNS_SHOWN });
      const text = TEXT.logs(logs, terminal);
      return { ...NOTHING, title: `transcript of ${logs.name}`, text, readsFromEnd: true };
    }
    case 'change': {
      const change = await perform(context, 'task.change', { task: of, ...(file !== undefined && { file }) });
      return file === undefined ? files(change, of, terminal) : patch(change, file, terminal);
    }
    case 'plan':
      return plan(await perform(context, 'plan.show', { plan: of }), terminal);
    case 'loop': {
      const shown = await perform(context, 'loop.show', { loop: of });
      return {
        ...NOTHING,
        title: '',
        text: TEXT['loop.show'](shown, terminal),
        choices: shown.task.choices,
        links: linksOf(shown.task.id),
      };
    }
    case 'help':
      return { ...NOTHING, title: 'keys', text: HELP };
    default:
      return page satisfies never;
  }
}

const linksOf = (id: string): Sight['links'] => [
  { key: 't', label: 'transcript', opens: { page: 'transcript', of: id } },
  { key: 'd', label: 'diff', opens: { page: 'change', of: id } },
  { key: 'e', label: 'events', opens: { page: 'log', of: id } },
];

function board(tasks: Result<'task.list'>, { paint }: Painted): Sight {
  const rows = tasks.map((one): Row => {
    const why = one.hold?.text ?? one.turn?.doing ?? one.atWork ?? one.rests ?? one.why;
    return {
      cells: [
        paint.bold(one.name),
        stateText(one, paint),
        `${one.turns}/${one.maxTurns}`,
        usd(one.costUsd, one.spendComplete),
        one.title,
        paint.dim(withoutState(oneLine(why), one)),
      ],
      opens: { page: 'task', of: one.id },
      choices: one.choices,
    };
  });
  const text = rows.length === 0 ? 'No tasks yet. 5 says what the loop waits for.' : '';
  return { ...NOTHING, title: 'board', rows, text };
}

/** It is in the row already. */
function withoutState(why: string, { hold, state }: Result<'task.list'>[number]): string {
  const said = hold ? `held (${hold.reason}): ` : `${state}: `;
  return why.startsWith(said) ? why.slice(said.length) : why;
}

const oneLine = (text: string): string => text.split('\n', 1)[0]!;

function stateText(one: Result<'task.list'>[number], paint: Terminal['paint']): string {
  if (one.state === 'merged' || one.state === 'completed') return paint.green(`✓ ${one.state}`);
  if (one.state === 'abandoned') return paint.red(`✗ ${one.reason ?? one.state}`);
  if (one.hold) return paint.yellow(`‖ ${one.hold.reason}`);
  return one.turn || one.atWork ? paint.cyan(`● ${one.state}`) : `○ ${one.state}`;
}

function morning(seen: Result<'morning'>, { paint }: Painted): Sight {
  const needs = seen.needsYou.map(
    (one): Row => ({
      cells: [
        paint.yellow('!'),
        one.name ?? 'loop',
        `${one.title ? `${one.title}: ` : ''}${oneLine(one.text)}`,
      ],
      opens: one.task === null ? null : { page: 'task', of: one.task },
      choices: one.choices,
    }),
  );
  const results = seen.results.map(
    (one): Row => ({
      cells: [
        one.mergedSha === null ? paint.red('✗') : paint.green('✓'),
        one.name,
        `${one.title ?? ''}${one.mergedSha === null ? `: ${oneLine(one.why)}` : ''}`,
      ],
      opens: one.task === null ? null : { page: 'task', of: one.task },
      choices: one.choices,
    }),
  );
  const spent = usd(seen.spent.costUsd, seen.spent.complete);
  const sum = `Since ${clock(seen.since)}: ${count(seen.results.length, 'result')}, ${spent}. ${count(seen.waiting.count, 'issue')} waiting.`;
  return { ...NOTHING, title: 'morning', rows: [...needs, ...results], text: sum };
}

function plans(stored: Result<'plan.list'>, loops: Result<'loop.list'>, { paint }: Painted): Sight {
  const ofPlans = stored.map(
    (one): Row => ({
      cells: [paint.bold(one.name), one.status, count(one.milestones.length, 'milestone'), one.title],
      opens: { page: 'plan', of: one.id },
      choices: [],
      plan: one.id,
    }),
  );
  const ofLoops = loops.map(
    (one): Row => ({
      cells: [
        paint.bold(one.name),
        one.task.hold ? paint.yellow('held') : one.status,
        `${one.milestones.done}/${one.milestones.total}`,
        paint.dim(`loop: ${one.place}`),
      ],
      opens: { page: 'loop', of: one.name },
      choices: one.task.choices,
    }),
  );
  const rows = [...ofPlans, ...ofLoops];
  const text = rows.length === 0 ? 'No plans yet. l loads one from a file.' : '';
  return { ...NOTHING, title: 'plans', rows, text };
}

function log(events: Result<'events'>, { paint }: Painted): Sight {
  const lines = events.flatMap(({ at, says, task: of, name }) =>
    says === null
      ? []
      : [`${paint.dim(clock(at))}  ${of === null ? '' : `${paint.bold(name ?? of)} `}${says}`],
  );
  return {
    ...NOTHING,
    title: 'log',
    text: lines.join('\n') || 'Nothing has happened yet.',
    readsFromEnd: true,
  };
}

function task(shown: Result<'task.show'>, terminal: Terminal): Sight {
  return {
    ...NOTHING,
    title: '',
    text: TEXT['task.show'](shown, terminal),
    choices: shown.choices,
    links: linksOf(shown.id),
  };
}

function files(change: Result<'task.change'>, of: string, { paint }: Painted): Sight {
  const rows = change.files.map(
    ({ path, added, removed }): Row => ({
      cells: [paint.green(`+${added}`), paint.red(`-${removed}`), path],
      opens: { page: 'change', of, file: path },
      choices: [],
    }),
  );
  return { ...NOTHING, title: 'diff', rows, text: rows.length === 0 ? 'Nothing is changed yet.' : '' };
}

function patch({ patch: text, isCut }: Result<'task.change'>, file: string, { paint }: Painted): Sight {
  const lines = (text ?? '')
    .trimEnd()
    .split('\n')
    .map((line) => {
      if (/^(\+\+\+|---|diff |index )/.test(line)) return paint.dim(line);
      if (line.startsWith('@@')) return paint.cyan(line);
      return line.startsWith('+') ? paint.green(line) : line.startsWith('-') ? paint.red(line) : line;
    });
  return {
    ...NOTHING,
    title: file,
    text: [...lines, ...(isCut ? [paint.dim('… (more)')] : [])].join('\n'),
  };
}

const plan = (shown: Result<'plan.show'>, terminal: Terminal): Sight => ({
  ...NOTHING,
  title: '',
  text: TEXT['plan.show'](shown, terminal),
  plan: shown.id,
});

const HELP = [
  '1-6        board, morning, plans, log, why, cost',
  'j k        next and previous row, or line; the arrows too',
  'space b    a screen forward, a screen back',
  'g G        first and last',
  'enter      open it',
  'esc        back',
  '',
  'Of a task, where it makes sense:',
  'a          approve, or accept the new text',
  'r          resume, or a new attempt',
  'c          continue an ended task in its worktree',
  'p          pause',
  'm          tell its coder something, or answer',
  'w          leave a finding as it is',
  'x          cancel; its worktree is kept',
  'X          give up',
  't d e      its transcript, its diff, its events',
  '',
  'Of a plan:',
  'a          approve',
  'e          edit in $EDITOR',
  's          start, with mode and models',
  'l          load a plan from a file, and start it',
  '',
  'P          pause the loop, or resume it',
  '?          this',
  'q          quit; the loop keeps running',
].join('\n');
