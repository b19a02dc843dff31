import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { testPolicy } from '../../test/support/policy.ts';
import type { McpServer } from '../core/policy.ts';
import type { Role } from '../core/role.ts';
import { mcpServers } from './doctor-mcp.ts';

const HERE = process.execPath;

function said(program: string, grants: Partial<Record<Role, McpServer['tools']>>): string[] {
  const server = { command: [program], env: {} };
  const { agents } = testPolicy();
  for (const [role, tools] of Object.entries(grants))
    agents[role as Role] = { ...agents[role as Role], mcp: [{ ...server, name: 'docs', tools }] };
  return mcpServers({ docs: server }, { agents }, dirname(HERE)).map(({ level, what }) => `${level} ${what}`);
}

test('a server is told with the roles that have it, and with what of it', () => {
  expect(said(HERE, { coder: null, critic: ['search', 'read'] })).toEqual([
    'ok docs: for the coder, the critic (only search, read)',
  ]);
  expect(said('node', { coder: null })).toEqual(['ok docs: for the coder']);
});

test('one that nobody has, or whose program is not there, is a warning', () => {
  expect(said(HERE, {})).toEqual(['warn docs: granted to no role']);
  expect(said('no-such-server', { coder: null })).toEqual([
    'warn docs starts no-such-server, which is not there',
  ]);
});
