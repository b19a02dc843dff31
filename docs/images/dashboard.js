// Draws the pictures of the dashboard again, in Debian's chromium: node docs/images/dashboard.js
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const command = ['vitest', 'run', '--project', 'browser', 'test/browser/pictures.test.ts'];
const { status } = spawnSync('npx', command, { env: { ...process.env, PICTURES: folder }, stdio: 'inherit' });
process.exitCode = status ?? 1;
