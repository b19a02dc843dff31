/** One command that proves forge-loop on a repository of the real GitHub. What it does is in `HELP`. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf } from '../../src/forge/github/address.ts';
import { type Asked, asked, HELP, Usage } from './command-line.ts';
import { type Hub, openHub, Refused } from './hub.ts';
import { openLoop } from './loop.ts';
import { type Notes, openNotes } from './notes.ts';
import {
  ACTIONS,
  CHECK,
  cleanUp,
  closeIssues,
  layProject,
  lookAt,
  markTrunk,
  NotAThrowaway,
  requireCheck,
  WORKFLOW,
} from './stage.ts';
import { awaitActions, openIssues, preparations, setRule, type Telling, verify, work } from './story.ts';

/** The exit code. `here`: the folder of this file, which is bundled elsewhere. */
export async function prove(argv: readonly string[], here: string): Promise<number> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'forge-live-')));
  try {
    const given = asked(argv, process.env);
    if (given !== 'help') return await proved(given, here, folder);
    console.log(HELP);
    return 0;
  } catch (problem) {
    if (!(problem instanceof Usage || problem instanceof NotAThrowaway || problem instanceof Refused))
      throw problem;
    console.error(`error: ${problem.message}`);
    if (problem instanceof Usage) console.error('hint: npm run test:github -- --help');
    return 2;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function proved(given: Asked, here: string, folder: string): Promise<number> {
  const began = new Date();
  const interrupted = new AbortController();
  const address = addressOf({ repository: given.repository, apiUrl: given.apiUrl, remoteUrl: null });
  const at = { address, token: given.stageToken, pauseMs: given.pauseMs };
  const hub = openHub({ ...at, signal: interrupted.signal });
  const root = join(folder, 'clone');
  const { trunk, tip, repository } = await lookAt(hub, address, root);

  const notes = openNotes((line) => console.log(line), [given.token, given.stageToken]);
  const stop = (): void => {
    if (interrupted.signal.aborted) process.exit(1);
    console.error('Interrupted: cleaning up. Once more leaves everything as it is.');
    interrupted.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  notes.ok(
    'Repository',
    `${repository.full_name}, ${repository.private ? 'private' : 'public'}; ${tip === null ? 'empty' : 'marked as a throwaway'}.`,
  );
  await introduce(notes, openHub({ ...at, token: given.token, signal: interrupted.signal }));

  const loop = openLoop({ here, folder, root, token: given.token });
  const lookMs = Math.max(200, 5 * given.pauseMs);
  // What is undone uses nothing that an interruption stops.
  const after = openHub({ ...at, signal: new AbortController().signal });
  let stage: Telling | null = null;
  let rule: Awaited<ReturnType<typeof setRule>> = null;
  try {
    await closeIssues(hub);
    const start = await markTrunk(hub, root, trunk, tip);
    stage = { hub, root, trunk, start, notes, loop, lookMs, signal: interrupted.signal };
    const settings = settingsFor(given);
    const noWorkflow = await layProject(stage, settings);
    if (noWorkflow !== null) {
      const remedy = `Give the token Workflows: write, or commit ${WORKFLOW} to ${trunk} yourself: its text is below.`;
      notes.skipped('GitHub Actions', noWorkflow, remedy);
      notes.output(WORKFLOW, ACTIONS);
    }
    const hasActions = noWorkflow === null && (await awaitActions(stage));
    if (hasActions) {
      rule = await setRule(stage);
      if (rule === null) await requireCheck(stage, settings);
    } else {
      const reason = `It requires the check \`${CHECK}\`, which nothing reports.`;
      notes.skipped('Classic rule: heads up to date', 'Not tried.', reason);
    }
    const issues = await openIssues(stage);
    await preparations(stage);
    const tasks = await work(stage, issues, given.minutes);
    await verify(stage, tasks, { issues, hasActions, hasRule: rule === 'ours' });
  } catch (problem) {
    notes.wrong(
      'The story',
      interrupted.signal.aborted ? 'Interrupted.' : `Broke off: ${(problem as Error).message}`,
    );
  }
  const left = stage ? await cleanUp({ ...stage, hub: after }, rule === 'ours') : [];
  for (const line of left) notes.wrong('Cleaning up', line);
  for (const { of, made } of loop.requests()) notes.requests(of, made);
  notes.requests('this script', [...hub.made, ...after.made]);
  const about = { repository: given.repository, began, ended: new Date(), left };
  writeFileSync(given.report, notes.report(about));
  console.log(`The report is in ${given.report}.`);
  return notes.has('wrong') ? 1 : notes.has('skipped') ? 3 : 0;
}

/** Whose token it is, and of which kind. */
async function introduce(notes: Notes, hub: Hub): Promise<void> {
  const { status, said, body, headers } = await hub.ask('GET', '/user');
  if (status === 401) throw new Refused(`GitHub does not accept GITHUB_TOKEN (401): ${said}`);
  const scopes = headers.get('x-oauth-scopes');
  if (said !== null) notes.ok('The loop’s token', `Of a GitHub App: it may not ask who it is (${said}).`);
  else if (scopes === null) notes.ok('The loop’s token', `Fine-grained, of ${body.login}.`);
  else
    notes.skipped(
      'Fine-grained token',
      `GITHUB_TOKEN is a classic one of ${body.login}, with the scopes ${scopes}.`,
      'Make a fine-grained one with the rights in docs/github.md.',
    );
}

const settingsFor = ({ repository, apiUrl, pauseMs }: Asked): object => ({
  tracker: {
    kind: 'github',
    provider: {
      repository,
      ...(apiUrl === null ? {} : { api_url: apiUrl }),
      token: '$GITHUB_TOKEN',
      paced: String(pauseMs > 0),
    },
  },
  polling: { interval_ms: Math.max(1000, 10 * pauseMs) },
  agent: { kind: 'command', command: 'sh agent.sh' },
  gate: { commands: ['sh gate.sh'] },
});
