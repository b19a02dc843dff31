/** A person goes on with a real agent's session in its own program, and the loop goes on with it afterwards. */
import { describe, expect, test } from 'vitest';
import { hasTmux, openWindow, type Window } from '../test/support/e2e/window.ts';
import { makeWorld } from '../test/support/e2e/world.ts';
import { type Llm, startLlm } from '../test/support/llm/server.ts';
import { CLAUDE_MODEL } from './claude.ts';
import { PROGRAM } from './setup.ts';
import { BODY, CODER, expectServed, type Protagonist, workOf } from './story.ts';

interface Hero extends Protagonist {
  /** What shows that it is ready to be typed into. */
  ready: string | RegExp;
  leave(window: Window): void;
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
    leave(window) {
      window.write('/exit');
      window.type('Enter');
    },
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
        await window.shows(hero.ready);
        await window.shows('now it is whole');
        window.write('WHAT-THE-PERSON-SAYS');
        await window.shows('WHAT-THE-PERSON-SAYS');
        window.type('Enter');
        await window.shows('ANSWERED-BY-HAND');
        hero.leave(window);
        expect(await window.shows('LEFT WITH')).toContain('LEFT WITH 0');

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
