/**
 * OTLP over HTTP, when the standard variables name a collector. The packages are people's own choice to install, and loaded only
 * then.
 *
 * Spans are made from the log after the fact, with ids of their own, so they go to the exporter as they are: a tracer would
 * make other ids and other times.
 */
import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import { type Redaction, redactValue } from '../core/access/redact.ts';
import type { Span } from '../core/tell/spans.ts';
import { SpansRefused } from '../errors.ts';
import type { Metric, OpenedTelemetry, Telemetry } from './telemetry.ts';

const PACKAGES = [
  '@opentelemetry/exporter-trace-otlp-proto@0.223.0',
  '@opentelemetry/exporter-metrics-otlp-proto@0.223.0',
  '@opentelemetry/sdk-metrics@2.12.0',
  '@opentelemetry/resources@2.12.0',
];
const REPORT_EVERY_MS = 60_000;
const OFF: OpenedTelemetry = { telemetry: null, endpoint: null, problem: null };

interface Parts {
  version: string;
  /** The name of the repository. */
  project: string;
  redact: Redaction;
  installHint(packages: readonly string[]): string;
}

export async function openOtlp(env: NodeJS.ProcessEnv, parts: Parts): Promise<OpenedTelemetry> {
  const endpoint = endpointIn(env);
  if (endpoint === null) return OFF;
  const protocol = protocolIn(env);
  if (protocol !== null && protocol !== 'http/protobuf')
    return {
      ...OFF,
      endpoint,
      problem: {
        what: `telemetry is off: OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}`,
        fix: 'Set it to http/protobuf for forge-loop.',
      },
    };
  try {
    return { telemetry: await connect(env, parts), endpoint, problem: null };
  } catch (problem) {
    const { code, message } = problem as NodeJS.ErrnoException;
    const why =
      code === 'ERR_MODULE_NOT_FOUND'
        ? 'its packages are not installed'
        : `its packages can't be loaded: ${message}`;
    const fix = `To switch it on, ${parts.installHint(PACKAGES)}. To switch it off, unset the variable.`;
    return {
      ...OFF,
      endpoint,
      problem: {
        what: `telemetry is off: OTEL_EXPORTER_OTLP_ENDPOINT is set, but ${why}`,
        fix,
      },
    };
  }
}

/** An empty variable counts as missing, as the specification of OpenTelemetry has it. */
function endpointIn(env: NodeJS.ProcessEnv): string | null {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return null;
  return (
    env.OTEL_EXPORTER_OTLP_ENDPOINT ||
    env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ||
    env.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT ||
    null
  );
}

function protocolIn(env: NodeJS.ProcessEnv): string | null {
  const { OTEL_EXPORTER_OTLP_PROTOCOL: all, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: traces } = env;
  return traces || all || null;
}

async function connect(env: NodeJS.ProcessEnv, { version, project, redact }: Parts): Promise<Telemetry> {
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto');
  const { MeterProvider, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics');
  const { detectResources, envDetector, resourceFromAttributes } = await import('@opentelemetry/resources');
  const own = resourceFromAttributes({
    'service.name': 'forge-loop',
    'service.version': version,
    'forge.project': project,
  });
  const resource = own.merge(detectResources({ detectors: [envDetector] }));
  const scope = { name: 'forge-loop', version };
  const traces = env.OTEL_TRACES_EXPORTER === 'none' ? null : new OTLPTraceExporter();
  return {
    withContents: env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.toLowerCase() === 'true',
    async send(spans) {
      if (!traces || spans.length === 0) return;
      const told = spans.map((span) => readable(redactValue(span, redact), resource, scope));
      await new Promise<void>((done, failed) => {
        traces.export(told, ({ code, error }) =>
          code === 0 ? done() : failed(asRefused(error ?? new Error('not taken'))),
        );
      });
    },
    async report(read) {
      if (env.OTEL_METRICS_EXPORTER === 'none') return async () => {};
      const asked = Number(env.OTEL_METRIC_EXPORT_INTERVAL);
      // The reader throws at any other, and no run begins.
      const exportIntervalMillis = asked > 0 ? asked : REPORT_EVERY_MS;
      const reader = new PeriodicExportingMetricReader({
        exporter: new OTLPMetricExporter(),
        exportIntervalMillis,
        exportTimeoutMillis: Math.min(exportIntervalMillis, 5000),
      });
      const provider = new MeterProvider({ resource, readers: [reader] });
      await observe(provider.getMeter(scope.name, version), read);
      return () => provider.shutdown();
    },
  };
}

/** By the status of its answer, as OTLP has it: bad data is dropped. All others may be a setting that somebody mends. */
function asRefused(problem: Error & { code?: number }): Error {
  const isRefused = problem.code !== undefined && [400, 413, 422].includes(problem.code);
  return isRefused
    ? new SpansRefused(`${problem.code} ${problem.message}`.trim(), { cause: problem })
    : problem;
}

type Meter = import('@opentelemetry/api').Meter;

/** The instruments are those that the first look finds; each export looks again. */
async function observe(meter: Meter, read: () => Promise<readonly Metric[]>): Promise<void> {
  const instruments = (await read()).map(({ name, help, kind }) => {
    const make = kind === 'gauge' ? meter.createObservableGauge : meter.createObservableCounter;
    return { name, instrument: make.call(meter, name, { description: help }) };
  });
  meter.addBatchObservableCallback(
    async (result) => {
      const metrics = await read();
      for (const { name, instrument } of instruments)
        for (const { labels, value } of metrics.find((one) => one.name === name)?.values ?? [])
          result.observe(instrument, value, labels);
    },
    instruments.map(({ instrument }) => instrument),
  );
}

function readable(
  span: Span,
  resource: ReadableSpan['resource'],
  instrumentationScope: ReadableSpan['instrumentationScope'],
): ReadableSpan {
  const { traceId, spanId, parentSpanId, name, startMs, endMs, attributes, problem } = span;
  const contextOf = (id: string) => ({ traceId, spanId: id, traceFlags: 1 });
  return {
    name,
    kind: 0,
    spanContext: () => contextOf(spanId),
    ...(parentSpanId !== null && { parentSpanContext: contextOf(parentSpanId) }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(Math.max(0, endMs - startMs)),
    status: problem === null ? { code: 0 } : { code: 2, message: problem },
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
