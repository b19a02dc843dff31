/**
 * Placeholders into values on the way to a host, values into asterisks on the way back: as many, so that lengths stay
 * true and a stream can be passed on as it comes.
 */
import { Transform } from 'node:stream';

interface Held {
  placeholder: string;
  value: string;
}

/** Names and values by turns, as Node has them. */
type RawHeaders = readonly string[];

export interface Exchange {
  target(path: string): string;
  headers(raw: RawHeaders): string[];
  /** Null for a type that is left as it is. */
  body(type: string): ((text: Buffer) => Buffer) | null;
  /** What a host says of them. */
  masked(raw: RawHeaders): string[];
  masking(): Transform;
}

export function exchange(held: readonly Held[]): Exchange {
  const put = (text: string, as: (value: string) => string): string =>
    held.reduce((before, { placeholder, value }) => before.replaceAll(placeholder, () => as(value)), text);
  const plain = (value: string): string => value;
  const inHeader = (value: string): string => {
    const [, scheme, encoded] = /^(basic +)([\w+/=-]+)$/i.exec(value) ?? [];
    if (scheme === undefined || encoded === undefined) return put(value, plain);
    const pair = Buffer.from(encoded, 'base64').toString('latin1');
    const filled = put(pair, plain);
    return filled === pair ? value : `${scheme}${Buffer.from(filled, 'latin1').toString('base64')}`;
  };
  const needles = held.flatMap(({ value }) => formsOf(value));
  return {
    target: (path) => put(path, encodeURIComponent),
    headers: (raw) => raw.map((text, at) => (at % 2 === 0 ? text : inHeader(text))),
    body(type) {
      const as = bodyForm(type);
      return as && ((text) => Buffer.from(put(text.toString('latin1'), as), 'latin1'));
    },
    masked: (raw) =>
      raw.map((text, at) => (at % 2 === 0 ? text : mask(Buffer.from(text, 'latin1')).toString('latin1'))),
    masking,
  };

  function mask(bytes: Buffer): Buffer {
    for (const needle of needles)
      for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + 1))
        bytes.fill('*', at, at + needle.length);
    return bytes;
  }

  /** Holds back no more than what may be the beginning of one. */
  function masking(): Transform {
    let rest: Buffer = Buffer.alloc(0);
    return new Transform({
      transform(chunk: Buffer, _encoding, done) {
        const bytes = mask(Buffer.concat([rest, chunk]));
        const end = bytes.length - Math.max(0, ...needles.map((needle) => begunIn(bytes, needle)));
        rest = bytes.subarray(end);
        done(null, bytes.subarray(0, end));
      },
      flush: (done) => done(null, rest),
    });
  }
}

/** How much of a needle the bytes end with. */
function begunIn(bytes: Buffer, needle: Buffer): number {
  for (let length = Math.min(bytes.length, needle.length - 1); length > 0; length -= 1)
    if (bytes.subarray(bytes.length - length).equals(needle.subarray(0, length))) return length;
  return 0;
}

const inJson = (value: string): string => JSON.stringify(value).slice(1, -1);

function bodyForm(type: string): ((value: string) => string) | null {
  const [essence = ''] = type.toLowerCase().split(';');
  if (/^application\/([\w.+-]+\+)?json$/.test(essence.trim())) return inJson;
  return essence.trim() === 'application/x-www-form-urlencoded' ? encodeURIComponent : null;
}

/** In which a host may hand a value back: as it is, in JSON, in a URL, and in base64 with whatever is around it. */
function formsOf(value: string): Buffer[] {
  const inBase64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]).toString('base64');
    const whole = Math.floor(((before + value.length) * 8) / 6);
    return text.slice(Math.ceil((before * 8) / 6), whole);
  });
  const forUrls = inBase64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const query = encodeURIComponent(value);
  const forms = [value, inJson(value), query, query.replaceAll('%20', '+'), ...inBase64, ...forUrls];
  return [...new Set(forms)].map((form) => Buffer.from(form));
}
