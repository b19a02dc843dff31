/** Every kind of secret at every way out: none gets through, and what is not secret does. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openTerminal } from '../src/cli/terminal.ts';
import { type EventData, event } from '../src/core/event.ts';
import type { Forge } from '../src/forge/forge.ts';
import { redactingForge } from '../src/forge/redacting.ts';
import { fileLog } from '../src/log.ts';
import { activityOf, watchActivity } from '../src/loop/activity.ts';
import type { Ports } from '../src/loop/ports.ts';
import { collectOutput } from '../src/process/output.ts';
import { openRedactor } from '../src/redactor.ts';
import { redactingStore } from '../src/store/redacting.ts';
import { type Scratch, scratch } from './support/local-people.ts';
import { memoryStore } from './support/memory-store.ts';
import { HARMLESS, PLANTED } from './support/planted-secrets.ts';
import { claimed } from './support/store-steps.ts';

const KNOWN = 'correct horse battery 1';
const redactor = openRedactor({
  OPERATORS_TOKEN: KNOWN,
  SECRET_MODE: 'disabled',
  AUTH_SOCK: '/run/agent.sock',
});
const KINDS = [...PLANTED, { kind: 'a value of the environment', text: KNOWN, secret: KNOWN }];

let folder: string;
let place: Scratch;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'forge-redaction-'));
  place = await scratch();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await place.dispose();
});

let count = 0;
const fresh = (name: string): string => {
  count += 1;
  return join(folder, `${count}-${name}`);
};

/** Each says a text on its way out, and answers with all that can be read of it afterwards. */
const EXITS: Record<string, (text: string) => Promise<string>> = {
  async 'the log of the runner'(text) {
    const path = fresh('runner.log');
    const told: string[] = [];
    fileLog(path, redactor, (line) => told.push(line))('error', `it said ${text}`, {
      tail: [text],
      of: { text },
    });
    await vi.waitFor(() => expect(readFileSync(path, 'utf8')).toContain('it said'));
    for (const line of readFileSync(path, 'utf8').trim().split('\n')) JSON.parse(line);
    return readFileSync(path, 'utf8') + told.join('');
  },
  async 'events, actions and requests'(text) {
    const store = redactingStore(memoryStore(), redactor);
    await claimed(store, 'a', 1);
    const body = { kind: 'comment', issue: 1, marker: 'm', body: text } as const;
    const refused = { role: 'coder', turn: 1, tool: 'Bash', detail: text, why: `it said ${text}` } as const;
    await store.record({ task: 'a', events: [event('tool_refused', refused)], at: 1, addActions: [body] });
    await store.updateLoop(
      { configProblem: text },
      [event('config_invalid', { path: 'p', problem: text })],
      2,
    );
    await store.request({ task: 'a', kind: 'cancel', by: 'Ada', at: 3, why: text });
    return JSON.stringify([
      await store.events(),
      await store.pendingActions(null),
      await store.requests('a'),
      await store.loop(),
    ]);
  },
  async 'the output of a program, in its log and its tail'(text) {
    const path = fresh('gate.log');
    const stream = new PassThrough();
    const output = await collectOutput(stream, path, () => {}, redactor.text);
    const bytes = Buffer.from(`first\n${text}\nlast`);
    for (let at = 0; at < bytes.length; at += 7) stream.write(bytes.subarray(at, at + 7));
    stream.end();
    const tail = await output.finish();
    expect(readFileSync(path, 'utf8')).toBe(tail);
    expect(tail).toMatch(/^first\n.*\nlast$/s);
    return tail;
  },
  async 'comments, pull requests and reviews'(text) {
    const said: unknown[] = [];
    const heard = async (...words: unknown[]) => void said.push(words);
    const forge = redactingForge(
      {
        ...place.forge,
        ensureComment: heard,
        reply: heard,
        updatePull: heard,
        postReview: heard,
        closePull: heard,
        ensurePull: heard,
        buildCandidate: heard,
      } as unknown as Forge,
      redactor.text,
    );
    await forge.ensureComment(1, 'm', text);
    await forge.reply({ kind: 'issue', number: 1, id: '1' } as never, 'm', text);
    await forge.updatePull(1, { title: text, body: text });
    await forge.ensurePull({ issue: 1, branch: 'b', title: text, body: text, marker: 'm' });
    await forge.closePull(1, text);
    const comments = [{ file: 'f', line: 1, body: text }];
    await forge.postReview(1, { marker: 'm', headSha: 's', verdict: 'APPROVE', body: text, comments });
    await forge.buildCandidate({ headSha: 's', baseSha: 's', method: 'squash', message: text, task: 'a' });
    return JSON.stringify(said);
  },
  async 'the terminal, as text and as JSON'(text) {
    const out: string[] = [];
    const streams = (['stdout', 'stderr'] as const).map((name) =>
      vi.spyOn(process[name], 'write').mockImplementation((line) => out.push(String(line)) > 0),
    );
    const terminal = openTerminal({ json: true, color: false, redact: redactor.text });
    terminal.print(JSON.stringify({ said: `x ${text}`, n: 1 }, null, 2));
    terminal.note(text);
    for (const stream of streams) stream.mockRestore();
    expect(JSON.parse(out[0]!)).toMatchObject({ n: 1 });
    return out.join('');
  },
  async 'what an agent does now'(text) {
    const at = fresh('doing.json');
    const places = { log: () => at } as unknown as Ports['places'];
    let written = '';
    let transcript = '';
    const activity = watchActivity(
      {
        store: memoryStore(),
        places,
        redact: redactor,
        log: () => {},
        clock: { now: () => 0 } as Ports['clock'],
        writeText: async (_path, json) => {
          written = json;
        },
        appendText: async (_path, line) => {
          transcript += line;
        },
      },
      'a',
      { role: 'coder', turn: 1, sessionId: 's' },
    );
    activity.see({ kind: 'tool', id: '1', tool: 'Bash', detail: text } as never);
    await activity.over();
    expect(JSON.parse(written)).toMatchObject({ role: 'coder' });
    expect(await activityOf(places, 'a', { role: 'coder', turn: 1 })).toBeNull();
    return written + transcript;
  },
};

