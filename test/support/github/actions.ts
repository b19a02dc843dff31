/**
 * GitHub Actions, as much of it as a workflow of plain `run` steps needs: whoever pushes a commit that has one gets its jobs run
 * for real, on the files of that commit.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { reportCheck } from './check-routes.ts';
import type { GitHub } from './server.ts';
import type { World } from './world.ts';

interface Workflow {
  on: string;
  jobs: Record<string, { steps: { uses?: string; run?: string }[] }>;
}

const FILE = '.github/workflows/ci.yml';
const run = promisify(execFile);

/** Each job takes `ms`, as machines have to be found for it; `over` resolves when what was begun has ended. */
export function startActions(github: GitHub, ms: number): { over(): Promise<void> } {
  const { world } = github;
  const { emit } = world;
  const begun: Promise<void>[] = [];
  world.emit = (event) => {
    emit(event);
    const { after = '' } = event.payload as { after?: string };
    if (event.event === 'push' && /[1-9a-f]/.test(after)) begun.push(pushed(world, after, ms));
  };
  return { over: async () => void (await Promise.all(begun)) };
}

async function pushed(world: World, sha: string, ms: number): Promise<void> {
  const { stdout, exitCode } = await world.git(['show', `${sha}:${FILE}`], { allow: [128] });
  if (exitCode !== 0) return;
  const { on, jobs } = parse(stdout) as Workflow;
  if (on !== 'push') return;
  for (const [name, { steps }] of Object.entries(jobs)) {
    reportCheck(world, { sha, name, status: 'in_progress', conclusion: null });
    await pause(ms);
    const tree = mkdtempSync(join(tmpdir(), 'github-actions-'));
    let log = '';
    let conclusion = 'success';
    for (const step of steps) {
      const command = step.run ?? `git --git-dir="$GIT_DIR" archive ${sha} | tar -x`;
      const env = { PATH: process.env.PATH, GIT_DIR: step.run ? '' : world.git.gitDir };
      const ended = await run('sh', ['-c', command], { cwd: tree, env }).catch(
        (problem: { stdout: string; stderr: string }) => ({ ...problem, isRed: true }),
      );
      log += ended.stdout + ended.stderr;
      if ('isRed' in ended) {
        conclusion = 'failure';
        break;
      }
    }
    rmSync(tree, { recursive: true, force: true });
    reportCheck(world, { sha, name, conclusion, log, steps: [{ name: 'CI', conclusion }] });
  }
}
