/** What an agent used, as it is kept in a file until it is in the ledger. */
import { z } from 'zod';

const count = z.number().nonnegative();

export const usageReport = z.object({
  key: z.string(),
  model: z.string(),
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  reasoning: count,
  costUsd: count.nullable(),
});
