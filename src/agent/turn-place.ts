/** Where an agent works and what its process is told, whatever drives it. */
import { lstatSync, mkdirSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { childEnvironment } from '../process/environment.ts';
import type { TurnRequest } from './agent.ts';

/** Refuses a turn that would run outside a workspace, or keep its own data in one; makes the rest. */
export async function preparePlaces(turn: TurnRequest): Promise<void> {
  if (!isAbsolute(turn.cwd) || !isDirectory(turn.cwd)) {
    throw new Error(`the workspace ${turn.cwd} is not a directory, so no agent was started`);
  }
  for (const ours of [turn.sessionDir, turn.home, turn.logPath]) {
    if (!relative(turn.cwd, ours).startsWith('..')) {
      throw new Error(
        `${ours} lies inside the workspace ${turn.cwd}, where the agent's changes are taken from`,
      );
    }
  }
  mkdirSync(turn.home, { recursive: true });
  // A resumed session has its directory; making one would hide that it was lost.
  if (!turn.resume) mkdirSync(turn.sessionDir, { recursive: true });
}

/** Itself, not what a link leads to. */
function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Said once, when the session begins: a session that goes on has what it began with. */
export const fromTrunk = (conventions: string): string =>
  `The project's conventions, as trunk has them:\n${conventions}`;

/** What an agent is sent that has no other place for them; a session that goes on replays it. */
export const withConventions = ({ prompt, conventions, resume }: TurnRequest): string =>
  conventions && !resume ? `${fromTrunk(conventions)}\n\n${prompt}` : prompt;

export function turnEnvironment(
  turn: TurnRequest,
  more: Record<string, string> = {},
): Record<string, string> {
  const extra: Record<string, string> = {
    ...more,
    FORGE_ROLE: turn.role,
    FORGE_TASK: turn.task,
    FORGE_TURN: String(turn.number),
    FORGE_SESSION_ID: turn.sessionId,
    FORGE_SESSION_DIR: turn.sessionDir,
    FORGE_RESUME: turn.resume ? '1' : '0',
  };
  if (turn.issue != null) extra.FORGE_ISSUE = String(turn.issue);
  const { home, mark, identity, policy } = turn;
  return childEnvironment({ home, mark, identity, env: policy.env, extra });
}
