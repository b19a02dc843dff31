/** Telemetry: the night as one trace for each issue, told to a collector; and nothing waits for one that is dead. */
import { expect } from 'vitest';
import { expectMergedOnce } from '../support/e2e/merged-once.ts';
import { test, type World } from '../support/e2e/world.ts';
import { type Collector, startCollector } from '../support/otlp-collector.ts';

async function collecting(world: World): Promise<Collector> {
  const collector = await startCollector();
  world.atEnd(() => void collector.close());
  world.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.endpoint;
  return collector;
}

test('an issue is a trace: attempt, round, turn; and the figures of the night arrive', async ({ world }) => {
  const collector = await collecting(world);
  const issue = await world.issue({ title: 'Write the file' });
  await world.settle();
  await expectMergedOnce(world, issue);
  const names = collector.spans.map(({ name }) => name);
  expect(names.sort()).toEqual(
    ['attempt', 'gate', 'gate', 'invoke_agent coder', 'invoke_agent critic', 'issue', 'round'].sort(),
  );
  const root = collector.spans.find(({ name }) => name === 'issue')!;
  expect(root).toMatchObject({
    parentSpanId: '',
    status: '',
    attributes: { 'forge.issue': issue, 'forge.state': 'merged' },
  });
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]));
  for (const { startMs, endMs } of collector.spans) expect(endMs).toBeGreaterThanOrEqual(startMs);
  expect(JSON.stringify(collector.spans)).not.toContain('Write the file');
  expect(collector.figures.get('forge_loop_ended_tasks {"state":"merged","reason":""}')).toBe(1);
  expect((await world.cli('doctor')).stdout).toContain(collector.endpoint);
});

test('a runner that is killed leaves nothing out: the next one tells the rest', async ({ world }) => {
  const collector = await collecting(world);
  collector.answer = 503;
  const issue = await world.issue({});
  const runner = world.run();
  await world.state(issue, 'merged');
  runner.send('SIGKILL');
  await runner.ended;
  collector.answer = 200;
  await world.settle();
  expect(collector.spans.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['issue', 'attempt', 'invoke_agent coder']),
  );
  const ids = collector.spans.map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('a collector that never answers holds nobody up', async ({ world }) => {
  const collector = await collecting(world);
  collector.answer = null;
  const issue = await world.issue({});
  await world.settle();
  await expectMergedOnce(world, issue);
  expect(collector.requests).toBeGreaterThan(0);
});

test('a protocol that it does not speak is said, and the work goes on', async ({ world }) => {
  world.env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:9';
  world.env.OTEL_EXPORTER_OTLP_PROTOCOL = 'grpc';
  const issue = await world.issue({});
  const { stderr } = await world.settle();
  await expectMergedOnce(world, issue);
  expect(stderr).toContain('telemetry is off: OTEL_EXPORTER_OTLP_PROTOCOL is grpc. Set it to http/protobuf');
});
