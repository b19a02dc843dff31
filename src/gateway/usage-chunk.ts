/**
 * A stream of chat completions tells what it used only when it is asked to, in a last chunk without choices. Whoever did
 * not ask for it does not get it: some programs read the first choice of every chunk.
 */
import { Transform } from 'node:stream';

const isUsageAlone = (event: string): boolean => {
  const data = /^data: ?(.*)$/m.exec(event)?.[1];
  try {
    const chunk = JSON.parse(data ?? '') as { choices?: unknown; usage?: unknown } | null;
    return Array.isArray(chunk?.choices) && chunk.choices.length === 0 && Boolean(chunk.usage);
  } catch {
    return false;
  }
};

export function withoutUsageChunk(): Transform {
  let rest = '';
  const text = new TextDecoder();
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const events = (rest + text.decode(chunk, { stream: true })).split(/(?<=\r?\n\r?\n)/);
      rest = events.pop() ?? '';
      done(null, events.filter((event) => !isUsageAlone(event)).join(''));
    },
    flush: (done) => done(null, isUsageAlone(rest) ? '' : rest),
  });
}
