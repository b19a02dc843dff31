/** An operator, a repository and a loop, made up, for commands that are to see nothing of them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { Access, SandboxKind } from '../../src/core/role.ts';
import type { Command, Confined, SandboxOptions, Unavailable } from '../../src/sandbox/sandbox.ts';

export interface SandboxUnderTest {
  /** As it calls itself when it can't confine something. */
  name: string;
  kind: SandboxKind;
  open(options: SandboxOptions): Confinement;
  /** Where what its commands are given may lie. */
  below?: string;
  /** Of its commands. */
  path?: string;
  /** What a command sees of the sandbox's own files. */
  shows?: RegExp;
}

interface Confinement {
  unavailable(): Promise<Unavailable | null>;
  confine(command: Command, access: Access): Promise<Confined>;
}

export interface SandboxStage {
  subject: SandboxUnderTest;
  at(...parts: string[]): string;
  options(): SandboxOptions;
  /** One for all tests of a file, so that whether it works is found once. */
  confinement(): Confinement;
  access(change?: Partial<Access>): Access;
  command(script: string, env?: Record<string, string>): Command;
  inside(script: string, change?: Change): Promise<Ended>;
}

interface Change extends Partial<Access> {
  env?: Record<string, string>;
  hidden?: string[];
  /** What some role may write to, this one or another. */
  writable?: string[];
}

interface Ended {
  said: string;
  stderr: string;
  code: number | null;
  problem: string | null;
}

export const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;

export function sandboxStage(subject: SandboxUnderTest): SandboxStage {
  const root = join(realpathSync(subject.below ?? tmpdir()), `forge-${subject.name}-${process.pid}`);
  const at = (...parts: string[]): string => join(root, ...parts);

  beforeEach(() => {
    for (const folder of ['workspace', 'home', 'operator/.ssh', 'operator/given', 'state/tasks/other'])
      mkdirSync(at(folder), { recursive: true });
    writeFileSync(at('operator/.ssh/id_ed25519'), 'PRIVATE KEY');
    writeFileSync(at('operator/given/notes'), 'to be read');
    writeFileSync(at('state/tasks/other/notes'), 'of another task');
    execFileSync('git', ['init', '-q', at('repository')]);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const options = (): SandboxOptions => ({
    folder: at('state', 'sandbox'),
    objects: () => [at('repository', '.git', 'objects')],
    hidden: [at('operator'), at('repository'), at('state')],
    programs: [process.execPath],
    writable: () => [],
    never: null,
  });
  const access = (change: Partial<Access> = {}): Access => ({
    readRoots: [],
    writeRoots: [at('workspace'), at('home')],
    network: 'none',
    tools: 'work',
    sandbox: subject.kind,
    ...change,
  });
  const command = (script: string, env: Record<string, string> = {}): Command => ({
    argv: ['/bin/sh', '-c', script],
    env: { PATH: subject.path ?? PATH, HOME: at('home'), ...env },
    cwd: at('workspace'),
  });
  let known: Confinement | null = null;
  const confinement = (): Confinement => {
    known ??= subject.open(options());
    return known;
  };

  async function inside(script: string, { env, hidden, writable, ...change }: Change = {}): Promise<Ended> {
    const own = { ...(hidden && { hidden }), ...(writable && { writable: () => writable }) };
    const by = hidden || writable ? subject.open({ ...options(), ...own }) : confinement();
    const confined = await by.confine(command(script, env), access(change));
    const child = started(confined);
    child.stdin?.on('error', () => {});
    child.stdin?.end('given');
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream]?.on('data', (chunk) => {
        said[stream] += chunk;
      });
    const [code] = (await once(child, 'close')) as [number | null];
    await confined.dispose();
    return { said: said.stdout.trim(), stderr: said.stderr, code, problem: confined.problem({ code }) };
  }

  return { subject, at, options, confinement, access, command, inside };
}

export function started({ argv: [program = '', ...args], env, cwd }: Confined): ChildProcess {
  return spawn(program, args, { env, cwd });
}
