/**
 * A plan: Markdown between two markers, cut into milestones by a third. A marker is a comment on a line of its own,
 * outside code. A text that could be read in two ways is refused with the line to mend; nothing is dropped without a word.
 */
import { headingOf, type MarkdownLine, markdownLines } from '../issue/markdown.ts';
import { slugOf } from '../text/slug.ts';

export const MOST_MILESTONES = 24;

export interface MilestoneText {
  title: string;
  text: string;
  /** Of the file, from 1: where its marker stands. */
  line: number;
}

export interface Plan {
  /** From `Loop Name:`, fit for a branch and a path; null when it has none. */
  name: string | null;
  title: string;
  /** What stands before the first milestone, without the `Loop Name:` line. */
  objective: string;
  /** What stands under the shared headings after the milestones. */
  shared: string;
  milestones: MilestoneText[];
  /** All between the markers, as it stands; its lines end in `\n`. */
  text: string;
}

export interface PlanProblem {
  /** Of the file, from 1; null where there is none to name. */
  line: number | null;
  problem: string;
  advice: string;
}

export interface PlanOptions {
  markers: 'required' | 'optional';
}

export type ParsedPlan =
  | { ok: true; plan: Plan; warnings: PlanProblem[] }
  | { ok: false; problem: PlanProblem };

/** `markers: 'optional'` is for issue bodies: milestone markers alone make a plan, too; all of the text is then the plan. */
export function parsePlan(text: string, options: PlanOptions = { markers: 'required' }): ParsedPlan {
  const cut = cutPlan(text, options);
  if (!cut.ok) return cut;
  const { name, objective, shared, lines, warnings } = cut.parts;
  const milestones = cut.parts.milestones.map((one, at) => ({
    title: titleIn(one.lines) ?? `Milestone ${at + 1}`,
    text: textOf(one.lines).trim(),
    line: one.line,
  }));
  const title = headingOf(objective, 1) ?? name ?? firstWords(objective) ?? milestones[0]?.title ?? 'Plan';
  const plan = {
    name,
    title: shortened(title),
    objective: textOf(objective).trim(),
    shared: textOf(shared).trim(),
    milestones,
    text: textOf(lines),
  };
  return { ok: true, plan, warnings };
}

/** Any of the markers, outside code: somebody means this text to be a plan. */
export function holdsPlan(text: string): boolean {
  return markdownLines(text).some((line) => markerIn(line) !== null);
}

type PlanLine = MarkdownLine & { number: number; marker: Marker | null };

export interface PlanParts {
  /** The lines of its markers. */
  from: number;
  to: number;
  name: string | null;
  /** All between the markers. */
  lines: PlanLine[];
  objective: PlanLine[];
  milestones: { line: number; lines: PlanLine[] }[];
  shared: PlanLine[];
  warnings: PlanProblem[];
}

/** The lines of a plan, each in the part that it belongs to. */
export function cutPlan(
  text: string,
  options: PlanOptions = { markers: 'required' },
): { ok: true; parts: PlanParts } | { ok: false; problem: PlanProblem } {
  const all = markdownLines(text).map(
    (line, at): PlanLine => ({ ...line, number: at + 1, marker: markerIn(line) }),
  );
  const bounds = boundsOf(all, options);
  if ('problem' in bounds) return { ok: false, problem: bounds };
  const { from, to } = bounds;
  const lines = all.slice(from, to - 1);

  const before: PlanLine[] = [];
  const shared: PlanLine[] = [];
  const found: { line: number; lines: PlanLine[] }[] = [];
  let part = before;
  for (const line of lines) {
    if (line.marker === 'forge-section') {
      part = [];
      found.push({ line: line.number, lines: part });
      continue;
    }
    if (found.length > 0 && isShared(line)) part = shared;
    part.push(line);
  }

  const milestones = found.filter((one) => !saysNothing(one.lines));
  const tooMany = milestones[MOST_MILESTONES];
  if (tooMany) return { ok: false, problem: tooManyProblem(tooMany.line, milestones.length) };
  const named = before.find((line) => nameIn(line) !== null);
  const objective = before.filter((line) => line !== named);
  if (milestones.length === 0 && saysNothing(objective))
    return { ok: false, problem: { line: from || null, ...EMPTY } };
  const warnings = [
    ...all
      .filter(({ marker, number }) => marker === 'forge-section' && (number < from || number > to))
      .map(({ number }) => ({ line: number, ...OUTSIDE })),
    ...found.filter((one) => saysNothing(one.lines)).map(({ line }) => ({ line, ...SKIPPED })),
    ...openFence(lines).map((line) => ({ line, ...OPEN_FENCE })),
  ];
  const name = named ? slugOf(nameIn(named)!) : null;
  return { ok: true, parts: { from, to, name, lines, objective, milestones, shared, warnings } };
}

/** Exactly one plan: the lines between which it stands. */
function boundsOf(
  lines: readonly PlanLine[],
  { markers }: PlanOptions,
): { from: number; to: number } | PlanProblem {
  const [start, second] = lines.filter(({ marker }) => marker === 'forge-plan:start');
  const ends = lines.filter(({ marker }) => marker === 'forge-plan:end');
  if (!start) {
    const isWhole = ends.length === 0 && lines.some(({ marker }) => marker === 'forge-section');
    if (markers === 'optional' && isWhole) return { from: 0, to: lines.length + 1 };
    const fenced = lines.find(
      ({ kind, text }) => kind === 'code' && MARKER.exec(text)?.[1] === 'forge-plan:start',
    );
    if (fenced) return { line: fenced.number, ...FENCED };
    return { line: ends[0]?.number ?? null, ...MISSING };
  }
  if (second) return { line: second.number, ...several(start.number) };
  const end = ends.find(({ number }) => number > start.number);
  if (!end) return { line: start.number, ...unterminated(openFence(lines)) };
  const stray = ends.find((one) => one !== end);
  if (stray) return { line: stray.number, ...STRAY_END };
  return { from: start.number, to: end.number };
}

