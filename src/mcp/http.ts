/** MCP over streamable HTTP: each request by itself, so that nothing is lost when the server is started anew. */
import { createMcpHandler } from '@modelcontextprotocol/server';
import { countCalls } from './calls.ts';
import { mcpServer, type Open } from './server.ts';

const HOUR_MS = 3_600_000;

interface McpOverHttp {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

export function mcpOverHttp(open: Open, version: string, warn: (text: string) => void): McpOverHttp {
  const calls = countCalls(() => Date.now(), HOUR_MS);
  return createMcpHandler(() => mcpServer(open, calls, version), { onerror: ({ message }) => warn(message) });
}
