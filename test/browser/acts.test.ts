/** What can be done on each page, clicked in a real browser over a world that has everything. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Serving } from '../../src/context.ts';
import { event } from '../../src/core/event.ts';
import { parsePlan } from '../../src/core/plan/plan.ts';
import { storing } from '../../src/core/plan/stored.ts';
import { perform } from '../../src/operations.ts';
import { CHROMIUM, openBrowser, openPage, settled } from '../support/browser/chromium.ts';
import { type FullWorld, fullWorld } from '../support/browser/full-world.ts';
import { serve } from '../support/browser/serve.ts';

// without a browser there is nothing to look at
describe.skipIf(CHROMIUM === null)('at the dashboard, a person', () => {
  let browser: Browser;
  let full: FullWorld;
  let serving: Serving;
  let page: Page;
  let problems: string[];

  beforeAll(async () => {
    browser = await openBrowser();
    full = await fullWorld();
    serving = await serve(full.root);
    ({ page, problems } = await openPage(browser, serving.link));
  });
  afterAll(async () => {
    expect(problems).toEqual([]);
    await browser?.close();
    await serving?.close();
    await full?.close();
  });

  const open = async (path: string): Promise<void> => {
    await page.goto(new URL(path, serving.url).href);
    await settled(page);
  };
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const stateOf = async (issue: number) => (await perform(full.context, 'issue.show', { issue })).state;
  const happened = async (...events: Parameters<typeof record>[0]) => record(events);
  const record = async (events: ReturnType<typeof event>[]) =>
    (await full.context.writing()).record({ events, at: Date.now() });

  test('is asked before a closed issue is reopened and paid for again, and told that it was', async () => {
    await open('/issues/1');
    await button(/^Reopen and make ready/).click();
    const dialog = page.getByRole('dialog', { name: 'Reopen #1?' });
    expect(await dialog.innerText()).toMatch(/merged[\s\S]*A new attempt begins and costs again/);
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    await dialog.waitFor({ state: 'detached' });
    // A page that is just drawn anew has nothing to press.
    await expect
      .poll(
        async () => {
          if (!(await dialog.isVisible())) await page.keyboard.press('a');
          return dialog.isVisible();
        },
        { timeout: 30_000 },
      )
      .toBe(true);
    expect(await stateOf(1)).toBe('closed');
    await dialog.getByRole('button', { name: 'Reopen and make ready' }).click();
    await page.locator('.said', { hasText: '#1 was reopened and is ready' }).waitFor();
    expect(await stateOf(1)).toBe('open');
  });

  test('is asked before a task ends with its issue, and not where none is at work', async () => {
    const issue = (await perform(full.context, 'task.show', { task: full.task })).issue!;
    await open(`/issues/${issue}`);
    await page.getByText('task ', { exact: false }).first().waitFor();
    await button(/^Close/).click();
    const dialog = page.getByRole('dialog', { name: `Close #${issue}?` });
    await dialog.getByText('Its task ends (running)').waitFor();
    await dialog.getByRole('button', { name: 'Leave it' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await stateOf(issue)).toBe('open');
    const { number } = await perform(full.context, 'issue.new', { title: 'Not begun', body: 'later' });
    await open(`/issues/${number}`);
    await button('Close')
      .and(page.getByText('Close', { exact: true }))
      .click();
    await page.locator('.said', { hasText: `#${number} is closed` }).waitFor();
    expect(await stateOf(number)).toBe('closed');
  });

  test('makes an issue ready', async () => {
    const { number } = await perform(full.context, 'issue.new', { title: 'Ready?', body: 'prints "ok"' });
    await open(`/issues/${number}`);
    await button('Make ready').click();
    await page.locator('.said', { hasText: `#${number} is ready` }).waitFor();
    expect((await perform(full.context, 'issue.show', { issue: number })).labels).toContain('loop:ready');
    await page.locator('.label', { hasText: 'loop:ready' }).waitFor();
  });

  test('sees events of one issue live, and finds a type as it is shown', async () => {
    const issue = (await perform(full.context, 'task.show', { task: full.task })).issue!;
    await open(`/events?task=${issue}`);
    await page.locator('.events li').first().waitFor();
    const store = await full.context.writing();
    const said = event('coder_reported', { turn: 4, message: 'news of this issue' });
    await store.record({ task: full.task, events: [said], at: Date.now() });
    await page.locator('.events li', { hasText: 'news of this issue' }).waitFor();
    const moved = page.locator('.events summary', { hasText: 'worker state transition' }).first();
    expect(await moved.innerText()).toMatch(new RegExp(`#${issue}.*from dispatched, to running`, 's'));
    await page.getByLabel('Task').fill('');
    await page.getByLabel('Task').press('Enter');
    await page.waitForURL((url) => !url.search.includes('task'));
    await page.getByLabel('Type of event').fill('Verdict recorded');
    await store.record({ events: [event('loop_paused', { by: 'no hand' })], at: Date.now() });
    await page.locator('.events li', { hasText: 'no hand' }).waitFor();
    await page.getByLabel('Type of event').press('Enter');
    await page.waitForURL(/type=verdict_recorded/);
    await page.locator('.events li b', { hasText: 'verdict recorded' }).first().waitFor();
    expect(new Set(await page.locator('.events li b').allTextContents())).toEqual(
      new Set(['verdict recorded']),
    );
  });

  test('misses no event that came while the first ones were asked for', async () => {
    let isFirst = true;
    await page.route('**/api/events?*', async (route) => {
      const response = await route.fetch();
      if (isFirst) {
        isFirst = false;
        // Heard of by the page before it has an answer.
        const heard = page.waitForFunction(() => document.title === 'heard');
        await page.evaluate(() => {
          const source = new EventSource('/api/events.stream');
          source.addEventListener('message', () => {
            document.title = 'heard';
            source.close();
          });
          return new Promise((done) => source.addEventListener('connected', done));
        });
        await happened(event('loop_paused', { by: 'somebody in between' }));
        await heard;
      }
      await route.fulfill({ response });
    });
    await open('/events?type=loop_paused');
    await page.locator('.events li', { hasText: 'somebody in between' }).waitFor();
    await page.unroute('**/api/events?*');
    await happened(event('loop_resumed', { by: 'somebody' }));
  });

  test('sees no gap in events from a number on, however many there are', async () => {
    await open('/events?from=1');
    await page.locator('.events li').nth(199).waitFor();
    // Whoever hears of something asks how the loop is.
    const heard = page.waitForRequest('**/api/status?*');
    await happened(event('loop_paused', { by: 'somebody' }), event('loop_resumed', { by: 'somebody' }));
    await heard;
    const seqs = async () => (await page.locator('.events .seq').allTextContents()).map(Number);
    const inOrder = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
    expect(await seqs()).toEqual(inOrder(200));
    await button('Later').click();
    await page.locator('.events li').nth(399).waitFor();
    expect(await seqs()).toEqual(inOrder(400));
  });

  test('edits a plan, approves it and starts it', async () => {
    const text = PLAN;
    const parsed = parsePlan(text);
    if (!parsed.ok) throw new Error('the plan can not be read');
    const about = { source: { kind: 'file', file: 'x' }, status: 'draft', by: 'Eva' } as const;
    await happened(event('plan_stored', storing(parsed.plan, about)));
    await open('/plans');
    await page.getByRole('link', { name: /^tidy/ }).click();
    await page.getByRole('heading', { name: 'One' }).waitFor();
    expect(await page.locator('.markdown').innerText()).not.toContain('forge-');
    await button('Edit').click();
    const field = page.getByLabel('Text of the plan');
    await field.fill((await field.inputValue()).replace('All of it.', 'All of it, and soon.'));
    await button('Keep the new text').click();
    await page.locator('.said', { hasText: 'it needs approval' }).waitFor();
    await page.getByText('All of it, and soon.').waitFor();
    await button('Approve')
      .and(page.getByText('Approve', { exact: true }))
      .click();
    await page.locator('.facts', { hasText: 'approved' }).waitFor();
    await button('Start').click();
    await page.locator('.said', { hasText: 'approved and started' }).waitFor();
    const loops = await perform(full.context, 'loop.list', { all: true });
    expect(loops.map(({ name }) => name)).toContain('tidy');
  });

  test('leaves a finding as it is, with a reason, and reopens another', async () => {
    const store = await full.context.writing();
    await open('/findings');
    const row = page.locator('.finding', { hasText: `${full.task}.1` });
    await row.getByRole('button', { name: 'Leave it as it is' }).click();
    const leave = row.getByRole('button', { name: 'Leave it' });
    expect(await leave.isDisabled()).toBe(true);
    await row.getByLabel('Why it stays').fill('It is meant so.');
    await leave.click();
    await page.locator('.said', { hasText: 'stays as it is' }).waitFor();
    expect((await store.requests(full.task)).at(-1)).toMatchObject({ why: 'It is meant so.' });
    await open('/findings?all=1');
    const left = page.locator('.finding', { has: page.getByRole('img', { name: 'wontfix' }) }).first();
    const id = (await left.locator('a').innerText()).trim();
    await left.getByRole('button', { name: 'Reopen' }).click();
    await page.locator('.said', { hasText: `Finding ${id} is opened again` }).waitFor();
    expect((await store.requests(id.split('.')[0]!)).at(-1)).toMatchObject({ finding: id });
  });

  test('plots what was spent by role, by model and per merged pull request', async () => {
    await open('/costs?since=all&by=issue');
    await page.locator('.plot[aria-label^="Dollars per merged pull request. #"] canvas').waitFor();
    for (const [by, name] of [
      ['Role', 'coder'],
      ['Model', 'gpt-6-codex'],
    ]) {
      await button(by!).click();
      const plot = page.locator(`.plot[aria-label^="Dollars by ${by!.toLowerCase()}."]`);
      await plot.locator('canvas').waitFor();
      expect(await plot.getAttribute('aria-label')).toMatch(new RegExp(`${name}: \\$\\d`));
    }
    await button('Round').click();
    await page
      .locator('td', { hasText: /^#\d+ round 1/ })
      .first()
      .waitFor();
  });

  test('lets doctor look at the machine', async () => {
    await open('/settings');
    await button('Look at this machine').click();
    await page.locator('.criteria li').first().waitFor();
    expect(await page.locator('.criteria').innerText()).toMatch(/git/);
    await button('Look again').waitFor();
  });

  test.each([
    [1200, 900],
    [1440, 900],
    [390, 844],
  ])('finds everything of a task in its place, at %i px', async (width, height) => {
    await page.setViewportSize({ width, height });
    await open(`/tasks/${full.task}`);
    await page.locator('#cost tbody').first().waitFor();
    const box = async (of: string) => (await page.locator(of).first().boundingBox())!;
    const [left, middle] = [await box('.columns .left'), await box('.columns .middle')];
    expect(middle.y - (left.y + left.height)).toBeLessThan(8);
    for (const of of [
      '#cost tbody tr:last-child td:last-child',
      '[aria-label="Network"] tbody td:nth-child(2)',
    ]) {
      const [cell, right] = [await box(of), await box('.columns .right')];
      expect(cell.x + cell.width, of).toBeLessThanOrEqual(right.x + right.width + 1);
    }
    await page.getByText('no gate has run yet').waitFor();
    expect(await page.getByRole('list', { name: 'Rounds' }).getByRole('listitem').allInnerTexts()).toEqual([
      'round 2',
    ]);
    if (width > 500) return;
    expect((await box('header.top')).height).toBeLessThan(116);
    await open('/settings');
    const from = await box('.settings th:last-child');
    expect(from.x + from.width).toBeLessThanOrEqual(width);
  });

  test('reads the milestones of a plan before the drawing of its states', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await open(`/tasks/${full.plan}`);
    await page.locator('.milestones').waitFor();
    const tops = [];
    for (const of of ['.milestones', '[aria-label^="Its way so far: coding"]'])
      tops.push((await page.locator(of).boundingBox())!.y);
    const states = (await page.locator('.graph', { hasText: 'awaiting critic' }).boundingBox())!.y;
    expect(states).toBeGreaterThan(Math.max(...tops));
    expect(await page.locator('main').innerText()).not.toContain('forge-section');
  });

  test('does not pause the loop by a slip of the thumb', async () => {
    const touch = await openPage(browser, serving.link, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    const { page: phone } = touch;
    await settled(phone);
    await phone.getByRole('button', { name: 'Pause the loop' }).tap();
    const dialog = phone.getByRole('dialog', { name: 'Pause the loop?' });
    expect((await perform(full.context, 'status', { live: true })).paused).toBeNull();
    await dialog.getByRole('button', { name: 'Pause' }).tap();
    await phone
      .getByText(/paused by/)
      .first()
      .waitFor();
    await phone.getByRole('button', { name: 'Resume the loop', exact: true }).first().tap();
    await phone.locator('.bar', { hasText: 'running' }).waitFor();
    await phone.context().close();
  });
});

const PLAN = `<!-- forge-plan:start -->
# Tidy up

Loop Name: tidy

## Objective

The house is tidy.

<!-- forge-section -->
## One

All of it.

### Files

- \`a.txt\`

### Acceptance Criteria

- it is tidy

### Verification

- \`ls\`

## Verification

- \`ls\` shows it
<!-- forge-plan:end -->
`;
