/** The server's operations, as the pages call them: what reads is kept and asked for again when something happened. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { OperationName, Result } from '../src/operations.ts';
import { ask, pathOf } from './ahead.ts';
import { type Happened, onNews } from './live.ts';
import { parsed } from './text.ts';

/** As JSON: what was a number of milliseconds stays one, dates are text already. */
export type Answer<N extends OperationName> = Result<N>;

export class Refused extends Error {
  readonly hint: string | null;
  constructor(message: string, hint: string | null) {
    super(message);
    this.hint = hint;
  }
}

type Input = Record<string, unknown>;

export async function read<N extends OperationName>(name: N, input: Input = {}): Promise<Answer<N>> {
  return answered<Answer<N>>(await ask(pathOf(name, input)));
}

/** `events`: the numbers of those that it became. */
export async function tell<N extends OperationName>(
  name: N,
  input: Input = {},
): Promise<{ answer: Answer<N>; events: number[] }> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`/api/${name}`, { method: 'POST', headers, body: JSON.stringify(input) });
  const events = response.headers.get('Forge-Loop-Events')?.split(',').map(Number) ?? [];
  return { answer: await answered<Answer<N>>(response), events };
}

async function answered<T>(response: Response): Promise<T> {
  const body = await response
    .text()
    .then(parsed)
    .catch(() => null);
  if (response.ok) return body as T;
  const { error } = (body ?? {}) as { error?: { message?: string; hint?: string | null } };
  const { message = `The server answered ${response.status}.`, hint = null } = error ?? {};
  throw new Refused(message, hint);
}

export interface Asking<T> {
  data: T | null;
  problem: Refused | null;
  again(): void;
}

const REST_MS = 300;

/**
 * An answer that is kept true: asked again after news, a while apart, and never while one is on its way. What was shown stays until
 * the next answer is there.
 */
export function useAnswer<N extends OperationName>(
  name: N,
  input: Input | null = {},
  concerns: (news: Happened) => boolean = everything,
): Asking<Answer<N>> {
  const [state, setState] = useState<{ key: string; data: Answer<N> | null; problem: Refused | null }>({
    ...{ key: '', data: null, problem: null },
  });
  const key = input === null ? null : JSON.stringify([name, input]);
  const again = useRef(() => {});
  useEffect(() => {
    if (key === null) return;
    let isGone = false;
    let isAsking = false;
    let isStale = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      isAsking = true;
      isStale = false;
      try {
        const data = await read(name, input ?? {});
        if (!isGone) setState({ key, data, problem: null });
      } catch (error) {
        const problem = error instanceof Refused ? error : new Refused('The server does not answer.', null);
        if (!isGone) setState((before) => ({ key, data: before.key === key ? before.data : null, problem }));
      }
      isAsking = false;
      if (isStale && !isGone) later();
    };
    const later = (): void => {
      isStale = true;
      if (isAsking || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        void look();
      }, REST_MS);
    };
    again.current = () => void look();
    void look();
    const stop = onNews((news) => {
      if (news.type === 'connected' || concerns(news)) later();
    });
    return () => {
      isGone = true;
      clearTimeout(timer);
      stop();
    };
  }, [key]);
  const isMine = state.key === key;
  return {
    data: isMine ? state.data : null,
    problem: isMine ? state.problem : null,
    again: () => again.current(),
  };
}

const everything = ({ type }: Happened): boolean => type !== 'doing';
