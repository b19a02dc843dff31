/** `doctor`, which only looks, and with `--gate` also the operation that runs the gate: one list. */
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';
import { TEXT } from './text.ts';

export async function showDoctor(
  { context, terminal }: Session,
  options: Record<string, unknown>,
): Promise<number> {
  const found = await perform(context, 'doctor', { agents: options.agents === true });
  const tried = options.gate ? await perform(context, 'gate.try') : { checks: [], failed: 0, warned: 0 };
  const all = {
    checks: [...found.checks, ...tried.checks],
    failed: found.failed + tried.failed,
    warned: found.warned + tried.warned,
  };
  terminal.print(terminal.json ? JSON.stringify(all, null, 2) : TEXT.doctor(all, terminal));
  return all.failed > 0 ? 1 : 0;
}
