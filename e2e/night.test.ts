/**
 * A night of ten issues with a real agent on which everything goes wrong that is nobody's doing: the account runs empty at
 * the third issue, the login expires at the fifth, the provider is down at the seventh. No task pays for any of it, and a
 * person is needed once for each of the first two.
 */
import { expect, test } from 'vitest';
import { expectMergedOnce } from '../test/support/e2e/merged-once.ts';
import { makeWorld, type World } from '../test/support/e2e/world.ts';
import { type Llm, startLlm } from '../test/support/llm/server.ts';
import { CLAUDE_MODEL } from './claude.ts';
import { CODEX_MODEL } from './codex.ts';
import { PROGRAM } from './setup.ts';

const ISSUES = Array.from({ length: 10 }, (_, index) => index + 1);
const mark = (issue: number): string => `NIGHT-${String(issue).padStart(2, '0')}`;

const rules = [
  {
    when: { says: 'You are the critic' },
    replies: [{ answer: { verdict: 'APPROVE', findings: [] }, times: 'always' as const }],
  },
  ...ISSUES.map((issue) => ({
    when: { says: mark(issue) },
    replies: [{ run: `echo done > answer-${issue}.txt` }, { say: 'done', times: 'always' as const }],
  })),
];

test.each([
  {
    kind: 'claude',
    model: CLAUDE_MODEL,
    env: (llm: Llm) => ({ ANTHROPIC_BASE_URL: llm.url, CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-test' }),
    empty: /credit balance is too low/i,
    expired: /OAuth token has expired/,
  },
  {
    kind: 'codex',
    model: CODEX_MODEL,
    env: (llm: Llm) => ({ OPENAI_BASE_URL: `${llm.url}/v1`, OPENAI_API_KEY: 'sk-test' }),
    empty: /Quota exceeded/,
    expired: /authentication token is expired/,
  },
])(
  'ten issues and $kind: no credit, an expired login, an outage; two words of a person, ten merges',
  async (hero) => {
    const llm = await startLlm({ rules });
    const world = makeWorld({ program: PROGRAM, env: hero.env(llm) });
    try {
      world.settings({
        agent: { kind: hero.kind, model: hero.model, max_concurrent: 3 },
        gate: { commands: ['ls answer-*.txt'] },
      });
      for (const issue of ISSUES)
        await world.issue({
          title: `Write answer ${issue}`,
          body: `The file \`answer-${issue}.txt\` must contain \`done\`. ${mark(issue)}`,
        });
      llm.refuse('no credit', mark(3));
      const runner = world.run();
      await world.event('runner_started');

      const told = await waitsOf(world, 'account_empty');
      expect(told).toMatch(hero.empty);
      expect(told).toContain('add credit or raise its limit, then `forge-loop resume`');
      llm.refuse('expired login', mark(5));
      await resume(world);

      const asked = await waitsOf(world, 'credential_refused');
      expect(asked).toMatch(hero.expired);
      expect(asked).toContain('sign in again or fix the key, then `forge-loop resume`');
      llm.refuse('overload', mark(7));
      await resume(world);

      // It is over when the loop has found out; nobody is needed.
      await waitsOf(world, 'outage');
      llm.refuse(null);

      for (const issue of ISSUES) await world.state(issue, 'merged', 'abandoned');
      await runner.kill();
      await world.settle();
      for (const issue of ISSUES) {
        await expectMergedOnce(world, issue);
        expect(world.git('show', `main:answer-${issue}.txt`)).toBe('done\n');
      }
      const released = (await world.events()).filter(({ type }) => type === 'account_released');
      expect(released, 'one resume for the account, one for the login').toHaveLength(2);
      expect(await spent(world), 'the ledger is the provider’s journal').toEqual(llm.told());
      expect(llm.journal.filter(({ outcome }) => outcome === 'unscripted')).toEqual([]);
      const prompts = llm.journal.flatMap(({ request }) => request.texts).join('\n');
      expect(prompts, 'no coder was told to address its provider').not.toMatch(hero.empty);
      expect(prompts).not.toMatch(hero.expired);
    } catch (error) {
      console.error(await world.report());
      throw error;
    } finally {
      await world.dispose();
      await llm.close();
    }
  },
);

/** What `status` says once all tasks of the account wait, and wait for this: it is said once, whoever met it. */
async function waitsOf(world: World, reason: string): Promise<string> {
  const waits = await world.until(`the account to wait (${reason})`, async () => {
    const found = (await world.status()).waits;
    return found.some((wait) => wait.reason === reason) && found;
  });
  expect(waits.map((wait) => wait.reason)).toEqual([reason]);
  return waits[0]!.text;
}

async function resume(world: World): Promise<void> {
  const { code, stderr } = await world.cli('resume');
  expect(stderr).toBe('');
  expect(code).toBe(0);
}

async function spent(world: World): Promise<Record<string, number>> {
  const store = await world.store();
  const sum = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  for (const { task } of await store.tasks())
    for (const delta of await store.usage({ task: task.id }))
      for (const kind of Object.keys(sum) as (keyof typeof sum)[]) sum[kind] += delta[kind];
  return sum;
}
