/** Stored plans: a reading of their events. */
import type { LoopEvent } from '../../core/event.ts';
import { afterPlanEvent, type PlanSource, planOfEvent, type StoredPlan } from '../../core/plan/stored.ts';
import { type Connection, query } from './connection.ts';

export function keepPlan(connection: Connection, event: LoopEvent): void {
  const id = planOfEvent(event);
  if (id === null) return;
  const [before = null] = read(connection, everyPlan().where('id', '=', id));
  const after = afterPlanEvent(before, event);
  if (!after || after === before) return;
  const { createdAt, changedAt, source, ...same } = after;
  const row = { ...same, source: JSON.stringify(source), created_at: createdAt, changed_at: changedAt };
  connection.run(
    query
      .insertInto('plans')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doUpdateSet(row)),
  );
}

export function readPlans(
  connection: Connection,
  { archived = false }: { archived?: boolean },
): StoredPlan[] {
  const inOrder = everyPlan().orderBy('rowid' as 'id');
  return read(connection, archived ? inOrder : inOrder.where('status', '<>', 'archived'));
}

const everyPlan = () => query.selectFrom('plans').selectAll();

function read(connection: Connection, select: ReturnType<typeof everyPlan>): StoredPlan[] {
  return connection.all(select).map(({ created_at, changed_at, source, ...same }) => ({
    ...same,
    source: JSON.parse(source) as PlanSource,
    createdAt: created_at,
    changedAt: changed_at,
  }));
}
