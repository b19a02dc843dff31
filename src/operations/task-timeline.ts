/** The course of one task: how long it was in each state, what ran in it, and what was decided on the way. */
import type { LoopEvent } from '../core/event.ts';
import type { EDGES, State } from '../core/machine.ts';
import { type Role, turnName } from '../core/role.ts';
import { isEnded, type Task } from '../core/task.ts';
import { shortSha } from '../core/words/short-sha.ts';
import type { TurnRow } from '../store/store.ts';
import { iso } from '../view.ts';

export interface Timeline {
  /** One after the other; `to` is null while it lasts. */
  states: { state: State; from: string; to: string | null; why: string }[];
  /** How often each way between two states was taken. */
  path: { from: (typeof EDGES)[number]['from']; to: State; times: number }[];
  work: Work[];
  marks: { at: string; kind: Mark; text: string }[];
}

interface Work {
  kind: 'turn' | 'gate';
  what: string;
  role: Role | null;
  from: string;
  to: string | null;
  /** How it ended; null while it runs. */
  outcome: string | null;
  /** The logs of it, for `task log`: what was said last is in the last one. */
  logs: string[];
}

type Mark = 'verdict' | 'hold' | 'merge' | 'person' | 'problem';

/** `files`: the names of what was written beside the task. */
export function timelineOf(
  task: Task,
  turns: readonly TurnRow[],
  events: readonly LoopEvent[],
  files: readonly string[],
): Timeline {
  const states: Timeline['states'] = [
    { state: 'queued', from: iso(task.createdAt)!, to: null, why: 'it was claimed' },
  ];
  const path: Timeline['path'] = [];
  const work: Work[] = turns.map((turn) => turnWork(turn, files));
  const marks: Timeline['marks'] = [];
  for (const one of events) {
    const at = iso(one.at)!;
    if (one.type === 'worker_state_transition') {
      const { from, to, why } = one.data;
      states.at(-1)!.to = at;
      states.push({ state: to, from: at, to: null, why });
      const known = path.find((step) => step.from === from && step.to === to);
      if (known) known.times += 1;
      else path.push({ from, to, times: 1 });
    }
    if (one.type === 'gate_completed' && !one.data.reused) work.push(gateWork(one));
    const mark = markOf(one);
    if (mark) marks.push({ at, ...mark });
  }
  if (isEnded(task)) states.at(-1)!.to = iso(task.endedAt);
  work.sort((a, b) => a.from.localeCompare(b.from));
  return { states, path, work, marks };
}

function turnWork(turn: TurnRow, files: readonly string[]): Work {
  const name = `${turn.role}-${turn.turn}-${turn.sessionId.slice(0, 8)}`;
  const told = `${name}.transcript.jsonl`;
  return {
    kind: 'turn',
    what: turnName(turn),
    role: turn.role,
    from: iso(turn.startedAt)!,
    to: iso(turn.endedAt),
    outcome: turn.status,
    logs: [`${name}.prompt.md`, `${name}.log`, ...(files.includes(told) ? [told] : [])],
  };
}

function gateWork({ at, data }: Extract<LoopEvent, { type: 'gate_completed' }>): Work {
  const { scope, evidence } = data;
  const took = evidence.results.reduce((sum, one) => sum + one.durationMs + (one.first?.durationMs ?? 0), 0);
  const logs = evidence.results.flatMap(({ logPath }) =>
    logPath === null ? [] : [logPath.replace(/^.*\//, '')],
  );
  return {
    kind: 'gate',
    what: scope === 'work' ? 'gate' : `gate on the ${scope}`,
    role: null,
    from: iso(at - took)!,
    to: iso(at),
    outcome: evidence.outcome,
    logs,
  };
}

function markOf(one: LoopEvent): { kind: Mark; text: string } | null {
  switch (one.type) {
    case 'verdict_recorded':
      return {
        kind: 'verdict',
        text: `${one.data.verdict} by ${one.data.by} at ${shortSha(one.data.headSha)}`,
      };
    case 'hold_set':
      return { kind: 'hold', text: `held (${one.data.reason}): ${one.data.detail}` };
    case 'hold_cleared':
      return { kind: 'hold', text: `no longer held (${one.data.reason})` };
    case 'merge_decided':
      return one.data.permitted
        ? { kind: 'merge', text: 'every condition of the merge gate held' }
        : {
            kind: 'problem',
            text: `the merge gate refused: ${one.data.conditions
              .filter(({ met }) => !met)
              .map(({ name, value }) => `${name} (${value})`)
              .join(', ')}`,
          };
    case 'merge_observed':
      return { kind: 'merge', text: `merged as ${shortSha(one.data.sha)}` };
    case 'request_made':
      return { kind: 'person', text: `${one.data.by} asked: ${one.data.kind}` };
    case 'person_pushed':
      return { kind: 'person', text: 'somebody pushed to its branch' };
    case 'answer_unusable':
      return {
        kind: 'problem',
        text: `the ${one.data.role}'s answer could not be used: ${one.data.problem}`,
      };
    case 'workspace_failed':
      return { kind: 'problem', text: one.data.problem };
    default:
      return null;
  }
}
