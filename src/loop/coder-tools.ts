/** The coder's tools of one turn: answered from what the loop knows, counted, and noted as events. */
import type { TurnTools } from '../agent/agent.ts';
import type { CoderSummary } from '../core/event.ts';
import type { Task } from '../core/task.ts';
import { answerCall, CODER_TOOLS } from '../core/words/coder-tools.ts';
import type { Activity } from './activity.ts';
import type { Ports } from './ports.ts';

export function coderTools(
  { store, settings }: Pick<Ports, 'store' | 'settings'>,
  task: Task,
  turn: number,
  activity: Activity,
): TurnTools & { summary(): CoderSummary | null } {
  let summary: CoderSummary | null = null;
  const calls = new Map<string, number>();
  return {
    list: CODER_TOOLS,
    async call(name, input) {
      const before = calls.get(name) ?? 0;
      calls.set(name, before + 1);
      const { toolCalls: most } = settings.policy().agents.coder;
      const findings = await store.findings(task.id);
      const { answer, events } = answerCall(task, turn, findings, { name, input, calls: before, most });
      for (const one of events) {
        activity.note(one);
        if (one.type === 'coder_finished') summary = summaryIn(one.data);
      }
      return answer;
    },
    summary: () => summary,
  };
}

export const summaryIn = ({ summary, tests, open }: CoderSummary): CoderSummary => ({ summary, tests, open });
