/**
 * A loop-owned tree on which `gate.setup` has run, or on which its result was put from what is kept.
 *
 * Only setups of trunk are kept. A candidate with trunk's lockfiles uses trunk's setup, made there first if need be: its
 * own could plant whatever it likes for those who come after it.
 */
import type { CommandResult } from '../core/gate.ts';
import type { Stage } from '../workspace/workspace.ts';
import { type Circumstances, setUp } from './gate-command.ts';

export interface Prepared {
  stage: Stage;
  /** What of its setup could not run. */
  broken: CommandResult | null;
}

export async function prepareTree(
  circumstances: Circumstances,
  commit: string,
  trunk: string | null,
  log: string,
): Promise<Prepared> {
  const { ports, task, gate } = circumstances;
  const kept = gate.setupCache ? gate.setup : [];
  const open = (at: string): Promise<Stage> => ports.workspaces.stage(at, `gate-${task}`, kept);
  let stage = await open(commit);
  try {
    if (!stage.ready && trunk !== null && commit !== trunk && (await hasSetupOf(trunk))) {
      await stage.dispose();
      await prepareTrunk(trunk);
      stage = await open(commit);
    }
    if (stage.ready) return { stage, broken: null };
    const broken = await setUp(circumstances, stage, log);
    if (broken === null && commit === trunk) await keep(stage);
    return { stage, broken };
  } catch (error) {
    await stage.dispose();
    throw error;
  }

  async function hasSetupOf(other: string): Promise<boolean> {
    return stage.key !== null && stage.key === (await ports.workspaces.setupKey(other, kept));
  }

  async function prepareTrunk(at: string): Promise<void> {
    const model = await open(at);
    try {
      if (!model.ready && (await setUp(circumstances, model, `${log}-trunk`)) === null) await keep(model);
    } finally {
      await model.dispose();
    }
  }

  async function keep(made: Stage): Promise<void> {
    const why = await made.keep();
    if (why !== null) ports.log('info', `the result of gate.setup is not kept: ${why}`, { task });
  }
}
