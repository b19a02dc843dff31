/**
 * A runner in a process of its own, so that a test can kill it: starts one child, says who it is on stdout once it is
 * held, and then lets it go or holds it for ever.
 */
import { acpAgent } from '../../src/agent/acp/acp.ts';
import { claudeAgent } from '../../src/agent/claude/claude.ts';
import { codexAgent } from '../../src/agent/codex/codex.ts';
import { commandAgent } from '../../src/agent/command.ts';
import { opencodeAgent } from '../../src/agent/opencode/opencode.ts';
import { scriptedAgent } from '../../src/agent/scripted.ts';
import { openDialogue } from '../../src/process/dialogue.ts';
import { hostProcesses } from '../../src/process/host.ts';
import { hostParts } from './programs.ts';
import type { RunnerJob } from './start-runner.ts';

const job = JSON.parse(process.argv[2] ?? '') as RunnerJob;
const { signal } = new AbortController();
const onHeld = (child: object) => {
  process.stdout.write(`${JSON.stringify(child)}\n`);
  return job.release ? Promise.resolve() : new Promise<void>(() => {});
};

setInterval(() => {}, 60_000);
if ('launch' in job) {
  await hostProcesses().launch({ ...job.launch, signal, onHeld });
} else if ('talk' in job) {
  await openDialogue({ ...job.talk, onHeld }).exited;
} else {
  const { operator = {}, packagePath = '' } = job;
  const { programs, gateway } = hostParts();
  const agents = [
    commandAgent({ programs, gateway }),
    scriptedAgent({ programs, gateway }),
    claudeAgent({ programs, gateway, operator, now: Date.now, load: () => import(packagePath) }),
    codexAgent({ programs, gateway, operator, now: Date.now, program: [process.execPath, packagePath] }),
    acpAgent({ programs, gateway, operator, now: Date.now, load: () => import(packagePath) }),
    opencodeAgent({ programs, gateway, operator, now: Date.now, program: [packagePath] }),
  ];
  const agent = agents.find(({ kind }) => kind === job.agent);
  // What a runner hears it writes down at once.
  const onUsage = (usage: object) => void process.stdout.write(`${JSON.stringify({ usage })}\n`);
  await agent?.run(job.turn, { signal, onHeld, onUsage, onProgress() {} });
}
