/**
 * The commit that work is measured against, run through the same command on a tree of its own. What came of it is
 * remembered as an event, so that it is run once for all tasks on that commit.
 */
import { type BaseRun, setupDigest } from '../core/gate.ts';
import { trialDigest } from '../core/trial.ts';
import { type Circumstances, runIn } from './gate-command.ts';
import { type Prepared, prepareTree } from './gate-tree.ts';
import { packTests } from './packed-tests.ts';

interface Base {
  /** Null when there is nothing to compare with. Where the setup could not run, it is the setup's run. */
  run(command: string): Promise<BaseRun | null>;
  /** The runs that were really made. */
  made(): BaseRun[];
  dispose(): Promise<void>;
}

/** How many earlier runs are searched. Trunk moves on, and what fell out is only run once more. */
const REMEMBERED = 200;

export function createBase(
  circumstances: Circumstances,
  sha: string | null,
  memory: 'remembered' | 'anew' = 'remembered',
): Base {
  const { ports, signal, gate } = circumstances;
  const setup = setupDigest(gate);
  const fresh: BaseRun[] = [];
  let prepared: Prepared | null = null;

  return {
    run: async (command) =>
      sha === null
        ? null
        : ((await known(command, sha)) ?? (await landedGreen(command, sha)) ?? (await make(command, sha))),
    made: () => fresh,
    dispose: async () => prepared?.stage.dispose(),
  };

  async function known(command: string, at: string): Promise<BaseRun | null> {
    if (memory === 'anew') return null;
    const events = await ports.store.events({ type: 'gate_base_completed', last: REMEMBERED });
    const same = (run: BaseRun): boolean =>
      run.sha === at && run.command === ports.redact.command(command) && run.setup === setup && isWhole(run);
    return (
      events.flatMap((one) => (one.type === 'gate_base_completed' ? [one.data] : [])).findLast(same) ?? null
    );
  }

  /** Trunk is mostly what a candidate became, which has passed this very command. */
  async function landedGreen(command: string, at: string): Promise<BaseRun | null> {
    if (memory === 'anew') return null;
    const tree = await ports.repository.treeOf(at);
    const gates = await ports.store.events({ type: 'gate_completed', last: REMEMBERED });
    const evidence = gates.flatMap((one) => (one.type === 'gate_completed' ? [one.data.evidence] : []));
    const same = evidence.findLast((one) => one.tree === tree && one.trial === trialDigest(gate));
    const passed = same?.results.find(
      (one) =>
        one.command === ports.redact.command(command) &&
        one.criterion === undefined &&
        one.outcome === 'pass',
    );
    return passed ? { ...passed, sha: at, setup } : null;
  }

  async function make(command: string, at: string): Promise<BaseRun> {
    const log = `gate-base-${at.slice(0, 10)}-${fresh.length + 1}`;
    prepared ??= await prepareTree(circumstances, at, at, log);
    const { stage, broken } = prepared;
    const about = { sha: at, command, setup };
    // Under the name of what could not run, which is no command of the gate.
    if (broken) return { ...about, ...broken };
    const first = await runIn(circumstances, stage, command, log);
    // As on the work itself: red counts when it is red twice.
    const last =
      first.run.outcome === 'fail' && !signal.aborted
        ? await runIn(circumstances, stage, command, `${log}-again`)
        : first;
    const tests = last.report && { tests: packTests(last.report) };
    const run: BaseRun = { ...last.run, ...about, ...tests, tail: last.run.tail.slice(-4000) };
    if (!signal.aborted) fresh.push(run);
    return run;
  }
}

/** One of an older version named the tests that failed, and not those that passed. */
const isWhole = ({ outcome, failing, tests }: BaseRun): boolean =>
  outcome !== 'could_not_run' && (failing === undefined || tests !== undefined);
