/** The tables as kysely sees them; migrations.ts makes them. Booleans are 0 and 1. */
import type { Generated } from 'kysely';
import type { Finding, Severity } from '../../core/change/findings.ts';
import type { PromptKind, TurnStatus } from '../../core/event.ts';
import type { Reason, State } from '../../core/machine.ts';
import type { PlanStatus } from '../../core/plan/stored.ts';
import type { RequestKind } from '../../core/request.ts';
import type { Role } from '../../core/role.ts';
import type { LoopRow } from '../store.ts';

export interface Schema {
  tasks: TasksTable;
  events: EventsTable;
  actions: ActionsTable;
  leases: LeasesTable;
  turns: TurnsTable;
  usage: UsageTable;
  spent_by_hour: SpentTable;
  findings: FindingsTable;
  requests: RequestsTable;
  processes: ProcessesTable;
  plans: PlansTable;
  loop: LoopTable;
}

/** `data` is the whole task as JSON; the other columns are what queries, limits and people look for. */
export interface TasksTable {
  id: string;
  issue: number | null;
  attempt: number;
  state: State;
  reason: Reason | null;
  turns: number;
  critic_rounds: number;
  session_id: string | null;
  pull: number | null;
  head_sha: string | null;
  slot: number;
  judging: number;
  ended: number;
  version: number;
  created_at: number;
  data: string;
}

export interface EventsTable {
  seq: number;
  at: number;
  task: string | null;
  type: string;
  data: string;
}

export interface ActionsTable {
  id: Generated<number>;
  task: string | null;
  action: string;
  started_at: number | null;
  attempts: number;
  not_before: number;
}

export interface LeasesTable {
  key: string;
  owner: string | null;
  fencing: number;
  expires_at: number;
  boot: string | null;
  boot_expires_at: number | null;
  bound_at: number | null;
}

interface TurnsTable {
  id: Generated<number>;
  task: string;
  turn: number;
  role: Role;
  session: string;
  prompt: PromptKind;
  status: TurnStatus | null;
  started_at: number;
  ended_at: number | null;
}

interface UsageTable {
  task: string;
  turn: number;
  role: Role;
  session: string;
  key: string;
  model: string;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  reasoning: number;
  cost_usd: number | null;
  at: number;
}

/** The sums of `usage` by hour since 1970; a trigger keeps them. `blind` are calls of which no cost is known. */
interface SpentTable {
  hour: number;
  cost: number;
  tokens: number;
  blind: number;
  unpriced: number;
}

interface FindingsTable {
  task: string;
  id: string;
  severity: Severity;
  status: Finding['status'];
  data: string;
}

interface RequestsTable {
  id: Generated<number>;
  task: string;
  kind: RequestKind;
  by: string;
  at: number;
  finding: string | null;
  why: string | null;
  head: string | null;
}

interface ProcessesTable {
  boot_id: string;
  pid: number;
  start_time: string;
  task: string;
  purpose: string;
  lease: string;
}

/** `source` is JSON. */
interface PlansTable {
  id: string;
  name: string;
  title: string;
  text: string;
  hash: string;
  source: string;
  status: PlanStatus;
  by: string;
  created_at: number;
  changed_at: number;
}

export interface LoopTable {
  id: number;
  paused_by: string | null;
  stop: LoopRow['stop'];
  config_problem: string | null;
  commands_since: number | null;
  deploy: string | null;
  deploy_again: string | null;
  notify: string | null;
  telemetry: number | null;
  trunk: string | null;
  account_limits: string | null;
  holds: string | null;
  trials: string | null;
}
