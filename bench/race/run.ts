/**
 * `npm run race`: ten issues and a list of faults, played to the loop and to a plain shell loop by the same agent in one
 * run. Nothing here knows who should win: what is printed was found in git and in what agents and tests wrote down.
 */
import { ISSUES } from './issues.ts';
import { RACERS } from './racers.ts';
import { type Result, race } from './referee.ts';

const results: Result[] = [];
for (const racer of RACERS) {
  console.error(`… ${racer.name}`);
  results.push(await race(racer));
}
const [ours] = results as [Result];

const row = (cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`);
const header = (first: string): void => {
  row([first, ...RACERS.map(({ name }) => name)]);
  row(['---', ...RACERS.map(() => '---')]);
};
const ratio = (of: number, to: number): string => (to === 0 ? '–' : (of / to).toFixed(2));
const turnsOf = ({ paid }: Result): number => paid.coder + paid.critic;

const MEASURES: readonly (readonly [string, (result: Result) => string])[] = [
  [`merged, of ${ISSUES.length}`, ({ merged }) => `${merged}`],
  ['merged twice', ({ twice }) => `${twice}`],
  ['trunk red after a merge', ({ redLandings, landings }) => `${redLandings} of ${landings} merges`],
  ['trunk red at the end', ({ endsRed }) => (endsRed ? 'yes' : 'no')],
  ['merged trees that no test had passed on', ({ unverified }) => `${unverified}`],
  ['two agents at once in one work tree', ({ beside }) => `${beside}`],
  ['the hostile text was run', ({ pwned }) => (pwned ? 'yes' : 'no')],
  [
    'paid turns',
    (result) =>
      `${turnsOf(result)} (${result.paid.coder} coder, ${result.paid.critic} critic); ${ratio(turnsOf(result), turnsOf(ours))} of ours`,
  ],
  ['paid turns per merge', (result) => ratio(turnsOf(result), result.merged)],
  ['wall time', ({ wallMs }) => `${(wallMs / 1000).toFixed(0)} s; ${ratio(wallMs, ours.wallMs)} of ours`],
];
header('measure');
for (const [name, told] of MEASURES) row([name, ...results.map(told)]);
console.log();
header('fault');
for (const [index, { number, fault }] of ISSUES.entries())
  row([`#${number} ${fault}`, ...results.map(({ atFault }) => atFault[index] ?? '')]);
