/**
 * The loop's tools for an agent in bubblewrap, as one that starts its own servers calls them: they are answered outside, with
 * what the agent itself can't reach, and as often as the settings say.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TurnTools } from '../src/agent/agent.ts';
import { openToolDialogue } from '../src/agent/tool-dialogue.ts';
import type { Action } from '../src/core/action.ts';
import type { NewEvent } from '../src/core/event.ts';
import type { Policy } from '../src/core/policy.ts';
import { accessOf } from '../src/core/role.ts';
import { turnTools } from '../src/loop/turn-tools.ts';
import { bwrap } from '../src/sandbox/bwrap.ts';
import type { Store } from '../src/store/store.ts';
import { agentStage } from './support/agent-stage.ts';
import { type Scratch, scratch } from './support/local-people.ts';
import { memoryStore } from './support/memory-store.ts';
import { testPolicy } from './support/policy.ts';
import { hostParts } from './support/programs.ts';
import { claimed } from './support/store-steps.ts';

const performing = async () => ({});
const stage = agentStage({ agent: { kind: 'confined' } as never, performing });
const SOURCES = join(import.meta.dirname, '..', 'src');

let s: Scratch;
let store: Store;
let policy: Policy;
beforeEach(async () => {
  s = await scratch();
  store = memoryStore();
  policy = testPolicy();
});
afterEach(() => s.dispose());

async function toolsOfCoder(): Promise<TurnTools> {
  const { task } = await claimed(store, 'a', 1);
  const activity = {
    see() {},
    over: async () => {},
    note: async (one: NewEvent) => {
      await store.record({ task: task.id, events: [one], at: 0 });
      return true;
    },
  };
  const action = { kind: 'turn', role: 'coder', turn: 1, sessionId: 's', prompt: 'task' } as const;
  const ports = { store, forge: s.forge, settings: { policy: () => policy } as never, log() {} };
  const signal = new AbortController().signal;
  return turnTools(ports, task, action as Extract<Action, { kind: 'turn' }>, activity, signal)!;
}

/** What an agent does: it starts the server it was told of, and calls tools one after the other. */
const AGENT = `
import { spawn } from 'node:child_process';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const [server, calls, forbidden] = process.argv.slice(1).map((one) => JSON.parse(one));
const child = spawn(server[0], server.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
const replies = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const answers = [];
const folder = server.at(-1);
const replaced = [folder, folder + '/calls'].filter((path) => {
  try { renameSync(path, path + '-away'); return true; } catch { return false; }
});
try { writeFileSync(folder + '/tools.json', '[]'); replaced.push('tools.json'); } catch {}
for (const [name, input] of calls) {
  child.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }) + '\\n');
  answers.push(JSON.parse((await replies.next()).value).result);
}
child.stdin.end();
writeFileSync('answers.json', JSON.stringify({ answers, replaced, reached: forbidden.filter((path) => existsSync(path)) }));
`;

async function confined(calls: [string, object][]): Promise<{
  answers: { content: [{ text: string }]; isError: boolean }[];
  reached: string[];
  replaced: string[];
}> {
  const folder = join(stage.dir(), 'sandbox');
  const repository = join(stage.dir(), 'repository');
  mkdirSync(folder);
  execFileSync('git', ['init', '-q', repository]);
  const sandbox = bwrap({
    folder,
    objects: () => [join(repository, '.git', 'objects')],
    hidden: [repository, folder],
    programs: [dirname(dirname(process.execPath)), process.execPath, SOURCES],
    writable: () => [],
    never: null,
  });
  const plain = await stage.turnOf([]);
  for (const path of [plain.home, plain.sessionDir, dirname(plain.logPath)])
    mkdirSync(path, { recursive: true });
  const places = { cwd: plain.cwd, home: plain.home, session: plain.sessionDir };
  const access = { ...accessOf('coder', places, { sandbox: 'bwrap' }), network: 'none' as const };
  const dialogue = await openToolDialogue(plain.sessionDir, await toolsOfCoder());
  const turn = dialogue.within({ ...plain, access });
  const forbidden = [join(s.root, '.forge'), join(repository, '.git', 'config')];
  for (const path of forbidden) expect(existsSync(path)).toBe(true);
  try {
    const { programs } = hostParts({
      ...sandbox,
      choose: async () => ({ kind: 'bwrap', why: null, unlimited: null }),
      clear: async () => {},
    });
    const given = [[dialogue.command, ...dialogue.args], calls, forbidden].map((one) => JSON.stringify(one));
    const ran = await programs.run(
      {
        argv: [process.execPath, '--input-type=module', '-e', AGENT, ...given],
        env: { PATH: '/usr/bin:/bin', HOME: turn.home },
        exitPath: join(stage.dir(), 'exit.json'),
      },
      turn,
      stage.watched().hooks,
    );
    expect(ran).toMatchObject({ code: 0 });
    return JSON.parse(readFileSync(stage.inWorkspace('answers.json'), 'utf8'));
  } finally {
    await dialogue.close();
  }
}

const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing) console.warn('SKIPPED: tools of a confined agent. Install the package bubblewrap to run it.');

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('an agent under bubblewrap', () => {
  test('reads an issue that lies where it can’t look, and what it says is noted', async () => {
    const number = await s.people.createIssue({ title: 'Dark mode', body: 'Too bright.' });
    const { answers, reached, replaced } = await confined([
      ['report_progress', { message: 'half way' }],
      ['issue_read', { number }],
    ]);
    expect({ reached, replaced }).toEqual({ reached: [], replaced: [] });
    expect(answers).toMatchObject([
      { isError: false, content: [{ text: 'Noted.' }] },
      { isError: false, content: [{ text: expect.stringContaining('Too bright.') }] },
    ]);
    expect(await store.events({ task: 'a', type: 'coder_reported' })).toMatchObject([
      { data: { message: 'half way' } },
    ]);
  });

  test('is answered so often by each tool, and the forge is asked so often for it', async () => {
    const number = await s.people.createIssue({ title: 'T', body: 'B' });
    policy.agents.coder = { ...policy.agents.coder, toolCalls: 2, forgeRequests: 1 };
    const said = ['report_progress', { message: 'again' }] as [string, object];
    const { answers } = await confined([
      said,
      said,
      said,
      ['issue_read', { number }],
      ['issues_search', { words: 'T' }],
      ['list_findings', {}],
    ]);
    expect(answers.map(({ isError }) => isError)).toEqual([false, false, true, false, true, false]);
    expect(answers[2]?.content[0].text).toContain('was called 2 times in this turn');
    expect(answers[4]?.content[0].text).toContain('was asked 1 times in this turn');
    expect(await store.events({ task: 'a', type: 'coder_reported' })).toHaveLength(2);
  });
});
