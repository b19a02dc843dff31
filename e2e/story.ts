/** What every real agent has to live through, from an issue to trunk, with the loop as its users run it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test as plain, vi } from 'vitest';
import {
  type ContainerEngine,
  IMAGE,
  openEngine,
  skippedWithoutEngine,
} from '../test/support/container-engine.ts';
import { expectMergedOnce } from '../test/support/e2e/merged-once.ts';
import { type Json, makeWorld, type World } from '../test/support/e2e/world.ts';
import type { Scenario } from '../test/support/llm/scenario.ts';
import { type Entry, type Llm, startLlm } from '../test/support/llm/server.ts';
import { PROGRAM } from './setup.ts';

export interface Protagonist {
  kind: string;
  preset?: string;
  model: string;
  /** What its operator has in the environment. `subscription`: signed in so that a limit tells its end. */
  env(llm: Llm, how: 'key' | 'subscription'): Record<string, string>;
  /** Whether it tells when a used-up limit ends; it does unless said otherwise. */
  tellsLimits?: boolean;
  /** Talks to its provider itself: it tells its version and how it is signed in, and why a request was refused. */
  isDirect?: boolean;
}

type Replies = Scenario['rules'][number]['replies'];

export const BODY = 'The file `answer.txt` must contain `whole`, and nothing else. BODY-OF-THE-ISSUE';
export const CODER = 'You are working on issue';
const CRITIC = 'You are the critic';
const CHANGES = {
  verdict: 'REQUEST_CHANGES',
  findings: [{ severity: 'sev2', file: 'answer.txt', line: 1, message: 'say who wrote it in author.txt' }],
};
export const APPROVE = { verdict: 'APPROVE', findings: [] };
const ADDRESSED = { ...APPROVE, earlier: [{ id: '1', addressed: 'yes', why: 'author.txt says it' }] };
/** A structured answer may be followed by a word. */
export const judged = (...answers: object[]): Replies => answers.map((answer) => ({ answer }));

/** A test with a world and a model of its own, in which the hero works. */
export const teller =
  (hero: Protagonist) =>
  (
    name: string,
    how: 'key' | 'subscription',
    story: (world: World, llm: Llm, play: (coder: Replies, critic: Replies) => void) => Promise<void>,
  ): void =>
    plain(name, async () => {
      const llm = await startLlm({ rules: [] });
      const world = makeWorld({ program: PROGRAM, env: hero.env(llm, how) });
      const play = (coder: Replies, critic: Replies) =>
        llm.play({
          rules: [
            { when: { says: CRITIC }, replies: critic },
            { when: { says: CODER }, replies: coder },
          ],
        });
      try {
        world.settings(workOf(hero));
        await story(world, llm, play);
        expect(llm.journal.filter(({ outcome }) => outcome === 'unscripted')).toEqual([]);
      } catch (error) {
        console.error(await world.report());
        throw error;
      } finally {
        await world.dispose();
        await llm.close();
      }
    });

/** Whether its coder has written something. */
async function isWritten(world: World, issue: number): Promise<boolean> {
  const { workspace } = await world.task(issue);
  return workspace !== null && existsSync(join(workspace, 'answer.txt'));
}

export const workOf = (hero: Protagonist): Json => ({
  agent: { kind: hero.kind, model: hero.model, ...(hero.preset && { preset: hero.preset }) },
  gate: { commands: ['grep -x whole answer.txt'] },
});

