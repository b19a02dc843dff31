/** `doctor`, which only looks, and with `--gate` and `--attack` also the operations that try something: one list. */
import { perform } from '../operations.ts';
import type { Session } from './commands.ts';
import { TEXT } from './text.ts';

export async function showDoctor(
  { context, terminal }: Session,
  options: Record<string, unknown>,
): Promise<number> {
  if (options.access !== undefined) {
    const seen = await perform(context, 'access', { who: options.access });
    terminal.print(terminal.json ? JSON.stringify(seen, null, 2) : TEXT.access(seen, terminal));
    return 0;
  }
  const parts = [
    await perform(context, 'doctor', { agents: options.agents === true }),
    ...(options.attack ? [await perform(context, 'attack')] : []),
    ...(options.gate ? [await perform(context, 'gate.try')] : []),
  ];
  const all = {
    checks: parts.flatMap(({ checks }) => checks),
    failed: parts.reduce((sum, { failed }) => sum + failed, 0),
    warned: parts.reduce((sum, { warned }) => sum + warned, 0),
  };
  terminal.print(terminal.json ? JSON.stringify(all, null, 2) : TEXT.doctor(all, terminal));
  return all.failed > 0 ? 1 : 0;
}
