/** The built program, with every request it makes on record. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Snapshot, TaskView } from '../../src/view.ts';
import { type Ended, type Program, startProgram } from '../support/e2e/program.ts';
import type { Made } from './hub.ts';

export interface Loop {
  start(...args: string[]): Program;
  cli(...args: string[]): Promise<Ended>;
  tasks(): Promise<TaskView[]>;
  /** By command, in the order they were first run. */
  requests(): { of: string; made: Made[] }[];
}

/** `here`: the folder of this file, which is bundled elsewhere. */
export function openLoop(options: { here: string; folder: string; root: string; token: string }): Loop {
  const { here, folder, root, token } = options;
  const home = join(folder, 'home');
  mkdirSync(home, { recursive: true });
  const { GITHUB_STAGE_TOKEN: _stage, GH_TOKEN: _other, ...inherited } = process.env;
  const commands: string[] = [];
  const record = (command: string): string => join(folder, `${command}.requests`);

  const start: Loop['start'] = (...args) => {
    const command = args[0] as string;
    if (!commands.includes(command)) commands.push(command);
    return startProgram(args, {
      cwd: root,
      program: join(here, '..', '..', 'bin', 'forge-loop.js'),
      env: {
        ...(inherited as Record<string, string>),
        HOME: home,
        XDG_STATE_HOME: join(folder, 'state'),
        GITHUB_TOKEN: token,
        NO_COLOR: '1',
        NODE_OPTIONS: `--import ${pathToFileURL(join(here, 'record-requests.js')).href}`,
        FORGE_LIVE_REQUESTS: record(command),
      },
    });
  };
  return {
    start,
    cli: (...args) => start(...args).ended,
    async tasks() {
      const { stdout } = await start('status', '--json').ended;
      return stdout === '' ? [] : (JSON.parse(stdout) as Snapshot).tasks;
    },
    requests: () =>
      commands
        .filter((command) => existsSync(record(command)))
        .map((command) => ({
          of: `forge-loop ${command}`,
          made: readFileSync(record(command), 'utf8')
            .split('\n')
            .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Made])),
        })),
  };
}
