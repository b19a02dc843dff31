/** Dependencies of an issue: in this repository, in others, and in text. */
import { afterEach, beforeEach, expect, it, test } from 'vitest';
import { type GitHubScratch, githubScratch } from '../../../test/support/github/scratch.ts';

let s: GitHubScratch;
beforeEach(async () => {
  s = await githubScratch();
  s.github.world.elsewhere.set('acme/other#12', { state: 'open' });
});
afterEach(() => s.dispose());

const OPEN = [{ name: 'acme/other#12', isSeen: true }];
const UNSEEN = [{ name: 'acme/secret#12', isSeen: false }];

async function ready(body: string): Promise<number> {
  const number = await s.people.createIssue({ title: 'T', body });
  await s.people.makeReady(number);
  return number;
}
const blocking = async (number: number) => {
  const { blockedBy, blockedElsewhere } = (await s.forge.issue(number))!;
  return [blockedBy, blockedElsewhere];
};

test.each([
  ['Blocked by #12', [12], undefined],
  ['Blocked by acme/rocket#12', [12], undefined],
  ['Depends on acme/other#12', [], OPEN],
  ['Depends on #3, acme/other#12 and #4', [3, 4], OPEN],
  ['Blocked by acme/secret#12', [], UNSEEN],
  ['Blocked by WEB/acme/other/issues/12', [], OPEN],
  ['Blocked by WEB/acme/other/pull/12.', [], OPEN],
  ['Blocked by WEB/acme/rocket/issues/12', [12], undefined],
  [
    'Blocked by https://elsewhere.example/acme/other/issues/12',
    [],
    [{ name: 'elsewhere.example/acme/other#12', isSeen: false }],
  ],
  ['Mentions acme/other#12, and `Blocked by acme/other#12`', [], undefined],
])('%s', async (text, here, elsewhere) => {
  const number = await ready(text.replace('WEB', s.github.url));
  expect(await blocking(number)).toEqual([here, elsewhere]);
});

it('does not take a dependency in another repository for one here', async () => {
  const number = await ready('B');
  s.github.world.issues.get(number)!.blockedElsewhere.push('acme/other#12');
  expect(await blocking(number)).toEqual([[], OPEN]);
  s.github.world.elsewhere.set('acme/other#12', { state: 'closed' });
  expect(await blocking(number)).toEqual([[], undefined]);
});

it('waits for what GitHub counts and does not show, until it is closed', async () => {
  const number = await ready('B');
  const { blockedElsewhere } = s.github.world.issues.get(number)!;
  blockedElsewhere.push('acme/other#12', 'acme/secret#12');
  s.github.world.hidden.set('acme/secret#12', { state: 'open' });
  expect(await blocking(number)).toEqual([
    [],
    [...OPEN, { name: 'an issue of another repository', isSeen: false }],
  ]);
  s.github.world.hidden.set('acme/secret#12', { state: 'closed' });
  expect(await blocking(number)).toEqual([[], OPEN]);
});

it('asks again after a while about what it names in another repository', async () => {
  const number = await ready('Blocked by acme/other#12');
  expect(await blocking(number)).toEqual([[], OPEN]);
  s.github.world.elsewhere.set('acme/other#12', { state: 'closed' });
  s.clock.at += 300_000;
  expect(await blocking(number)).toEqual([[], undefined]);
});

it('knows its own dependencies and parents by the new name after a rename', async () => {
  const first = await s.people.createIssue({ title: 'First', body: 'B' });
  const number = await s.people.createIssue({ title: 'T', body: 'B', blockedBy: [first] });
  const { id } = await s.ada.get(`/issues/${number}`);
  await s.ada.post(`/issues/${first}/sub_issues`, { sub_issue_id: id });
  s.github.world.formerNames.push('acme/rocket');
  s.github.world.name = 'starship';
  await s.people.makeReady(number);
  expect(await blocking(number)).toEqual([[first], undefined]);
  expect((await s.forge.issue(number))?.related?.parent).toEqual({ number: first, title: 'First' });
});
