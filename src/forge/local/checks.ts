/**
 * The results of CI for one pull request, in NNNN.checks.json beside it: `forge-loop pull check` reports them. The newest
 * result of each name and head is kept.
 */
import { z } from 'zod';
import type { Check } from '../../core/change/remark.ts';
import { ForgeUnavailable } from '../../errors.ts';
import { readIfThere, replaceFile } from './file.ts';

type Report = Omit<Check, 'required'> & { by: string; at: string };

export function readReports(path: string): Report[] {
  const text = readIfThere(path);
  if (text === null) return [];
  try {
    return reports.parse(JSON.parse(text));
  } catch (cause) {
    // What can't be read is not green.
    throw new ForgeUnavailable(
      `The checks in ${path} can't be read: ${(cause as Error).message.split('\n', 1)[0]}. Correct the file, or delete it and report again.`,
      null,
      { cause },
    );
  }
}

export function writeReport(path: string, report: Report): void {
  const others = readReports(path).filter(
    ({ name, headSha }) => name !== report.name || headSha !== report.headSha,
  );
  replaceFile(path, `${JSON.stringify([...others, report], null, 2)}\n`);
}

const optional = z.string().nullable().default(null);

const reports = z.array(
  z.object({
    name: z.string().min(1),
    headSha: z.string().min(1),
    state: z.enum(['pending', 'green', 'red']),
    job: optional,
    step: optional,
    logTail: optional,
    link: optional,
    by: z.string(),
    at: z.string(),
  }),
);
