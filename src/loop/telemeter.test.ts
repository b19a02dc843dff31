import { expect, test } from 'vitest';
import { memoryStore } from '../../test/support/memory-store.ts';
import { commit, completed, lease, reach, started, TTL } from '../../test/support/store-steps.ts';
import type { Span } from '../core/tell/spans.ts';
import { SpansRefused } from '../errors.ts';
import { INTAKE_LEASE, type Store } from '../store/store.ts';
import type { Ports } from './ports.ts';
import { createTelemeter } from './telemeter.ts';

const TOLD = [
  { at: 1, kind: 'said', text: 'Let me see.' },
  { at: 2, kind: 'tool', tool: 'Read', call: 'c1', detail: 'a.ts' },
  { at: 5, kind: 'tool_over', call: 'c1', output: 'text' },
  { at: 6, kind: 'tool', tool: 'Bash', detail: 'npm test' },
  { at: 9, kind: 'said', text: 'Done.' },
  { at: 99, kind: 'tool', tool: 'Read', detail: 'of another start of this turn' },
];

function around(store: Store) {
  const sent: Span[][] = [];
  const world = {
    refuses: null as Error | null,
    now: 10,
    transcript: TOLD.map((line) => JSON.stringify(line)).join('\n'),
    warned: 0,
  };
  const ports = {
    store,
    clock: { now: () => world.now, after: () => () => {} },
    telemetry: {
      withContents: false,
      async send(spans: readonly Span[]) {
        if (world.refuses) throw world.refuses;
        if (spans.length > 0) sent.push([...spans]);
      },
    },
    places: { log: (task: string, name: string) => `${task}/${name}` },
    readText: async (path: string) =>
      path.endsWith('.transcript.jsonl') ? `${world.transcript}\n{"at":1` : null,
    project: 'rocket',
    log: () => {
      world.warned += 1;
    },
  } as unknown as Ports;
  return { sent, world, ports };
}

const names = (spans: readonly Span[]): string[] => spans.map(({ name }) => name);

async function turned(store: Store) {
  const begun = await commit(store, await reach(store, 'a', 7), [started('coder', 1)], { at: 1 });
  return commit(store, begun, [completed('coder', 1)], { at: 10 });
}

test('what happened before it was first asked for is not told; what comes then is, once', async () => {
  const store = memoryStore();
  const { sent, ports } = around(store);
  const intake = await lease(store, INTAKE_LEASE);
  const begun = await commit(store, await reach(store, 'a', 7), [started('coder', 1)], { at: 1 });
  const telemeter = createTelemeter(ports);
  await telemeter.finish(intake);
  await commit(store, begun, [completed('coder', 1)], { at: 10 });
  await telemeter.finish(intake);
  await telemeter.finish(intake);
  expect(sent.map(names)).toEqual([['invoke_agent coder', 'execute_tool Read', 'execute_tool Bash']]);
  const [turn, read, bash] = sent[0]!;
  expect([read, bash]).toMatchObject([
    { parentSpanId: turn!.spanId, startMs: 2, endMs: 5, attributes: { 'gen_ai.tool.call.id': 'c1' } },
    { parentSpanId: turn!.spanId, startMs: 6, endMs: 9 },
  ]);
});

test('what was not taken is sent again a minute later, and by the next runner', async () => {
  const store = memoryStore();
  const { sent, world, ports } = around(store);
  const intake = await lease(store, INTAKE_LEASE);
  const telemeter = createTelemeter(ports);
  await telemeter.finish(intake);
  await turned(store);
  world.refuses = new Error('503');
  await telemeter.finish(intake);
  expect([sent, world.warned]).toEqual([[], 1]);
  world.refuses = null;
  telemeter.look(intake);
  await Promise.resolve();
  expect(sent, 'not at once').toEqual([]);

  world.now += TTL;
  const next = await lease(store, INTAKE_LEASE, 'other', world.now);
  await createTelemeter(ports).finish(next);
  expect(sent.map(names)).toEqual([['invoke_agent coder', 'execute_tool Read', 'execute_tool Bash']]);
  expect((await store.loop()).telemetry).toBe((await store.events({ last: 1 }))[0]!.seq);
});

test('what will never be taken does not keep back what comes after it', async () => {
  const store = memoryStore();
  const { sent, world, ports } = around(store);
  const intake = await lease(store, INTAKE_LEASE);
  const telemeter = createTelemeter(ports);
  await telemeter.finish(intake);
  const first = await turned(store);
  world.refuses = new SpansRefused('413');
  await telemeter.finish(intake);
  expect([sent, world.warned]).toEqual([[], 1]);
  world.refuses = null;
  await commit(store, first, [started('coder', 2)], { at: 11 });
  await commit(store, (await store.task('a'))!, [completed('coder', 2)], { at: 12 });
  await telemeter.finish(intake);
  expect(sent.flatMap(names).filter((name) => name.startsWith('invoke'))).toEqual(['invoke_agent coder']);
});

test('a runner without the lease tells nothing twice', async () => {
  const store = memoryStore();
  const { sent, world, ports } = around(store);
  const intake = await lease(store, INTAKE_LEASE);
  const late = createTelemeter(ports);
  await late.finish(intake);
  await turned(store);
  world.now += TTL;
  const next = await lease(store, INTAKE_LEASE, 'other', world.now);
  await createTelemeter(ports).finish(next);
  const through = (await store.loop()).telemetry;
  await late.finish(intake);
  expect((await store.loop()).telemetry).toBe(through);
  expect(sent.map(names)).toHaveLength(1);
});

test('off, it asks nobody for anything', async () => {
  const telemeter = createTelemeter({ telemetry: null } as unknown as Ports);
  const intake = { key: INTAKE_LEASE, owner: 'me', fencing: 1, expiresAt: 1 };
  telemeter.look(intake);
  await telemeter.finish(intake);
});
