import { afterEach, beforeEach, expect, test } from 'vitest';
import { LABELS } from '../../../test/support/labels.ts';
import { type Scratch, scratch } from '../../../test/support/local-people.ts';
import { type Git, openGit } from '../../git/git.ts';
import { type LocalForge, localForge } from './local.ts';

let s: Scratch;
let git: Git;
beforeEach(async () => {
  s = await scratch();
  git = await openGit(s.root);
});
afterEach(async () => {
  await git.close();
  await s.dispose();
});

/** What the forge asks git: programs that are started, and questions to the one that stays open. */
function counted(): { forge: Promise<LocalForge>; asked(): number } {
  let asked = 0;
  const counting =
    <Args extends unknown[], Answer>(ask: (...args: Args) => Answer, many: (...args: Args) => number) =>
    (...args: Args) => {
      asked += many(...args);
      return ask(...args);
    };
  const watched = Object.assign(
    counting(git as (...args: Parameters<Git>) => ReturnType<Git>, () => 1),
    {
      ...git,
      resolve: counting(git.resolve, () => 1),
      resolveAll: counting(git.resolveAll, (names) => names.length),
    },
  ) as Git;
  return {
    forge: localForge({ git: watched, root: s.root, now: () => 0, labels: LABELS }),
    asked: () => asked,
  };
}

test('of hundreds that wait is read by one git, and is what is seen of each alone', async () => {
  const start = await git.resolve('refs/heads/main');
  const branches = Array.from({ length: 300 }, (_, number) => `loop/${number}-a`);
  await git.moveRefs(branches.slice(1).map((branch) => ({ ref: `refs/heads/${branch}`, to: start })));
  const watched = branches.map((branch) => ({ issue: null, pull: null, branch }));
  const { forge, asked } = counted();
  const seen = (await forge).seen!;
  const all = await seen(watched);
  expect(asked()).toBe(1);
  expect(all[0]).toEqual([null, null, undefined]);
  expect(all[1]).toEqual([null, null, start]);
  for (const at of [0, 1, 299]) expect(await seen([watched[at]!])).toEqual([all[at]]);
});

test('what can’t be read of one is told of the others', async () => {
  const issue = await s.people.createIssue({ title: 'One', body: 'x' });
  s.write('.forge/issues/0099-broken.md', '---\nnumber: [\n---\n');
  const watched = [99, issue].map((number) => ({ issue: number, pull: null, branch: 'loop/1-a' }));
  expect(await s.forge.seen!(watched)).toMatchObject([null, [{ number: issue }, null, undefined]]);
});
