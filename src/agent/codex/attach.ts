/** How Codex is started for a person, with the thread that its turns go on with. The model says when they are asked. */
import type { TurnRequest } from '../agent.ts';
import { permissions } from './settings.ts';
import { readThread } from './thread.ts';

export async function interactiveCodex(
  turn: Pick<TurnRequest, 'sessionDir' | 'cwd' | 'access' | 'policy'>,
): Promise<string[]> {
  const thread = await readThread(turn.sessionDir);
  if (thread === null) throw new Error(`${turn.sessionDir} names no thread of Codex`);
  const { model, effort } = turn.policy;
  const { sandbox } = permissions(turn.access);
  return [
    ...['resume', thread, '--no-daemon', '--cd', turn.cwd],
    ...['--sandbox', sandbox, '--ask-for-approval', 'on-request'],
    ...['-c', 'check_for_update_on_startup=false'],
    ...(model === null ? [] : ['--model', model]),
    ...(effort === null ? [] : ['-c', `model_reasoning_effort=${JSON.stringify(effort)}`]),
  ];
}