export function realStory(hero: Protagonist): void {
  const tell = teller(hero);
  const name = hero.preset ? `${hero.kind} ${hero.preset}` : hero.kind;
  const signedIn = new RegExp(`ok +agent +${name} \\d+\\.\\d+\\.\\d+, signed in by`);

  describe(`${hero.kind}, from an issue to trunk`, () => {
    let engine: ContainerEngine | null = null;
    const isContained = hero.isDirect === true && !skippedWithoutEngine(`${hero.kind} in a container`);
    beforeAll(() => {
      // Its image is made of programs of this machine, by their own paths.
      vi.stubEnv('PATH', process.env.WHOLE_PATH);
      if (isContained) engine = openEngine();
      vi.unstubAllEnvs();
    });
    afterAll(() => engine?.dispose());

    for (const sandbox of ['none', 'bwrap', ...(isContained ? ['container'] : [])])
      tell(
        `red gate, changes asked for, approved: one session all along (sandbox: ${sandbox})`,
        'key',
        async (world, llm, play) => {
          const image = sandbox === 'container' ? { image: IMAGE } : {};
          world.settings({ ...workOf(hero), sandbox: { kind: sandbox, ...image } });
          Object.assign(world.env, sandbox === 'container' && engine?.env);
          if (sandbox !== 'none') world.env.PATH = process.env.WHOLE_PATH ?? '';
          play(
            [
              { run: 'echo half > answer.txt' },
              { say: 'done' },
              { run: 'echo whole > answer.txt' },
              { say: 'now it is whole' },
              { run: 'echo me > author.txt' },
              ...(hero.isDirect
                ? [{ call: { tool: 'mcp__forge__finish', input: { summary: 'SIGNED-IT. Fixes #99' } } }]
                : []),
              { say: 'signed' },
            ],
            judged(CHANGES, ADDRESSED),
          );
          const issue = await world.issue({ body: BODY });
          await world.settle();
          const task = await expectMergedOnce(world, issue);
          expect(task.sessionIds).toHaveLength(1);
          expect((await world.turns(issue)).map(({ role, prompt }) => [role, prompt])).toEqual([
            ['coder', 'task'],
            ['coder', 'continuation'],
            ['critic', 'critic'],
            ['coder', 'revise'],
            ['critic', 'next_round'],
          ]);
          const critics = (await world.turns(issue)).filter(({ role }) => role === 'critic');
          expect(new Set(critics.map(({ sessionId }) => sessionId)).size, 'the critic went on').toBe(1);
          const judging = JSON.stringify(
            llm.journal.filter((entry) => saysCritic(entry)).at(-1)?.request.body,
          );
          expect(judging.split('BODY-OF-THE-ISSUE'), 'its contract was sent once').toHaveLength(2);
          expect(judging).toContain(`has a new head, ${task.verdict?.headSha}`);
          expect(judging.split('+whole'), 'it saw the whole change twice').toHaveLength(3);
          expect(judging).toContain('+me');
          expect(world.git('show', 'main:author.txt')).toBe('me\n');
          if (hero.isDirect) expect(world.pulls(issue).join('\n')).toContain('\n    SIGNED-IT. Fixes #99\n');
          const coder = llm.journal.filter((entry) => saysCoder(entry));
          const last = JSON.stringify(coder.at(-1)?.request.body);
          expect(
            new Set(coder.map(({ request }) => request.session)).size,
            'the provider saw one session',
          ).toBe(1);
          expect(last.split('BODY-OF-THE-ISSUE'), 'the body was sent once, in the first prompt').toHaveLength(
            2,
          );
          expect(last).toContain('grep -x whole answer.txt');
          expect(last).toContain('say who wrote it in author.txt');
          await expectServed(world, llm, task.id);
          if (sandbox === 'container') expect(engine?.podman('ps', '--all', '--quiet')).toBe('');
        },
      );

    if (hero.isDirect)
      tell('doctor names its version and sign-in, and lets each role answer', 'key', async (world, llm) => {
        const asked = (reply: Replies[number]) =>
          llm.play({
            rules: [{ when: { says: 'test of the connection' }, replies: [{ ...reply, times: 'always' }] }],
          });
        asked({ say: 'ready' });
        const { code, stdout } = await world.cli('doctor', '--agents');
        expect(stdout).toMatch(signedIn);
        for (const role of ['specifier', 'coder', 'critic'])
          expect(stdout).toMatch(
            new RegExp(`ok +${role} turn +${hero.kind} with ${hero.model} answered "ready"`),
          );
        expect(code).toBe(0);
        asked({ fail: { status: 401, type: 'authentication_error', message: 'no' } });
        const refused = await world.cli('doctor', '--agents');
        expect(refused.stdout).toMatch(/fail +coder turn .* did not answer .*auth/);
        expect(refused.code).toBe(1);
      });

    if (!hero.isDirect)
      tell('doctor names its version and sign-in', 'key', async (world) => {
        expect((await world.cli('doctor')).stdout).toMatch(signedIn);
      });

    for (const sandbox of ['none', 'bwrap'])
      tell(
        `its runner is killed in the middle of a tool, and another goes on (sandbox: ${sandbox})`,
        'key',
        async (world, llm, play) => {
          world.settings({ ...workOf(hero), sandbox });
          if (sandbox === 'bwrap') world.env.PATH = process.env.WHOLE_PATH ?? '';
          play(
            [
              // What is confined reaches nobody outside, but what it writes is seen.
              { run: 'echo half > answer.txt; exec tail -f /dev/null' },
              { run: 'echo whole > answer.txt' },
              { say: 'done' },
            ],
            judged(APPROVE),
          );
          const issue = await world.issue({ body: BODY });
          const first = world.run('--until-idle');
          await expect.poll(() => isWritten(world, issue), { timeout: 60_000 }).toBe(true);
          await first.kill();
          await world.settle();
          const task = await expectMergedOnce(world, issue);
          expect(task.sessionIds).toHaveLength(1);
          expect((await world.turns(issue)).map(({ prompt, status }) => [prompt, status])).toEqual([
            ['task', 'interrupted'],
            ['interrupted', 'finished'],
            ['critic', 'finished'],
          ]);
          const coder = llm.journal.filter((entry) => saysCoder(entry));
          expect(new Set(coder.map(({ request }) => request.session)).size).toBe(1);
          expect(JSON.stringify(coder.at(-1)?.request.body)).toContain('You were interrupted');
          await expectServed(world, llm, task.id);
        },
      );

    if (hero.isDirect)
      tell(
        'a conversation that the provider refuses is not gone on with: a new session takes over, or the task ends',
        'key',
        async (world, llm, play) => {
          const refused = { status: 400, type: 'invalid_request_error', message: 'no such block' };
          const breaking: Replies = [
            { run: 'echo half > answer.txt' },
            { say: 'done' },
            { fail: refused, times: 'always' },
          ];
          play(breaking, judged(APPROVE));
          llm.play({
            rules: [
              {
                when: { says: 'You take over issue' },
                replies: [{ run: 'echo whole > answer.txt' }, { say: 'done' }],
              },
            ],
          });
          world.settings({
            agent: { kind: hero.kind, model: hero.model },
            gate: { commands: ['grep -x whole answer.txt'] },
            recovery: { on_lost_session: 'fresh_session' },
          });
          const issue = await world.issue({ body: BODY });
          await world.settle();
          const task = await expectMergedOnce(world, issue);
          expect(task.sessionIds).toHaveLength(2);
          expect((await world.turns(issue)).map(({ prompt, status }) => [prompt, status])).toEqual([
            ['task', 'finished'],
            ['continuation', 'failed'],
            ['handover', 'finished'],
            ['critic', 'finished'],
          ]);
          expect(await world.event('session_lost')).toMatchObject({
            data: { sessionId: task.sessionIds[0] },
          });

          world.settings({
            agent: { kind: hero.kind, model: hero.model },
            gate: { commands: ['grep -x more answer.txt'] },
          });
          play(breaking, judged(APPROVE));
          const other = await world.issue({ title: 'Write more', body: BODY.replace('whole', 'more') });
          await world.settle(4);
          expect(await world.task(other)).toMatchObject({
            state: 'abandoned',
            reason: 'crash_recovery_failed',
            why: expect.stringContaining('no such block'),
          });
        },
      );

    if (hero.tellsLimits ?? true)
      tell(
        'a usage limit is waited for, and the same session goes on',
        'subscription',
        async (world, llm, play) => {
          const limit = { status: 429, type: 'usage_limit_reached', message: 'used up', resetsInSeconds: 15 };
          play([{ fail: limit }, { run: 'echo whole > answer.txt' }, { say: 'done' }], judged(APPROVE));
          const issue = await world.issue({ body: BODY });
          const runner = world.run();
          const held = await world.event('hold_set');
          expect(held.data).toMatchObject({ reason: 'provider_limit' });
          expect(held.data.until! - held.at).toBeGreaterThan(0);
          // OpenCode tells how long to wait, and not for what: a short wait is a limit of requests, and this task's alone.
          if (hero.isDirect)
            expect((await world.status()).accountLimits).toMatchObject([{ account: hero.kind }]);
          await world.state(issue, 'merged');
          await runner.kill();
          await world.settle();
          const task = await expectMergedOnce(world, issue);
          expect(task.sessionIds).toHaveLength(1);
          expect((await world.turns(issue)).map(({ role, status }) => [role, status])).toEqual([
            ['coder', 'failed'],
            ['coder', 'finished'],
            ['critic', 'finished'],
          ]);
          const coder = llm.journal.filter((entry) => saysCoder(entry));
          expect(new Set(coder.map(({ request }) => request.session)).size).toBe(1);
        },
      );
  });
}

/** The ledger has what the provider served, to the token, and the agent says nothing else. */
export async function expectServed(world: World, llm: Llm, task: string): Promise<void> {
  const booked = await world.store().then((store) => store.usage({ task }));
  const { input, output, cacheRead, cacheWrite } = llm.told();
  const sum = (kind: 'input' | 'output' | 'cacheRead' | 'cacheWrite') =>
    booked.reduce((total, delta) => total + delta[kind], 0);
  expect({
    input: sum('input'),
    output: sum('output'),
    cacheRead: sum('cacheRead'),
    cacheWrite: sum('cacheWrite'),
  }).toEqual({ input, output, cacheRead, cacheWrite });
  const differing = (await world.events()).filter(({ type }) => type === 'accounts_differ');
  expect(differing, 'its agent says the same').toEqual([]);
}

const saysCritic = ({ request }: Entry): boolean => request.texts.some((text) => text.includes(CRITIC));
const saysCoder = ({ request }: Entry): boolean =>
  request.texts.some((text) => text.includes(CODER)) && !request.texts.some((text) => text.includes(CRITIC));
