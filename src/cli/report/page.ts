/** A report in words: sections of lines, the time as bars, the cost by role. How it looks is up to whoever prints it. */
import { firstLine } from '../../core/text/shortened.ts';
import { shortSha } from '../../core/words/short-sha.ts';
import { clock } from '../../core/words/wall-time.ts';
import { count, lasting } from '../../core/words/words.ts';
import type { Report, Reported, Span } from '../../operations/report.ts';
import { tokensText, usd } from '../cost-text.ts';

interface Line {
  name: string;
  title: string;
  text: string;
  advice: string | null;
}

/** Where it begins and how long it is, as shares of the whole time. */
interface Bar {
  from: number;
  length: number;
  name: string;
}

export interface Page {
  title: string;
  period: string;
  summary: string;
  sections: { heading: string; lines: Line[] }[];
  /** Who was at work when; empty where no turn was taken. */
  timeline: { name: string; title: string; bars: Bar[] }[];
  costs: { role: string; cost: string; share: number; detail: string }[];
  notes: string[];
}

export function pageOf(report: Report): Page {
  const { merged, completed, notMerged, needsPerson, atWork, cost } = report;
  const results = (all: readonly Reported[]): Line[] => all.map((one) => resultLine(one));
  const open = (all: Report['atWork']): Line[] =>
    all.map(({ name, title, why }) => ({ name, title, text: why, advice: null }));
  const sections = [
    { heading: 'Waits for you', lines: open(needsPerson) },
    { heading: 'Merged', lines: results(merged) },
    { heading: 'Completed', lines: results(completed) },
    { heading: 'Not merged', lines: results(notMerged) },
    { heading: 'Still open', lines: open(atWork) },
  ];
  return {
    title: report.task === null ? report.repository : `${report.repository}: ${report.task}`,
    period: `${clock(report.since).slice(0, 16)} to ${clock(report.until).slice(0, 16)}`,
    summary: summaryOf(report),
    sections: sections.filter(({ lines }) => lines.length > 0),
    timeline: timelineOf(report),
    costs: cost.byRole.map((line) => ({
      role: line.key,
      cost: usd(line.costUsd, line.complete),
      share: shareOf(line, cost.total),
      detail: `${count(line.turns, 'turn')}, ${tokensText(line.tokens, line.complete)}${line.cacheHitRatio === null ? '' : `, ${Math.round(line.cacheHitRatio * 100)} % of the input from the cache`}`,
    })),
    notes: [
      ...report.warnings,
      ...(cost.total.complete ? [] : ['≥: not everything that was used is known.']),
      ...(cost.total.costUsd === null ? [] : [`List prices as of ${report.pricesAsOf}.`]),
    ],
  };
}

function summaryOf({ merged, completed, notMerged, needsPerson, cost, billing }: Report): string {
  const { total } = cost;
  const parts = [
    `${merged.length} merged`,
    ...(completed.length > 0 ? [`${completed.length} completed`] : []),
    ...(notMerged.length > 0 ? [`${notMerged.length} not merged`] : []),
    ...(needsPerson.length > 0
      ? [needsPerson.length === 1 ? '1 waits for you' : `${needsPerson.length} wait for you`]
      : []),
    total.turns === 0
      ? 'nothing spent'
      : `${usd(total.costUsd, total.complete)}${billing === 'usd' ? '' : ' by list'}`,
    ...(cost.merged.perPullUsd === null
      ? []
      : [`${usd(cost.merged.perPullUsd, cost.merged.complete)} per merged pull request`]),
  ];
  return parts.join(' · ');
}

function resultLine(one: Reported): Line {
  const { name, outcome, why, advice, turns, rounds, lastedMs } = one;
  const took = [
    ...(turns > 0 ? [count(turns, 'turn')] : []),
    ...(rounds > 0 ? [count(rounds, 'round')] : []),
    ...(lastedMs === null ? [] : [lasting(lastedMs)]),
    ...(turns > 0 ? [usd(one.costUsd, one.complete)] : []),
    ...(outcome === 'merged' ? [shortSha(one.mergedSha)] : []),
  ].join(' · ');
  const isGood = outcome === 'merged' || outcome === 'completed';
  const reason = firstLine(why, 300);
  return {
    name,
    title: one.title ?? '',
    text: isGood ? took : [reason, took].filter((part) => part !== '').join(' · '),
    advice: isGood ? null : advice,
  };
}

/** From the first turn on, so that a quiet evening does not press a busy night together. */
function timelineOf({ since, until, spans }: Report): Page['timeline'] {
  const starts = spans.flatMap(({ turns }) => turns.map(({ startedAt }) => Date.parse(startedAt)));
  const [from, to] = [Math.max(Date.parse(since), Math.min(...starts)), Date.parse(until)];
  const place = (at: string | null): number =>
    Math.min(1, Math.max(0, ((at === null ? to : Date.parse(at)) - from) / Math.max(1, to - from)));
  return spans.map(({ name, title, turns }: Span) => ({
    name,
    title,
    bars: turns.map((turn) => {
      const begins = place(turn.startedAt);
      return { from: begins, length: place(turn.endedAt) - begins, name: turn.name };
    }),
  }));
}

function shareOf(line: Report['cost']['total'], total: Report['cost']['total']): number {
  const [part, all] =
    total.costUsd !== null && total.costUsd > 0
      ? [line.costUsd ?? 0, total.costUsd]
      : [line.tokens, total.tokens];
  return all === 0 ? 0 : part / all;
}
