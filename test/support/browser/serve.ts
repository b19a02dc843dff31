/** The dashboard of a repository, in this process. */
import { fileURLToPath } from 'node:url';
import type { Serving } from '../../../src/context.ts';
import { BY_SHAPE } from '../../../src/core/access/redact.ts';
import { startServer } from '../../../src/http/server.ts';
import { openContext } from '../../../src/main.ts';
import { mcpOverHttp } from '../../../src/mcp/http.ts';
import { SCHEMAS } from '../json-schemas.ts';

export const serve = (root: string): Promise<Serving> =>
  startServer({
    ...{ port: 0, bind: '127.0.0.1', token: null, hosts: [], version: '0.0.0', redact: BY_SHAPE },
    pages: fileURLToPath(new URL('../../../dist/web/', import.meta.url)),
    schemas: SCHEMAS,
    open: () => openContext(root),
    mcp: ({ use }) => mcpOverHttp(use, '0.0.0', () => {}),
    webhook: null,
    log: (message) => console.error(message),
  });
