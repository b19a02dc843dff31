/** What confinement adds to the start of a command, and of a turn, against the same without. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TurnRequest } from '../src/agent/agent.ts';
import { commandAgent } from '../src/agent/command.ts';
import { confinedPrograms } from '../src/agent/programs.ts';
import { type Access, accessOf, type SandboxKind } from '../src/core/role.ts';
import { openGateway } from '../src/gateway/server.ts';
import { hostProcesses } from '../src/process/host.ts';
import { bwrap } from '../src/sandbox/bwrap.ts';
import { containers } from '../src/sandbox/container.ts';
import { openSandbox } from '../src/sandbox/open.ts';
import { srt } from '../src/sandbox/srt.ts';
import { testPolicy } from '../test/support/policy.ts';
import { compare, type Measured, ms } from './measure.ts';

const ROUNDS = 30;
const MOST_MS = { command: 100, turn: 250 };

export async function confine(): Promise<Measured[]> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'forge-bench-')));
  const at = (name: string): string => join(root, name);
  for (const name of ['workspace', 'home', 'session']) mkdirSync(at(name));
  const processes = hostProcesses();
  const machine = {
    objects: () => [],
    hidden: [],
    programs: [process.execPath],
    writable: () => [],
    never: null,
  };
  const sandbox = openSandbox({
    bwrap: bwrap({ folder: at('sandbox'), ...machine }),
    containers: containers({ folder: at('containers'), ...machine }),
    srt: srt({ folder: at('srt'), installHint: () => '', ...machine }),
  });
  const { kind, why } = await sandbox.choose({ kind: 'required', image: null });
  if (kind === null) throw new Error(`nothing can be confined here: ${why}`);
  const gateway = openGateway({});
  const agent = commandAgent({ programs: confinedPrograms(processes, sandbox), gateway });
  const env = { PATH: process.env.PATH ?? '', HOME: at('home') };
  const place = { cwd: at('workspace'), home: at('home'), session: at('session') };
  const quiet = { signal: new AbortController().signal, onHeld: async () => {} };

  const command = (by: SandboxKind) => async (): Promise<void> => {
    const door =
      by === 'none' ? null : await gateway.open({ at: 'inside', network: [], advice: '', isOneWay: true });
    const network: Access['network'] = door?.way ?? 'host';
    const access = { ...accessOf('coder', place, { sandbox: by }), network };
    const confined = await sandbox.confine({ argv: ['/bin/true'], env, cwd: place.cwd }, access);
    const { argv, env: passed, cwd } = confined;
    const given = { argv, env: passed, cwd, stdin: '', logPath: at('log') };
    const { code } = await processes.launch({ ...given, ...quiet, timeoutMs: null });
    await confined.dispose();
    await door?.close();
    if (code !== 0) throw new Error(`/bin/true ended with ${code}`);
  };
  let turns = 0;
  const turn = (by: SandboxKind) => async (): Promise<void> => {
    turns += 1;
    const request: TurnRequest = {
      task: 'bench',
      role: 'coder',
      number: turns,
      cwd: place.cwd,
      prompt: 'nothing',
      sessionId: `s${turns}`,
      sessionDir: place.session,
      resume: false,
      policy: { ...testPolicy().agents.coder, kind: 'command', command: 'true', network: [] },
      access: accessOf('coder', place, { sandbox: by }),
      identity: { name: 'Bench', email: 'bench@example.com' },
      home: place.home,
      logPath: at('log'),
      mark: 'bench',
    };
    const { status } = await agent.run(request, { ...quiet, onUsage: () => {}, onProgress: () => {} });
    if (status !== 'finished') throw new Error(`the turn ${status}`);
  };
  const added = async (name: keyof typeof MOST_MS, of: typeof command): Promise<Measured> => {
    const { ours, baseline } = await compare(ROUNDS, of(kind), of('none'));
    return {
      name: `start of a ${name}, confined by ${kind}`,
      value: ms(ours),
      against: `unconfined: ${ms(baseline)}`,
      ratio: ours / baseline,
      goal: `≤ ${MOST_MS[name]} ms added`,
      met: ours - baseline <= MOST_MS[name],
    };
  };
  try {
    return [await added('command', command), await added('turn', turn)];
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
