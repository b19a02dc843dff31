/** Every row that is a reading of events, read from them anew: tasks, their turns, stored plans, the loop's own. */
import type { LoopEvent } from '../event.ts';
import { apply } from '../fold.ts';
import { type FoldedRow, foldLoop, NOTHING_FOLDED } from '../loop/loop-row.ts';
import { afterPlanEvent, planOfEvent, type StoredPlan } from '../plan/stored.ts';
import type { Task } from '../task.ts';

interface FoldedTurn {
  task: string;
  turn: number;
  role: string;
  sessionId: string;
  prompt: string;
  status: string | null;
  startedAt: number;
  endedAt: number | null;
}

export interface Folding {
  readonly tasks: ReadonlyMap<string, Task>;
  readonly turns: ReadonlyMap<string, readonly FoldedTurn[]>;
  readonly plans: ReadonlyMap<string, StoredPlan>;
  /** The event at which a task could not be folded any further, and why. */
  readonly broken: ReadonlyMap<string, { seq: number; problem: string }>;
  loop(): FoldedRow;
  /** The last event so far. */
  seq(): number;
  add(event: LoopEvent): void;
}

export function startFolding(): Folding {
  const tasks = new Map<string, Task>();
  const turns = new Map<string, FoldedTurn[]>();
  const plans = new Map<string, StoredPlan>();
  const broken = new Map<string, { seq: number; problem: string }>();
  let loop = NOTHING_FOLDED;
  let seq = 0;
  return { tasks, turns, plans, broken, loop: () => loop, seq: () => seq, add };

  function add(event: LoopEvent): void {
    seq = event.seq;
    loop = foldLoop(loop, [event], event.at);
    const id = planOfEvent(event);
    const plan = id === null ? null : afterPlanEvent(plans.get(id) ?? null, event);
    if (id !== null && plan) plans.set(id, plan);
    if (event.task === null || broken.has(event.task)) return;
    try {
      tasks.set(event.task, apply(tasks.get(event.task) ?? null, event));
    } catch (error) {
      broken.set(event.task, { seq, problem: (error as Error).message });
    }
    const taken = turns.get(event.task) ?? [];
    turns.set(event.task, taken);
    if (event.type === 'turn_started') {
      const { turn, role, sessionId, prompt } = event.data;
      const open = { status: null, startedAt: event.at, endedAt: null };
      taken.push({ task: event.task, turn, role, sessionId, prompt, ...open });
    }
    if (event.type === 'turn_completed')
      for (const one of taken) if (one.endedAt === null && isSame(one, event.data)) end(one, event);
  }
}

type Ended = Extract<LoopEvent, { type: 'turn_completed' }>;

const isSame = (one: FoldedTurn, { turn, role, sessionId }: Ended['data']): boolean =>
  one.turn === turn && one.role === role && one.sessionId === sessionId;

function end(one: FoldedTurn, { at, data }: Ended): void {
  one.status = data.status;
  one.endedAt = at;
}
