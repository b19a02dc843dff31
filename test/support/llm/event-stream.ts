/** An event as Bedrock sends it: in AWS's binary frames, the provider's own event inside, in base64. */
import { crc32 } from 'node:zlib';

const HEADERS = { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' };

export function frameOf(event: unknown): Buffer {
  const inner = Buffer.from(JSON.stringify(event)).toString('base64');
  const payload = Buffer.from(JSON.stringify({ bytes: inner }));
  const headers = Buffer.concat(Object.entries(HEADERS).map(([name, value]) => header(name, value)));
  // Lengths and their sum, headers, payload, and the sum of all of it; four bytes each.
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(8 + 4 + headers.length + payload.length + 4, 0);
  lengths.writeUInt32BE(headers.length, 4);
  const frame = Buffer.concat([lengths, sumOf(lengths), headers, payload]);
  return Buffer.concat([frame, sumOf(frame)]);
}

/** Seven is the type of a text. */
function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([7]),
    length,
    Buffer.from(value),
  ]);
}

function sumOf(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