describe.each(Object.entries(EXITS))('%s', (_name, say) => {
  test.each(KINDS)('has nothing of $kind', async ({ text, secret }) => {
    const shown = await say(text);
    expect(shown).toContain('[redacted]');
    expect(shown).not.toContain(secret);
    expect(shown).not.toContain(JSON.stringify(secret).slice(1, -1));
  });

  test('has the rest', async () => {
    for (const text of HARMLESS.filter((one) => !/["'\\]/.test(one)))
      expect(await say(text)).not.toContain('[redacted]');
    expect(await say('disabled /run/agent.sock')).toContain('disabled /run/agent.sock');
  });
});

test('what was agreed on stays as it is, and so does what is compared', async () => {
  const { text } = PLANTED[1]!;
  const store = redactingStore(memoryStore(), redactor);
  await claimed(store, 'a', 1);
  const limited = { account: `command agent ${text}`, why: text, until: 5 };
  const run = {
    ...{ sha: 's', command: `TOKEN=x test`, setup: 'd', tests: text, outcome: 'fail', exitCode: 1 },
    ...{ problem: null, tail: text, logPath: null, durationMs: 1 },
  } as EventData['gate_base_completed'];
  await store.record({ task: 'a', events: [event('gate_base_completed', run)], at: 1 });
  await store.record({ events: [event('account_limited', limited)], at: 2 });
  const stored = await store.events();
  expect(stored.find(({ type }) => type === 'gate_base_completed')?.data).toMatchObject({
    command: 'TOKEN=[redacted] test',
    tail: '[redacted]',
    tests: text,
  });
  expect(stored.find(({ type }) => type === 'account_limited')?.data).toMatchObject({
    account: limited.account,
    why: '[redacted]',
  });
});
