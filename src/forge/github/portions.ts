/**
 * Questions about many things in a few queries. GitHub ends a query that costs too much, or that runs for ten seconds: then it
 * is asked about half of them, down to each by itself. What is too much even so is asked alone for a while, and costs the
 * others nothing.
 */
import { type Client, GaveUp } from './client.ts';
import { memo } from './memo.ts';
import { nothing } from './shapes.ts';

/** An answer about some of them, or why there is none about one. */
export type Portion<Row, Answer> = { rows: readonly Row[]; answer: Answer } | { row: Row; tooMuch: string };

export interface Portions<Row> {
  ask<Answer>(
    rows: readonly Row[],
    atOnce: number,
    query: (some: readonly Row[]) => Promise<Answer>,
  ): Promise<Portion<Row, Answer>[]>;
}

export function openPortions<Row>(
  { client, now }: { client: Client; now(): number },
  numberOf: (row: Row) => number,
): Portions<Row> {
  const heavy = memo<number, number>(REMEMBERED);
  const isHeavy = (row: Row): boolean =>
    now() - (heavy.get(numberOf(row)) ?? Number.NEGATIVE_INFINITY) < ALONE_MS;

  const ask = async <Answer>(
    rows: readonly Row[],
    atOnce: number,
    query: (some: readonly Row[]) => Promise<Answer>,
  ): Promise<Portion<Row, Answer>[]> => {
    const found: Portion<Row, Answer>[] = [];
    let isAnswered = false;
    let isUp = false;
    /** A server that fails may be down altogether: that is an outage, not a matter of how much was asked. */
    const unlessDown = async (problem: GaveUp): Promise<void> => {
      if (problem.isTooMuch || isAnswered) return;
      if (found.length >= LOST) throw problem;
      if (isUp) return;
      await client.graphql('query { rateLimit { cost } }', {}, nothing).catch(() => {
        throw problem;
      });
      isUp = true;
    };
    const portion = async (some: readonly Row[], isSecond = false): Promise<void> => {
      try {
        found.push({ rows: some, answer: await query(some) });
        isAnswered = true;
      } catch (problem) {
        if (!(problem instanceof GaveUp)) throw problem;
        await unlessDown(problem);
        const half = Math.ceil(some.length / 2);
        if (half < some.length) {
          await portion(some.slice(0, half));
          await portion(some.slice(half));
          return;
        }
        if (!problem.isTooMuch && !isSecond) return portion(some, true);
        const [row] = some as [Row];
        heavy.set(numberOf(row), now());
        found.push({ row, tooMuch: `it is too much for one query: ${problem.message}` });
      }
    };
    const apart = new Set(rows.filter(isHeavy));
    const light = rows.filter((row) => !apart.has(row));
    for (let from = 0; from < light.length; from += atOnce) await portion(light.slice(from, from + atOnce));
    for (const row of apart) await portion([row]);
    return found;
  };
  return { ask };
}

const REMEMBERED = 500;
const ALONE_MS = 600_000;
/** So many that fail by themselves before anything is answered are no chance. They are asked last the next time. */
const LOST = 2;
