/** What people do at the dashboard, in a real browser beside the real program. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { CHROMIUM, linkTo, openBrowser, openPage, settled } from '../support/browser/chromium.ts';
import { PROGRAM, type Program } from '../support/e2e/program.ts';
import { APPROVE, test, type World } from '../support/e2e/world.ts';

// without a browser there is nothing to look at
describe.skipIf(CHROMIUM === null)('a person at the dashboard', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser?.close());

  test('sees a task live from claim to merge', async ({ world }) => {
    const halt = world.halt('coding');
    const criteria = [{ id: 'c1', criterion: 'the file', met: 'met', evidence: 'it is listed' }];
    world.script(
      {
        when: { role: 'coder' },
        steps: [{ say: 'reading the code' }, { shell: halt.shell }, ...DONE],
      },
      { when: { role: 'critic' }, steps: [{ answer: { ...APPROVE.answer, criteria } }] },
    );
    const runner = world.run('--port', '0');
    const { page, problems } = await openPage(browser, await linkOf(world, runner));
    await settled(page);
    await page
      .getByText('Nothing waits to begin.')
      .or(page.getByText('There is no open issue'))
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Issues' }).click();
    await page.getByText('Write an issue').click();
    await page.getByLabel('Title').fill('Write the file');
    await page.getByLabel('What to do').fill('It must contain `done`.\n\n- [ ] `ls` lists the file');
    await page.getByRole('button', { name: 'Check it' }).click();
    await page.getByRole('heading', { name: 'Readiness: ready' }).waitFor();
    await page.getByRole('button', { name: 'Write and make ready' }).click();
    await page.getByRole('link', { name: /^task / }).click();
    await page.locator('h1', { hasText: '#1 Write the file' }).waitFor();
    await halt.arrived();
    await page.locator('.state', { hasText: 'running' }).waitFor();
    await page.locator('.pieces', { hasText: 'reading the code' }).waitFor();
    halt.lift();
    await page.locator('.state', { hasText: 'merged' }).waitFor();
    await page.locator('.file', { hasText: 'done-1.txt' }).waitFor();
    await page.locator('.graph .node.is-now', { hasText: 'merged' }).waitFor();
    expect(await page.locator('.left .criteria').innerText()).toMatch(
      /✓[\s\S]*ls lists the file[\s\S]*it is listed/,
    );
    await page.getByRole('link', { name: 'This morning' }).click();
    await page.locator('.result', { hasText: 'Write the file' }).waitFor();
    expect(problems).toEqual([]);
  });

  test('approves what waits for a person, and pauses and resumes', async ({ world }) => {
    world.settings({ critic: { enabled: false } });
    await world.issue({ title: 'Approve me' });
    const runner = world.run('--port', '0');
    const { page, problems } = await openPage(browser, await linkOf(world, runner));
    const need = page.locator('.need', { hasText: 'Approve me' });
    await need.waitFor();
    expect(await need.innerText()).toContain('critic.enabled is false');
    await page.getByRole('button', { name: 'Pause the loop' }).click();
    await page
      .getByText(/paused by/)
      .first()
      .waitFor();
    expect((await world.status()).paused).not.toBeNull();
    await page.getByRole('button', { name: 'Resume the loop', exact: true }).first().click();
    await page.locator('.bar', { hasText: 'running' }).waitFor();
    await need.getByRole('button', { name: /^Approve/ }).click();
    await page.locator('.said', { hasText: 'event' }).filter({ hasText: 'request made' }).waitFor();
    await page.locator('.result', { hasText: 'Approve me' }).waitFor();
    await need.waitFor({ state: 'detached' });
    expect((await world.task(1)).state).toBe('merged');
    expect(problems).toEqual([]);
  });

  test('comments on a line and tells a task something; its coder gets both', async ({ world }) => {
    world.settings({ critic: { enabled: false } });
    world.script({ when: { role: 'coder' }, steps: [{ shell: 'echo done >> "done-$FORGE_ISSUE.txt"' }] });
    await world.issue({ title: 'Comment on me' });
    const runner = world.run('--port', '0');
    const { page, problems } = await openPage(browser, linkTo(await linkOf(world, runner), '/tasks/1'));
    await world.event('hold_set');
    const file = page.locator('.file', { hasText: 'done-1.txt' });
    await file.getByRole('button', { name: 'Comment on line 1' }).click();
    await file.getByLabel('Comment for the coder').fill('Say it in words.');
    await file.getByRole('button', { name: 'Tell the coder' }).click();
    await page.locator('.finding-note', { hasText: 'Say it in words.' }).waitFor();
    await page.locator('.facts', { hasText: 'turn 2' }).waitFor();
    expect(await promptOf(world, 2)).toContain('Say it in words.');
    await page.getByLabel('Tell it something').fill('And keep it short.');
    await page.getByRole('button', { name: 'Tell it', exact: true }).click();
    await page.locator('.facts', { hasText: 'turn 3' }).waitFor();
    expect(await promptOf(world, 3)).toContain('And keep it short.');
    expect((await world.task(1)).state).not.toBe('merged');
    expect(problems).toEqual([]);
  });

  test('gives up a task after one more question, and starts a new attempt', async ({ world }) => {
    const halt = world.halt('coding');
    world.script({ when: { role: 'coder' }, steps: [{ shell: halt.shell }, ...DONE] });
    await world.issue({ title: 'Try again' });
    const runner = world.run('--port', '0');
    const { page } = await openPage(browser, linkTo(await linkOf(world, runner), '/tasks/1'));
    await halt.arrived();
    await page.reload();
    await page.getByRole('button', { name: 'Give up: #1' }).click();
    const dialog = page.getByRole('dialog', { name: 'Give up #1?' });
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    expect((await world.task(1)).state).toBe('running');
    await page.getByRole('button', { name: 'Give up: #1' }).click();
    await dialog.getByRole('button', { name: 'Give up' }).click();
    await page.locator('.state', { hasText: 'operator abandon' }).waitFor();
    halt.lift();
    await page.getByRole('button', { name: 'New attempt: #1' }).click();
    await world.event('merge_observed');
    expect((await world.task(1)).attempt).toBe(2);
  });

  test('is told that the server is gone, and misses nothing when it is back; two tabs show the same', async ({
    world,
  }) => {
    world.settings({ server: { token: 'the token of this test' } });
    await world.issue({ title: 'Earlier' });
    await world.settle();
    const port = 20_000 + (process.pid % 10_000);
    const first = world.start(PROGRAM, 'dashboard', '--port', String(port));
    const board = linkTo(await linkOf(world, first), '/board');
    const one = await openPage(browser, board);
    const other = await openPage(browser, board);
    for (const { page } of [one, other]) await page.getByText('Earlier').first().waitFor();
    await first.kill();
    for (const { page } of [one, other]) await page.getByText('not connected').waitFor();
    await world.issue({ title: 'Meanwhile' });
    await world.settle();
    const second = world.start(PROGRAM, 'dashboard', '--port', String(port));
    await linkOf(world, second);
    for (const { page } of [one, other]) {
      await page.getByText('Meanwhile').first().waitFor();
      await page.getByText('not connected').waitFor({ state: 'detached' });
      expect(await page.locator('tbody tr').count()).toBe(2);
    }
    second.send('SIGINT');
    expect((await second.ended).code).toBe(0);
  });

  test('sees a task go on to its merge in the same tab, after its runner was killed in the middle of a turn', async ({
    world,
  }) => {
    world.settings({ server: { token: 'the token of this test' } });
    const halt = world.halt('coding');
    world.script({ when: { role: 'coder' }, steps: [{ shell: halt.shell }, ...DONE] });
    await world.issue({ title: 'Survive' });
    const port = 40_000 + (process.pid % 10_000);
    const first = world.run('--port', String(port));
    const { page, problems } = await openPage(browser, linkTo(await linkOf(world, first), '/tasks/1'));
    await halt.arrived();
    await page.locator('.state', { hasText: 'running' }).waitFor();
    await first.kill();
    await page.getByText('not connected').waitFor();
    halt.lift();
    const second = world.run('--port', String(port));
    await linkOf(world, second);
    await page.getByText('not connected').waitFor({ state: 'detached' });
    await page.locator('.state', { hasText: 'merged' }).waitFor();
    await page.locator('.graph .node.is-now', { hasText: 'merged' }).waitFor();
    expect((await world.task(1)).attempt).toBe(1);
    expect((await world.turns(1)).length).toBeGreaterThan(1);
    expect(problems).toEqual([]);
  });

  test("a stranger's page can't ask, post or frame", async ({ world }) => {
    await world.issue({});
    await world.settle();
    const server = world.start(PROGRAM, 'dashboard', '--port', '0');
    const link = await linkOf(world, server);
    const address = new URL('/', link).href;
    const { page } = await openPage(browser, link);
    await settled(page);
    const stranger = await strangersPage(page);
    const tried = await stranger.evaluate(async (base) => {
      const read = await fetch(`${base}api/status`).then((answer) => answer.text(), String);
      await fetch(`${base}api/pause`, { method: 'POST', mode: 'no-cors', body: '{}' }).catch(() => {});
      const form = document.createElement('form');
      Object.assign(form, { method: 'POST', action: `${base}api/pause`, target: 'frame' });
      const frame = Object.assign(document.createElement('iframe'), { name: 'frame' });
      document.body.append(frame, form);
      const loaded = new Promise((done) => frame.addEventListener('load', done, { once: true }));
      form.submit();
      await loaded;
      return read;
    }, address);
    expect(tried).not.toContain('tasks');
    expect((await world.status()).paused).toBeNull();
  });

  test('logs in with the token, also by way of a link on another site', async ({ world }) => {
    world.settings({ server: { token: 'the token of this test' } });
    await world.issue({ title: 'Look at me' });
    await world.settle();
    const server = world.start(PROGRAM, 'dashboard', '--port', '0');
    const board = new URL('/board?ended=1', await linkOf(world, server)).href;
    const { page, problems } = await openPage(browser, board);
    const [token, button] = [page.getByLabel('Token'), page.getByRole('button', { name: 'Log in' })];
    await token.fill('a guess');
    await button.click();
    await page.getByText('This is not the token.').waitFor();
    await token.fill('the token of this test');
    await button.click();
    await page.getByText('Look at me').first().waitFor();
    expect(page.url()).toBe(board);
    expect(problems).toEqual([]);
    const stranger = await strangersPage(page, `<a href="${board}">the board</a>`);
    await stranger.getByText('the board').click();
    await stranger.getByText('Look at me').first().waitFor();
  });

  test('is asked to log in again when a loop without a token was started anew', async ({ world }) => {
    await world.issue({ title: 'Still here' });
    await world.settle();
    const port = 30_000 + (process.pid % 10_000);
    const first = world.start(PROGRAM, 'dashboard', '--port', String(port));
    const { page } = await openPage(browser, linkTo(await linkOf(world, first), '/board'));
    await page.getByText('Still here').first().waitFor();
    await first.kill();
    await page.getByText('not connected').waitFor();
    const second = world.start(PROGRAM, 'dashboard', '--port', String(port));
    const link = await linkOf(world, second);
    await page.reload();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.goto(linkTo(link, '/board'));
    await page.getByText('Still here').first().waitFor();
  });
});

const DONE = [{ shell: 'echo done > "done-$FORGE_ISSUE.txt"' }];

async function promptOf(world: World, turn: number): Promise<string> {
  const logs = world.logs((await world.task(1)).id);
  const name = readdirSync(logs).find(
    (one) => one.startsWith(`coder-${turn}-`) && one.endsWith('.prompt.md'),
  );
  return readFileSync(join(logs, name!), 'utf8');
}

/** As printed: it logs in. */
const linkOf = (world: World, program: Program): Promise<string> =>
  world.until('the dashboard to be served', () => /Dashboard at (\S+)/.exec(program.said())?.[1]);

/** From another origin, which the browser knows as such; in the same browser, where somebody is logged in. */
async function strangersPage(own: Page, body = '<p>Hi</p>'): Promise<Page> {
  const page = await own.context().newPage();
  await page.route('http://stranger.example/', (route) => route.fulfill({ contentType: 'text/html', body }));
  await page.goto('http://stranger.example/');
  return page;
}
