/** The names of thousands of tests, small enough to be kept in an event. */
import { deflateSync, inflateSync } from 'node:zlib';
import type { TestsRun } from '../core/change/test-report.ts';

/** In order, since neighbours that begin alike take less room. */
export function packTests({ passed, failed }: TestsRun): string {
  const text = JSON.stringify([passed.toSorted(), failed.toSorted()]);
  return deflateSync(text).toString('base64');
}

export function unpackTests(packed: string): TestsRun {
  const [passed, failed] = JSON.parse(inflateSync(Buffer.from(packed, 'base64')).toString());
  return { passed, failed };
}
