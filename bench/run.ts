/** `npm run bench [names]`: each measure with its baseline from the same run, as a table. Exits 1 when a goal is missed. */
import type { Measured } from './measure.ts';

const BENCHES: Record<string, () => Promise<Measured | Measured[]>> = {
  overhead: async () => (await import('./overhead.ts')).overhead(),
  utilisation: async () => (await import('./utilisation.ts')).utilisation(),
  night: async () => (await import('./night.ts')).night(),
  tick: async () => (await import('./tick.ts')).tick(),
  start: async () => (await import('./start.ts')).start(),
  events: async () => (await import('./events.ts')).events(),
  restart: async () => (await import('./restart.ts')).restart(),
  trees: async () => (await import('./trees.ts')).trees(),
  memory: async () => (await import('./memory.ts')).memory(),
  queue: async () => (await import('./queue.ts')).queue(),
  long: async () => (await import('./long.ts')).long(),
  dashboard: async () => (await import('./dashboard.ts')).dashboard(),
  confine: async () => (await import('./confine.ts')).confine(),
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  console.error(
    `error: no such benchmark: ${unknown.join(', ')}\nhint: choose among ${Object.keys(BENCHES).join(', ')}`,
  );
  process.exit(2);
}

const results: Measured[] = [];
for (const [name, bench] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.error(`… ${name}`);
  results.push(...[await bench()].flat());
}
console.log('| measure | ours | against | ratio | goal | met |');
console.log('|---|---|---|---|---|---|');
for (const { name, value, against, ratio, goal, met } of results) {
  const verdict = met === null ? '–' : met ? 'yes' : 'NO';
  console.log(
    `| ${name} | ${value} | ${against} | ${ratio === null ? '–' : ratio.toFixed(2)} | ${goal} | ${verdict} |`,
  );
}
process.exitCode = results.some((result) => result.met === false) ? 1 : 0;
