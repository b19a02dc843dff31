/**
 * A loop-owned tree on which `gate.setup` has run, or on which its result was put from what is kept.
 *
 * Only setups of trunk are kept. A candidate with trunk's lockfiles uses trunk's setup, made there first if need be: its
 * own could plant whatever it likes for those who come after it.
 */

import type { CommandResult } from '../core/gate.ts';
import { digestOfValue } from '../core/text/digest.ts';
import { shortSha } from '../core/words/short-sha.ts';
import { UserError } from '../errors.ts';
import type { Setup, Stage } from '../workspace/workspace.ts';
import { type Circumstances, setUp } from './gate-command.ts';

export interface Prepared {
  stage: Stage;
  /** What of its setup could not run. */
  broken: CommandResult | null;
}

/** A tree that can't be made (a submodule that can't be fetched) is a gate that could not run, in the same words. */
export async function prepareTree(
  circumstances: Circumstances,
  commit: string,
  trunk: string | null,
  log: string,
): Promise<Prepared> {
  try {
    return await prepare(circumstances, commit, trunk, log);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { stage: NOWHERE, broken: unmade(commit, error) };
  }
}

const NOWHERE: Stage = {
  path: '',
  home: '',
  key: null,
  ready: false,
  keep: async () => null,
  dispose: async () => {},
};

const unmade = (commit: string, { message, hint }: UserError): CommandResult => ({
  command: `git checkout ${shortSha(commit)}`,
  outcome: 'could_not_run',
  problem: `could not be done: ${message}`,
  exitCode: null,
  tail: hint ?? '',
  logPath: null,
  durationMs: 0,
});

async function prepare(
  circumstances: Circumstances,
  commit: string,
  trunk: string | null,
  log: string,
): Promise<Prepared> {
  const { ports, task, gate } = circumstances;
  const kept: Setup = { commands: gate.setupCache ? gate.setup : [], env: digestOfValue(gate.env) };
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
