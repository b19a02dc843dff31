/** The story of an issue with everything confined: nothing of it differs, but for what can't be reached. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { APPROVE, test, type World } from '../support/e2e/world.ts';

const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing)
  console.warn('SKIPPED: stories confined by bubblewrap. Install the package bubblewrap to run them.');

const CONFINED = { sandbox: 'bwrap' };

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('confined by bubblewrap', () => {
  test('an issue is coded, fails its gate, is judged and merged, on one session', async ({ world }) => {
    world.settings({ ...CONFINED, gate: { commands: ['! grep -q half done-1.txt'] } });
    world.script(
      { when: { role: 'coder', turn: 1 }, steps: [{ write: { 'done-1.txt': 'half\n' } }] },
      {
        when: { role: 'coder', turn: 2 },
        steps: [{ write: { 'done-1.txt': 'whole\n' } }, { shell: 'git commit -qam mine' }],
      },
    );
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(world.git('show', 'main:done-1.txt')).toBe('whole\n');
    const turns = await world.turns(issue);
    expect(turns.map(({ role, status }) => `${role} ${status}`)).toEqual([
      'coder finished',
      'coder finished',
      'critic finished',
    ]);
  });

  test('coder, critic, gate and hook see nothing of the operator, of the loop, or of each other', async ({
    world,
  }) => {
    writeFileSync(join(world.env.HOME ?? '', 'secret'), 'of the operator');
    const hidden = [
      join(world.env.HOME ?? '', 'secret'),
      join(world.root, '.forge'),
      join(world.root, '.git/config'),
    ];
    const ofTasks = `${quoted(join(world.stateHome, 'forge-loop'))}/*/tasks/*/`;
    const seesNothing = `! ls -d ${hidden.map(quoted).join(' ')} ${ofTasks}logs 2>/dev/null | grep .`;
    const ofOthers = (own: string) => `! ls -d ${ofTasks}home* 2>/dev/null | grep -v '/${own}$'`;
    world.settings({
      ...CONFINED,
      gate: { commands: [seesNothing, ofOthers('home-commands')] },
      hooks: { before_run: `${seesNothing} && ${ofOthers('home-commands')}` },
    });
    world.script(
      {
        when: { role: 'coder' },
        steps: [{ shell: seesNothing }, { shell: ofOthers('home') }, { shell: 'echo done > done-1.txt' }],
      },
      {
        when: { role: 'critic' },
        steps: [
          { shell: seesNothing },
          { shell: ofOthers('home-critic') },
          { shell: '! touch written 2>/dev/null' },
          APPROVE,
        ],
      },
    );
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect((await world.events()).filter(({ type }) => type === 'hold_set')).toEqual([]);
  });

  test('what a killed runner started is gone with it, and the next one goes on', async ({ world }) => {
    world.settings(CONFINED);
    world.script({
      when: { role: 'coder', turn: 1 },
      steps: [
        {
          shell:
            'if [ ! -e "$FORGE_SESSION_DIR/again" ]; then touch "$FORGE_SESSION_DIR/again"; setsid env -i /usr/bin/sleep 987654 & sleep 987653; fi; echo done > done-1.txt',
        },
      ],
    });
    const issue = await world.issue({});
    const runner = world.run('--until-idle');
    await world.until(
      'its daemon to run',
      () => spawnSync('pgrep', ['-fx', '/usr/bin/sleep 987654']).status === 0,
    );
    await runner.kill();
    // By nobody's doing: no other runner has begun.
    await world.until(
      'all it started to be gone',
      () => spawnSync('pgrep', ['-f', 'sleep 98765[34]']).status === 1,
    );
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
  });

  test('links that a coder left where it may write, by a setting made while it ran, show nothing to a gate', async ({
    world,
  }) => {
    const home = world.env.HOME ?? '';
    const tools = join(home, 'go/bin');
    for (const folder of [tools, join(home, '.cargo')]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(home, 'secret'), 'of the operator');
    world.env.PATH = `${tools}:${world.env.PATH}`;
    const look = `cat ${quoted(join(home, 'secret'))} "$HOME/.cargo/config.toml" 2>/dev/null`;
    const settings = { ...CONFINED, gate: { commands: [`! ${look} | grep . && ls done-*.txt`] } };
    world.settings(settings);
    const runner = world.run();
    await world.event('runner_started');
    world.settings({ ...settings, roles: { coder: { access: { write: [tools, join(home, '.cargo')] } } } });
    await world.event('config_reloaded');
    const plant = (path: string): string =>
      `ln -s ${quoted(join(home, 'secret'))} ${quoted(join(home, path))}`;
    world.script({
      when: { role: 'coder' },
      steps: [
        { shell: `${plant('go/bin/tool')} && ${plant('.cargo/config.toml')} && echo done > done-1.txt` },
      ],
    });
    const issue = await world.issue({});
    await world.state(issue, 'merged');
    expect(readlinkSync(join(tools, 'tool'))).toBe(join(home, 'secret'));
    runner.send('SIGINT');
    await world.finished(runner);
  });

  test('a toolchain of the operator is there by its PATH, and another by setting', async ({ world }) => {
    const tools = join(world.folder, 'tools');
    spawnSync('mkdir', ['-p', tools, join(world.folder, 'more')]);
    writeFileSync(join(tools, 'hello'), '#!/bin/sh\necho hello\n', { mode: 0o755 });
    writeFileSync(join(world.folder, 'more', 'word'), 'again\n');
    world.env.PATH = `${tools}:${world.env.PATH}`;
    world.settings({
      sandbox: { kind: 'bwrap', read: [join(world.folder, 'more')] },
      gate: {
        commands: [
          `hello > greeted && cat '${join(world.folder, 'more', 'word')}' >> greeted && ls done-*.txt`,
        ],
      },
    });
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
  });

  test('a host that a gate needs and may not reach is said, and where everything went is shown', async ({
    world,
  }) => {
    const needy = '[ ! -e needs ] || git ls-remote -q https://blocked.example/x.git';
    world.settings({ ...CONFINED, gate: { commands: [needy] } });
    world.script(
      { when: { role: 'coder', turn: 1 }, steps: [{ write: { needs: 'a host\n', 'done-1.txt': 'x\n' } }] },
      { when: { role: 'coder', turn: 2 }, steps: [{ shell: 'git rm -qf needs' }] },
    );
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    const problems = (await world.events()).flatMap(({ type, data }) =>
      type === 'gate_completed' ? data.evidence.results.map(({ problem }) => problem) : [],
    );
    expect(problems).toContainEqual(
      expect.stringMatching(/; it needs blocked\.example: add it to gate\.network in WORKFLOW\.md$/),
    );
    const { stdout } = await world.cli('task', 'show', String(issue), '--network');
    expect(stdout).toMatch(/refused +blocked\.example:443 +1× .*gate: .*ls-remote/);
  });

  test('of a task that waits since its gate may not reach a host, `why` says what to do', async ({
    world,
  }) => {
    const needy = '[ ! -e done-1.txt ] || git ls-remote -q https://blocked.example/x.git || exit 127';
    world.settings({ ...CONFINED, gate: { commands: [needy] } });
    const issue = await world.issue({});
    await world.settle(3);
    expect(await world.task(issue)).toMatchObject({ hold: { reason: 'gate_could_not_run' } });
    const { stdout } = await world.cli('why', String(issue));
    expect(stdout).toMatch(/it needs blocked\.example: add it to gate\.network in WORKFLOW\.md/);
  });

  test.for([
    ['nothing', [], { hook: false, deploy: false }],
    ['hooks', ['hooks'], { hook: true, deploy: false }],
    ['deploy, by default', undefined, { hook: false, deploy: true }],
  ] as const)('only what is trusted sees the operator’s home: %s', async ([, trusted, sees], { world }) => {
    const secret = join(world.env.HOME ?? '', 'secret');
    writeFileSync(secret, 'of the operator');
    const look = (isSeen: boolean): string => `${isSeen ? '' : '! '}test -r ${quoted(secret)}`;
    world.settings({
      sandbox: { kind: 'bwrap', ...(trusted && { trusted }) },
      hooks: { before_run: look(sees.hook) },
      deploy: { command: look(sees.deploy) },
    });
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect((await world.status()).deploy).toMatchObject({ last: { status: 'succeeded' } });
  });

  test('doctor says what holds, and what is left open', async ({ world }) => {
    world.settings(CONFINED);
    const { stdout } = await world.cli('doctor');
    expect(stdout).toMatch(/ok +sandbox +bwrap: agents, gates and hooks/);
    expect(stdout).toMatch(/ok +sandbox +allowed hosts, besides models: .*gates: npm /);
  });
});

/** A PATH without bubblewrap. */
function pathWithout(world: World): string {
  const path = join(world.folder, 'bin');
  mkdirSync(path);
  for (const name of ['git', 'node', 'sh', 'prlimit', 'ls']) {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    symlinkSync(found, join(path, name));
  }
  return path;
}

test('where `auto` goes without a sandbox, `run` says what is not protected', async ({ world }) => {
  world.settings({ sandbox: 'auto' });
  world.env.PATH = pathWithout(world);
  const { stderr } = await world.run('--until-idle').ended;
  expect(stderr).toMatch(
    /^warning: no sandbox, since bwrap is not installed: install the package bubblewrap$/m,
  );
  expect(stderr).toMatch(
    /^warning: agents and gate commands run with your rights: .* \(see `forge-loop doctor`\)$/m,
  );
  world.settings({ sandbox: 'none' });
  expect((await world.run('--until-idle').ended).stderr).not.toMatch(/sandbox/);
});

test('a sandbox that is asked for and is not there: nothing runs, and the package is named', async ({
  world,
}) => {
  world.settings({ sandbox: 'required' });
  await world.issue({});
  world.env.PATH = pathWithout(world);
  const { code, stderr } = await world.run('--until-idle').ended;
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/`sandbox: required`, and bwrap is not installed: install the package bubblewrap/);
  expect(readFileSync(join(world.root, 'README.md'), 'utf8')).toBe('# A project\n');
});