const MARKER = /^<!--\s*(forge-plan:start|forge-plan:end|forge-section)\s*-->$/;
type Marker = 'forge-plan:start' | 'forge-plan:end' | 'forge-section';

const markerIn = ({ kind, text }: MarkdownLine): Marker | null =>
  kind === 'comment' ? ((MARKER.exec(text)?.[1] as Marker | undefined) ?? null) : null;

const SHARED = ['verification', 'decisions', 'conventions', 'key context'];

const isShared = (line: MarkdownLine): boolean =>
  line.kind === 'heading' && line.level === 2 && SHARED.includes(line.title.toLowerCase());

/** Comments are for who writes the plan. */
export const saysNothing = (lines: readonly MarkdownLine[]): boolean =>
  lines.every(({ kind, text }) => kind === 'comment' || text === '');

/** Of the fence that nothing closes: all below it is code. */
function openFence(lines: readonly PlanLine[]): number[] {
  let open: number[] = [];
  for (const line of lines)
    if (line.kind === 'code' && line.isFence) open = open.length === 0 ? [line.number] : [];
  return open;
}

/** `Loop Name: x`, also as an item or a heading, and with either half set in bold or quoted. */
function nameIn(line: MarkdownLine): string | null {
  const name = /^Loop Name\s*:(.*)$/is.exec(plainText(line))?.[1]?.trim();
  return name ? name : null;
}

/** Without the marks of Markdown. */
function plainText(line: MarkdownLine): string {
  if (line.kind === 'code' || line.kind === 'comment') return '';
  const said = line.kind === 'item' ? line.said : line.kind === 'heading' ? line.title : line.text;
  return said.replace(/[*`"]/g, '').trim();
}

function titleIn(lines: readonly MarkdownLine[]): string | null {
  const heading = headingOf(lines, 2);
  return heading === undefined ? null : shortened(heading.replace(ITS_NUMBER, ''));
}

/** Its number is told by its place: "Milestone 2: renew a token" is "renew a token". */
const ITS_NUMBER = /^milestone\s+\d+\s*[:.)–—-]\s*(?=\S)/i;

/** Of a milestone's text; null where it has no heading. */
export const milestoneTitle = (text: string): string | null => titleIn(markdownLines(text));

function firstWords(lines: readonly MarkdownLine[]): string | undefined {
  return lines
    .filter(({ kind }) => kind === 'text' || kind === 'item')
    .map((line) => plainText(line).replace(/^Objective\s*:\s*/i, ''))
    .find((words) => words !== '');
}

const textOf = (lines: readonly MarkdownLine[]): string => lines.map(({ raw }) => raw).join('\n');

const LONGEST_TITLE = 60;

function shortened(title: string): string {
  const letters = [...title.replace(/\s+/g, ' ')];
  if (letters.length <= LONGEST_TITLE) return letters.join('');
  const kept = letters.slice(0, LONGEST_TITLE - 1).join('');
  return `${kept.trimEnd()}…`;
}

type Said = Pick<PlanProblem, 'problem' | 'advice'>;

const MISSING: Said = {
  problem: 'there is no plan: the start marker is missing',
  advice:
    'Put `<!-- forge-plan:start -->` above the plan and `<!-- forge-plan:end -->` below it, each on a line of its own.',
};
const FENCED: Said = {
  problem: 'there is no plan: the start marker is inside a code fence',
  advice: 'Take the fence around the plan away.',
};
const several = (first: number): Said => ({
  problem: `there are several plans: the first one starts at line ${first}`,
  advice: 'Keep one plan in a file. A marker that is only spoken of goes into a code fence.',
});
const unterminated = ([fence]: readonly number[]): Said => ({
  problem: 'the plan has no end',
  advice:
    fence === undefined
      ? 'Put `<!-- forge-plan:end -->` below it, on a line of its own.'
      : `Close the code fence of line ${fence}, and put \`<!-- forge-plan:end -->\` below the plan.`,
});
const STRAY_END: Said = {
  problem: 'this end marker belongs to no plan',
  advice: 'Keep one end marker, below the plan. A marker that is only spoken of goes into a code fence.',
};
const EMPTY: Said = {
  problem: 'the plan is empty',
  advice: 'Say what to build and why, then cut the work into milestones.',
};
const tooManyProblem = (line: number, count: number): PlanProblem => ({
  line,
  problem: `the plan has ${count} milestones, and this is the first above the limit of ${MOST_MILESTONES}`,
  advice: 'Join milestones, or make two plans of it.',
});
const OUTSIDE: Said = {
  problem: 'this milestone is outside the plan, and is ignored',
  advice: 'Move it between the start and the end marker.',
};
const SKIPPED: Said = {
  problem: 'this milestone is empty, and is skipped',
  advice:
    'Write it, or remove its marker. `## Verification`, `## Decisions`, `## Conventions` and `## Key Context` belong to the whole plan and have no marker.',
};
const OPEN_FENCE: Said = {
  problem: 'this code fence is never closed: everything below it is code',
  advice: 'Close it where the code ends.',
};
