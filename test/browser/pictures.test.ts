/** The pictures of the documentation, when a folder for them is named: `node docs/images/dashboard.js`. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHROMIUM, linkTo, openBrowser, openPage, settled } from '../support/browser/chromium.ts';
import { fullWorld, PLAIN_WORDS } from '../support/browser/full-world.ts';
import { serve } from '../support/browser/serve.ts';

const { PICTURES } = process.env;

// they are drawn when somebody asks for them
test.skipIf(CHROMIUM === null || !PICTURES)('the dashboard is drawn', async () => {
  mkdirSync(PICTURES!, { recursive: true });
  const browser = await openBrowser();
  const world = await fullWorld({ ended: 12, said: PLAIN_WORDS });
  const serving = await serve(world.root);
  const draw = async (name: string, path: string, colorScheme: 'light' | 'dark'): Promise<void> => {
    const viewport = { width: 1440, height: 860 };
    const { page, problems } = await openPage(browser, linkTo(serving.link, path), { colorScheme, viewport });
    await settled(page);
    await page.evaluate(async () => {
      document.querySelector('.brand span')!.textContent = 'rocket';
      await document.fonts.ready;
    });
    await page.screenshot({ path: join(PICTURES!, `dashboard-${name}.png`) });
    expect(problems).toEqual([]);
    await page.context().close();
  };
  await draw('morning', '/', 'light');
  await draw('board', '/board', 'light');
  await draw('task', `/tasks/${world.task}`, 'dark');
  await browser.close();
  await serving.close();
  await world.close();
});
