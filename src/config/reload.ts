/**
 * WORKFLOW.md while the loop runs. A changed file is taken up; a broken one leaves the last good settings in force,
 * and its problem stays visible until the file is mended. There is no timer here: the loop asks at each tick.
 */
import { statSync } from 'node:fs';
import type { Env } from './environment.ts';
import { loadSettings, type Settings } from './load.ts';
import { inOneLine } from './problems.ts';

export interface SettingsWatch {
  current(): Settings;
  /** Why the file as it stands is not in force; null when it is. */
  problem(): string | null;
  /** `reloaded` and `broken` are said once per change of the file, then `same`. */
  check(): Promise<'same' | 'reloaded' | 'broken'>;
}

/** Throws ConfigError when the first load fails: there is nothing good to keep yet. */
export function watchSettings(path: string, env: Env, root?: string): SettingsWatch {
  let seen = fingerprint(path);
  let settings = loadSettings(path, env, root);
  let problem: string | null = null;
  return {
    current: () => settings,
    problem: () => problem,
    async check() {
      const now = fingerprint(path);
      if (now === seen) return 'same';
      let loaded: Settings | null = null;
      let trouble: string | null = null;
      try {
        loaded = loadSettings(path, env, root);
      } catch (error) {
        trouble = inOneLine(error as Error & { hint?: string | null });
      }
      // Still being written: what was read may be half of it, so the next tick reads again.
      if (fingerprint(path) !== now) return 'same';
      seen = now;
      problem = trouble;
      if (!loaded) return 'broken';
      settings = loaded;
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
