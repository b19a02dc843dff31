/** The command line as a stranger has it: a program in a process of its own, on a repository with an odd name. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../../bin/forge-loop.js', import.meta.url));

export interface Answer {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  process: ChildProcess;
  /** Resolves when its output has matched; rejects when it ended before. */
  says(pattern: RegExp): Promise<void>;
  ended: Promise<Answer>;
}

export interface Project {
  path: string;
  /** Everything of this project, for the agents' own use too. */
  folder: string;
  state: string;
  git(...args: string[]): string;
  write(path: string, text: string): void;
  /** Replaces the shell script of a role. */
  agent(role: 'coder' | 'critic', script: string): void;
  run(...args: string[]): Promise<Answer>;
  start(...args: string[]): Running;
  json<T>(...args: string[]): Promise<T>;
  issue(title: string, body: string): Promise<number>;
  remove(): void;
}

export const APPROVE = `cat > /dev/null
echo '{"structured":{"verdict":"APPROVE","findings":[]}}' > "$FORGE_RESULT"`;
export const WRITE_RESULT = `cat > /dev/null
echo ok > "result-$FORGE_ISSUE.txt"
echo "$FORGE_SESSION_ID" >> "sessions-$FORGE_ISSUE.txt"
echo '{"text":"done","usage":{"input":10,"output":5,"cacheRead":0,"cacheWrite":0,"reasoning":0},"costUsd":0.01}' > "$FORGE_RESULT"`;

export function project(settings = ''): Project {
  const folder = mkdtempSync(join(tmpdir(), 'forge-cli-'));
  const path = join(folder, 'my wörk 工');
  const state = join(folder, 'state');
  mkdirSync(path);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    XDG_STATE_HOME: state,
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    NO_COLOR: '1',
  };
  for (const name of ['GIT_AUTHOR_NAME', 'GIT_AUTHOR_EMAIL', 'FORCE_COLOR']) delete env[name];
  const git = (...args: string[]) => execFileSync('git', ['-C', path, ...args], { env, encoding: 'utf8' });

  const own: Project = {
    path,
    folder,
    state,
    git,
    write: (file, text) => writeFileSync(join(path, file), text),
    agent(role, script) {
      writeFileSync(join(folder, `${role}.sh`), `#!/bin/sh\nset -e\n${script}\n`);
      chmodSync(join(folder, `${role}.sh`), 0o755);
    },
    run: (...args) => own.start(...args).ended,
    start: (...args) => started(spawn(process.execPath, [bin, ...args], { cwd: path, env })),
    async json(...args) {
      const { code, stdout, stderr } = await own.run(...args, '--json');
      if (code !== 0) throw new Error(`forge-loop ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    async issue(title, body) {
      const made = await own.json<{ number: number }>(
        'issue',
        'new',
        '--title',
        title,
        '--body',
        body,
        '--ready',
      );
      return made.number;
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };

  git('init', '-q', '-b', 'main');
  git('config', 'user.name', 'Eva');
  git('config', 'user.email', 'eva@example.com');
  own.write('README.md', 'hello\n');
  own.write('WORKFLOW.md', workflow(folder, settings));
  git('add', '.');
  git('commit', '-q', '-m', 'start');
  own.agent('coder', WRITE_RESULT);
  own.agent('critic', APPROVE);
  return own;
}

export function workflow(folder: string, settings: string): string {
  const critic = settings.includes('critic:') ? '' : 'critic: { enabled: true }\n';
  const gate = settings.includes('gate:') ? '' : 'gate: { commands: ["! grep -q broken result-*.txt"] }\n';
  // The scripts of these tests tell outside what they did.
  const sandbox = settings.includes('sandbox:') ? '' : 'sandbox: none\n';
  return `---
polling: { interval_ms: 1000 }
agent: { kind: command, command: ${folder}/coder.sh }
roles: { critic: { command: ${folder}/critic.sh } }
${critic}${gate}${sandbox}${settings}---
Do issue {{ issue.number }}: {{ issue.title }}
{{ issue.body }}
`;
}

function started(child: ChildProcess): Running {
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
    for (const listen of listeners) listen();
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
    for (const listen of listeners) listen();
  });
  child.stdin?.end();
  const ended = new Promise<Answer>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return {
    process: child,
    ended,
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!pattern.test(stdout + stderr)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        look();
        void ended.then(() => {
          look();
          reject(new Error(`it ended without saying ${pattern}:\n${stdout}${stderr}`));
        });
      }),
  };
}
