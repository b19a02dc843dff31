/**
 * Claude's program as a person starts it, with the conversation, the settings and the way to its provider that a turn has. It asks them
 * before it acts, as it does anywhere.
 */
import { join } from 'node:path';
import { z } from 'zod';
import type { TurnRequest } from '../agent.ts';
import { type GrantedServer, serversFileOf } from '../mcp-servers.ts';
import { mayRoam } from '../passage.ts';
import { plainText, replaceFile } from '../replace-file.ts';
import { skillPlugin } from '../skills.ts';
import { claudeEnvironment, effortOf, OF_PROVIDER } from './options.ts';
import { claudeProgram } from './sdk.ts';
import { configDir } from './transcript.ts';

export function interactiveClaude(
  turn: TurnRequest,
  credential: Record<string, string>,
  servers: readonly GrantedServer[],
  program: string = claudeProgram(),
): { argv: string[]; env: Record<string, string> } {
  const { policy, skill } = turn;
  const env = claudeEnvironment(turn, credential);
  answerBeforehand(turn, env.ANTHROPIC_API_KEY);
  return {
    env,
    argv: [
      ...[program, '--resume', turn.sessionId, '--permission-mode', 'manual'],
      // Nothing that the branch brings along configures it.
      ...['--setting-sources', '', '--strict-mcp-config'],
      ...(servers.length > 0 ? ['--mcp-config', serversFileOf(turn)] : []),
      ...(policy.model === null ? [] : ['--model', policy.model]),
      ...(policy.effort === null ? [] : ['--effort', effortOf(policy.effort)]),
      ...(skill ? ['--plugin-dir', skillPlugin(skill)] : []),
      ...(mayRoam(turn) ? [] : ['--disallowedTools', OF_PROVIDER.join(',')]),
    ],
  };
}

const settings = z.looseObject({ projects: z.record(z.string(), z.looseObject({})).catch({}) });

/** What it would ask somebody who starts it for the first time, in a home that nobody has used. */
function answerBeforehand({ sessionDir, cwd }: TurnRequest, key: string | undefined): void {
  const path = join(configDir(sessionDir), '.claude.json');
  const known = settings.safeParse(parsed(plainText(path))).data ?? { projects: {} };
  replaceFile(
    path,
    JSON.stringify({
      theme: 'dark',
      ...known,
      hasCompletedOnboarding: true,
      ...(key && { customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] } }),
      projects: {
        ...known.projects,
        [cwd]: { ...known.projects[cwd], hasTrustDialogAccepted: true },
      },
    }),
  );
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return {};
  }
}
