/** A turn that is a dialogue with a program: heard out or cut off, and then ended with everything the program started. */
import type { Exit } from '../process/dialogue.ts';
import { failed, notStarted, type TurnHooks, type TurnRequest, type TurnResult } from './agent.ts';
import type { ConfinedDialogue } from './programs.ts';
import { stopTurn } from './turn-stop.ts';

export interface HeardOut<Ending> {
  /** How the conversation ended; null when it was cut off. */
  ending: Ending | null;
  /** The result of a turn that never began or was stopped, whatever was said in it. */
  settled: TurnResult | null;
  /** For an ending that is none. */
  crashed(name: string, problem?: string | null): TurnResult;
}

export async function hearOut<Ending>(
  child: ConfinedDialogue,
  talking: { over: Promise<Ending>; interrupt(): Promise<unknown> },
  turn: TurnRequest,
  hooks: TurnHooks,
): Promise<HeardOut<Ending>> {
  let cut = () => {};
  const isCut = new Promise<null>((resolve) => {
    cut = () => resolve(null);
  });
  const stop = stopTurn(turn, hooks, { ask: talking.interrupt, cut });
  const ending = await Promise.race([talking.over, isCut]);
  stop.disarm();
  const refused = await child.begun.then(
    () => null,
    (error: Error) => error,
  );
  const stderr = await child.end();
  const exit: Exit = refused === null ? await child.exited : { code: null, signal: null };
  const unconfined = child.problem(exit);
  const kept = refused ?? (unconfined && new Error(`${unconfined}: ${stderr.trim()}`));
  return {
    ending,
    settled: kept ? notStarted(kept) : stop.result(false),
    crashed(name, problem) {
      // That signal was ours, most likely: whoever could not be talked to any more was asked to end.
      const isAsked = exit.signal === 'SIGTERM';
      const killed = isAsked ? 'was ended' : `was killed by ${exit.signal}`;
      const how = exit.signal ? killed : `exited with ${exit.code ?? 'no code'}`;
      const words = problem || stderr.trim().slice(-1000) || 'it said nothing';
      return failed('crashed', `${name} ${how} before its turn was over: ${words}`);
    },
  };
}
