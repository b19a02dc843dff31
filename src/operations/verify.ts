/** The event log is the truth: every row is folded from it again, and compared with what the database has. */
import type { Context } from '../context.ts';
import { type Folding, startFolding } from '../core/tell/fold-all.ts';
import { type Difference, differencesOf } from '../core/tell/replay.ts';
import type { Store } from '../store/store.ts';
import { findTask } from './reference.ts';

interface Verified {
  events: number;
  /** How many rows were compared. */
  rows: { tasks: number; turns: number; plans: number; loop: number };
  differences: (Difference & { row: string })[];
}

const PAGE = 5000;
/** While a runner writes, a row may be newer than the events that were read before it. */
const LOOKS = 5;

export async function verifyRows(context: Context, input: { task?: string | undefined }): Promise<Verified> {
  const store = await context.reading();
  const only = input.task === undefined ? null : (await findTask(store, input.task)).task.id;
  const folding = startFolding();
  let found: Verified = { events: 0, rows: { tasks: 0, turns: 0, plans: 0, loop: 0 }, differences: [] };
  for (let look = 0; store && look < LOOKS; look++) {
    await readOn(store, folding, only);
    const before = folding.seq();
    found = await compare(store, folding, only);
    await readOn(store, folding, only);
    if (found.differences.length === 0 || folding.seq() === before) break;
  }
  return found;
}

async function readOn(store: Store, folding: Folding, only: string | null): Promise<void> {
  for (;;) {
    const of = only === null ? {} : { task: only };
    const events = await store.events({ after: folding.seq(), limit: PAGE, ...of });
    for (const one of events) folding.add(one);
    if (events.length < PAGE) return;
  }
}

async function compare(store: Store, folding: Folding, only: string | null): Promise<Verified> {
  const differences: Verified['differences'] = [];
  const check = (row: string, stored: unknown, folded: unknown): void => {
    for (const one of differencesOf(plain(stored), plain(folded))) differences.push({ row, ...one });
  };
  const stored = (await store.tasks())
    .map(({ task }) => task)
    .filter(({ id }) => only === null || id === only);
  let turns = 0;
  for (const task of stored) {
    const row = `task ${task.id}`;
    const broken = folding.broken.get(task.id);
    if (broken)
      differences.push({ row, field: `event ${broken.seq}`, stored: task.state, folded: broken.problem });
    else check(row, task, folding.tasks.get(task.id));
    const taken = await store.turns(task.id);
    turns += taken.length;
    check(`turns of ${task.id}`, taken, folding.turns.get(task.id) ?? []);
  }
  const ids = new Set(stored.map(({ id }) => id));
  for (const id of folding.tasks.keys()) if (!ids.has(id)) check(`task ${id}`, null, folding.tasks.get(id));
  const rows = { tasks: stored.length, turns, plans: 0, loop: 0 };
  if (only !== null) return { events: folding.seq(), rows, differences };
  const plans = new Map((await store.plans({ archived: true })).map((plan) => [plan.id, plan]));
  for (const id of new Set([...plans.keys(), ...folding.plans.keys()]))
    check(`plan ${id}`, plans.get(id), folding.plans.get(id));
  const loop = await store.loop();
  const folded = folding.loop();
  for (const part of Object.keys(folded) as (keyof typeof folded)[])
    check(`loop ${part}`, loop[part], folded[part]);
  return { events: folding.seq(), rows: { ...rows, plans: plans.size, loop: 1 }, differences };
}

/** As the database has it. */
const plain = (value: unknown): unknown => (value === undefined ? null : JSON.parse(JSON.stringify(value)));
