/**
 * The dashboard: a few files that `npm run build` made, read once, sent compressed. Every path that is no file and no call is a place in
 * it, which the page itself understands.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Context as Asked, Next } from 'hono';

interface Page {
  type: string;
  plain: Uint8Array<ArrayBuffer>;
  packed: Uint8Array<ArrayBuffer>;
}

export function pages(folder: string) {
  const known = new Map<string, Page>();
  const read = (path: string): Page | null => {
    if (!known.has(path) && isIn(folder, path)) known.set(path, load(join(folder, path)));
    return known.get(path) ?? null;
  };
  return async (asked: Asked, next: Next): Promise<Response | undefined> => {
    const { path } = asked.req;
    if (path.startsWith('/api/')) return void (await next());
    const isAsset = path.startsWith('/assets/') || extname(path) !== '';
    const page = read(isAsset ? path.slice(1) : 'index.html');
    if (!page) return isAsset ? void (await next()) : asked.text(NOT_BUILT, 503);
    const isPacked = /\bgzip\b/.test(asked.req.header('accept-encoding') ?? '');
    asked.header('Content-Type', page.type);
    asked.header('Vary', 'Accept-Encoding');
    if (isPacked) asked.header('Content-Encoding', 'gzip');
    // The name of an asset is its content's.
    if (path.startsWith('/assets/')) asked.header('Cache-Control', 'public, max-age=31536000, immutable');
    return asked.body(isPacked ? page.packed : page.plain);
  };
}

const NOT_BUILT = 'The dashboard is not built: run `npm run build`. The API is at /api/.\n';

/** Only what was built: no path that was asked for is ever looked up. */
const isIn = (folder: string, path: string): boolean =>
  existsSync(folder) && readdirSync(folder, { recursive: true, encoding: 'utf8' }).includes(path);

function load(path: string): Page {
  const plain = new Uint8Array(readFileSync(path));
  const type = TYPES[extname(path)] ?? 'application/octet-stream';
  return { type, plain, packed: new Uint8Array(gzipSync(plain)) };
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};
