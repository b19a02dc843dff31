/** Makes an attempt from inside a sandbox and looks from outside at what came of it. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Access, SandboxKind } from '../core/role.ts';
import { SandboxFailed } from '../errors.ts';
import { withoutInherited } from '../process/inherited.ts';
import type { Confined, Sandbox } from '../sandbox/sandbox.ts';
import type { Attempt } from './attempts.ts';
import { CANARY, type Machine, makeGrants } from './machine.ts';

const WHERE_LEFT = ['/dev/shm', '/tmp', '/var/tmp', '/run', '/etc/cron.d', '/usr/local/bin'];

type Grants = Partial<Pick<Access, 'readRoots' | 'writeRoots'>>;

export interface Target {
  sandbox: Pick<Sandbox, 'confine'>;
  kind: SandboxKind;
  /** Whether it was told, as by the settings of a loop, where roles of these attempts may write. */
  knowsGrants?: boolean;
}

/** What it reached, in words; nothing when it did not get out. */
export async function escapes(
  { script, later }: Attempt,
  machine: Machine,
  target: Target,
): Promise<string[]> {
  if (later) return escapesLater(script(machine), later, machine, target);
  const { said, found } = await play(script(machine), machine, target);
  return [...spoken(said), ...found];
}

/** For the role that left something, and, where that can be, one that may not write there. A start that is refused is none. */
async function escapesLater(
  planting: string,
  { write, read, script }: NonNullable<Attempt['later']>,
  machine: Machine,
  target: Target,
): Promise<string[]> {
  const at = (path: string): string => join(machine.operator, path);
  const [readRoots, writeRoots] = [read === undefined ? [] : [at(read)], [at(write)]];
  try {
    const planted = await play(planting, machine, target, { writeRoots });
    const ends = [];
    for (const own of [{ readRoots, writeRoots }, ...(target.knowsGrants ? [{ readRoots }] : [])])
      ends.push(await play(script(machine), machine, target, own).catch(refused));
    return [planted, ...ends].flatMap(({ said, found }) => [...spoken(said), ...found]);
  } finally {
    makeGrants(machine.operator);
  }
}

function refused(problem: unknown): { said: string; found: string[] } {
  if (problem instanceof SandboxFailed) return { said: '', found: [] };
  throw problem;
}

export const spoken = (said: string): string[] => [
  ...(said.includes(CANARY) ? ['it read a secret'] : []),
  ...(said.includes('ESCAPED') ? ['it did what it must not'] : []),
];

/** What a script said, and what can be seen of it from outside. */
export async function play(
  script: string,
  machine: Machine,
  target: Target,
  own: Grants = {},
): Promise<{ said: string; found: string[] }> {
  writeFileSync(machine.precious, 'as it was\n', { mode: 0o644 });
  machine.reached();
  const before = trunkOf(machine);
  const said = await run(script, machine, target, own);
  const daemon = `/bin/sleep ${machine.tag}`;
  const daemons = spawnSync('pgrep', ['-fx', daemon], { encoding: 'utf8' }).stdout.trim();
  spawnSync('pkill', ['-KILL', '-fx', daemon]);
  machine.victim.kill('SIGCONT');
  const left = WHERE_LEFT.map((folder) => join(folder, `forge-hostile-${machine.tag}`));
  const found = [
    ...(text(machine.precious) !== 'as it was\n' ? ["it changed the operator's file"] : []),
    ...((statOf(machine.precious)?.mode ?? 0) & 0o2 ? ["it changed the operator's file"] : []),
    ...(trunkOf(machine) === before ? [] : ['it moved trunk or its objects']),
    ...(existsSync(join(machine.root, 'planted')) ? ['it planted a file'] : []),
    ...left.filter((path) => existsSync(path)).map((path) => `it left ${path}`),
    ...(daemons === '' ? [] : ['a process of it lives']),
    ...[...new Set(machine.reached())].map((name) => `it reached ${name}`),
  ];
  for (const path of [...left, join(machine.root, 'planted')]) rmSync(path, { force: true });
  return { said, found };
}

/** Whether a program is there for the attempts that need it. */
export const isInside = async (program: string, machine: Machine, target: Target): Promise<boolean> =>
  (await run(`command -v ${program}`, machine, target)) !== '';

async function run(
  script: string,
  machine: Machine,
  { sandbox, kind }: Target,
  { readRoots = [], writeRoots = [] }: Grants = {},
): Promise<string> {
  const access: Access = {
    readRoots,
    writeRoots: [machine.workspace, machine.home, ...writeRoots],
    network: machine.door.way ?? 'none',
    tools: 'work',
    sandbox: kind,
  };
  const env = {
    PATH: `${machine.operator}/tools/v1/bin:${process.env.PATH}`,
    HOME: machine.home,
    ANTHROPIC_BASE_URL: machine.provider,
    ANTHROPIC_API_KEY: 'placeholder',
  };
  const argv = ['/bin/sh', '-c', script];
  const confined = await sandbox.confine({ argv, env, cwd: machine.workspace }, access);
  const said = await outputOf(confined);
  await confined.dispose();
  return said;
}

/** Until the command itself has ended: what it left behind may hold its output open for ever. */
export async function outputOf({
  argv: [program = '', ...args],
  env,
  cwd,
}: Pick<Confined, 'argv' | 'env' | 'cwd'>): Promise<string> {
  const child = spawn(program, args, {
    cwd,
    env,
    // As what the loop starts: nothing of what its own starter left open.
    stdio: withoutInherited(['ignore', 'pipe', 'ignore']),
    timeout: 60_000,
  });
  let said = '';
  const stdout = child.stdout as Readable;
  stdout.on('data', (chunk) => {
    said += chunk;
  });
  const over = once(stdout, 'end');
  await once(child, 'exit');
  await Promise.race([over, delay(500)]);
  stdout.destroy();
  return said;
}

const trunkOf = ({ repository }: Machine): string =>
  [
    ['rev-parse', 'main'],
    ['cat-file', '-p', 'main'],
    ['config', '--list', '--local'],
  ]
    .map((args) => spawnSync('git', ['-C', repository, ...args], { encoding: 'utf8' }).stdout)
    .join('');

const text = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });
