/** Who is silent and who is at work, with the real programs: what the model or a tool did counts, and nothing else. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { afterProgress, isInTool, NO_TOOLS, type ToolWatch } from '../src/core/tool-watch.ts';
import { expectMergedOnce } from '../test/support/e2e/merged-once.ts';
import { makeWorld } from '../test/support/e2e/world.ts';
import { type Llm, startLlm } from '../test/support/llm/server.ts';
import { ACP_MODEL, acpOperator, type Preset, realAcp } from './acp.ts';
import { opencodeModel, opencodeOperator, realOpencode } from './opencode.ts';
import { realStage, replies } from './real-stage.ts';
import { PROGRAM } from './setup.ts';

type Silent = Preset | 'opencode serve';

const stage = await realStage(
  (llm: Llm, who: Silent) =>
    who === 'opencode serve'
      ? { real: realOpencode(llm, 'messages'), policy: { model: opencodeModel('messages') } }
      : { real: realAcp(llm, who), policy: { preset: who, model: ACP_MODEL[who] } },
  ['gemini'],
  'free',
);

describe('a command that says nothing for long is a tool in flight, not a stall (loops 44, 46)', () => {
  test.each<Silent>(['gemini', 'opencode', 'codex-acp', 'claude-agent-acp', 'opencode serve'])(
    '%s',
    async (who) => {
      const command = 'touch halfway; until [ -e go ]; do sleep 0.02; done';
      await stage.scripted(replies({ run: command }, { run: 'touch after' }, { say: 'done' }), who);
      let tools: ToolWatch = NO_TOOLS;
      const watching = stage.watched({
        onProgress: (progress) => {
          if (progress) tools = afterProgress(tools, progress);
        },
      });
      const running = stage.run('Go.', {}, watching);
      await stage.appeared('halfway');
      await expect.poll(() => isInTool(tools), { timeout: 60_000 }).toBe(true);
      await writeFile(stage.inWorkspace('go'), '');
      expect((await running).result).toMatchObject({ status: 'finished', text: 'done' });
      expect(isInTool(tools), 'it is over').toBe(false);
    },
  );
});

/** Longer than its server waits between two signs of life (10 s), which are no sign of work. */
const STALL_MS = 25_000;

describe('a provider that never answers is seen, whatever the program says of itself (loops 44)', () => {
  test.each([
    { name: 'opencode serve', kind: 'opencode', model: opencodeModel('messages'), env: opencodeOperator },
    {
      name: 'opencode over ACP',
      kind: 'acp',
      preset: 'opencode',
      model: ACP_MODEL.opencode,
      env: (llm: Llm) => acpOperator(llm, 'opencode'),
    },
  ])('$name', async ({ name: _, env, ...agent }) => {
    const critic = { verdict: 'APPROVE', findings: [] };
    const llm = await startLlm(
      {
        rules: [
          { when: { says: 'You are the critic' }, replies: [{ answer: critic, times: 'always' }] },
          { replies: [{ hang: 'before' }, { run: 'echo done > answer.txt' }, { say: 'done' }] },
        ],
      },
      { asides: 'free' },
    );
    const world = makeWorld({ program: PROGRAM, env: env(llm) });
    try {
      world.settings({
        agent: { ...agent, stall_timeout_ms: STALL_MS },
        gate: { commands: ['ls answer.txt'] },
      });
      const issue = await world.issue({ body: 'The file `answer.txt` must contain `done`.' });
      await world.settle();
      await expectMergedOnce(world, issue);
      const [first] = await world.turns(issue);
      expect(first).toMatchObject({ role: 'coder', status: 'stalled' });
    } catch (error) {
      console.error(await world.report());
      throw error;
    } finally {
      await world.dispose();
      await llm.close();
    }
  });
});
