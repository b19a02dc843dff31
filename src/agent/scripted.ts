/**
 * A deterministic agent for the demo and the tests: everything about it is real but the model.
 *
 * It is a preset of the contract in program-turn.ts. The program is scripted-program.js, plain JavaScript so that node
 * runs the same file from a checkout and from the build. Its session is a transcript on disk, which is also the proof
 * that a resumed session remembers.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { passedOn } from '../core/access/toolchains.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { type Agent, notStarted, type SessionProbe, type TurnRequest } from './agent.ts';
import { attachProgram, whyNoProgram } from './attach-program.ts';
import { credentialIn } from './held-keys.ts';
import { finishedProgram, type Program, runProgram } from './program-turn.ts';
import type { Programs } from './programs.ts';
import { ownFolder, replaceFile } from './replace-file.ts';
import { readScript } from './script.ts';
import { textBelow } from './stranger-files.ts';

const PROGRAM = fileURLToPath(new URL('./scripted-program.js', import.meta.url));
const SESSION_LOST = 66;

export function scriptedAgent(parts: { programs: Programs; gateway: Gateway }): Agent {
  return {
    kind: 'scripted',

    async run(turn, hooks) {
      try {
        return await runProgram(parts, await programOf(turn), turn, hooks);
      } catch (error) {
        return notStarted(error);
      }
    },

    async probeSession({ sessionDir }): Promise<SessionProbe> {
      const found = await stat(sessionDir).catch(() => null);
      if (!found) return 'lost';
      const transcript = await textBelow(sessionDir, 'transcript.jsonl').catch(() => null);
      return transcript?.includes('\n') ? 'resumable' : 'empty';
    },

    attach: (turn, hooks) => attachProgram(parts, turn, hooks),
    unattachable: whyNoProgram,

    finished: finishedProgram,

    credential: async ({ env }) => credentialIn({ ...passedOn(process.env, env.pass), ...env.set }),

    async unavailable(policy) {
      if (!policy.script) return NO_SCRIPT;
      return readScript(policy.script).then(
        () => null,
        (error: Error) => error.message,
      );
    },
  };
}

const NO_SCRIPT = 'agent.script is not set: give the path of a script, see docs/scripted-agent.md';

/** The script is read and validated here, every turn anew, so that the program itself needs no library and starts fast. */
async function programOf(turn: TurnRequest): Promise<Program> {
  if (!turn.policy.script) throw new Error(NO_SCRIPT);
  const script = await readScript(turn.policy.script);
  ownFolder(turn.home);
  const copy = join(turn.home, `script-${turn.role}-${turn.number}.json`);
  replaceFile(copy, JSON.stringify(script));
  return {
    argv: [process.execPath, PROGRAM],
    env: { FORGE_SCRIPT: copy },
    exitCodes: { [SESSION_LOST]: 'session_lost' },
  };
}
