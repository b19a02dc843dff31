/**
 * WORKFLOW.md while the loop runs. A changed file is taken up; one that is broken, or that a start would refuse, leaves
 * the last good settings in force, and its problem stays visible until it is fixed. There is no timer here: the loop
 * asks at each tick.
 */
import { statSync } from 'node:fs';
import type { Env } from './environment.ts';
import { loadSettings, type Settings } from './load.ts';
import { inOneLine } from './problems.ts';

export interface SettingsWatch {
  current(): Settings;
  /** Why the file as it stands is not in force; null when it is. */
  problem(): string | null;
  /** `reloaded` and `broken` are said once per change of the file or of its problem, then `same`. */
  check(): Promise<'same' | 'reloaded' | 'broken'>;
}

/** What else must hold before settings replace those in force: throws, in words for a person, when it does not. */
export type RequireAcceptable = (next: Settings, inForce: Settings) => Promise<void>;

/** Throws ConfigError when the first load fails: there is nothing good to keep yet. The first is taken as it is. */
export function watchSettings(
  path: string,
  env: Env,
  { root, requireAcceptable }: { root?: string; requireAcceptable?: RequireAcceptable } = {},
): SettingsWatch {
  let seen = fingerprint(path);
  let settings = loadSettings(path, env, root);
  let problem: string | null = null;
  let isRefused = false;
  return {
    current: () => settings,
    problem: () => problem,
    async check() {
      const now = fingerprint(path);
      // What was refused may be fixed elsewhere: the agent is installed, the script is written.
      if (now === seen && !isRefused) return 'same';
      let loaded: Settings | null = null;
      let trouble: string | null = null;
      try {
        loaded = loadSettings(path, env, root);
        await requireAcceptable?.(loaded, settings);
      } catch (error) {
        trouble = inOneLine(error as Error & { hint?: string | null });
      }
      // Still being written: what was read may be half of it, so the next tick reads again.
      if (fingerprint(path) !== now) return 'same';
      const isNews = now !== seen || trouble !== problem;
      seen = now;
      problem = trouble;
      isRefused = loaded !== null && trouble !== null;
      if (trouble !== null) return isNews ? 'broken' : 'same';
      settings = loaded!;
      return 'reloaded';
    },
  };
}

function fingerprint(path: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(':');
  } catch (error) {
    return `unreadable: ${(error as NodeJS.ErrnoException).code}`;
  }
}
