/** Builds forge-loop and puts it beside the agents, as a user who installed both has them. */
import { cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setup as build } from '../test/support/e2e/build.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const installed = fileURLToPath(new URL('./node_modules/forge-loop/', import.meta.url));

export const PROGRAM = `${installed}bin/forge-loop.js`;

export function setup(): void {
  build();
  rmSync(installed, { recursive: true, force: true });
  for (const part of ['bin', 'dist', 'package.json'])
    cpSync(`${root}${part}`, `${installed}${part}`, { recursive: true });
}
