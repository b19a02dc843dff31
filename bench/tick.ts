/** What one poll costs with 100, 1,000 and 10,000 known issues: the first one, and one when nothing changed. */

import { join } from 'node:path';
import { loadSettings } from '../src/config/load.ts';
import { DEFAULT_PROMPTS } from '../src/core/words/prompts.ts';
import { localForge } from '../src/forge/local/local.ts';
import { openGit } from '../src/git/git.ts';
import { takeUp } from '../src/loop/intake.ts';
import type { Ports } from '../src/loop/ports.ts';
import { everySource } from '../src/loop/source.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { INTAKE_LEASE } from '../src/store/store.ts';
import { type Measured, median, ms, timed } from './measure.ts';
import { CHEAP_AGENT, scratch, workflow } from './scratch.ts';

export async function tick(): Promise<Measured[]> {
  const costs: { issues: number; first: number; idle: number }[] = [];
  for (const issues of [100, 1000, 10_000]) costs.push({ issues, ...(await poll(issues)) });
  const [, middle, large] = costs;
  const growth = large!.idle / middle!.idle / (large!.issues / middle!.issues);
  return [
    {
      name: 'tick with 100 / 1,000 / 10,000 issues, nothing changed',
      value: costs.map((cost) => ms(cost.idle)).join(' / '),
      against: `growth from 1,000 to 10,000 over linear growth; first ticks: ${costs.map((cost) => ms(cost.first)).join(' / ')}`,
      ratio: growth,
      goal: '≤ 1 (linear)',
      met: growth <= 1,
    },
  ];
}

async function poll(issues: number): Promise<{ first: number; idle: number }> {
  const place = await scratch(workflow(CHEAP_AGENT));
  try {
    for (let number = 1; number <= issues; number++)
      place.issue(number, `Issue ${number}`, `Creates \`${number}.txt\`.`);
    const settings = loadSettings(join(place.repo, 'WORKFLOW.md'), {});
    const git = await openGit(place.repo);
    const store = await openSqliteStore(join(place.repo, '.forge', 'forge.db'));
    const forge = await localForge({ git, root: place.repo, now: Date.now, labels: settings.policy.labels });
    const lease = (await store.acquireLease(INTAKE_LEASE, 'bench', Date.now(), 600_000, () => false))!;
    const ports = {
      store,
      forge,
      clock: { now: Date.now, monotonic: () => performance.now(), after: () => () => {} },
      settings: {
        policy: () => settings.policy,
        template: (kind: keyof typeof DEFAULT_PROMPTS) => DEFAULT_PROMPTS[kind],
      },
      log: () => {},
    } as unknown as Ports;
    const source = everySource(forge);
    const once = (): Promise<number> => timed(async () => void (await takeUp(ports, source, lease, false)));
    const first = await once();
    const idle = median([await once(), await once(), await once(), await once(), await once()]);
    await store.close();
    return { first, idle };
  } finally {
    place.dispose();
  }
}
