/**
 * The task machine: every state, every edge, every reason to end, as data.
 *
 * An edge that is not in EDGES does not exist: `transition` refuses to take it. The reasons of `abandoned` each
 * carry an outcome class and the advice a person is shown.
 */

export const STATES = [
  'queued',
  'dispatched',
  'running',
  'awaiting_critic',
  'revising',
  'merging',
  'merged',
  'completed',
  'abandoned',
] as const;
export type State = (typeof STATES)[number];

const TERMINAL: readonly State[] = ['merged', 'completed', 'abandoned'];
export const isTerminal = (state: State): boolean => TERMINAL.includes(state);

interface Edge {
  from: State | 'none';
  to: State;
  when: string;
}

const LIVE = STATES.filter((state) => !isTerminal(state));

export const EDGES: readonly Edge[] = [
  { from: 'none', to: 'queued', when: 'an eligible issue was claimed' },
  { from: 'queued', to: 'dispatched', when: 'a slot is granted' },
  { from: 'dispatched', to: 'running', when: 'the workspace is ready and the first turn is about to start' },
  { from: 'dispatched', to: 'completed', when: 'a plan was drafted' },
  { from: 'dispatched', to: 'queued', when: 'recovery or a hold before anything was done' },
  { from: 'running', to: 'awaiting_critic', when: 'gate passed, branch pushed, pull request ensured' },
  { from: 'running', to: 'completed', when: 'a plan or goal that delivers a branch is clean' },
  {
    from: 'awaiting_critic',
    to: 'revising',
    when: 'there is feedback, or a person changed its worktree, and a slot is granted',
  },
  { from: 'awaiting_critic', to: 'awaiting_critic', when: 'a person pushed a new head' },
  { from: 'awaiting_critic', to: 'merging', when: 'approved at the current head' },
  { from: 'revising', to: 'awaiting_critic', when: 'gate passed at the new head, pushed' },
  { from: 'merging', to: 'merged', when: 'the merge was observed on trunk' },
  { from: 'merging', to: 'revising', when: 'conflict or red gate on the merged tree, and a slot is free' },
  { from: 'merging', to: 'awaiting_critic', when: 'the head moved, or the merge has to wait' },
  ...LIVE.filter((from) => from !== 'merging').map((from) => ({
    from,
    to: 'merged' as const,
    when: 'a person merged it',
  })),
  ...LIVE.map((from) => ({ from, to: 'abandoned' as const, when: 'see the reason' })),
  { from: 'abandoned', to: 'queued', when: 'a person restarts it' },
];

export function isEdge(from: State | 'none', to: State): boolean {
  return EDGES.some((edge) => edge.from === from && edge.to === to);
}

export type OutcomeClass = 'failure' | 'neutral' | 'operator';

interface ReasonInfo {
  outcome: OutcomeClass;
  says: string;
  advice: string;
}

/** Why a task was abandoned: what class of outcome that is, what happened, and what to do about it. */
export const REASONS = {
  max_turns_reached: {
    outcome: 'failure',
    says: 'the turn limit was reached before the gate passed',
    advice:
      'See what its last turn and gate left open; narrow the issue or raise agent.max_turns, then mark it ready again.',
  },
  max_critic_rounds: {
    outcome: 'failure',
    says: 'the critic still asked for changes in its last allowed round',
    advice: 'Read the open findings on the pull request; finish it by hand or sharpen the issue.',
  },
  critic_blocked: {
    outcome: 'failure',
    says: 'the critic blocked the change',
    advice:
      'Read the blocking finding: the approach was judged wrong. Remove the blocked label before you mark the issue ready again.',
  },
  critic_unusable: {
    outcome: 'failure',
    says: 'the critic never returned a usable report',
    advice: 'Run `forge-loop doctor`, check roles.critic, then `forge-loop task retry`.',
  },
  spec_rejected: {
    outcome: 'failure',
    says: "the issue can't be met or checked as written",
    advice: 'Answer the questions in its comments by editing the issue, then mark it ready again.',
  },
  finding_stuck: {
    outcome: 'failure',
    says: 'the same finding stayed open for three rounds in a row',
    advice: 'Fix it by hand or accept it with `forge-loop findings wontfix`, then `forge-loop task restart`.',
  },
  no_progress: {
    outcome: 'failure',
    says: 'several turns in a row changed nothing',
    advice: 'The agent is stuck; make the next step explicit in the issue.',
  },
  budget_exhausted: {
    outcome: 'failure',
    says: 'the budget of this task is spent',
    advice: 'Raise `budget` or split the issue.',
  },
  stall_timeout: {
    outcome: 'failure',
    says: 'the agent repeatedly went silent',
    advice:
      'Check the turn log; if the silence is normal, raise agent.stall_timeout_ms (thinking) or agent.tool_timeout_ms (a running tool).',
  },
  error_max_retries: {
    outcome: 'failure',
    says: 'the agent failed too many times in a row',
    advice: 'Read the turn log and run `forge-loop doctor`.',
  },
  audit_retry_exhausted: {
    outcome: 'failure',
    says: 'the auditor kept failing',
    advice: 'Check roles.auditor, then restart the task.',
  },
  final_audit_retry_exhausted: {
    outcome: 'failure',
    says: 'the final audit kept failing',
    advice: 'Check roles.auditor, then restart the task.',
  },
  max_iterations: {
    outcome: 'failure',
    says: 'the loop reached its iteration limit',
    advice: 'Raise loop.max_iterations or split the plan.',
  },
  provider_limit: {
    outcome: 'failure',
    says: 'the provider refused further use and named no reset time',
    advice: 'Check the account, then retry.',
  },
  issue_closed: {
    outcome: 'neutral',
    says: 'the issue was closed during the work',
    advice: 'Nothing to do. To start again, reopen it and mark it ready.',
  },
  label_withdrawn: {
    outcome: 'neutral',
    says: 'its label was withdrawn',
    advice: 'Nothing to do. To start again, mark it ready.',
  },
  pull_closed: {
    outcome: 'neutral',
    says: 'its pull request was closed by a person',
    advice: 'Say in the issue what was wrong, then mark it ready again.',
  },
  branch_deleted: {
    outcome: 'neutral',
    says: 'its branch was deleted',
    advice: 'To start over, mark the issue ready again.',
  },
  superseded: {
    outcome: 'neutral',
    says: 'trunk already has what it asked for',
    advice: 'Close the issue, or say what is still missing.',
  },
  cancelled: {
    outcome: 'operator',
    says: 'it was cancelled',
    advice: '`forge-loop task restart` resumes it.',
  },
  operator_abandon: {
    outcome: 'operator',
    says: 'an operator abandoned it',
    advice: 'The worktree is kept; `forge-loop task retry` starts a new attempt.',
  },
  crash_recovery_failed: {
    outcome: 'failure',
    says: 'it could not be recovered after a crash',
    advice:
      '`forge-loop task restart` continues with the work it has; if its worktree is gone, `forge-loop task retry` starts a new attempt.',
  },
  workspace_failed: {
    outcome: 'failure',
    says: 'its workspace could not be prepared',
    advice: 'Run `forge-loop doctor`; check disk space, hooks and workspace.root.',
  },
  sandbox_failed: {
    outcome: 'failure',
    says: 'the required sandbox could not confine it',
    advice: 'Run `forge-loop doctor`; install the sandbox or choose another.',
  },
} as const satisfies Record<string, ReasonInfo>;

export type Reason = keyof typeof REASONS;
