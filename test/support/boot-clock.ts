/** Says which clock a process of its own goes by, and what it shows. */
import { bootClock } from '../../src/process/table.ts';

process.stdout.write(JSON.stringify({ id: bootClock.id, now: bootClock.now() }));
