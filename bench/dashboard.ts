/** The dashboard over a database after years: what a person waits for, and what the server uses when nobody does. */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { event } from '../src/core/event.ts';
import { openContext } from '../src/main.ts';
import { perform } from '../src/operations.ts';
import { openSqliteStore } from '../src/store/sqlite.ts';
import { CHROMIUM, openBrowser } from '../test/support/browser/chromium.ts';
import { grow } from './grown.ts';
import { cpuOf, type Measured, median, ms, timed } from './measure.ts';
import { BIN, type Scratch, scratch, workflow } from './scratch.ts';

const TASKS = 10_000;
const EVENTS = 1_000_000;
const ROUNDS = 5;
const MOST_MS = 500;
const IDLE_MS = 60_000;
const MOST_OF_A_CORE = 0.005;
const TOLD = 5_000;
const CALLS = 20;

/** Tells what it used, so that there is a ledger. */
const AGENT = `cat >/dev/null; printf '{"usage":{"input":900,"output":90,"cacheRead":9000},"costUsd":0.02,"structured":{"verdict":"APPROVE"}}' > "$FORGE_RESULT"; [ "$FORGE_ROLE" = critic ] || echo work > "work-$FORGE_ISSUE.txt"`;

export async function dashboard(): Promise<Measured[]> {
  const place = await scratch(workflow(AGENT));
  try {
    place.issue(1, 'Issue 1', 'Creates `work-1.txt`.');
    await place.loop(['run', '--until-idle']);
    grow(place, TASKS, EVENTS);
    const server = await serve(place);
    try {
      return [
        server.start,
        await firstRows(server.link),
        await idle(server.child, 'and nobody at it'),
        await watched(server.link, () => idle(server.child, 'with one page open')),
        await told(place, server.link),
        await mcpCall(place),
      ];
    } finally {
      await stopped(server.child);
    }
  } finally {
    place.dispose();
  }
}

async function serve(place: Scratch) {
  const begun = performance.now();
  const child = place.start(['--json', 'dashboard', '--port', '0']);
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout!.once('data', (said) => resolve(String(said)));
    child.once('exit', (code) => reject(new Error(`the dashboard ended with ${code}`)));
  });
  const took = performance.now() - begun;
  const bare = await timed(() => place.loop(['--version']).then(() => {}));
  const start: Measured = {
    name: `start of \`dashboard\` with ${TASKS} tasks`,
    value: ms(took),
    against: `\`--version\`: ${ms(bare)}`,
    ratio: took / bare,
    goal: 'reported',
    met: null,
  };
  return { child, link: (JSON.parse(line) as { link: string }).link, start };
}

async function firstRows(link: string): Promise<Measured> {
  const shows = 'until the first rows of the morning are there';
  if (CHROMIUM === null) throw new Error('no browser: install chromium');
  const browser = await openBrowser();
  const samples: number[] = [];
  const bare: number[] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const page = await (await browser.newContext()).newPage();
      await page.request.get(`${link}&to=/icon.svg`);
      bare.push(await timed(async () => void (await page.goto(new URL('/icon.svg', link).href))));
      samples.push(
        await timed(async () => {
          await page.goto(new URL('/', link).href);
          await page.locator('#needs').waitFor();
        }),
      );
      await page.context().close();
    }
  } finally {
    await browser.close();
  }
  const took = median(samples);
  return {
    name: `page open with ${TASKS} tasks and ${EVENTS} events, ${shows}`,
    value: ms(took),
    against: `one small file of the same server: ${ms(median(bare))}`,
    ratio: took / median(bare),
    goal: `≤ ${MOST_MS} ms`,
    met: took <= MOST_MS,
  };
}

async function idle({ pid }: ChildProcess, how: string): Promise<Measured> {
  await wait(3000);
  const before = cpuOf(pid!);
  await wait(IDLE_MS);
  const share = (cpuOf(pid!) - before) / IDLE_MS;
  return {
    name: `idle server over a minute, ${how}, of a core`,
    value: `${(share * 100).toFixed(2)} %`,
    against: '–',
    ratio: null,
    goal: `< ${MOST_OF_A_CORE * 100} %`,
    met: share < MOST_OF_A_CORE,
  };
}

/** With the stream of events that every page has. */
async function watched<T>(link: string, work: () => Promise<T>): Promise<T> {
  const gone = new AbortController();
  const { body } = await openStream(link, gone.signal);
  const read = body!.pipeTo(new WritableStream()).catch(() => {});
  const result = await work();
  gone.abort();
  await read;
  return result;
}

function openStream(link: string, signal: AbortSignal): Promise<Response> {
  const headers = { authorization: `Bearer ${new URL(link).searchParams.get('token')}` };
  return fetch(new URL('/api/events.stream', link), { headers, signal });
}

/** From the write of the first event until the last is heard. */
async function told(place: Scratch, link: string): Promise<Measured> {
  const store = await openSqliteStore(join(place.repo, '.forge', 'forge.db'));
  const gone = new AbortController();
  const answer = await openStream(link, gone.signal);
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let heard = 0;
  const listening = (async () => {
    // The first says that it is connected.
    for (let text = ''; heard <= TOLD; ) {
      const { value, done } = await reader.read();
      if (done) throw new Error('the stream ended');
      const parts = (text + value).split('\n\n');
      text = parts.pop()!;
      heard += parts.length;
    }
  })();
  while (heard === 0) await wait(10);
  const begun = performance.now();
  let written = 0;
  for (let at = 0; at < TOLD; at += 100) {
    const events = Array.from({ length: 100 }, () => event('loop_paused', { by: 'bench' }));
    await store.record({ events, at: Date.now() });
    written = performance.now() - begun;
  }
  await listening;
  const took = performance.now() - begun;
  gone.abort();
  await store.close();
  return {
    name: 'events to a listener',
    value: `${Math.round((TOLD / took) * 1000)}/s`,
    against: `written: ${Math.round((TOLD / written) * 1000)}/s`,
    ratio: written / took,
    goal: 'reported',
    met: null,
  };
}

async function mcpCall(place: Scratch): Promise<Measured> {
  const client = new Client({ name: 'bench', version: '0' });
  const args = [BIN, '-C', place.repo, 'mcp', 'serve'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: place.env }));
  const context = await openContext(place.repo);
  const served: number[] = [];
  const bare: number[] = [];
  for (let call = 0; call < CALLS - 1; call++) {
    bare.push(await timed(async () => void (await perform(context, 'findings.list', { task: 't2' }))));
    served.push(
      await timed(
        async () => void (await client.callTool({ name: 'findings_list', arguments: { task: 't2' } })),
      ),
    );
  }
  await client.close();
  await context.close();
  return {
    name: 'an MCP call',
    value: ms(median(served)),
    against: `the bare operation: ${ms(median(bare))}`,
    ratio: median(served) / median(bare),
    goal: 'reported',
    met: null,
  };
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}
