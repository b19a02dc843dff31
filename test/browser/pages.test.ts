/** Every page of the dashboard in a real browser, over a world that has everything and one that has nothing. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Serving } from '../../src/context.ts';
import { event } from '../../src/core/event.ts';
import {
  CHROMIUM,
  linkTo,
  openBrowser,
  openPage,
  settled,
  type Watched,
} from '../support/browser/chromium.ts';
import {
  emptyWorld,
  type FullWorld,
  fullWorld,
  HOSTILE,
  HOSTILE_FILE,
  TRANSCRIPT,
} from '../support/browser/full-world.ts';
import { serve } from '../support/browser/serve.ts';

/** A folder for what the pages look like; `SCREENSHOTS=/tmp/shots`. */
const { SCREENSHOTS } = process.env;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const pagesOf = ({ task, plan }: FullWorld): string[] => [
  '/',
  '/board',
  `/tasks/${task}`,
  `/tasks/${task}?step=4`,
  `/tasks/${plan}`,
  '/issues',
  '/issues/1',
  '/plans',
  '/findings',
  '/costs',
  '/events',
  '/settings',
];

/** It takes a while, so each page is looked through once on a phone and once on a screen. */
const AXE_AT = { light: 1280, dark: 390 };
const WIDTHS = SCREENSHOTS ? [390, 1280, 1920] : [390, 1280];

