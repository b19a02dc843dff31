/** `doctor --access` and `doctor --attack` where containers confine. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type ContainerEngine,
  IMAGE,
  openEngine,
  skippedWithoutEngine,
} from '../../test/support/container-engine.ts';
import { openedRepository } from '../../test/support/opened-repository.ts';
import { ATTEMPTS } from '../attack/attempts.ts';
import { makeMachine } from '../attack/machine.ts';
import { perform } from '../operations.ts';
import { attacked } from './doctor-attack.ts';

const here = openedRepository();

// It needs podman, which CI installs.
describe.skipIf(skippedWithoutEngine('doctor in containers'))('in a container', () => {
  let engine: ContainerEngine;
  beforeAll(() => {
    engine = openEngine();
    for (const [name, value] of Object.entries(engine.env)) vi.stubEnv(name, value);
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    engine.dispose();
  });
  const confined = `sandbox: { kind: container, image: ${IMAGE} }`;

  test('a coder writes to its workspace, its home and its session, and is told of its turn and its door', async () => {
    here.configure(
      `agent: { command: "true", model: m }\ngate: none\n${confined}\nroles: { coder: { access: { network: [example.org] } } }`,
    );
    const seen = await perform(here.context, 'access', { who: 'coder' });
    expect(seen).toMatchObject({ sandbox: `container of ${IMAGE}`, network: ['example.org'] });
    const { write = [], memory = [] } = seen.files ?? {};
    expect(write).toEqual(expect.arrayContaining(['its own home', 'its session', 'its workspace']));
    expect(memory).toEqual(expect.arrayContaining(['/tmp', '/var/tmp', '/run']));
    expect(seen.environment).toEqual(expect.arrayContaining(['FORGE_ROLE', 'HOME', 'https_proxy']));
  });

  test('hostile scripts get nowhere', async () => {
    here.configure(`agent: { command: "true" }\ngate: none\n${confined}`);
    const { sandbox, gateway } = await here.context.tools();
    const machine = await makeMachine(gateway);
    const names = [
      'overwrites a file of the operator',
      'reads operator/.ssh/id_ed25519',
      'reaches a service on loopback',
      'leaves a daemon behind',
    ];
    const attempts = ATTEMPTS.filter(({ name }) => names.includes(name));
    expect(attempts.length).toBe(names.length);
    try {
      const target = { sandbox, kind: { image: IMAGE } };
      expect(await attacked(machine, target, attempts)).toEqual([
        {
          name: 'attack',
          level: 'ok',
          what: `4 of 4 hostile scripts got nowhere under container of ${IMAGE}`,
          fix: null,
        },
      ]);
    } finally {
      await machine.dispose();
    }
  });
});
