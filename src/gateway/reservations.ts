/**
 * What calls of a model may still use, of all doors together: the ledger has only what was told. A call under way counts
 * with all it may use; one that is over and did not tell what it used counts on until its route ends.
 *
 * Calls of one task are held against its budget; those of all tasks against the budget of the day and of the loop.
 */
import type { Left, Room } from '../core/money/budget.ts';
import type { Refusal } from './gateway.ts';

export interface Amount {
  usd: number;
  tokens: number;
}

export interface Reservations {
  /** Null when the call may go on, with this much; else why not. Waits for others that might use what is left. */
  admit(
    call: symbol,
    task: string,
    amount: Amount,
    room: () => Promise<Room>,
  ): Promise<Pick<Refusal, 'reason' | 'why'> | null>;
  /** The call is over; `untold` is what nobody knows whether it was used. */
  end(call: symbol, untold: Amount | null): void;
  /** The route of these calls is at its end. */
  forget(calls: Iterable<symbol>): void;
}

export function reservations(): Reservations {
  const held = new Map<symbol, Amount & { task: string; isUnderWay: boolean }>();
  let ends = 0;
  let ended = wakeable();
  const changed = (): void => {
    ends += 1;
    ended.wake();
    ended = wakeable();
  };

  return {
    async admit(call, task, amount, room) {
      for (;;) {
        const before = ends;
        const left = await room();
        if (left.spent !== null) return { reason: 'budget', why: left.spent };
        // One that ended meanwhile may be in neither.
        if (before !== ends) continue;
        const answer = judge(call, task, left);
        if (answer === 'refused') return { reason: 'untold', why: UNTOLD };
        if (answer === 'granted') {
          held.set(call, { ...amount, task, isUnderWay: true });
          return null;
        }
        await ended.promise;
      }
    },
    end(call, untold) {
      const own = held.get(call);
      if (own && untold) held.set(call, { ...own, ...untold, isUnderWay: false });
      else held.delete(call);
      changed();
    },
    forget(calls) {
      for (const call of calls) held.delete(call);
      changed();
    },
  };

  function judge(call: symbol, task: string, room: Room): 'granted' | 'refused' | 'wait' {
    const others = [...held].filter(([one]) => one !== call).map(([, one]) => one);
    const scopes: [Left, typeof others][] = [
      [room.task, others.filter((one) => one.task === task)],
      [room.loop, others],
    ];
    let answer: 'granted' | 'wait' = 'granted';
    for (const [left, counted] of scopes)
      for (const kind of ['usd', 'tokens'] as const) {
        const most = left[kind];
        const sum = (of: typeof others): number => of.reduce((all, one) => all + one[kind], 0);
        if (most === null || sum(counted) < most) continue;
        if (!counted.some(({ isUnderWay }) => isUnderWay)) return 'refused';
        answer = 'wait';
      }
    return answer;
  }
}

const UNTOLD = 'calls that did not tell what they used may have used what is left of the budget';

function wakeable(): { promise: Promise<void>; wake(): void } {
  let wake = () => {};
  const promise = new Promise<void>((resolve) => {
    wake = resolve;
  });
  return { promise, wake: () => wake() };
}
