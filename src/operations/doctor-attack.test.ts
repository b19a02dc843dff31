/** `doctor --attack`; that no attempt gets out of a sandbox: test/hostile/. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { ATTEMPTS } from '../attack/attempts.ts';
import { type Machine, makeMachine } from '../attack/machine.ts';
import { openGateway } from '../gateway/server.ts';
import { perform } from '../operations.ts';
import { noSandbox } from '../sandbox/none.ts';
import { attacked } from './doctor-attack.ts';

let machine: Machine;
beforeAll(async () => {
  machine = await makeMachine(openGateway({}));
});
afterAll(() => machine.dispose());

test('an attempt that got out is named, with what it reached', async () => {
  const attempts = ATTEMPTS.filter(({ name }) =>
    ['overwrites a file of the operator', 'writes to the objects it borrows'].includes(name),
  );
  const checks = await attacked(machine, { kind: 'none', sandbox: noSandbox() }, [
    ...attempts,
    { name: 'does nothing', script: () => ':' },
  ]);
  expect(checks).toEqual([
    expect.objectContaining({
      level: 'fail',
      what: "overwrites a file of the operator: it changed the operator's file",
    }),
    expect.objectContaining({
      level: 'fail',
      what: 'writes to the objects it borrows: it did what it must not',
    }),
    expect.objectContaining({
      level: 'ok',
      what: expect.stringMatching(/^1 of 3 hostile scripts got nowhere/),
    }),
  ]);
});

const here = openedRepository();

test('nothing is tried without a sandbox', async () => {
  here.configure('agent: { command: "true" }\ngate: none\nsandbox: none');
  expect(await perform(here.context, 'attack')).toMatchObject({
    failed: 1,
    checks: [{ level: 'fail', what: 'there is no sandbox here: nothing was tried' }],
  });
});
