/** A question of an agent to the forge, asked with the loop's own credential. Whatever goes wrong is an answer: no turn fails for it. */
import type { ForgeQuestion, ForgeReading } from '../core/access/forge-reading.ts';
import { forgeAnswer, forgeSilent } from '../core/words/forge-text.ts';
import type { ToolAnswer } from '../core/words/turn-tools.ts';
import { ForgeUnavailable, UserError } from '../errors.ts';
import type { Forge } from '../forge/forge.ts';
import type { Ports } from './ports.ts';

export async function askForge(
  { forge, log }: Pick<Ports, 'forge' | 'log'>,
  question: ForgeQuestion,
  /** A turn that is stopped does not wait for it. */
  signal: AbortSignal,
): Promise<ToolAnswer> {
  let stop = (): void => {};
  const stopped = new Promise<ToolAnswer>((resolve) => {
    stop = () => resolve(forgeSilent('the turn is stopped.'));
  });
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  const answered = read(forge, question).then(forgeAnswer, (problem: Error) => {
    if (!(problem instanceof ForgeUnavailable || problem instanceof UserError))
      log('warn', `an agent's question could not be put to the forge: ${problem.stack ?? problem}`);
    return forgeSilent(problem.message);
  });
  try {
    return await Promise.race([answered, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function read(forge: Forge, question: ForgeQuestion): Promise<ForgeReading> {
  switch (question.kind) {
    case 'issue':
      return { kind: 'issue', read: await forge.readIssue(question.number) };
    case 'pull':
      return { kind: 'pull', read: await forge.readPull(question.number) };
    case 'search':
      return { kind: 'search', read: await forge.search(question.words) };
    default:
      return question satisfies never;
  }
}
