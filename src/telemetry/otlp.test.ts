import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Collector, startCollector } from '../../test/support/otlp-collector.ts';
import { sourcesIn } from '../../test/support/tidy.ts';
import type { Span } from '../core/tell/spans.ts';
import { SpansRefused } from '../errors.ts';
import { openOtlp } from './otlp.ts';

let collector: Collector;

beforeEach(async () => {
  collector = await startCollector();
});

afterEach(async () => {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
  await collector.close();
});

const parts = {
  version: '1.2.3',
  project: 'rocket',
  redact: { text: (text: string) => text.replaceAll('s3cret', '•••'), isSecret: () => false } as never,
  installHint: (packages: readonly string[]) => `install ${packages.length} packages`,
};

/** The exporters read the variables by themselves. */
function open(env: Record<string, string>) {
  Object.assign(process.env, env);
  return openOtlp(process.env, parts);
}

const span: Span = {
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentSpanId: 'c'.repeat(16),
  name: 'invoke_agent coder',
  startMs: 1_700_000_000_250,
  endMs: 1_700_000_001_500,
  attributes: { 'forge.turn': 1, 'forge.cost_usd': 0.25, 'forge.title': 'a s3cret title' },
  problem: 'rate_limit',
  seq: 4,
};

test('spans arrive as they are, with what the operator says of the resource, and without secrets', async () => {
  const { telemetry } = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=night',
  });
  await telemetry!.send([span]);
  expect(collector.spans).toEqual([
    {
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId,
      name: span.name,
      startMs: span.startMs,
      endMs: span.endMs,
      attributes: { 'forge.turn': 1, 'forge.cost_usd': 0.25, 'forge.title': 'a ••• title' },
      status: 'rate_limit',
    },
  ]);
  expect(collector.resource).toMatchObject({
    'service.name': 'forge-loop',
    'service.version': '1.2.3',
    'forge.project': 'rocket',
    'deployment.environment.name': 'night',
  });
});

test.each([
  [400, true],
  [413, true],
  [401, false],
  [404, false],
])('what a collector refuses is an error; by %i it is refused for good: %s', async (status, isForGood) => {
  collector.answer = status;
  const { telemetry } = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  const problem = await telemetry!.send([span]).catch((error: unknown) => error);
  expect(problem).toBeInstanceOf(Error);
  expect(problem instanceof SpansRefused).toBe(isForGood);
});

test('figures are reported, and for a last time at the end', async () => {
  const { telemetry } = await open({
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.endpoint}/v1/metrics`,
  });
  let used = 1;
  const stop = await telemetry!.report(async () => [
    {
      name: 'slots_used',
      help: 'Slots.',
      kind: 'gauge',
      values: [{ labels: { role: 'coder' }, value: used }],
    },
    { name: 'turns_total', help: 'Turns.', kind: 'counter', values: [{ labels: {}, value: 7 }] },
  ]);
  used = 2;
  await stop();
  expect([...collector.figures]).toEqual([
    ['slots_used {"role":"coder"}', 2],
    ['turns_total {}', 7],
  ]);
});

test.each(['-1', '0', 'soon'])('an interval of %s is as if none were set', async (interval) => {
  const { telemetry } = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_METRIC_EXPORT_INTERVAL: interval,
  });
  const stop = await telemetry!.report(async () => []);
  await stop();
});

test.each([
  ['nothing is asked for', {}],
  ['an empty variable', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ['switched off', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_SDK_DISABLED: 'true' }],
])('%s: off', async (_, env) => {
  expect(await open(env)).toEqual({ telemetry: null, endpoint: null, problem: null });
});

test('a protocol that it does not speak is said, with what to set', async () => {
  const opened = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
  });
  expect(opened).toMatchObject({
    telemetry: null,
    problem: { what: expect.stringContaining('grpc'), fix: expect.stringContaining('http/protobuf') },
  });
});

test('contents are told only when that is asked for', async () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = collector.endpoint;
  expect((await open({ OTEL_EXPORTER_OTLP_ENDPOINT })).telemetry!.withContents).toBe(false);
  const asked = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
  });
  expect(asked.telemetry!.withContents).toBe(true);
});

test('off, nothing of it is loaded: its packages are imported when somebody asks, and here only', () => {
  const imports = sourcesIn('src').flatMap(({ path, text }) =>
    path.endsWith('.test.ts')
      ? []
      : text.split('\n').flatMap((line) => (/['"]@opentelemetry\//.test(line) ? [[path, line.trim()]] : [])),
  );
  const loading = imports.filter(([, line]) => /^(import|export) (?!type )|require\(/.test(line!));
  expect(loading).toEqual([]);
  expect(new Set(imports.map(([path]) => path))).toEqual(new Set(['src/telemetry/otlp.ts']));
});
