/** The operator's skill in a real agent: its model is told of it, it can be read and not changed, and no other is there. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codexHome } from '../src/agent/codex/thread.ts';
import type { AgentUnderTest } from '../src/agent/contract.ts';
import type { Llm } from '../test/support/llm/server.ts';
import { CLAUDE_MODEL, realClaude } from './claude.ts';
import { CODEX_MODEL, realCodex } from './codex.ts';
import { opencodeModel, realOpencode } from './opencode.ts';
import { realStage, replies } from './real-stage.ts';

const AGENTS: Record<string, { make(llm: Llm): AgentUnderTest; model: string }> = {
  claude: { make: (llm) => realClaude(llm), model: CLAUDE_MODEL },
  codex: { make: (llm) => realCodex(llm), model: CODEX_MODEL },
  opencode: { make: (llm) => realOpencode(llm, 'messages'), model: opencodeModel('messages') },
};

const skillText = (name: string, description: string): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\nDo as told.\n`;

describe.each(Object.entries(AGENTS))('%s', async (_, { make, model }) => {
  const stage = await realStage((llm: Llm) => ({ real: make(llm), policy: { model } }), [], 'free');
  const { scripted, run, llm } = stage;
  const asked = (): string => JSON.stringify(llm.now.journal.map(({ request }) => request.body));

  async function write(path: string, text: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  test('its model is told of the skill, and of none that lies about', async () => {
    await scripted(replies({ say: 'one' }, { say: 'two' }));
    const folder = join(stage.dir(), 'skills', 'tidy-up');
    await write(join(folder, 'SKILL.md'), skillText('tidy-up', 'Removes what nobody needs.'));
    const without = await run('Go.');
    expect(without.result).toMatchObject({ status: 'finished', text: 'one' });
    expect(asked()).not.toContain('tidy-up');

    const planted = skillText('planted', 'Planted by an agent.');
    const { turn } = without;
    for (const place of ['.claude/skills', '.agents/skills', '.opencode/skill', '.codex/skills'])
      await write(join(stage.workspace(), place, 'planted/SKILL.md'), planted);
    for (const place of [codexHome(turn.sessionDir), join(turn.home, '.agents')])
      await write(join(place, 'skills/planted/SKILL.md'), planted);
    await write(join(`${turn.sessionDir}-skills`, 'skills/planted/SKILL.md'), planted);
    const skill = { name: 'tidy-up', folder };
    const { result } = await run('Use your skill "tidy-up".', { ...turn, skill, resume: true, number: 2 });
    expect(result).toMatchObject({ status: 'finished', text: 'two' });
    expect(asked()).toContain('Removes what nobody needs.');
    expect(asked()).not.toContain('Planted by an agent.');
    expect(existsSync(`${turn.sessionDir}-skills`)).toBe(false);
  });
});
