/**
 * What the loop itself reads, writes and removes of an agent's places when a turn is over, about to begin, or taken up: each as a
 * process of its own, so that whoever hangs or dies of it can be told from outside. Not confined, as the loop is not.
 */
import { join } from 'node:path';
import { claudeRecorder } from '../../src/agent/acp/claude-record.ts';
import { geminiRecorder, setUpGemini } from '../../src/agent/acp/gemini.ts';
import * as acp from '../../src/agent/acp/session.ts';
import type { TurnRequest, UnheardTurn } from '../../src/agent/agent.ts';
import { claudeAgent } from '../../src/agent/claude/claude.ts';
import { codexAgent } from '../../src/agent/codex/codex.ts';
import { putCredential, removeLogin } from '../../src/agent/codex/credential.ts';
import { lastEnd } from '../../src/agent/codex/recorded-failure.ts';
import { withServers } from '../../src/agent/mcp-servers.ts';
import { watchCalls } from '../../src/agent/opencode/asked.ts';
import { opencodeAgent } from '../../src/agent/opencode/opencode.ts';
import { refusedWorkspace } from '../../src/agent/opencode/plugins.ts';
import { finishedProgram } from '../../src/agent/program-turn.ts';
import { openStandIns } from '../../src/agent/stand-ins.ts';
import { toldLedger } from '../../src/agent/told-ledger.ts';
import { lastWrite } from '../../src/process/last-write.ts';
import { prepareHome } from '../../src/workspace/home.ts';
import { watchTestReports } from '../../src/workspace/test-reports.ts';

export interface Places {
  session: string;
  home: string;
  workspace: string;
  operator: string;
  log: string;
}

const [name = '', given = '{}'] = process.argv.slice(2);
const { session, home, workspace, operator, log } = JSON.parse(given) as Places;

const policy = {
  model: 'm',
  prices: {},
  mcp: [{ name: 'docs', command: ['true'], env: {}, tools: null }],
  env: { pass: [], set: {}, home: 'private', homeEntries: [] },
};
const turn = {
  ...{ sessionId: 's1', sessionDir: session, home, cwd: workspace, number: 2, role: 'coder', task: 't' },
  ...{ prompt: 'p', conventions: null, policy, logPath: log, resume: true, startedAt: 0 },
  access: { readRoots: [], writeRoots: [workspace, session, home], tools: 'work', network: 'none' },
} as unknown as TurnRequest & UnheardTurn;

const parts = { operator: {}, now: () => 0 } as never;
const agents = { claude: claudeAgent(parts), codex: codexAgent(parts), opencode: opencodeAgent(parts) };
const probed = (kind: keyof typeof agents) => agents[kind].probeSession(turn);
const taken = async (kind: keyof typeof agents) => (await agents[kind].finished(turn, () => {})) !== null;

const READERS: Record<string, () => Promise<unknown>> = {
  'claude, probed': () => probed('claude'),
  'claude, taken up': () => taken('claude'),
  'codex, probed': () => probed('codex'),
  'codex, taken up': () => taken('codex'),
  'opencode, probed': () => probed('opencode'),
  'opencode, taken up': () => taken('opencode'),
  'acp, probed': () => acp.probeSession(turn),
  'acp, taken up': () => acp.readEnd(session),
  'claude, recorded': () => claudeRecorder(turn, join(session, 'acp'), () => {}),
  'codex, recorded': () => lastEnd(join(session, 'acp')),
  'gemini, recorded': async () => (await geminiRecorder(turn, join(session, 'gemini'), () => {})).close?.(),
  'gemini, set up': () => setUpGemini(turn, join(session, 'gemini'), {}, null),
  'codex, signed in and out': async () => {
    await putCredential({ source: 's', key: 'k' }, join(session, 'codex'), 0);
    await removeLogin(join(session, 'codex'));
  },
  'opencode, its log': () => watchCalls(home, { calls: () => 0 }),
  'opencode, its plugins': () => refusedWorkspace(workspace),
  'the ledger': async () => (await toldLedger(session, 2)).settle(['a']),
  'stand-ins': async () => openStandIns(turn, { HOME: home, PATH: '' }, () => {}).close(),
  'MCP servers': () => withServers(turn, { onProgress() {} }, async () => 0),
  'the home': () => prepareHome(home, { home: 'private', homeEntries: ['.npmrc'] }, operator, () => true),
  'the last sign': () => lastWrite([log, session]),
  'test reports': async () => {
    const over = await watchTestReports({ tree: workspace, logPath: log, patterns: ['reports/**/*.xml'] });
    return over();
  },
  'a command’s end': () => finishedProgram(turn, () => {}),
};

/** A loop that can't read a record must say so and go on; only what it says itself counts as that. */
try {
  console.log(JSON.stringify((await READERS[name]?.()) ?? null));
} catch (error) {
  if ((error as Error).name !== 'StrangeFile') throw error;
  console.log((error as Error).message);
}
