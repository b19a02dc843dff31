/** A person goes on with a real agent's session in its own program, and the loop goes on with it afterwards. */
import { describe, expect, test } from 'vitest';
import { hasTmux, openWindow, type Window } from '../test/support/e2e/window.ts';
import { makeWorld } from '../test/support/e2e/world.ts';
import { type Llm, startLlm } from '../test/support/llm/server.ts';
import { CLAUDE_MODEL } from './claude.ts';
import { CODEX_MODEL } from './codex.ts';
import { opencodeModel, opencodeOperator } from './opencode.ts';
import { PROGRAM } from './setup.ts';
import { BODY, CODER, expectServed, type Protagonist, workOf } from './story.ts';

interface Hero extends Protagonist {
  /** What it asks before anything else, and `Enter` answers. */
  asks?: string;
  /** What shows that it is ready to be typed into. */
  ready: string | RegExp;
  /** Absent where its program may ask on the side, which the script does not answer: then its sum may be a lower bound. */
  usage?: 'known';
}

const HEROES: Hero[] = [
  {
    kind: 'claude',
    model: CLAUDE_MODEL,
    env: (llm) => ({ ANTHROPIC_BASE_URL: llm.url, ANTHROPIC_API_KEY: 'sk-test' }),
    usage: 'known',
    ready: /❯/,
  },
  {
    kind: 'codex',
    isDirect: true,
    model: CODEX_MODEL,
    env: (llm) => ({ OPENAI_BASE_URL: `${llm.url}/v1`, OPENAI_API_KEY: 'sk-test' }),
    asks: 'Open restricted',
    ready: '›',
  },
  {
    kind: 'opencode',
    model: opencodeModel('messages'),
    env: opencodeOperator,
    ready: 'now it is whole',
  },
];

describe.each(HEROES)('$kind', (hero) => {
  test.skipIf(!hasTmux).each(['none', 'bwrap'])(
    'is gone on with by hand, and by the loop again (sandbox: %s)',
    async (sandbox) => {
      const llm: Llm = await startLlm({ rules: [] });
      const world = makeWorld({ program: PROGRAM, env: { ...hero.env(llm, 'key'), LANG: 'C.UTF-8' } });
      if (sandbox === 'bwrap') world.env.PATH = process.env.WHOLE_PATH ?? '';
      let window: Window | null = null;
      try {
        world.settings({ ...workOf(hero), sandbox, critic: { enabled: false } });
        llm.play({
          rules: [
            {
              when: { says: CODER },
              replies: [
                { run: 'echo whole > answer.txt' },
                { say: 'now it is whole' },
                { say: 'ANSWERED-BY-HAND' },
                { run: 'echo me > author.txt' },
                { say: 'signed' },
              ],
            },
          ],
        });
        const issue = await world.issue({ body: BODY });
        await world.settle(3);
        window = openWindow(world, ['attach', String(issue)], { columns: 110, rows: 40, program: PROGRAM });
        if (hero.asks !== undefined) {
          await window.shows(hero.asks);
          await enter(window, 'now it is whole');
        }
        await window.shows(hero.ready);
        await window.shows('now it is whole');
        window.write('WHAT-THE-PERSON-SAYS');
        await window.shows('WHAT-THE-PERSON-SAYS');
        await enter(window, 'ANSWERED-BY-HAND');
        window.write('/exit');
        expect(await enter(window, 'LEFT WITH')).toContain('LEFT WITH 0');

        await world.json('task', 'tell', String(issue), 'Say who wrote it in author.txt.');
        await world.settle(3);
        const task = await world.task(issue);
        expect(task.sessionIds).toHaveLength(1);
        expect(world.git('show', `${task.branch}:author.txt`)).toBe('me\n');
        const last = JSON.stringify(
          llm.journal.findLast(({ request }) => JSON.stringify(request.texts).includes('Say who wrote it'))
            ?.request.body,
        );
        expect(last).toContain('WHAT-THE-PERSON-SAYS');
        expect(last).toContain('ANSWERED-BY-HAND');
        await expectServed(world, llm, task.id);
        const [left] = (await world.events()).filter(({ type }) => type === 'detached');
        expect(left?.data).toMatchObject({ how: 'exited', ...(hero.usage && { usage: hero.usage }) });
      } catch (error) {
        console.error(window?.screen());
        console.error(await world.report());
        console.error(
          JSON.stringify(
            llm.journal.map(({ outcome, request }) => [outcome, request.texts.at(-1)?.slice(0, 300)]),
            null,
            1,
          ),
        );
        throw error;
      } finally {
        await world.dispose();
        await llm.close();
      }
    },
  );
});

const AGAIN_MS = 1000;

/**
 * As people do, once more where nothing came of it: a program drops what was typed before it listened, and takes an Enter right
 * behind other keys for a line of a text that was pasted.
 */
async function enter(window: Window, then: string): Promise<string> {
  window.type('Enter');
  const again = setInterval(() => window.type('Enter'), AGAIN_MS);
  return window.shows(then).finally(() => clearInterval(again));
}
