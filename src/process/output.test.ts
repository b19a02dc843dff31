import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BY_SHAPE } from '../core/access/redact.ts';
import { collectOutput } from './output.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'forge-output-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('what a program said last is kept, though we ourselves stood still when it ended', async () => {
  const script = 'until [ -e go ]; do sleep 0.01; done; echo the end';
  const { stdout } = spawn('sh', ['-c', script], { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] });
  const output = await collectOutput(stdout!, join(dir, 'log'), () => {}, BY_SHAPE.text);
  const tail = output.finish();
  writeFileSync(join(dir, 'go'), '');
  standStill(2500);
  expect(await tail).toBe('the end\n');
});

/** As in a process that is stopped, or gets no processor. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
