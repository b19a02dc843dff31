/** A runner like any other, but for its leases: they last seconds, so that a test can outlast one in real time. */

import { openContext, version } from '../../../dist/main.js';
import { createRunner } from '../../../dist/runner.js';

const leaseTtlMs = Number(process.argv[2]);
const context = await openContext(process.cwd());
const timing = { leaseTtlMs, renewMs: leaseTtlMs / 10, pulseMs: 200 };
const runner = createRunner({ ...(await context.ports()), timing }, version());
process.on('SIGINT', () => runner.drain('SIGINT'));
await runner.run('forever');
await context.close();
