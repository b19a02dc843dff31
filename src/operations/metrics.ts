/** What of the loop is worth a plot and an alarm, as figures with labels: for Prometheus and for OpenTelemetry. */
import type { Context } from '../context.ts';
import type { Outcome } from '../store/store.ts';
import type { Metric } from '../telemetry/telemetry.ts';
import { type Snapshot, snapshot } from '../view.ts';
import { type CostView, cost } from './cost.ts';

export async function readMetrics(context: Context): Promise<Metric[]> {
  return metricsOf(
    await snapshot(context, { live: true }),
    (await (await context.reading())?.outcomes()) ?? [],
    await cost(context, { by: 'role' }),
  );
}

function metricsOf(now: Snapshot, outcomes: readonly Outcome[], spent: Pick<CostView, 'lines'>): Metric[] {
  const live = now.tasks;
  const held = live.flatMap(({ hold }) => (hold ? [hold.reason] : []));
  const ofRole = (name: string, help: string, value: (line: CostView['lines'][number]) => number | null) =>
    counter(
      name,
      help,
      spent.lines.flatMap((line) => {
        const known = value(line);
        return known === null ? [] : [{ labels: { role: line.key }, value: known }];
      }),
    );
  const tokens = (['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'] as const).flatMap((kind) =>
    spent.lines.map((line) => ({ labels: { role: line.key, kind: snake(kind) }, value: line[kind] })),
  );
  return [
    gauge(
      'forge_loop_tasks',
      'Open tasks by state.',
      counted(
        'state',
        live.map(({ state }) => state),
      ),
    ),
    gauge('forge_loop_tasks_held', 'Open tasks that are held, by reason.', counted('reason', held)),
    gauge('forge_loop_slots', 'Agents that may work at the same time.', one(now.slots.max)),
    gauge('forge_loop_slots_used', 'Slots in use.', one(now.slots.used)),
    gauge('forge_loop_backlog', 'Tasks that wait to be judged and merged.', one(now.backlog.waiting)),
    gauge(
      'forge_loop_waits',
      'Reasons why the whole loop waits.',
      counted(
        'reason',
        now.waits.map(({ reason }) => reason),
      ),
    ),
    gauge(
      'forge_loop_runners',
      'Runners that are alive.',
      one(now.runners.filter(({ alive }) => alive).length),
    ),
    gauge(
      'forge_loop_ended_tasks',
      'Ended tasks by outcome; the reason is empty of those that did not fail.',
      outcomes.map(({ state, reason, tasks }) => ({ labels: { state, reason: reason ?? '' }, value: tasks })),
    ),
    ofRole('forge_loop_turns_total', 'Turns by role.', ({ turns }) => turns),
    counter('forge_loop_tokens_total', 'Tokens by role and kind.', tokens),
    ofRole('forge_loop_cost_usd_total', 'Known cost in US dollars, by role.', ({ costUsd }) => costUsd),
    ofRole(
      'forge_loop_unpriced_tokens_total',
      'Tokens whose price is not known.',
      ({ unpriced }) => unpriced,
    ),
  ];
}

/** The text format of Prometheus. */
export function prometheusText(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, help, kind, values }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${kind}`,
    ...values.map(({ labels, value }) => `${name}${labelText(labels)} ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

function labelText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(
    ([key, value]) => `${key}="${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

type Values = Metric['values'];

const gauge = (name: string, help: string, values: Values): Metric => ({ name, help, kind: 'gauge', values });
const counter = (name: string, help: string, values: Values): Metric => ({
  name,
  help,
  kind: 'counter',
  values,
});
const one = (value: number): Values => [{ labels: {}, value }];
const counted = (label: string, values: readonly string[]): Values =>
  countedBy(values.map((value) => ({ [label]: value })));

function countedBy(all: readonly Record<string, string>[]): Values {
  const counts = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const labels of all) {
    const key = JSON.stringify(labels);
    const known = counts.get(key) ?? { labels, value: 0 };
    counts.set(key, { labels, value: known.value + 1 });
  }
  return [...counts.values()];
}

const snake = (word: string): string => word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
