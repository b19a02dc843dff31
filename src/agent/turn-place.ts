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
  `The project's conventions, from trunk:\n${conventions}`;

/** What an agent is sent that has no other place for them; a session that goes on replays it. */
export const withConventions = ({ prompt, conventions, resume }: TurnRequest): string =>
  conventions && !resume ? `${fromTrunk(conventions)}\n\n${prompt}` : prompt;

export function turnEnvironment(
  turn: TurnRequest,
  more: Record<string, string> = {},
): Record<string, string> {
  const extra = { ...more, ...turnVariables(turn) };
  const { home, mark, identity, policy } = turn;
  return childEnvironment({ home, mark, identity, env: policy.env, extra });
}

/** What every program of an agent is told of its turn. */
export const turnVariables = ({
  role,
  task,
  number,
  sessionId,
  sessionDir,
  resume,
  issue,
}: Pick<TurnRequest, 'role' | 'task' | 'number' | 'sessionId' | 'sessionDir' | 'resume' | 'issue'>): Record<
  string,
  string
> => ({
  FORGE_ROLE: role,
  FORGE_TASK: task,
  FORGE_TURN: String(number),
  FORGE_SESSION_ID: sessionId,
  FORGE_SESSION_DIR: sessionDir,
  FORGE_RESUME: resume ? '1' : '0',
  ...(issue != null && { FORGE_ISSUE: String(issue) }),
});
