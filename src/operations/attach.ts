/** A person opens a task's session in the agent's own program, at this terminal. */
import type { Context } from '../context.ts';
import { refusal } from '../core/request.ts';
import { nameOfTask } from '../core/task.ts';
import { UserError } from '../errors.ts';
import { attach, type Detached } from '../loop/attach.ts';
import { taskLease } from '../store/store.ts';
import { isRunnerAlive, isStale } from '../view.ts';
import { findTask } from './reference.ts';

interface Left {
  task: string;
  name: string;
  state: string;
  how: Detached['how'];
  detail: string;
  durationMs: number;
  tokens: number;
  costUsd: number | null;
  headBefore: string | null;
  /** Null when what they changed could not be saved yet. */
  head: string | null;
  changed: boolean;
  /** Whether it waits until somebody resumes it. */
  paused: boolean;
  runnerAlive: boolean;
}

export async function attachToTask(
  context: Context,
  input: { task: string; now: boolean; keepPaused: boolean },
): Promise<Left> {
  const reader = await context.reading();
  const { task } = await findTask(reader, input.task);
  const [lease] = await reader!.leases(taskLease(task.id));
  const isCutOff = task.attached && (!lease || isStale(lease, context));
  const refused = refusal(isCutOff ? { ...task, attached: null } : task, 'attach');
  if (refused) throw new UserError(refused.why, refused.advice);
  const ports = await context.ports();
  const agent = ports.agentFor('coder');
  const policy = ports.settings.policy().agents.coder;
  if (!agent.attach)
    throw new UserError(
      `Agents of kind \`${agent.kind}\` have no program for a person at a terminal.`,
      `The worktree is ${task.workspace}; \`forge-loop task tell ${task.issue ?? task.id} "…"\` tells its coder something.`,
    );
  const missing = (await agent.unattachable?.(policy)) ?? (await agent.unavailable(policy));
  if (missing) throw new UserError(missing);
  const person = await context.atTerminal();
  if (person === null)
    throw new UserError(
      'There is no terminal here: attach needs one to type into, and to show the program.',
      'Run it in a terminal, without a pipe.',
    );
  const name = nameOfTask(task);
  try {
    const left = await attach(ports, task.id, {
      by: await context.operator(),
      now: input.now,
      keepPaused: input.keepPaused,
      signal: person.gone,
      onWait: (why) =>
        person.note(
          `${name}: waiting for ${why}.${input.now ? '' : ' `--now` stops a turn instead.'} Ctrl-C gives up.`,
        ),
      isRunnerAlive: async () => isRunnerAlive(ports.store, context),
    });
    const { task: after } = left;
    if (left.how === 'not_started') throw new UserError(`${name} could not be attached to: ${left.detail}`);
    return {
      task: task.id,
      name,
      state: after.state,
      how: left.how,
      detail: left.detail,
      durationMs: left.durationMs,
      tokens: left.tokens,
      costUsd: left.costUsd,
      headBefore: left.headBefore,
      head: after.head?.sha ?? null,
      changed: after.head === null || after.head.sha !== left.headBefore,
      paused: after.hold?.reason === 'operator_pause',
      runnerAlive: await isRunnerAlive(ports.store, context),
    };
  } finally {
    person.close();
  }
}
