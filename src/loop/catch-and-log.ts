/** Work of the daemon whose failure is logged and ends nothing else. */
import { ForgeUnavailable } from '../errors.ts';
import type { Ports } from './ports.ts';

export async function catchAndLog(
  { log }: Pick<Ports, 'log'>,
  where: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (problem) {
    const text = problem instanceof Error ? problem.message : String(problem);
    log(problem instanceof ForgeUnavailable ? 'warn' : 'error', `${where}: ${text}`, {
      stack: (problem as Error)?.stack,
    });
  }
}
