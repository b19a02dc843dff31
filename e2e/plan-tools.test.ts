/**
 * The loop's tools, called by real agents: what is noted in a turn of a plan decides what follows, and a coder reads the forge without
 * reaching it.
 */
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

test.each(HEROES)('%s: a coder reads the forge by the loop, confined', async (kind, model, env) => {
  const llm = await startLlm({ rules: [] });
  const world = makeWorld({ program: PROGRAM, env: env(llm.url) });
  world.env.PATH = process.env.WHOLE_PATH ?? '';
  try {
    world.settings({
      agent: { kind, model },
      gate: { commands: ['grep -x whole answer.txt'] },
      sandbox: 'bwrap',
    });
    const other = await world.issue({ title: 'Older', body: 'TEXT-OF-ANOTHER-ISSUE', ready: false });
    const issue = await world.issue({ body: 'The file `answer.txt` must contain `whole`.' });
    const changes = {
      verdict: 'REQUEST_CHANGES',
      findings: [{ severity: 'sev2', file: 'answer.txt', line: 1, message: 'say who wrote it' }],
    };
    const addressed = { earlier: [{ id: '1', addressed: 'yes', why: 'author.txt says it' }] };
    llm.play({
      rules: [
        {
          when: { says: 'You are the critic' },
          replies: [{ answer: changes }, { answer: { verdict: 'APPROVE', findings: [], ...addressed } }],
        },
        {
          when: { says: 'You are working on issue' },
          replies: [
            forge('issue_read', { number: other }),
            forge('issues_search', { words: 'older' }),
            { run: 'echo whole > answer.txt' },
            { say: 'done' },
            forge('pull_request_read', { number: 1 }),
            { run: 'echo me > author.txt' },
            { say: 'signed' },
          ],
        },
      ],
    });
    await world.settle();
    expect((await world.task(issue)).state).toBe('merged');
    const heard = llm.journal.flatMap(({ request }) => request.texts).join('\n');
    expect(heard).toContain(`Issue #${other} (open): Older`);
    expect(heard).toContain('TEXT-OF-ANOTHER-ISSUE');
    expect(heard).toContain(`- issue #${other} (open): Older`);
    expect(heard).toContain('Pull request #1 (open): Write the file');
    expect(llm.journal.filter(({ outcome }) => outcome === 'unscripted')).toEqual([]);
  } catch (error) {
    console.error(await world.report());
    throw error;
  } finally {
    await world.dispose();
    await llm.close();
  }
});
