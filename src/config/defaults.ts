/** The settings of a repository that has no WORKFLOW.md, or one that can't be used: everything at its default. */
import { resolve } from 'node:path';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';
import type { Settings } from './load.ts';
import { toPolicy } from './policy.ts';
import { workflowSchema } from './schema.ts';

export function defaultSettings(path: string): Settings {
  const workflow = workflowSchema.parse({});
  return {
    path: resolve(path),
    policy: toPolicy(workflow),
    tracker: workflow.tracker,
    workspace: workflow.workspace,
    prompts: DEFAULT_PROMPTS,
    workflow,
    warnings: [],
    origins: {},
  };
}
