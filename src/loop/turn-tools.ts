/** The tools of one turn: answered from what the loop knows or the forge tells it, counted, and noted as events. */
import type { TurnTools } from '../agent/agent.ts';
import type { Action } from '../core/action.ts';
import type { CoderSummary } from '../core/event.ts';
import type { AuditNotes } from '../core/plan/audit.ts';
import { roleRow } from '../core/role.ts';
import type { Task } from '../core/task.ts';
import { answerCall, CARRIES_TOLD, toolsOf } from '../core/words/turn-tools.ts';
import type { Activity } from './activity.ts';
import { askForge } from './ask-forge.ts';
import type { Ports } from './ports.ts';

type TurnAction = Extract<Action, { kind: 'turn' }>;

/** Null where the role has none. */
export function turnTools(
  ports: Pick<Ports, 'store' | 'settings' | 'forge' | 'log'>,
  task: Task,
  { role, turn, sessionId }: TurnAction,
  activity: Activity,
  signal: AbortSignal,
): TurnTools | null {
  const { store, settings, forge } = ports;
  const hasPlan = task.plan !== undefined;
  const list = toolsOf(role, { hasPlan, asksForge: settings.policy().agents[role].forgeRequests > 0 });
  if (list.length === 0) return null;
  const calls = new Map<string, number>();
  const heard = new Set<number>();
  let asked = 0;
  return {
    list,
    async call(name, input) {
      const before = calls.get(name) ?? 0;
      calls.set(name, before + 1);
      const findings = await store.findings(task.id);
      const notes = await notesOf(store, task, sessionId);
      const requests = CARRIES_TOLD.has(name) ? await store.requests(task.id) : [];
      const news = requests.filter(({ id, kind }) => kind === 'tell' && !heard.has(id));
      const told = news.map(({ by, why }) => ({ by, text: why ?? '' }));
      const asking = { task, role, turn, sessionId, findings, notes, told };
      const { toolCalls: most, forgeRequests } = settings.policy().agents[role];
      const allowance = { asked, most: forgeRequests, left: forge.requestsLeft?.() ?? null };
      const said = answerCall(asking, { name, input, calls: before, most, forge: allowance });
      if ('asks' in said) {
        asked += 1;
        return askForge(ports, said.asks, signal);
      }
      for (const one of said.events)
        if (!(await activity.note(one)))
          return { text: 'this could not be written down: say it in your answer', isError: true };
      if (!said.answer.isError) for (const { id } of news) heard.add(id);
      return said.answer;
    },
  };
}

/** What was told through them in this turn; of an audit, also in its turns before. Nothing when it was not heard. */
export async function toldIn(
  { store }: Pick<Ports, 'store'>,
  task: Task,
  { role, sessionId }: TurnAction,
): Promise<{ summary?: CoderSummary; notes?: AuditNotes }> {
  const { offers } = roleRow(role);
  if (offers.includes('findings_write')) return { notes: await notesOf(store, task, sessionId) };
  const [begun] = await store.events({ task: task.id, type: 'turn_started', last: 1 });
  const [told] = await store.events({ task: task.id, type: 'coder_finished', last: 1 });
  if (!offers.includes('finish') || told?.type !== 'coder_finished' || told.seq < (begun?.seq ?? 0))
    return {};
  const { turn: _, ...summary } = told.data;
  return { summary };
}

/** Of the audit at hand: one that was recorded has them in the ledger. */
async function notesOf(store: Ports['store'], { id }: Task, sessionId: string): Promise<AuditNotes> {
  const [recorded] = await store.events({ task: id, type: 'audit_recorded', last: 1 });
  const after = recorded?.seq ?? 0;
  const found = await store.events({ task: id, type: 'auditor_found', after });
  const resolved = await store.events({ task: id, type: 'auditor_resolved', after });
  return {
    findings: found.flatMap((one) =>
      one.type === 'auditor_found' && one.data.sessionId === sessionId ? [one.data.finding] : [],
    ),
    resolved: resolved.flatMap((one) =>
      one.type === 'auditor_resolved' && one.data.sessionId === sessionId
        ? [{ id: one.data.id, why: one.data.why }]
        : [],
    ),
  };
}
