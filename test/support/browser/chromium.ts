/** A real browser with nothing of anybody's in it, and what a page must never do in it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Null where none is installed: `apt-get install chromium`. */
export const CHROMIUM: string | null =
  (process.env.PATH ?? '')
    .split(':')
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path)) ?? null;

if (CHROMIUM === null) console.warn('NO BROWSER: the dashboard is not tested. Install chromium.');

/** Each launch has a new folder for the browser's own data. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM!,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

export interface Watched {
  page: Page;
  /** What was refused by the policy for contents, thrown, or loaded from elsewhere. */
  problems: string[];
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`));
  page.on('console', (message) => {
    if (/content security policy|refused to/i.test(message.text())) problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin)) problems.push(`asked elsewhere: ${request.url()}`);
  });
  page.on('dialog', (dialog) => {
    problems.push(`a script spoke: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  return { page, problems };
}

/** What logs in and leads to a place of the dashboard. */
export const linkTo = (link: string, path: string): string => `${link}&to=${encodeURIComponent(path)}`;

/** Everything that was asked for is there. */
export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor({ state: 'attached' });
  await page.waitForFunction(() => !document.querySelector('.loading'));
}
