/** What is written of where a turn or a command went. */
import { expect, test } from 'vitest';
import type { NetworkRow } from '../core/event.ts';
import type { NetworkRequest } from '../gateway/gateway.ts';
import { networkUse } from './network-use.ts';

type Verdict = NetworkRequest['verdict'];

function watched() {
  const written: NetworkRow[][] = [];
  let wake = () => {};
  const store = {
    task: async () => null,
    record: async ({ events }: { events: readonly { data: unknown }[] }) => {
      for (const { data } of events) written.push((data as { requests: NetworkRow[] }).requests);
    },
  };
  const clock = {
    now: () => 0,
    after: (_: number, then: () => void) => {
      wake = then;
      return () => {};
    },
  };
  const use = networkUse({ store, clock } as never, 't1', 'gate: npm test');
  const ask = (host: string, verdict: Verdict = 'allowed') =>
    use.onRequest({ host, port: 443, verdict, why: null, sentBytes: 1, receivedBytes: 2 });
  return { use, ask, written, passTime: () => wake() };
}

test('refusals, however many, hide nothing that was reached', async () => {
  const { use, ask, written } = watched();
  for (let i = 0; i < 150; i += 1) ask(`bogus-${i}.example`, 'refused');
  ask('evil.example');
  ask('evil.example');
  await use.close();
  const [rows = []] = written;
  expect(rows).toContainEqual(
    expect.objectContaining({ host: 'evil.example', verdict: 'allowed', times: 2 }),
  );
  expect(rows).toContainEqual({
    ...{ host: 'other hosts', port: 0, verdict: 'refused' },
    ...{ times: 50, sentBytes: 50, receivedBytes: 100 },
  });
  expect(rows).toHaveLength(102);
});

test('what was seen is written before the end, once', async () => {
  const { use, ask, written, passTime } = watched();
  ask('one.example');
  passTime();
  await expect.poll(() => written.length).toBe(1);
  ask('two.example', 'refused');
  await use.close();
  await use.close();
  expect(written.map((rows) => rows.map(({ host }) => host))).toEqual([['one.example'], ['two.example']]);
  expect(use.refused()).toEqual(['two.example']);
});
