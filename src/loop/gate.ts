/**
 * Runs the gate: in the workspace for the coder's feedback, and on a loop-owned tree of the exact candidate for the
 * merge. The commands never come from the tree they judge.
 *
 * A red command is run once more in the same tree; one that stays red is compared with the base commit.
 */
import type { Action } from '../core/action.ts';
import { type TestReport, vanishedTests } from '../core/change/test-report.ts';
import {
  asCriterion,
  type BaseRun,
  type CommandResult,
  type CommandRun,
  commandsTogether,
  type Evidence,
  type GateCommand,
  gateCommands,
  gateDigest,
  overall,
} from '../core/gate.ts';
import { required, type Task } from '../core/task.ts';
import { trialDigest } from '../core/trial.ts';
import { couldNotRunText, UNCONFINED_CRITERION } from '../core/words/words.ts';
import type { Lease } from '../store/store.ts';
import type { Stage } from '../workspace/workspace.ts';
import { chosenSandbox } from './command.ts';
import { createBase } from './gate-base.ts';
import { type GatePlace, runIn, setUp } from './gate-command.ts';
import { type Prepared, prepareTree } from './gate-tree.ts';
import { unpackTests } from './packed-tests.ts';
import type { Ports } from './ports.ts';

type GateAction = Extract<Action, { kind: 'gate' }>;

/** Null when it was cut short: what is known then proves nothing, in particular no pass. */
export async function runGate(
  ports: Ports,
  task: Task,
  action: GateAction,
  lease: Lease,
  signal: AbortSignal,
): Promise<{ evidence: Evidence; bases: BaseRun[] } | null> {
  const { gate } = ports.settings.policy();
  const circumstances = { ports, task: task.id, lease, signal, gate };
  const base = createBase(circumstances, action.base ?? null);
  const name = `gate-${action.scope}-${action.tree.slice(0, 10)}`;
  const others = await testedTogether(ports, action);
  const place = await openPlace();
  try {
    const results = await judged();
    if (signal.aborted) return null;
    const evidence: Evidence = {
      tree: action.tree,
      outcome: overall(results, gate.preexisting),
      results,
      at: ports.clock.now(),
      digest: gateDigest(gate, task.contract),
      ...(others.length > 0 && { alsoFor: others.map(({ contract }) => gateDigest(gate, contract)) }),
      ...(action.scope !== 'work' && { trial: trialDigest(gate) }),
    };
    if (evidence.outcome === 'could_not_run')
      ports.log('warn', `the gate could not run: ${couldNotRunText(evidence)}`, { task: task.id });
    return { evidence, bases: base.made() };
  } finally {
    await place.dispose();
    await base.dispose();
  }

  async function openPlace(): Promise<GatePlace & Pick<Prepared, 'broken'> & Pick<Stage, 'dispose'>> {
    if (action.scope !== 'work') {
      const { stage, broken } = await prepareTree(circumstances, action.commit, action.base ?? null, name);
      return { ...stage, broken };
    }
    const place = { path: required(task, 'workspace'), home: ports.places.home(task.id, 'commands') };
    return { ...place, broken: await setUp(circumstances, place, name), dispose: async () => {} };
  }

  async function judged(): Promise<CommandResult[]> {
    if (place.broken) return [place.broken];
    const results: CommandResult[] = [];
    const commands =
      others.length > 0 ? commandsTogether(gate, [task, ...others]) : gateCommands(gate, task.contract);
    for (const [index, command] of commands.entries()) {
      if (signal.aborted) break;
      const same = results.find((result) => result.command === command.command);
      results.push(same ? shared(same, command) : await judge(command, `${name}-${index + 1}`));
    }
    return results;
  }

  async function judge(asked: GateCommand, log: string): Promise<CommandResult> {
    const { command, criterion } = asked;
    const about = { command, ...asCriterionOf(asked) };
    if (criterion !== null && !(await mayRunStrangers(ports))) return { ...about, ...UNCONFINED };
    const run = async (name: string) => {
      const ended = await runIn(circumstances, place, command, name);
      return criterion === null ? ended : { ...ended, run: asCriterion(ended.run, command) };
    };
    const { run: first } = await run(log);
    if (first.outcome !== 'fail' || signal.aborted) return { ...about, ...first };
    const { run: again, report } = await run(`${log}-again`);
    const result: CommandResult = { ...about, ...again, first: brief(first) };
    // A criterion is expected to be red before the work.
    if (again.outcome !== 'fail' || signal.aborted || criterion !== null) return result;
    const before = await base.run(command);
    return before ? compared(result, report, before) : result;
  }
}

/** With what the base commit came to. Its tests stay where that is remembered. */
function compared(
  result: CommandResult,
  report: TestReport | null,
  { tests, ...base }: BaseRun,
): CommandResult {
  const whole = { ...result, base: { ...base, ...brief(base) } };
  if (report === null || tests === undefined) return whole;
  const vanished = vanishedTests(unpackTests(tests), report);
  return { ...whole, vanished: { count: vanished.length, some: vanished.slice(0, SHOWN) } };
}

const SHOWN = 3;

/** What an issue's text says runs with the operator's rights only where the operator says so. */
async function mayRunStrangers(ports: Ports): Promise<boolean> {
  if (ports.settings.policy().gate.criteriaCommands === 'always') return true;
  return (await chosenSandbox(ports)).kind !== 'none';
}

const UNCONFINED: CommandRun = {
  outcome: 'could_not_run',
  problem: UNCONFINED_CRITERION,
  exitCode: null,
  tail: '',
  logPath: null,
  durationMs: 0,
};

/** Several criteria may name one command: it is run once, and proves each of them. */
function shared({ base: _, ...result }: CommandResult, command: GateCommand): CommandResult {
  return { ...result, ...asCriterionOf(command) };
}

const asCriterionOf = ({ criterion, of }: GateCommand): Pick<CommandResult, 'criterion' | 'of'> =>
  criterion === null ? {} : { criterion, ...(of !== undefined && { of }) };

/** As they are now: whoever changed since finds that it was not tested by what it wants. */
async function testedTogether({ store }: Ports, { with: others = [] }: GateAction): Promise<Task[]> {
  const found = await Promise.all(others.map(({ task }) => store.task(task)));
  return found.flatMap((stored) => stored?.task ?? []);
}

/** What was red before the run that counts is kept as evidence, not as reading matter. */
const brief = (run: CommandRun): CommandRun => ({ ...run, tail: run.tail.slice(-2000) });
