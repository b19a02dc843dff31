/** A collector of OpenTelemetry on loopback: takes OTLP over HTTP in protobuf, and keeps what came as plain values. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number>;
  status: string;
}

export interface Collector {
  endpoint: string;
  resource: Record<string, string | number>;
  spans: CollectedSpan[];
  /** The last value of each series: name and labels. */
  figures: Map<string, number>;
  /** Answers with this status; null is to hold the request until the collector is closed. */
  answer: number | null;
  requests: number;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    collector.requests += 1;
    if (collector.answer === null) return;
    if (collector.answer === 200) {
      const body = message(Buffer.concat(parts));
      if (request.url === '/v1/traces') takeSpans(body);
      else takeFigures(body);
    }
    response.writeHead(collector.answer, { 'content-type': 'application/x-protobuf' }).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const collector: Collector = {
    endpoint: `http://127.0.0.1:${port}`,
    resource: {},
    spans: [],
    figures: new Map(),
    answer: 200,
    requests: 0,
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return collector;

  // The numbers are those of opentelemetry/proto/{collector,trace,metrics,common}/v1.
  function takeSpans(request: Message): void {
    for (const ofResource of request.all(1)) {
      collector.resource = attributesOf(ofResource.one(1)?.all(1) ?? []);
      for (const scope of ofResource.all(2))
        for (const span of scope.all(2))
          collector.spans.push({
            traceId: span.bytes(1).toString('hex'),
            spanId: span.bytes(2).toString('hex'),
            parentSpanId: span.bytes(4).toString('hex'),
            name: span.text(5),
            startMs: span.nanos(7),
            endMs: span.nanos(8),
            attributes: attributesOf(span.all(9)),
            status: span.one(15)?.text(2) ?? '',
          });
    }
  }

  function takeFigures(request: Message): void {
    for (const metric of request.all(1).flatMap((one) => one.all(2).flatMap((scope) => scope.all(2)))) {
      const points = [...(metric.one(5)?.all(1) ?? []), ...(metric.one(7)?.all(1) ?? [])];
      for (const point of points)
        collector.figures.set(
          `${metric.text(1)} ${JSON.stringify(attributesOf(point.all(7)))}`,
          point.number(),
        );
    }
  }
}

interface Message {
  all(field: number): Message[];
  one(field: number): Message | undefined;
  bytes(field: number): Buffer;
  text(field: number): string;
  nanos(field: number): number;
  /** Of a data point: as_double or as_int. */
  number(): number;
  value(): string | number;
}

function attributesOf(pairs: readonly Message[]): Record<string, string | number> {
  return Object.fromEntries(pairs.map((pair) => [pair.text(1), pair.one(2)!.value()]));
}

function message(bytes: Buffer): Message {
  const fields = new Map<number, Buffer[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    let raw: Buffer;
    if (key % 8 === 0) {
      raw = Buffer.alloc(8);
      raw.writeBigUInt64LE(BigInt.asUintN(64, varint()));
    } else {
      const length = { 1: 8, 5: 4 }[key % 8] ?? Number(varint());
      raw = bytes.subarray(at, at + length);
      at += length;
    }
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), raw]);
  }
  const bytesOf = (field: number): Buffer => fields.get(field)?.at(-1) ?? Buffer.alloc(0);
  return {
    all: (field) => (fields.get(field) ?? []).map(message),
    one: (field) => (fields.has(field) ? message(bytesOf(field)) : undefined),
    bytes: bytesOf,
    text: (field) => bytesOf(field).toString('utf8'),
    nanos: (field) => Number(bytesOf(field).readBigUInt64LE() / 1_000_000n),
    number: () => (fields.has(4) ? bytesOf(4).readDoubleLE() : Number(bytesOf(6).readBigInt64LE())),
    value() {
      if (fields.has(1)) return bytesOf(1).toString('utf8');
      return fields.has(4) ? bytesOf(4).readDoubleLE() : Number(bytesOf(3).readBigInt64LE());
    },
  };
}
