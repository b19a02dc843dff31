/**
 * Plays stories as a plain program, since thousands of them have to fit into a minute:
 *   play.js seeds <first> <count>     each seed once, with faults and people
 *   play.js sweep <seed>…             each seed calmly, then again with a crash after each of its writes
 * One JSON line per broken story, then one with the tally. Exits 1 when a story was broken.
 */
import { playStory, type StoryOptions } from './story.ts';

const [mode, ...numbers] = process.argv.slice(2);
const outcomes: Record<string, number> = {};
let stories = 0;
let broken = 0;

async function play(options: StoryOptions): Promise<number> {
  const { violations, states, calls } = await playStory(options);
  stories += 1;
  for (const state of states) {
    const outcome = state.replace(/^#\S+ /, '').trim();
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  if (violations.length > 0) {
    broken += 1;
    if (broken <= 10) console.log(JSON.stringify({ ...options, violations }));
  }
  return calls;
}

if (mode === 'seeds') {
  const [first, count] = numbers.map(Number);
  for (let seed = first!; seed < first! + count!; seed++) await play({ seed });
} else {
  for (const seed of numbers.map(Number)) {
    const writes = await play({ seed, calm: true });
    for (let crashAtCall = 1; crashAtCall <= writes; crashAtCall++) await play({ seed, crashAtCall });
  }
}
console.log(JSON.stringify({ stories, broken, outcomes }));
process.exitCode = broken > 0 ? 1 : 0;
