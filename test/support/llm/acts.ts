/** The acts of the agents' contract as answers of a model: a command is an answer that calls the shell. */
import type { Usage } from '../../../src/agent/agent.ts';
import type { Act } from '../../../src/agent/contract.ts';
import type { Scenario } from './scenario.ts';
import { NO_USAGE } from './wire.ts';

type Replies = Scenario['rules'][number]['replies'];

export function repliesFor(acts: readonly Act[]): Replies {
  const replies: Replies = [];
  let told = NO_USAGE;
  let total: Usage | null = null;
  /** What this answer used: what is told so far, less what earlier answers told. */
  const usage = () => {
    const before = told;
    told = total ?? told;
    return total === null ? {} : { usage: difference(told, before) };
  };
  let last: Replies[number] = { say: 'done' };
  for (const act of acts) {
    if ('shell' in act) replies.push({ run: act.shell, ...usage() });
    else if ('say' in act) last = { say: act.say };
    else if ('answer' in act) last = { answer: act.answer };
    else total = { ...NO_USAGE, ...act.usage };
  }
  // A structured answer may be followed by a word, which the script must not lack.
  return [...replies, { ...last, ...usage() }, { say: 'done', usage: NO_USAGE, times: 'always' }];
}

const difference = (now: Usage, before: Usage): Usage => ({
  input: now.input - before.input,
  output: now.output - before.output,
  cacheRead: now.cacheRead - before.cacheRead,
  cacheWrite: now.cacheWrite - before.cacheWrite,
  reasoning: now.reasoning - before.reasoning,
});
