/** A real agent from an issue on GitHub to its trunk: pushes over HTTP, a pull request, CI that must be green. */
import { expect } from 'vitest';
import { onGitHub } from '../test/support/e2e/on-github.ts';
import { APPROVE, BODY, judged, type Protagonist, teller, workOf } from './story.ts';

export function storyOnGitHub(hero: Protagonist): void {
  teller(hero)(
    `${hero.kind} on GitHub: ready → pull request → critic → CI red, then green → merged`,
    'key',
    async (world, llm, play) => {
      const on = await onGitHub(world);
      try {
        await on.settings(workOf(hero));
        const rules = { requiredChecks: ['ci'], strict: true, approvals: 0, mergeQueue: false };
        on.github.world.protections.set('main', { via: 'protection', ...rules });
        on.ci('failure', 'success');
        play(
          [
            { run: 'echo whole > answer.txt' },
            { say: 'done' },
            { run: 'echo me > author.txt' },
            { say: 'CI wanted an author' },
          ],
          judged(APPROVE, APPROVE),
        );
        const issue = await on.issue('Write the answer', BODY);
        await on.ready(issue);
        await world.settle();

        const task = await world.task(issue);
        expect(task).toMatchObject({ state: 'merged', turns: 2, attempt: 1 });
        expect(task.sessionIds).toHaveLength(1);
        const [pull, ...others] = on.pulls();
        expect(others).toEqual([]);
        expect(pull!.pull).toMatchObject({ merged: true, mergedBy: 'loop-bot', mergeCommit: task.mergedSha });
        expect(on.row(issue)).toMatchObject({ state: 'closed', labels: ['loop:merged'] });
        await on.ada.git(world.root, 'fetch', '-q', 'origin');
        expect(world.git('show', 'origin/main:answer.txt')).toBe('whole\n');
        expect(world.git('show', 'origin/main:author.txt')).toBe('me\n');
        const told = JSON.stringify(llm.journal.map(({ request }) => request.body));
        expect(told, 'the agent saw why CI was red').toContain('CI-LOG failure');
        expect(told, 'the token is the loop’s alone').not.toContain(world.env.LOOP_TOKEN);
      } finally {
        await on.github.close();
      }
    },
  );
}
