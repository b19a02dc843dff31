/**
 * A person attaches to an agent that is a program: `agent.attach_command`, with all that a turn of it is told but a prompt and a place
 * for a result.
 */
import type { AgentPolicy } from '../core/policy.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Exit } from '../process/dialogue.ts';
import { failed, notStarted, type TurnHooks, type TurnRequest, type TurnResult } from './agent.ts';
import { pathsIn } from './command.ts';
import { credentialIn, heldIn } from './held-keys.ts';
import { serversFileOf, withServers } from './mcp-servers.ts';
import { through } from './passage.ts';
import type { Programs } from './programs.ts';
import { preparePlaces, turnEnvironment } from './turn-place.ts';

export async function attachProgram(
  { programs, gateway }: { programs: Programs; gateway: Gateway },
  given: TurnRequest,
  told: TurnHooks,
): Promise<TurnResult> {
  const line = given.policy.attachCommand;
  if (line === null) return failed('could_not_start', NO_ATTACH_COMMAND, true);
  const environment = turnEnvironment(given);
  try {
    await preparePlaces(given);
    return await through(gateway, given, told, credentialIn(environment), ({ turn, hooks, route }) =>
      withServers(turn, hooks, async (place, servers) => {
        const own = servers.length > 0 ? { FORGE_MCP: serversFileOf(turn) } : {};
        const env = turnEnvironment(place, { ...heldIn(environment, route), ...own });
        const command = { argv: ['/bin/sh', '-c', line], env, reads: pathsIn(line) };
        return left(await programs.attach(command, place, hooks), route !== null);
      }),
    );
  } catch (error) {
    return notStarted(error);
  }
}

/** How a person's program ended says nothing about the work. */
export const left = ({ code, signal }: Exit, usageKnown: boolean): TurnResult => ({
  status: 'finished',
  text: signal ? `was ended by ${signal}` : `exited with ${code ?? 'no code'}`,
  structured: null,
  usageKnown,
});

export const whyNoProgram = async ({ attachCommand }: AgentPolicy): Promise<string | null> =>
  attachCommand === null ? NO_ATTACH_COMMAND : null;

const NO_ATTACH_COMMAND =
  'agent.attach_command is not set: give the shell command that starts your agent for a person at a terminal';
