/** The settings in force, with the origin of each key. */
import { type EffectiveKey, effectiveConfig } from '../config/effective.ts';
import type { Warning } from '../config/load.ts';
import type { Context } from '../context.ts';

export interface ConfigView {
  path: string;
  problem: string | null;
  warnings: Warning[];
  keys: EffectiveKey[];
}

export async function config(context: Context): Promise<ConfigView> {
  const { settings, problem } = await context.settings();
  return {
    path: context.configPath,
    problem: problem?.message ?? null,
    warnings: settings.warnings,
    keys: effectiveConfig(settings),
  };
}
