/** When it is written down that the gateway and an agent have not counted the same, on a real database. */
import { expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { event } from '../core/event.ts';
import { METERED } from '../gateway/gateway.ts';
import { compareAccounts } from './two-accounts.ts';

const here = openedRepository();
const USED = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
const KEY = { role: 'coder', turn: 1, sessionId: 's' } as const;

/** A task whose session had turns that ended so, each with its answers booked; the last is the one in question. */
async function taskAfter(id: string, turns: { status: 'finished' | 'interrupted'; answer: string }[]) {
  let task = await here.taskOf(await here.ready('Counted'), id);
  const store = await here.context.writing();
  for (const { status, answer } of turns) {
    task = await here.commit(task, event('turn_started', { ...KEY, prompt: 'task' }));
    const lease = await here.leaseOf(id);
    const spent = { ...KEY, ...USED, task: id, model: 'm', costUsd: 1, at: here.context.now() };
    await store.addUsage(lease, [{ ...spent, key: `${METERED}${id}:1:${answer}:end` }]);
    await store.releaseLease(lease);
    if (turns.at(-1)?.answer === answer) break;
    const ended = { status, code: null, message: '', retryAt: null, durationMs: 1 } as const;
    task = await here.commit(task, event('turn_completed', { ...KEY, ...ended, usage: 'known' }));
  }
  const said: string[] = [];
  const ports = { store, clock: { now: () => 7 }, log: (_: string, text: string) => said.push(text) };
  const compare = async (counted: string[], agent: string[]) => {
    const told = (ids: string[]) => ({ told: ids.map((name) => ({ ...USED, id: name })), isWhole: true });
    await compareAccounts(ports as never, task.task, KEY, { counted: told(counted), agent: told(agent) });
    return (await store.events({ task: id, type: 'accounts_differ' })).map(({ data }) => data);
  };
  return { compare, said };
}

test('a difference is an event with both sums, and a line in the log', async () => {
  const { compare, said } = await taskAfter('aaaa0001', [{ status: 'finished', answer: 'msg_1' }]);
  expect(await compare(['msg_1'], ['msg_1'])).toEqual([]);
  const calls = [{ id: 'msg_2', counted: 110, agent: null }];
  expect(await compare(['msg_1', 'msg_2'], ['msg_1'])).toMatchObject([
    { ...KEY, counted: { input: 200 }, agent: { input: 100 }, calls },
  ]);
  expect(said).toEqual([
    expect.stringMatching(
      /coder|turn 1 .*200 tokens in and 20 out .*, and 100 tokens in and 10 out by its agent/,
    ),
  ]);
});

test('what the turn before used, which was cut off, is none', async () => {
  const { compare } = await taskAfter('aaaa0002', [
    { status: 'interrupted', answer: 'msg_1' },
    { status: 'finished', answer: 'msg_2' },
  ]);
  expect(await compare(['msg_2'], ['msg_1', 'msg_2'])).toEqual([]);
  expect(await compare(['msg_2'], ['all of it', 'and more']), 'of a program that knows no names').toEqual([]);
});
