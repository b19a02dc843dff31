/** `npm run test:github`: plain Node runs no TypeScript, so the proof is bundled first. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const dir = mkdtempSync(join(tmpdir(), 'forge-live-'));
const file = join(dir, 'prove.mjs');
try {
  await build({
    input: join(import.meta.dirname, 'prove.ts'),
    platform: 'node',
    output: { file },
    logLevel: 'warn',
  });
  const { prove } = await import(pathToFileURL(file).href);
  process.exitCode = await prove(process.argv.slice(2), import.meta.dirname);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
