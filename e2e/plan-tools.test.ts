/** The auditor's and the coder's tools in a plan, with real agents: what is noted in a turn decides what follows. */
import { expect, test } from 'vitest';
import { makeWorld } from '../test/support/e2e/world.ts';
import { startLlm } from '../test/support/llm/server.ts';
import { CLAUDE_MODEL } from './claude.ts';
import { CODEX_MODEL } from './codex.ts';
import { PROGRAM } from './setup.ts';

const HEROES = [
  ['claude', CLAUDE_MODEL, (url: string) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-test' })],
  ['codex', CODEX_MODEL, (url: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'sk-test' })],
] as const;

const forge = (tool: string, input: Record<string, unknown>) => ({
  call: { tool: `mcp__forge__${tool}`, input },
});
const CLEAN = {
  answer: { clean: true, findings: [], resolved: [], summary: { done: 'made' }, amendments: [] },
};

test.each(HEROES)('%s: a bug that the auditor notes sends the plan back', async (kind, model, env) => {
  const llm = await startLlm({ rules: [] });
  const world = makeWorld({ program: PROGRAM, env: env(llm.url) });
  try {
    world.settings({ agent: { kind, model }, gate: { commands: ['grep -x whole answer.txt'] } });
    llm.play({
      rules: [
        {
          when: { says: 'You are the auditor' },
          replies: [
            forge('findings_write', { severity: 'bug', description: 'say who wrote it', file: 'answer.txt' }),
            CLEAN,
            forge('findings_read', { pattern: '^answer.*' }),
            forge('findings_resolve', { id: '1', why: 'author.txt says it' }),
            CLEAN,
          ],
        },
        {
          when: { says: 'You carry out a plan' },
          replies: [
            { run: 'echo whole > answer.txt' },
            forge('finish', { summary: 'made it', choices: ['a file: it is simple'] }),
            { say: 'done' },
            { run: 'echo me > author.txt' },
            { say: 'signed' },
          ],
        },
      ],
    });
    await world.json('loop', 'start', '--goal', 'Write whole into answer.txt', '--name', 'tidy');
    await world.settle();
    const store = await world.store();
    const [stored] = await store.tasks();
    const { id, state } = stored!.task;
    expect(state).toBe('completed');
    const events = await store.events({ task: id });
    expect(events.flatMap((one) => (one.type === 'audit_recorded' ? [one.data.isClean] : []))).toEqual([
      false,
      true,
    ]);
    expect(await store.findings(id)).toMatchObject([
      {
        message: 'say who wrote it',
        status: 'resolved',
        history: [{ by: 'auditor' }, { by: 'auditor', why: 'author.txt says it' }],
      },
    ]);
    const asked = llm.journal.map(({ request }) => request.texts.join('\n'));
    expect(asked.find((text) => text.includes('You are the auditor'))).toContain(
      'chose: a file: it is simple',
    );
    expect(asked.at(-1), 'what it had noted was in the ledger by then').toContain(`${id}.1`);
  } catch (error) {
    console.error(await world.report());
    throw error;
  } finally {
    await world.dispose();
    await llm.close();
  }
});
