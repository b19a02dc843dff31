/** A scratch repository with its own state directory, and the ways to run things in it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
export const BIN = fileURLToPath(new URL('../../bin/forge-loop.js', import.meta.url));

export interface Scratch {
  root: string;
  repo: string;
  env: Record<string, string>;
  git(args: readonly string[], cwd?: string): Promise<string>;
  loop(args: readonly string[]): Promise<string>;
  start(args: readonly string[]): ChildProcess;
  issue(number: number, title: string, body: string): void;
  dispose(): void;
}

export async function scratch(workflow: string): Promise<Scratch> {
  const root = mkdtempSync(join(tmpdir(), 'forge-bench-'));
  const repo = join(root, 'repo');
  const env = {
    ...(process.env as Record<string, string>),
    XDG_STATE_HOME: join(root, 'state'),
    NO_COLOR: '1',
  };
  const git = async (args: readonly string[], cwd = repo): Promise<string> =>
    (await execute('git', [...args], { cwd, env })).stdout.trim();
  mkdirSync(join(repo, '.forge', 'issues'), { recursive: true });
  await git(['init', '-q', '-b', 'main']);
  await git(['config', 'user.name', 'Bench']);
  await git(['config', 'user.email', 'bench@example.com']);
  for (let file = 0; file < 50; file++) writeFileSync(join(repo, `file-${file}.txt`), `line\n`.repeat(40));
  writeFileSync(join(repo, 'WORKFLOW.md'), workflow);
  writeFileSync(join(repo, '.git', 'info', 'exclude'), '.forge/\n');
  await git(['add', '-A']);
  await git(['commit', '-qm', 'start']);
  return {
    root,
    repo,
    env,
    git,
    loop: async (args) =>
      (await execute(process.execPath, [BIN, '-C', repo, ...args], { env, maxBuffer: 1 << 28 })).stdout,
    start: (args) =>
      spawn(process.execPath, [BIN, '-C', repo, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] }),
    issue(number, title, body) {
      const front = `---\nnumber: ${number}\ntitle: ${title}\nstate: open\nlabels: [loop:ready]\n---\n`;
      writeFileSync(
        join(repo, '.forge', 'issues', `${String(number).padStart(4, '0')}-issue.md`),
        `${front}\n${body}\n`,
      );
    },
    dispose: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** A coder that writes one file and a critic that approves, as cheap as a child process can be. */
export const CHEAP_AGENT = `cat >/dev/null; if [ "$FORGE_ROLE" = critic ]; then printf '{"structured":{"verdict":"APPROVE"}}' > "$FORGE_RESULT"; else echo work > "work-$FORGE_ISSUE.txt"; fi`;

export const workflow = (command: string, more = '', sandbox = 'none'): string =>
  `---\nagent:\n  kind: command\n  command: ${JSON.stringify(command)}\n  max_concurrent: 1\ngate:\n  commands: ["true"]\npolling:\n  interval_ms: 200\nsandbox: ${sandbox}\n${more}---\n`;
