/**
 * A store that is told no secrets. What is folded into rows is folded from what is written, so that a row is the same
 * whenever it is folded.
 */
import { type Redaction, redactValue } from '../core/access/redact.ts';
import type { Commit, Store } from './store.ts';

export function redactingStore(store: Store, redact: Redaction): Store {
  const without = <T>(value: T): T => withoutSecrets(value, redact);
  return {
    ...store,
    claim: (claim) =>
      store.claim({ ...claim, events: without(claim.events), actions: without(claim.actions) }),
    commit: (commit) => store.commit({ ...commit, ...without(told(commit)) }),
    deferAction: (lease, id, notBefore, events, at) =>
      store.deferAction(lease, id, notBefore, without(events), at),
    record: ({ events, addActions, loop, requests, ...rest }) =>
      store.record({
        ...rest,
        events: without(events),
        ...(addActions && { addActions: without(addActions) }),
        ...(loop && { loop: without(loop) }),
        ...(requests && { requests: without(requests) }),
      }),
    recordProcess: (lease, child) => store.recordProcess(lease, without(child)),
    request: (request) => store.request(without(request)),
    updateLoop: (change, events, at, lease) => store.updateLoop(without(change), without(events), at, lease),
  };
}

const told = ({ events, addActions, findings }: Commit) => ({
  events,
  ...(addActions && { addActions }),
  ...(findings && { findings }),
});

/**
 * Left as they are: what was agreed on, by whose very text it is known; the account, which is compared and has no key in it
 * (`accountOf`); and names of tests, packed.
 */
const KEPT: ReadonlySet<string> = new Set(['contract', 'plan', 'account', 'triesAccount', 'probe', 'tests']);

function withoutSecrets<T>(value: T, redact: Redaction): T {
  if (Array.isArray(value)) return value.map((one) => withoutSecrets(one, redact)) as T;
  if (typeof value !== 'object' || value === null) return value;
  if ('type' in value && value.type === 'plan_stored') return value;
  const rows = Object.entries(value).map(([key, one]) => {
    if (KEPT.has(key)) return [key, one];
    return [key, typeof one === 'object' ? withoutSecrets(one, redact) : redactValue(one, redact, key)];
  });
  return Object.fromEntries(rows) as T;
}
