/**
 * Plays stories as a plain program, since thousands of them have to fit into a minute:
 *   play.js seeds <first> <count>     each seed once, with faults and people
 *   play.js storms <first> <count> kills=<weight> outage=<weight> clocks=<weight>     willing agents in a storm
 *   play.js sweep <part> <parts> <kind>…   some seeds again and again, with a crash after each of their writes: this part of
 *                                     it; what tells these kinds of events is among them
 * One JSON line per broken story, then one with the tally. Exits 1 when a story was broken.
 */
import type { LoopEvent } from '../../src/core/event.ts';
import { playStorm } from './storm.ts';
import { playStory, type StoryOptions, type StoryResult } from './story.ts';

const [mode, ...rest] = process.argv.slice(2);
const [first, count] = rest.slice(0, 2).map(Number) as [number, number];
const wanted = rest.slice(2);
const outcomes: Record<string, number> = {};
/** Kinds of events that were told. */
const told = new Set<string>();
let stories = 0;
let broken = 0;

const play = async (options: StoryOptions): Promise<void> => note(options, await playStory(options));

async function note(options: StoryOptions, { violations, states, world }: StoryResult): Promise<void> {
  stories += 1;
  for (const state of states) {
    const outcome = state.replace(/^#\S+ /, '').trim();
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  for (const kind of await kindsOf(world)) told.add(kind);
  if (violations.length > 0) {
    broken += 1;
    if (broken <= 10) console.log(JSON.stringify({ ...options, violations }));
  }
}

interface Calm {
  seed: number;
  writes: number;
  kinds: ReadonlySet<string>;
}

const SEEDS = 100;
/** So many when a kind that must not be missing is rare. */
const MOST_SEEDS = 1000;
const MOST_WRITES = 700;

/** The calm stories that together tell the most kinds of events in the fewest writes, whatever the seeds mean today. */
async function worthSweeping(): Promise<Calm[]> {
  const all: Calm[] = [];
  const isMissing = (kind: string): boolean => !all.some(({ kinds }) => kinds.has(kind));
  for (let seed = 1; seed <= SEEDS || (seed <= MOST_SEEDS && wanted.some(isMissing)); seed++) {
    const { calls, world } = await playStory({ seed, calm: true });
    all.push({ seed, writes: calls, kinds: await kindsOf(world) });
  }
  const chosen: Calm[] = [];
  const known = new Set<string>();
  let left = MOST_WRITES;
  const choose = (one: Calm): void => {
    chosen.push(one);
    left -= one.writes;
    for (const kind of one.kinds) known.add(kind);
  };
  for (const kind of wanted) {
    const [shortest] = all.filter(({ kinds }) => kinds.has(kind)).sort((a, b) => a.writes - b.writes);
    if (shortest && !known.has(kind)) choose(shortest);
  }
  for (;;) {
    const worth = ({ kinds, writes }: Calm): number =>
      writes > left ? 0 : [...kinds].filter((kind) => !known.has(kind)).length / (writes + 40);
    const best = all.reduce((one, other) => (worth(other) > worth(one) ? other : one));
    if (worth(best) === 0) return chosen;
    choose(best);
  }
}

async function kindsOf(world: StoryResult['world']): Promise<Set<string>> {
  return new Set((await world.store.events()).map(kindOf));
}

function kindOf(one: LoopEvent): string {
  if (one.type === 'worker_state_transition') return `${one.data.from} → ${one.data.to}`;
  if (one.type === 'gate_completed' && one.data.within) return 'proven within another';
  if (one.type === 'task_created' && one.data.plan && one.data.issue !== null) return 'the plan of an issue';
  return one.type === 'phase_entered' ? one.data.phase : one.type;
}

if (mode === 'seeds') {
  for (let seed = first; seed < first + count; seed++) await play({ seed });
} else if (mode === 'storms') {
  const weight = (name: string): number =>
    Number(wanted.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1) ?? 0);
  const storms = { kills: weight('kills'), outage: weight('outage'), clocks: weight('clocks') };
  for (let seed = first; seed < first + count; seed++) await note({ seed }, await playStorm(seed, storms));
} else {
  for (const { seed, writes } of await worthSweeping())
    for (let crashAtCall = first; crashAtCall <= writes; crashAtCall += count)
      await play({ seed, crashAtCall });
}
console.log(JSON.stringify({ stories, broken, outcomes, told: [...told] }));
process.exitCode = broken > 0 ? 1 : 0;
