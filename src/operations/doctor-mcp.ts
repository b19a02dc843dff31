/** What doctor says of MCP servers: who has which, and whether their programs are here. */
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Workflow } from '../config/schema.ts';
import type { Context } from '../context.ts';
import type { Policy } from '../core/policy.ts';
import { ROLES } from '../core/role.ts';
import type { Check } from './doctor.ts';

export async function mcp(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  return problem ? [] : mcpServers(settings.workflow.mcp, settings.policy);
}

export function mcpServers(
  described: Workflow['mcp'],
  { agents }: Pick<Policy, 'agents'>,
  path = process.env.PATH,
): Check[] {
  return Object.entries(described).map(([name, { command }]) => {
    const [program = ''] = command;
    const holders = ROLES.flatMap((role) => {
      const server = agents[role].mcp.find((one) => one.name === name);
      if (!server) return [];
      return [server.tools === null ? `the ${role}` : `the ${role} (only ${server.tools.join(', ')})`];
    });
    if (holders.length === 0)
      return check('warn', `${name}: granted to no role`, 'Name it in `roles.<role>.access.mcp`.');
    if (!isHere(program, path))
      return check(
        'warn',
        `${name} starts ${program}, which is not there`,
        `Install it, or correct \`mcp.${name}.command\`.`,
      );
    return check('ok', `${name}: for ${holders.join(', ')}`);
  });
}

const isHere = (program: string, path = ''): boolean =>
  isAbsolute(program)
    ? existsSync(program)
    : path.split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, program)));

const check = (level: Check['level'], what: string, fix: string | null = null): Check => ({
  name: 'mcp',
  level,
  what,
  fix,
});
