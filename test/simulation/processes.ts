/** Commands of the simulated world: a gate passes unless the tree it runs on has something bad in it. */
import type { LaunchResult, Processes } from '../../src/process/process.ts';
import { redFiles, type Tree, treeHash } from './repository.ts';
import { JUDGING, type World } from './world.ts';

export function simProcesses(
  world: World,
  faults: { couldNotRun: number; flaky: number; deployFails: number },
  /** Called when the runner that starts them dies. */
  onDeath: (work: () => void) => void = () => {},
): Processes {
  const noteDeploy = (deploy: { id: string; sha: string }): void => {
    const rival = [...world.processes.values()].find(
      (other) => other.task !== deploy.id && world.deploys.some(({ id }) => id === other.task),
    );
    if (rival) world.violate(`two deploys at once: ${rival.task} and ${deploy.id}`);
    world.deploys.push(deploy);
  };

  return {
    launch: (request) =>
      new Promise((resolve) => {
        let over = false;
        const end = (result: Partial<LaunchResult>): void => {
          if (over) return;
          over = true;
          world.processes.delete(process.pid);
          resolve({
            code: null,
            signal: null,
            timedOut: false,
            cancelled: false,
            spawnError: null,
            tail: '',
            durationMs: 1,
            ...result,
          });
        };
        const task = request.env.FORGE_MARK ?? '';
        const process = world.startProcess({
          task,
          purpose: 'command',
          cwd: request.cwd,
          kill: () => end({ signal: 'SIGKILL' }),
        });
        // A child that was not let go yet ends with its runner.
        let isHeld = true;
        onDeath(() => isHeld && world.processes.delete(process.pid));
        if (request.signal.aborted) return end({ cancelled: true });
        request.signal.addEventListener('abort', () => end({ cancelled: true, signal: 'SIGTERM' }));
        request.onHeld({ pid: process.pid, startTime: '1', bootId: 'b' }).then(
          async () => {
            isHeld = false;
            const started = { sha: request.env.FORGE_SHA ?? '' };
            if (request.argv.at(-1) === 'deploy') noteDeploy({ id: task, ...started });
            if (request.argv.at(-1) === 'notify') world.hooksRun.push({ task, ...started });
            const command = request.argv.at(-1);
            const isGate = command === './ci/test.sh';
            await world.time.sleep(isGate ? world.gateMs(task) : 500 + world.random.int(3000));
            if (over) return;
            const files = world.exports.get(request.cwd) ?? world.workspaces.get(request.cwd)?.files;
            if (!files) return end({ spawnError: `no directory ${request.cwd}` });
            const sha = request.env.FORGE_SHA ?? '';
            if (command === 'notify' || command === 'install') return end({ code: 0 });
            if (command === 'deploy')
              return end({ code: world.random.chance(faults.deployFails) ? 1 : 0, tail: `deployed ${sha}` });
            if (world.random.chance(faults.couldNotRun)) return end({ code: 127 });
            // A script that was replaced passes whatever it is run on.
            const isFaked = files['ci/test.sh'] !== JUDGING['ci/test.sh'];
            const red = isFaked ? [] : redFiles(files);
            if (world.exports.has(request.cwd)) world.testedTrees.add(treeHash(files));
            if (red.length === 0 && world.random.chance(faults.flaky))
              return end({ code: 1, tail: `FAIL flaky ${world.random.hex(4)}` });
            if (red.length === 0) world.greenTrees.add(treeHash(files));
            if (red.length === 0 && world.exports.has(request.cwd)) world.passedTrees.add(treeHash(files));
            if (world.reportsTests) world.output.set(request.logPath, tapOf(files, red));
            end({ code: red.length > 0 ? 1 : 0, tail: red.map((file) => `FAIL ${file}`).join('\n') });
          },
          () => end({ cancelled: true }),
        );
      }),
    isAlive: async ({ pid }) => world.processes.has(pid),
    async stop(task) {
      const mine = [...world.processes.values()].filter((process) => process.task === task);
      for (const process of mine) {
        world.processes.delete(process.pid);
        process.kill();
      }
      return mine.map((process) => process.pid);
    },
    marked: async () => new Set([...world.processes.values()].map(({ task }) => task)),
  };
}

/** A test for each file. */
function tapOf(files: Tree, red: readonly string[]): string {
  const names = Object.keys(files);
  const isRed = (name: string): boolean => red.some((line) => line.startsWith(`${name} `));
  const results = names.map((name, index) => `${isRed(name) ? 'not ok' : 'ok'} ${index + 1} - ${name}`);
  return ['TAP version 13', ...results, `1..${names.length}`].join('\n');
}
