/** The merge gate's decision for people: each condition, whether it held, its value and what that rests on. */
import type { EventData } from '../event.ts';
import type { Paint } from './paint.ts';

type Decided = EventData['merge_decided'];

export const conditionLines = ({ conditions }: Decided, paint: Paint): string[] =>
  conditions.map(({ name, met, value, evidence }) => {
    const mark = met ? paint.green('yes') : paint.red('NO ');
    return `${mark} ${name}: ${value}${evidence ? paint.dim(` (${evidence})`) : ''}`;
  });

export function decisionLine({ permitted, conditions }: Decided, paint: Paint): string {
  if (permitted) return `merge gate: ${paint.green('permitted')}, all ${conditions.length} conditions hold`;
  const unmet = conditions.filter(({ met }) => !met).map(({ name, value }) => `${name} (${value})`);
  return `merge gate: ${paint.yellow('refused')}, not met: ${unmet.join('; ')}`;
}
