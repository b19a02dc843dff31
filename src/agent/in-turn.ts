/**
 * A command that is run by an agent in a turn: it must neither start a loop of its own nor steer the one that runs it, also
 * where it went past the stand-in for our program. The turn hears of it as of any other refusal.
 */

import { UserError } from '../errors.ts';
import { REFUSALS } from './refusal.ts';
import { noteRefusal } from './stand-ins.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export const isInTurn = (env: Environment): boolean =>
  env.FORGE_ROLE !== undefined && env.FORGE_SESSION_DIR !== undefined;

export function refuseInTurn(command: string, env: Environment): void {
  const { FORGE_ROLE: role, FORGE_SESSION_DIR: sessionDir } = env;
  if (role === undefined || sessionDir === undefined) return;
  noteRefusal(sessionDir, 'loop', `forge-loop ${command}`);
  throw new UserError(`Refused: ${REFUSALS.loop}.`);
}
