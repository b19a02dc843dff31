/** The settings in force, with the origin of each key. */
import { type EffectiveKey, effectiveConfig } from '../config/effective.ts';
import type { Warning } from '../config/load.ts';
import type { Context } from '../context.ts';
import type { ConfigProblem } from '../errors.ts';

interface ConfigView {
  path: string;
  problem: string | null;
  /** Everything that is wrong with the file, when it can't be used. */
  problems: readonly ConfigProblem[];
  warnings: Warning[];
  keys: EffectiveKey[];
}

export async function config(context: Context): Promise<ConfigView> {
  const { settings, problem } = await context.settings();
  return {
    path: context.configPath,
    problem: problem?.message ?? null,
    problems: problem?.problems ?? [],
    warnings: settings.warnings,
    keys: effectiveConfig(settings),
  };
}