// without a browser there is nothing to look at
describe.skipIf(CHROMIUM === null)('every page', () => {
  let browser: Browser;
  let full: FullWorld;
  let empty: FullWorld;
  let serving: Serving;
  let bare: Serving;

  beforeAll(async () => {
    browser = await openBrowser();
    full = await fullWorld();
    serving = await serve(full.root);
    empty = await emptyWorld();
    bare = await serve(empty.root);
  });
  afterAll(async () => {
    await browser?.close();
    await serving?.close();
    await bare?.close();
    await full?.close();
    await empty?.close();
  });

  test.each(['light', 'dark'] as const)(
    'is whole, says what it shows and fits, in %s',
    async (colorScheme) => {
      const found: string[] = [];
      for (const width of WIDTHS) {
        const { page, problems } = await openPage(browser, serving.link, {
          ...{ colorScheme, viewport: { width, height: width < 500 ? 844 : 900 }, bypassCSP: false },
        });
        for (const path of pagesOf(full)) {
          await visit({ page, problems }, serving.url, path, `full-${width}-${colorScheme}`);
          found.push(
            ...(await complaints(page, width === AXE_AT[colorScheme])).map(
              (one) => `${path} at ${width}: ${one}`,
            ),
          );
        }
        found.push(...problems);
        await page.context().close();
      }
      expect(found).toEqual([]);
    },
  );

  test('teaches where there is nothing yet', async () => {
    const found: string[] = [];
    for (const width of [390, 1280]) {
      const watched = await openPage(browser, bare.link, { viewport: { width, height: 844 } });
      for (const path of pagesOf(empty).filter((path) => !/\d/.test(path) && path !== '/tasks/')) {
        await visit(watched, bare.url, path, `empty-${width}`);
        found.push(
          ...(await complaints(watched.page, width === 390)).map((one) => `${path} at ${width}: ${one}`),
        );
      }
      await watched.page.goto(bare.url);
      await settled(watched.page);
      expect(await watched.page.locator('main').innerText()).toMatch(/forge-loop issue new[\s\S]*slug/);
      found.push(...watched.problems);
      await watched.page.context().close();
    }
    expect(found).toEqual([]);
  });

  test('is small: everything together is at most 350 kB, compressed', () => {
    const folder = fileURLToPath(new URL('../../dist/web/', import.meta.url));
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(html|js|css|svg)$/.test(name),
    );
    const sizes = names.map((name) => gzipSync(readFileSync(join(folder, name))).length);
    expect(names.length).toBeGreaterThan(3);
    expect(sizes.reduce((sum, one) => sum + one, 0)).toBeLessThan(350_000);
  });

  test('shows what strangers wrote as the text that it is', async () => {
    const { page, problems } = await openPage(browser, linkTo(serving.link, `/tasks/${full.task}`));
    await settled(page);
    await page.locator('.pieces .is-said', { hasText: '<img src=x' }).waitFor();
    await page.locator('.file .hunk').first().waitFor();
    const shown = await page.locator('main').innerText();
    for (const place of ['h1', '.markdown', '.criteria', '.finding-note', '.hunk', '.pieces'])
      expect(await page.locator(place).first().innerText(), place).toContain('<img src=x');
    expect(shown).toContain(HOSTILE_FILE.slice(4, 20));
    expect(shown).toContain(HOSTILE);
    for (const path of pagesOf(full)) {
      await page.goto(new URL(path, serving.url).href);
      await settled(page);
      expect(await page.locator('main img, main script, main iframe').count(), path).toBe(0);
    }
    expect(problems).toEqual([]);
  });

  test('reads what an agent says and does as it does it; its raw logs are there beside', async () => {
    const link = linkTo(serving.link, `/tasks/${full.task}`);
    const { page, problems } = await openPage(browser, link);
    const transcript = page.locator('.pieces');
    await transcript
      .locator('.is-warned', { hasText: 'refused Bash: git push: the loop publishes' })
      .waitFor();
    const output = transcript.locator('.is-output').last();
    expect(await output.locator('pre').first().textContent()).toMatch(/^✓ test 0 .*\n[\s\S]*✓ test 11 /);
    await output.getByText('388 more lines').click();
    await output.getByText('✓ test 399').waitFor();
    expect(await transcript.getByText('part 0 of').count()).toBe(0);
    await page.getByRole('button', { name: 'Earlier' }).click();
    await transcript.getByText('part 0 of').waitFor({ state: 'attached' });

    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const more = { at: 1, kind: 'said', text: 'It works now.' };
    const path = (await full.context.places()).log(full.task, TRANSCRIPT);
    appendFileSync(path, `${JSON.stringify(more)}\n`);
    const store = await full.context.writing();
    const reported = event('coder_reported', { turn: 4, message: 'half of it' });
    await store.record({ task: full.task, events: [reported], at: Date.now() });
    await transcript.getByText('It works now.').waitFor();
    const queries = asked.map((url) => new URL(url)).filter(({ pathname }) => pathname === '/api/logs');
    expect(queries.every(({ searchParams }) => Number(searchParams.get('after')) > 10_000)).toBe(true);
    expect(queries.length).toBeGreaterThan(0);

    await page.locator('.transcript-head select').selectOption('coder-4-abcdef01.log');
    await transcript.getByText('19999 reading src/session.ts').waitFor();
    expect(problems).toEqual([]);
  });

  test('opens a transcript and a raw log at the last line of them', async () => {
    const { page } = await openPage(browser, linkTo(serving.link, `/tasks/${full.task}`));
    await page.locator('.pieces .entry').last().waitFor({ state: 'attached' });
    await page.waitForFunction(lastIsSeen, '');
    await page.locator('.transcript-head select').selectOption('coder-4-abcdef01.log');
    await page.waitForFunction(lastIsSeen, '19999 reading src/session.ts');
    // As when what is above the last line is drawn later than the rest.
    await page.locator('.pieces').evaluate((box) => {
      box.scrollTop -= 200;
    });
    await page.waitForFunction(lastIsSeen, '19999 reading src/session.ts');
    await page.locator('.pieces').hover();
    await page.mouse.wheel(0, -400);
    await page.waitForFunction(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector('.pieces')!;
      return scrollHeight - scrollTop - clientHeight > 200;
    });
  });

  test('a plan shows its milestones and the way through its phases', async () => {
    const { page, problems } = await openPage(browser, linkTo(serving.link, `/tasks/${full.plan}`));
    const plan = page.locator('section', { has: page.getByRole('heading', { name: 'Plan', exact: true }) });
    await plan.getByText('1 of 3 milestones done').waitFor();
    expect(await plan.locator('.milestones > li').allInnerTexts()).toEqual([
      expect.stringMatching(/^✓\s*1\. Read them\s*1 pass sent back/),
      expect.stringMatching(/^▸\s*2\. Make the importer/),
      expect.stringMatching(/^○\s*3\. <img/),
    ]);
    await plan.getByText('1. Read them').click();
    await plan.getByText('Every file is read.').waitFor();
    const graph = plan.locator('.graph');
    expect(await graph.getAttribute('aria-label')).toBe(
      'Its way so far: coding to auditing, 2 times; auditing to coding; auditing to next milestone; next milestone to coding',
    );
    expect(await graph.locator('.node').allTextContents()).toContain('final auditing');
    expect(await graph.locator('.node.is-now').textContent()).toBe('coding');
    expect(problems).toEqual([]);
  });

  test('what each turn cost, and where it went', async () => {
    const { page } = await openPage(browser, linkTo(serving.link, `/tasks/${full.task}`));
    await page.locator('#cost tbody').first().waitFor();
    expect(await page.locator('#cost tbody').first().innerText()).toMatch(
      /round 2, 1 turn\s+69k\s+92 %\s+1\.8k\s+≥ \$0\.40[\s\S]*coder, turn 4\s+69k\s+92 %\s+1\.8k\s+≥ \$0\.40/,
    );
    const hosts = page.locator('section.scroll[aria-label="Network"] tbody tr');
    expect(await hosts.allInnerTexts()).toEqual([
      expect.stringMatching(/^a{60}\.example\.com:8443\s+refused\s+0 B\s+0 B/),
      expect.stringMatching(/^registry\.npmjs\.org:443\s+allowed, 12 times\s+9 kB\s+4\.0 MB/),
    ]);
  });

  test('a choice that needs words asks for them, and is shown as the event it became, not as another', async () => {
    const { page, problems } = await openPage(browser, serving.link);
    const store = await full.context.writing();
    await page.route('**/api/task.tell', async (route) => {
      const elsewhere = event('request_made', { kind: 'pause', by: 'somebody else' });
      await store.record({ task: full.plan, events: [elsewhere], at: Date.now() });
      await route.continue();
    });
    const need = page.locator('.need', { hasText: 'Rotate signing keys' });
    await need.getByRole('button', { name: /^Send back/ }).click();
    const dialog = page.getByRole('dialog', { name: /^Send back/ });
    const send = dialog.getByRole('button', { name: 'Send back' });
    expect(await send.isDisabled()).toBe(true);
    await dialog.getByLabel('What its coder shall do').fill('Leave WORKFLOW.md as it is.');
    await send.click();
    await dialog.waitFor({ state: 'detached' });
    const named = await page.locator('.said a').innerText();
    const [mine] = await store.events({ type: 'request_made', last: 1 });
    expect(mine!.task).not.toBe(full.plan);
    expect(named).toBe(`event ${mine!.seq}: request made`);
    expect(await store.requests(mine!.task!)).toMatchObject([
      { kind: 'tell', why: 'Leave WORKFLOW.md as it is.' },
    ]);
    expect(problems).toEqual([]);
  });

  test('is moved through and acted on by key', async () => {
    const { page, problems } = await openPage(browser, serving.link);
    await settled(page);
    await page.keyboard.press('?');
    await page.locator('dialog[open]').waitFor();
    expect(await page.locator('dialog[open]').innerText()).toContain('next and previous row');
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    await page.locator('main [data-row]').nth(1).waitFor();
    await page.keyboard.press('j');
    const first = await page.evaluate(() => document.activeElement?.textContent);
    await page.keyboard.press('j');
    expect(await page.evaluate(() => document.activeElement?.textContent)).not.toBe(first);
    await page.keyboard.press('k');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe(first);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/tasks\//);
    for (const [key, path] of [
      ['b', '/board'],
      ['c', '/costs'],
      ['m', '/'],
    ] as const) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.pathname === path);
    }
    await page.keyboard.press('g');
    await page.keyboard.press('b');
    await settled(page);
    await page.keyboard.press('/');
    await page.keyboard.type('rotate');
    await page.waitForURL(/search=rotate/);
    await page.waitForFunction(() => document.querySelectorAll('.task-row').length === 1);
    expect(problems).toEqual([]);
  });

  test('a task is stepped through, and every step can be linked', async () => {
    const { page, problems } = await openPage(browser, linkTo(serving.link, `/tasks/${full.task}`));
    await page.getByRole('button', { name: 'Step through what happened' }).click();
    const replay = page.locator('.replay');
    await replay.getByText(/^1 of \d+$/).waitFor();
    expect(await replay.innerText()).toContain('task_created');
    await replay.getByRole('button', { name: 'Forward' }).click();
    await page.waitForURL(/step=2/);
    await replay.getByText(/^2 of \d+$/).waitFor();
    await page.getByRole('slider', { name: 'Step' }).press('End');
    await page.waitForURL(/step=(?!2$)\d+$/);
    const last = new URL(page.url()).searchParams.get('step');
    await replay.getByText(`${last} of ${last}`).waitFor();
    await replay.getByText('The work then').click();
    expect(await replay.innerText()).toContain(HOSTILE_FILE.slice(4, 20));
    await page.reload();
    await replay.getByText(`${last} of ${last}`).waitFor();
    await replay.getByRole('button', { name: 'Close' }).click();
    await page.waitForURL((url) => !url.search.includes('step'));
    expect(problems).toEqual([]);
  });

  test.each(['?step=4', '#findings', '#cost'])('a link to a part of a task leads there: %s', async (part) => {
    const { page } = await openPage(browser, serving.link);
    await page.goto(new URL(`/tasks/${full.task}${part}`, serving.url).href);
    await settled(page);
    await page.locator('.pieces .entry').first().waitFor({ state: 'attached' });
    await page.waitForFunction(
      (id) => {
        const { top, bottom } = document.getElementById(id)!.getBoundingClientRect();
        return top >= 0 && Math.min(top + 100, bottom) <= innerHeight;
      },
      /step/.test(part) ? 'replay' : part.slice(1),
    );
  });

  test('asks for its first rows while its code is on the way', async () => {
    const { page, problems } = await openPage(browser, serving.link);
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route('**/assets/whole-*.js', async (route) => {
      await held;
      await route.continue();
    });
    const asked = page.waitForRequest('**/api/morning?*');
    await page.goto(serving.url, { waitUntil: 'commit' });
    await asked;
    expect(await page.locator('#needs').count()).toBe(0);
    letGo();
    await page.locator('#needs').waitFor();
    expect(problems).toEqual([]);
  });

  test('says that it hears of nothing new, also when it never did', async () => {
    const { page } = await openPage(browser, serving.link);
    await settled(page);
    await page.route('**/api/events.stream*', (route) => route.abort());
    await page.reload();
    await page.getByText('not connected').waitFor();
  });

  async function visit(watched: Watched, base: string, path: string, name: string): Promise<void> {
    const { page } = watched;
    await page.goto(new URL(path, base).href);
    await settled(page);
    if (!SCREENSHOTS) return;
    mkdirSync(SCREENSHOTS, { recursive: true });
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: join(SCREENSHOTS, `${name}${path.replaceAll('/', '-')}.png`) });
  }
});

/** In the page: this text is in the very last piece of the transcript, whose end stands at the lower edge of its box, as one sees it. */
function lastIsSeen(text: string): boolean {
  const box = document.querySelector('.pieces')!;
  box.scrollIntoView({ block: 'nearest' });
  const { left, bottom } = box.getBoundingClientRect();
  const end = document.elementFromPoint(left + 30, bottom - 20);
  const piece = box.lastElementChild;
  if (!piece?.contains(end) || !piece.textContent?.includes(text)) return false;
  return Math.abs(piece.getBoundingClientRect().bottom - bottom) < 40;
}

/** What axe says, and whether anything is wider than the screen. */
async function complaints(page: Watched['page'], isThorough: boolean): Promise<string[]> {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) return [`${over} px too wide`];
  if (!isThorough) return [];
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
    return (await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 160)}`);
  });
}

interface Violation {
  id: string;
  nodes: { html: string }[];
}
