import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TOOLCHAIN_ENTRIES, TOOLCHAIN_VARIABLES } from '../core/access/toolchains.ts';
import { ROLES } from '../core/role.ts';
import { DEFAULT_PROMPTS } from '../core/words/prompts.ts';
import { ConfigError, UserError } from '../errors.ts';
import { loadSettings, type Settings } from './load.ts';
import { inOneLine } from './problems.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'forge config '));
  file = join(folder, 'WORKFLOW.md');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function load(text: string, env: Record<string, string> = {}): Settings {
  writeFileSync(file, text);
  return loadSettings(file, env);
}

function refusal(text: string): ConfigError {
  let error: unknown;
  try {
    load(text);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(ConfigError);
  expect(error).toBeInstanceOf(UserError);
  expect((error as ConfigError).file).toBe(file);
  return error as ConfigError;
}

const matter = (...lines: string[]): string => `---\n${lines.join('\n')}\n---\n`;

test.each<[string, string, object | null]>([
  ['is off', '{ enabled: false, prompt: Look. }', null],
  ['has neither a skill nor a prompt', '{ enabled: true }', null],
  ['has a prompt', '{ enabled: true, prompt: Look. }', { skill: null, prompt: 'Look.', model: null }],
  ['has a skill', '{ enabled: true, skill: review }', { skill: 'review', prompt: null, model: null }],
])('a post action that %s (loops 66)', (_what, given, postAction) => {
  expect(load(matter(`loop: { post_action: ${given} }`)).policy.loop.postAction).toEqual(postAction);
});

test('the file is protected where it is in the repository, whatever it is called', () => {
  writeFileSync(join(folder, 'night.md'), '---\nprotected_paths: []\n---\nDo it.');
  const { policy } = loadSettings(join(folder, 'night.md'), {}, join(folder, '..'));
  expect(policy.protectedPaths).toEqual([`${basename(folder)}/night.md`]);
});

describe('a file that cannot be used', () => {
  test('does not exist: kind missing, naming it and what to do (dispatch 2)', () => {
    expect(() => loadSettings(file, {})).toThrow(
      expect.objectContaining({ kind: 'missing', file, line: null }),
    );
    expect(() => loadSettings(file, {})).toThrow(`${file} does not exist`);
    expect(() => loadSettings(file, {})).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('forge-loop init') }),
    );
  });

  test('is a folder: kind missing with the reason (dispatch 2)', () => {
    expect(() => loadSettings(folder, {})).toThrow(
      expect.objectContaining({ kind: 'missing', file: folder }),
    );
  });

  test('is empty: kind missing, since a half-written file must not mean "all defaults"', () => {
    expect(refusal(' \n\n').kind).toBe('missing');
  });

  test('has bad YAML: kind yaml with the line of the file (dispatch 2)', () => {
    const error = refusal(matter('agent:', '  max_turns: 3', '  command: "never closed', 'critic:'));
    expect(error.kind).toBe('yaml');
    expect(error.line).toBe(5);
    expect(error.message).toContain(`${file}:5: `);
  });

  test('has bad YAML in several lines: each is named', () => {
    const error = refusal(matter('agent: {}', 'agent: {}', 'critic: {}', 'critic: {}'));
    expect(error.problems.map(({ line }) => line)).toEqual([3, 5]);
    expect(error.message).toMatch(/has 2 errors:\n {2}line 3: .*\n {2}line 5: /);
  });

  test('says a key twice: kind yaml with the line of the second (dispatch 2)', () => {
    expect(refusal(matter('agent: {}', 'critic: {}', 'agent: {}'))).toMatchObject({ kind: 'yaml', line: 4 });
  });

  test('never closes its front matter: kind yaml (dispatch 2)', () => {
    const error = refusal('---\nagent: {}\n\nYou are working on …\n');
    expect(error).toMatchObject({ kind: 'yaml', line: 1 });
    expect(error.hint).toContain('---');
  });

  test('multiplies itself by aliases: kind yaml, at once', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (const [name, of] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf']) {
      bomb.push(`${name}: &${name} [${Array(9).fill(`*${of}`).join(', ')}]`);
    }
    expect(refusal(matter(...bomb)).kind).toBe('yaml');
  });

  test.each([
    ['a list', matter('- agent', '- critic'), 2],
    ['a text', matter('# settings', 'just words'), 3],
    ['a number', matter('42'), 2],
  ])('has front matter that is %s: kind not_a_map with its line (dispatch 2)', (_what, text, line) => {
    expect(refusal(text)).toMatchObject({ kind: 'not_a_map', line });
  });
});

describe('a wrong value', () => {
  test.each([
    ['agent.max_turns', 3, 'expected whole number ≥ 1, found "twenty"', ['agent:', '  max_turns: twenty']],
    ['agent.max_turns', 2, 'expected whole number ≥ 1, found 0', ['agent: { max_turns: 0 }']],
    ['env.pass.1', 2, 'the loop sets this variable itself, found "HOME"', ['env: { pass: [A, HOME] }']],
    [
      'env.gates.pass.0',
      3,
      'the loop sets this variable itself, found "GIT_DIR"',
      ['env:', '  gates: { pass: [GIT_DIR] }'],
    ],
    [
      'env.set.FORGE_MARK',
      2,
      'the loop sets this variable itself, found "x"',
      ['env: { set: { FORGE_MARK: x } }'],
    ],
    ['env.pass.0', 2, 'must be the name of a variable, found "MY_*"', ['env: { pass: ["MY_*"] }']],
    ['env.set.A-B', 2, 'must be the name of a variable, found "x"', ['env: { set: { A-B: x } }']],
    [
      'env.home_entries.0',
      2,
      'must be a path below your home, such as `.npmrc`, found "~/.npmrc"',
      ['env: { home_entries: ["~/.npmrc"] }'],
    ],
    [
      'env.home_entries.0',
      2,
      'must be a path below your home, such as `.npmrc`, found "../x"',
      ['env: { home_entries: ["../x"] }'],
    ],
    [
      'env.home_entries.0',
      2,
      'must be a path below your home, such as `.npmrc`, found "/etc"',
      ['env: { home_entries: ["/etc"] }'],
    ],
    [
      'env.home_entries.0',
      2,
      'must be a path below your home, such as `.npmrc`, found "."',
      ['env: { home_entries: ["."] }'],
    ],
    [
      'polling.interval_ms',
      2,
      'expected at most 2147483647, found 9999999999',
      ['polling: { interval_ms: 9999999999 }'],
    ],
    [
      'workspace.kind',
      4,
      'expected one of "clone", "worktree", found "copy"',
      ['', 'workspace:', '  kind: copy'],
    ],
    ['critic.enabled', 2, 'expected true or false, found "maybe"', ['critic: { enabled: maybe }']],
    [
      'critic.block_on.1',
      5,
      'expected one of "sev1", "sev2", "sev3", found "sev9"',
      ['critic:', '  block_on:', '    - sev1', '    - sev9'],
    ],
    [
      'gate.commands',
      3,
      'expected "none" or list of text, found "npm test"',
      ['gate:', '  commands: npm test'],
    ],
    ['gate.commands.0', 3, 'expected text, found 5', ['gate:', '  commands: [5]']],
    ['gate', 2, 'expected "none" or map, found "nothing"', ['gate: nothing']],
    ['agent', 2, 'expected map, found a list', ['agent: []']],
    [
      'budget.usd',
      3,
      "can't be kept, since the price of the specifier's codex, the coder's codex, the critic's codex, the auditor's codex, the planner's codex is not known",
      ['agent: { kind: codex }', 'budget: { usd: 5, tokens: none }'],
    ],
    [
      'budget.day.usd',
      5,
      "can't be kept, since the price of the coder's codex with gpt-x is not known",
      [
        'agent: { kind: claude }',
        'roles: { coder: { kind: codex, model: gpt-x } }',
        'budget:',
        '  day: { usd: 5 }',
      ],
    ],
    ['budget.usd', 2, 'expected number > 0, found -1', ['budget: { usd: -1 }']],
    [
      'roles.critic.kind',
      4,
      'expected one of "claude", "codex", "opencode", "acp", "command", "scripted", found "psychic"',
      ['roles:', '  critic:', '    kind: psychic'],
    ],
    [
      'labels.running',
      2,
      'must differ from labels.ready, found "go"',
      ['labels: { ready: GO, running: go }'],
    ],
    [
      'merge.co_author',
      2,
      'must read like `Name <name@example.com>`, found "bot"',
      ['merge: { co_author: bot }'],
    ],
    ['tracker', 2, 'expected map, found "local"', ['tracker: local']],
    ['workspace.root', 2, 'expected text, found 7', ['workspace: { root: 7 }']],
    ['tracker.provider', 2, 'expected map, found "token"', ['tracker: { provider: token }']],
    ['webhook.secret', 2, 'must be set where webhook.port is, found nothing', ['webhook: { port: 8787 }']],
    [
      'sandbox.image',
      2,
      'must be set where sandbox.kind is container, found nothing',
      ['sandbox: container'],
    ],
    [
      'sandbox.image',
      2,
      'must be set where sandbox.kind is container, found nothing',
      ['sandbox: { kind: container }'],
    ],
    [
      'sandbox.image',
      2,
      'must be the name of an image, found "--privileged"',
      ['sandbox: { kind: container, image: --privileged }'],
    ],
  ])('of %s is named with key, line, expectation and finding', (key, line, text, lines) => {
    const error = refusal(matter(...lines));
    expect(error).toMatchObject({ kind: 'invalid', key, line });
    expect(error.message).toBe(`${file}:${line}: ${key}: ${text}`);
  });

  test('does not hide the others', () => {
    const error = refusal(
      `${matter('agent:', '  max_turn: 3', '  kind: cluade', 'sandbox: maybe', 'gates: []')}{{ issue.titel }}\n`,
    );
    expect(error).toMatchObject({ kind: 'invalid', key: 'agent.kind', line: 4, hint: null });
    expect(error.message.split('\n')).toEqual([
      `${file} has 3 errors:`,
      expect.stringMatching(
        /^ {2}line 4: agent\.kind: expected one of .*, found "cluade"\. Did you mean "claude"\?$/,
      ),
      expect.stringMatching(/^ {2}line 5: sandbox: expected one of .*, found "maybe"$/),
      '  line 8: the task prompt is broken: unknown variable "issue.titel". Did you mean "issue.title"?',
      '  2 warnings: run `forge-loop doctor`',
    ]);
    expect(error.problems.map(({ level, line, key }) => [level, line, key])).toEqual([
      ['warning', 3, 'agent.max_turn'],
      ['error', 4, 'agent.kind'],
      ['error', 5, 'sandbox'],
      ['warning', 6, 'gates'],
      ['error', 8, 'body'],
    ]);
  });

  test('that may be a secret is not repeated', () => {
    const error = refusal(matter('notify: { channels: { phone: { kind: ntfy, token: 123456 } } }'));
    expect(error.key).toBe('notify.channels.phone.token');
    expect(error.message).not.toContain('123456');
  });
});

describe('defaults', () => {
  test.each([
    ['coder', ['kind: claude'], ['npm']],
    ['critic', ['kind: claude'], []],
    ['coder', ['kind: command', 'command: x'], 'host'],
    ['coder', ['kind: acp', 'command: x'], 'host'],
    ['coder', ['kind: acp', 'preset: gemini'], ['npm']],
    ['critic', ['kind: command', 'command: x'], 'host'],
  ] as const)('where the %s of an agent with %j may go: %j', (role, agent, network) => {
    const text = ['agent:', ...agent.map((line) => `  ${line}`), 'sandbox:', '  network: [npm]'];
    expect(load(`${matter(...text)}`).policy.agents[role].network).toEqual(network);
  });

  describe('of a program of the operator’s own, whose provider nobody knows', () => {
    const own = (...more: string[]) => matter('agent: { kind: command, command: x }', ...more);
    const networkOf = (text: string) => load(text).policy.agents.coder.network;
    const NPM = 'sandbox: { network: [npm] }';

    test.each(['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY'])(
      'it is known when %s is held',
      (key) => {
        expect(networkOf(own(NPM, `env: { roles: { pass: [${key}] } }`))).toEqual(['npm']);
        expect(networkOf(own(NPM, `env: { set: { ${key}: sk-1 } }`))).toEqual(['npm']);
        const acp = matter('agent: { kind: acp, command: x }', NPM, `env: { pass: [${key}] }`);
        expect(networkOf(acp)).toEqual(['npm']);
        const critic = load(own(NPM, `env: { pass: [${key}] }`)).policy.agents.critic;
        expect(critic.network).toEqual([]);
      },
    );

    test('it is not when the program keeps the key, or only gates have it', () => {
      const kept = own(NPM, 'env: { pass: [OPENAI_API_KEY] }', 'gateway: { credentials: none }');
      expect(networkOf(kept)).toBe('host');
      expect(networkOf(own(NPM, 'env: { gates: { pass: [OPENAI_API_KEY] } }'))).toBe('host');
    });

    test('where all has to be confined, a person says where it may go', () => {
      const required = (...more: string[]) => own('sandbox: required', 'critic: { enabled: false }', ...more);
      const error = refusal(required());
      expect(error.key).toBe('roles.specifier.access.network');
      expect(error.message).toMatch(/\(and of the coder, the auditor, the planner\): must be set, since/);
      expect(error.hint).toMatch(/`env.roles.pass` \(ANTHROPIC_API_KEY, .*`host` if it may go wherever/);
      const said = ['specifier', 'coder', 'auditor', 'planner'].map(
        (role, n) => `  ${role}: { access: { network: ${n === 0 ? 'host' : '[llm.example]'} } }`,
      );
      expect(load(required('roles:', ...said)).policy.agents.coder.network).toEqual(['llm.example']);
      expect(load(required('env: { pass: [OPENAI_API_KEY] }')).policy.agents.auditor.network).toEqual([]);
    });
  });

  test('apply to everything that is not said (dispatch 3)', () => {
    const { policy, workspace, tracker, warnings } = load(matter('agent: { command: my-agent }'));
    expect(warnings).toEqual([]);
    expect(workspace).toEqual({ root: null, kind: 'clone' });
    expect(tracker).toEqual({ kind: 'local', auth: 'token', provider: {}, trunk: null, required_labels: [] });
    expect(policy).toMatchObject({
      requiredLabels: [],
      pollIntervalMs: 60_000,
      wokenPollIntervalMs: 300_000,
      maxConcurrent: 3,
      perState: {},
      maxTurns: 20,
      critic: { enabled: true, maxRounds: 3, parallel: 2, blockOn: ['sev1', 'sev2'] },
      gate: { setup: [], commands: [], timeoutMs: 600_000 },
      session: 'persist',
      whenFull: 'compact',
      sandbox: {
        kind: 'auto',
        image: null,
        read: [],
        network: expect.arrayContaining(['npm']),
        trusted: ['deploy'],
      },
      merge: { enabled: true, method: 'squash' },
      budget: { usd: null, tokens: 50_000_000, wallMs: 28_800_000 },
      recovery: { mode: 'auto', onLostSession: 'abandon' },
      hooks: { afterCreate: null, beforeRun: null, afterRun: null, beforeRemove: null, timeoutMs: 60_000 },
      cooldownMs: 3_600_000,
      maxBackoffMs: 300_000,
      idleTurns: 3,
      coAuthor: null,
    });
    expect(policy.labels).toEqual({
      ready: 'loop:ready',
      running: 'loop:running',
      needsReview: 'loop:needs-review',
      needsSpec: 'loop:needs-spec',
      blocked: 'loop:blocked',
      abandon: 'loop:abandon',
      merged: 'loop:merged',
    });
    expect(policy.protectedPaths).toEqual(
      expect.arrayContaining(['WORKFLOW.md', '.forge/', '.claude/', '.mcp.json', '.github/workflows/']),
    );
    for (const role of ROLES) {
      expect(policy.agents[role]).toEqual({
        kind: 'command',
        command: 'my-agent',
        script: null,
        attachCommand: null,
        preset: null,
        model: null,
        fallbackModels: [],
        effort: null,
        prices: {},
        toolCalls: 20,
        forgeRequests: 20,
        turnTimeoutMs: 3_600_000,
        stallTimeoutMs: 300_000,
        env: policy.gate.env,
        read: [],
        write: [],
        network: 'host',
        isProviderUnknown: true,
        secrets: [],
        mcp: [],
        gateway: 'all',
        toolTimeoutMs: 3_600_000,
        repeatedCalls: 12,
      });
    }
  });

  test('apply to a section whose keys are all commented out', () => {
    const { policy, warnings } = load(
      matter('hooks:', '  # after_create: npm ci', 'gate:', 'agent:', '  model:'),
    );
    expect(policy.hooks.afterCreate).toBeNull();
    expect(policy.gate.commands).toEqual([]);
    expect(warnings).toEqual([]);
  });

  test('apply to a file without front matter: all of it is the task prompt', () => {
    const { prompts, policy, origins } = load('Work on {{ issue.title }}.\n\n---\nThe end.\n');
    expect(prompts.task).toBe('Work on {{ issue.title }}.\n\n---\nThe end.');
    expect(policy.maxTurns).toBe(20);
    expect(origins).toMatchObject({ body: 'file', 'agent.max_turns': 'default' });
  });

  test('apply to the prompts: an empty body, an empty text', () => {
    const { prompts, origins } = load(matter('prompts: { revise: "" }'));
    expect(prompts).toEqual(DEFAULT_PROMPTS);
    expect(origins.body).toBe('default');
  });

  test('give way to what the file says', () => {
    const { policy, prompts, origins } = load(
      matter(
        'gate: { setup: [npm ci], commands: [npm test] }',
        'session: { policy: rotate }',
        'merge: { enabled: false, method: rebase, co_author: "A B <a@b.example>" }',
        'budget: { usd: 2.5, tokens: 10, wall_ms: 20 }',
        'recovery: { mode: manual, on_lost_session: fresh_session }',
        'protected_paths: [secrets/]',
        'tracker: { required_labels: [" Backend "] }',
        'prompts:',
        '  revise: Fix {{ feedback }}',
      ),
    );
    expect(policy).toMatchObject({
      gate: { setup: ['npm ci'], commands: ['npm test'] },
      session: 'rotate',
      merge: { enabled: false, method: 'rebase' },
      coAuthor: 'A B <a@b.example>',
      budget: { usd: 2.5, tokens: 10, wallMs: 20 },
      recovery: { mode: 'manual', onLostSession: 'fresh_session' },
      protectedPaths: ['secrets/', 'WORKFLOW.md'],
      requiredLabels: ['Backend'],
    });
    expect(prompts.revise).toBe('Fix {{ feedback }}');
    expect(origins).toMatchObject({
      'gate.commands': 'file',
      'gate.timeout_ms': 'default',
      'prompts.revise': 'file',
    });
  });

  test('take the image of containers', () => {
    const { policy } = load(matter('sandbox: { kind: container, image: "docker.io/library/node:22" }'));
    expect(policy.sandbox).toMatchObject({ kind: 'container', image: 'docker.io/library/node:22' });
  });

  test('tell "gate: none" from an empty list', () => {
    expect(load(matter('gate: none')).policy.gate.commands).toBe('none');
    expect(load(matter('gate: {}')).policy.gate.commands).toEqual([]);
  });

  test('of a role are those of the agent', () => {
    const { agents } = load(
      matter(
        'agent: { command: work, model: big }',
        'roles:',
        '  critic: { command: judge, stall_timeout_ms: 5 }',
      ),
    ).policy;
    expect(agents.critic).toMatchObject({
      kind: 'command',
      command: 'judge',
      model: 'big',
      stallTimeoutMs: 5,
    });
    expect(agents.coder).toMatchObject({ command: 'work', model: 'big', stallTimeoutMs: 300_000 });
  });
});

describe('~ and $VAR', () => {
  const root = (value: string, env: Record<string, string> = {}) =>
    load(matter(`workspace: { root: ${value} }`), env);

  test('are expanded in paths, and relative paths start at the file (dispatch 3)', () => {
    expect(root('"~/trees"', { HOME: '/home/ada' }).workspace.root).toBe('/home/ada/trees');
    expect(root('"~"', { HOME: '/home/ada' }).workspace.root).toBe('/home/ada');
    expect(root('$STATE/trees', { STATE: '/var/state' }).workspace.root).toBe('/var/state/trees');
    expect(root(`"\${STATE}s/trees"`, { STATE: '/var/state' }).workspace.root).toBe('/var/states/trees');
    expect(root('../trees').workspace.root).toBe(join(folder, '../trees'));
    const scripts = load(matter('agent: { script: a.yaml }', 'roles: { critic: { script: $S/b.yaml } }'), {
      S: '/s',
    });
    expect(scripts.policy.agents.coder.script).toBe(join(folder, 'a.yaml'));
    expect(scripts.policy.agents.critic.script).toBe('/s/b.yaml');
  });

  test.each([{}, { STATE: '' }])(
    'an unset or empty variable makes its key count as not given (dispatch 3)',
    (env) => {
      const { workspace, warnings, origins } = root('$STATE/trees', env as Record<string, string>);
      expect(workspace.root).toBeNull();
      expect(origins['workspace.root']).toBe('default');
      expect(warnings).toEqual([
        {
          key: 'workspace.root',
          line: 2,
          message: expect.stringContaining('STATE is not set or is empty'),
          hint: 'Set STATE, or remove the key.',
        },
      ]);
    },
  );

  test("fill the tracker's own settings, and an empty secret counts as missing (dispatch 3)", () => {
    const text = matter(
      ...['tracker:', '  kind: github', '  provider:'],
      ...['    token: $TOKEN', '    url: "https://example.com/$x"'],
    );
    expect(load(text, { TOKEN: 's3cret' }).tracker.provider).toEqual({
      token: 's3cret',
      url: 'https://example.com/$x',
    });
    const without = load(text, { TOKEN: '' });
    expect(without.tracker.provider).toEqual({ url: 'https://example.com/$x' });
    expect(without.warnings).toMatchObject([{ key: 'tracker.provider.token', line: 5 }]);
  });

  test('is where the token of the HTTP API belongs: agents read the file', () => {
    const { warnings, workflow } = load(matter('server:', '  token: open sesame'));
    expect(warnings).toMatchObject([
      { key: 'server.token', line: 3, message: expect.stringContaining('agents can read it') },
    ]);
    expect(workflow.server.token).toBe('open sesame');
    expect(load(matter('server: { token: $TOKEN }'), { TOKEN: 's3cret' }).warnings).toEqual([]);
  });

  test('are left alone in commands and hooks (dispatch 3)', () => {
    const { policy } = load(
      matter('agent: { command: "~/bin/agent $MODEL" }', 'hooks: { before_run: echo $HOME }'),
      { MODEL: 'm', HOME: '/h' },
    );
    expect(policy.agents.coder.command).toBe('~/bin/agent $MODEL');
    expect(policy.hooks.beforeRun).toBe('echo $HOME');
  });
});

describe('an unknown key', () => {
  test.each([
    ['agent.max_turn', 3, 'agent.max_turns', ['agent:', '  max_turn: 3']],
    ['agnet', 2, 'agent', ['agnet: { max_turns: 3 }']],
    ['max_turns', 2, 'agent.max_turns', ['max_turns: 3']],
    ['roles.critik', 3, 'roles.critic', ['roles:', '  critik: { model: m }']],
    ['roles.critic.modle', 3, 'roles.critic.model', ['roles:', '  critic: { modle: m }']],
    ['gate.comands', 3, 'gate.commands', ['gate:', '  comands: [x]']],
    ['prompts.revize', 2, 'prompts.revise', ['prompts: { revize: x }']],
    ['labels.needs-review', 2, 'labels.needs_review', ['labels: { needs-review: x }']],
  ])('%s warns with its line and the nearest known one (dispatch 6)', (key, line, meant, lines) => {
    const { warnings } = load(matter(...lines));
    expect(warnings).toEqual([
      {
        key,
        line,
        message: `${file}:${line}: unknown key "${key}" is ignored; did you mean "${meant}"?`,
        hint: `Rename it to ${meant}, or remove it.`,
      },
    ]);
  });

  test('like no known one warns without a suggestion, and the rest of the file holds (dispatch 6)', () => {
    const { warnings, policy } = load(matter('xylophone: 1', 'agent: { max_turns: 4 }'));
    expect(warnings.map(({ message }) => message)).toEqual([`${file}:2: unknown key "xylophone" is ignored`]);
    expect(policy.maxTurns).toBe(4);
  });

  test('symphony 7: under tracker.provider is the business of the tracker, of whatever type it is', () => {
    const { warnings, tracker } = load(
      matter(
        'tracker: { kind: github, provider: { text: x, flag: false, count: 7, list: [1, a], deep: { of: [it] } } }',
      ),
    );
    expect(warnings).toEqual([]);
    expect(tracker.provider).toEqual({
      text: 'x',
      flag: false,
      count: 7,
      list: [1, 'a'],
      deep: { of: ['it'] },
    });
  });
});

describe('limits per state', () => {
  test('become part of the policy', () => {
    expect(
      load(matter('agent: { max_concurrent_by_state: { running: 2, revising: 1 } }')).policy.perState,
    ).toEqual({
      running: 2,
      revising: 1,
    });
  });

  test('that are invalid are ignored with a warning, never the whole file (dispatch 7)', () => {
    const { policy, warnings } = load(
      matter(
        'agent:',
        '  max_turns: 9',
        '  max_concurrent_by_state:',
        '    running: 2',
        '    revising: many',
        '    dreaming: 1',
      ),
    );
    expect(policy.perState).toEqual({ running: 2 });
    expect(policy.maxTurns).toBe(9);
    expect(warnings.map(({ key, line }) => [key, line])).toEqual([
      ['agent.max_concurrent_by_state.revising', 6],
      ['agent.max_concurrent_by_state.dreaming', 7],
    ]);
  });

  test.each(['0', '-1', '1.5', '"2"', '[1]'])('of %s count as invalid (dispatch 7)', (limit) => {
    const { policy, warnings } = load(matter(`agent: { max_concurrent_by_state: { running: ${limit} } }`));
    expect(policy.perState).toEqual({});
    expect(warnings).toHaveLength(1);
  });

  test('that are no map at all are ignored too (dispatch 7)', () => {
    const { policy, warnings } = load(matter('agent: { max_concurrent_by_state: 3, max_turns: 9 }'));
    expect(policy).toMatchObject({ perState: {}, maxTurns: 9 });
    expect(warnings).toMatchObject([{ key: 'agent.max_concurrent_by_state', line: 2 }]);
  });
});

describe('templates', () => {
  test('with an unknown variable in the body fail the load with the line of the file (dispatch 5)', () => {
    const error = refusal(`${matter('agent: {}')}\n\nDo this:\n{{ issue.titel }}\n`);
    expect(error).toMatchObject({
      kind: 'template',
      key: 'body',
      line: 7,
      hint: 'Did you mean "issue.title"?',
    });
    expect(error.message).toContain('unknown variable "issue.titel"');
  });

  test('with an unknown filter under prompts fail the load with name and line (dispatch 5)', () => {
    const error = refusal(matter('prompts:', '  revise: |', '    Fix', '    {{ feedback | upcaze }}'));
    expect(error).toMatchObject({
      kind: 'template',
      key: 'prompts.revise',
      line: 5,
      hint: 'Did you mean "upcase"?',
    });
    expect(error.message).toContain('revise');
  });

  test('cannot send the issue body again on continuation (dispatch 19)', () => {
    const error = refusal(matter('prompts: { continuation: "{{ issue.body }}" }'));
    expect(error).toMatchObject({ kind: 'template', key: 'prompts.continuation', line: 2 });
  });
});

test('CRLF line ends and a byte order mark change nothing, lines included', () => {
  const text = matter(
    'agent:',
    '  max_turns: 7',
    '  max_turn: 1',
    'hooks:',
    '  before_run: |',
    '    a',
    '    b',
  );
  const { policy, prompts, warnings } = load(`\uFEFF${`${text}Hello\nworld\n`.replaceAll('\n', '\r\n')}`);
  expect(policy.maxTurns).toBe(7);
  expect(policy.hooks.beforeRun).toBe('a\nb\n');
  expect(prompts.task).toBe('Hello\nworld');
  expect(warnings).toMatchObject([{ line: 4 }]);
});

describe('env', () => {
  test('without a word: what toolchains need, for all alike, in a private home', () => {
    const { policy } = load(matter('agent: {}'));
    const { pass, set, home, homeEntries } = policy.gate.env;
    expect(pass).toEqual([...TOOLCHAIN_VARIABLES]);
    expect([set, home, homeEntries]).toEqual([{}, 'private', [...TOOLCHAIN_ENTRIES]]);
    expect([policy.hooks.env, policy.deploy.env, policy.agents.critic.env]).toEqual(
      Array(3).fill(policy.gate.env),
    );
  });

  test('adds what is named, for all and for some', () => {
    const { policy, warnings } = load(
      matter(
        'env:',
        '  toolchains: false',
        '  pass: [REGISTRY]',
        '  set: { A: "1", B: "1" }',
        '  home_entries: [.npmrc]',
        '  gates: { pass: [DATABASE], set: { B: "2" } }',
      ),
    );
    expect(warnings).toEqual([]);
    const all = { pass: ['REGISTRY'], set: { A: '1', B: '1' }, home: 'private', homeEntries: ['.npmrc'] };
    expect(policy.gate.env).toEqual({ ...all, pass: ['REGISTRY', 'DATABASE'], set: { A: '1', B: '2' } });
    expect([policy.hooks.env, policy.deploy.env, policy.agents.coder.env]).toEqual([all, all, all]);
  });

  test('an unknown key is told with what was meant', () => {
    const { warnings } = load(matter('env: { passes: [A], gate: { pass: [B] } }'));
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('did you mean "env.pass"?'),
      expect.stringContaining('did you mean "env.gates"?'),
    ]);
  });

  test('with `gate: none` too', () => {
    expect(load(matter('gate: none', 'env: { toolchains: false, pass: [A] }')).policy.gate.env.pass).toEqual([
      'A',
    ]);
  });
});

describe('secrets', () => {
  const secret = (...lines: string[]): string =>
    matter('agent: { kind: claude }', 'secrets:', '  API_KEY:', ...lines.map((line) => `    ${line}`));
  const usersOf = ({ policy: { agents, gate, hooks } }: Settings): string[] => [
    ...ROLES.filter((role) => agents[role].secrets.length > 0),
    ...(gate.secrets.length > 0 ? ['gate'] : []),
    ...(hooks.secrets.length > 0 ? ['hooks'] : []),
  ];

  test('one from a command, for the coder and the gate, at the usual port', () => {
    const settings = load(secret('command: pass show api', 'host: API.example.org'));
    expect(usersOf(settings)).toEqual(['coder', 'gate']);
    expect(settings.policy.gate.secrets).toEqual([
      { name: 'API_KEY', from: { command: 'pass show api' }, hosts: ['api.example.org:443'] },
    ]);
  });

  test('one from a variable, at several hosts, for those who are named', () => {
    const settings = load(
      secret('env: OTHER', 'host: [a.example, "b.example:8443"]', 'for: [critic, hooks]'),
    );
    expect(usersOf(settings)).toEqual(['critic', 'hooks']);
    expect(settings.policy.hooks.secrets).toEqual([
      { name: 'API_KEY', from: { env: 'OTHER' }, hosts: ['a.example:443', 'b.example:8443'] },
    ]);
  });

  test('who is on the network of this machine has none unless it is named', () => {
    const lines = ['agent:', '  kind: command', '  command: "true"', 'secrets:', '  API_KEY:'];
    const given = ['    env: OTHER', '    host: a.example'];
    expect(usersOf(load(matter(...lines, ...given)))).toEqual(['gate']);
    expect(usersOf(load(matter(...lines, ...given, '    for: [coder]')))).toEqual(['coder']);
  });

  test.each([
    [['host: a.example'], /secrets\.API_KEY: must have either `command`, which prints it, or `env`/],
    [['command: x', 'env: X', 'host: a.example'], /must have either `command`/],
    [['env: X'], /secrets\.API_KEY\.host: expected text/],
    [['env: X', 'host: "*.example.org"'], /secrets\.API_KEY\.host: must be one host/],
    [['env: X', 'host: npm'], /must be a host/],
    [['env: X', 'host: https://a.example/'], /is a URL: write the host alone/],
    [['env: X', 'host: []'], /secrets\.API_KEY\.host/],
    [['env: X', 'host: a.example', 'for: [gates]'], /secrets\.API_KEY\.for\.0: expected one of .*"gate"/],
    [['env: X', 'host: a.example', 'hosts: b.example'], /secrets\.API_KEY: there is no "hosts" in it/],
  ])('wrong: %j', (lines, words) => {
    expect(refusal(secret(...lines)).message).toMatch(words);
  });

  test.each(['HOME', 'SSL_CERT_FILE', 'https_proxy', 'FORGE_ROLE'])('%s is the loop’s own', (name) => {
    const text = matter('secrets:', `  ${name}: { env: X, host: a.example }`);
    expect(refusal(text).message).toContain(`secrets.${name}: the loop sets this variable itself`);
  });

  test.each([
    ['env:', '  pass: [API_KEY]', 'env.pass: gives API_KEY to everybody'],
    ['env:', '  gates: { pass: [OTHER] }', 'env.gates.pass: gives OTHER to everybody'],
    ['env:', '  set: { API_KEY: x }', 'env.set: gives API_KEY to everybody'],
  ])('what `env` hands out can’t be kept back: %s%s', (key, line, words) => {
    const given = ['secrets:', '  API_KEY: { env: OTHER, host: a.example }'];
    expect(refusal(matter(key, line, ...given)).message).toContain(words);
  });
});

describe('MCP servers', () => {
  const SERVERS = matter.bind(
    null,
    'mcp:',
    '  docs: { command: [docs-server, --quiet], env: { KEY: $DOCS_KEY } }',
  );
  const granted = (...grants: string[]) => SERVERS(`roles: { critic: { access: { mcp: [${grants}] } } }`);

  test('nobody has one that is not granted; a grant is a server or single tools of it', () => {
    const docs = { name: 'docs', command: ['docs-server', '--quiet'], env: { KEY: 'sk-1' } };
    const mcpOf = (text: string) => load(text, { DOCS_KEY: 'sk-1' }).policy.agents;
    for (const role of ROLES) expect(mcpOf(SERVERS())[role].mcp).toEqual([]);
    expect(mcpOf(granted('docs')).critic.mcp).toEqual([{ ...docs, tools: null }]);
    expect(mcpOf(granted('docs')).coder.mcp).toEqual([]);
    expect(mcpOf(granted('docs/search', 'docs/read', 'docs/search')).critic.mcp).toEqual([
      { ...docs, tools: ['search', 'read'] },
    ]);
    expect(mcpOf(granted('docs/search', 'docs')).critic.mcp).toEqual([{ ...docs, tools: null }]);
  });

  test.each([
    [granted('dosc/search'), 'there is no server "dosc" under `mcp`', 'Did you mean "docs"?'],
    [granted('tracker'), 'there is no server "tracker" under `mcp`', 'There is docs.'],
    [granted('docs/'), '"docs/" names no tool', 'Say "docs" for all of them.'],
    [
      matter('roles: { coder: { access: { mcp: [docs] } } }'),
      'there is no server "docs" under `mcp`',
      'There is none: describe it there.',
    ],
    [
      SERVERS('agent: { kind: acp, preset: gemini }', 'roles: { coder: { access: { mcp: [docs] } } }'),
      'gemini connects to no server',
      'Give this role another agent, or no server.',
    ],
  ])('%s', (text, said, hint) => {
    const error = refusal(text);
    expect(error.message).toContain(said);
    expect(inOneLine(error)).toContain(hint);
  });

  test.each([
    ['Forge: { command: [x] }', `"forge" is the server of the loop's own tools`],
    ['a_b: { command: [x] }', 'at most 32 letters, digits and hyphens'],
    ['docs: { command: [./server.js] }', 'another one would be taken from the branch'],
    ['docs: { command: [] }', 'mcp.docs.command'],
    ['docs: { command: npx docs }', 'mcp.docs.command'],
    ['docs: { command: [x], env: { HOME: /x } }', 'the loop sets this variable itself'],
    ['docs: { command: [x], env: { "a b": x } }', 'must be the name of a variable'],
  ])('%s is refused', (server, said) => {
    expect(refusal(matter('mcp:', `  ${server}`)).message).toContain(said);
  });

  test('a key beside `command` that nobody knows is told', () => {
    const { warnings } = load(matter('mcp:', '  docs: { command: [x], enviroment: {} }'));
    expect(warnings).toMatchObject([{ key: 'mcp.docs.enviroment' }]);
  });
});

describe('notify', () => {
  const channel = (text: string, ...more: string[]): string =>
    matter('notify:', '  channels:', `    phone: ${text}`, ...more);

  test('a channel as the core sees it', () => {
    const { policy } = load(
      channel(
        '{ kind: ntfy, url: $NTFY_URL, token: $NTFY_TOKEN, events: [needs_you], digest_ms: 0 }',
        '  quiet_hours: 22:00-07:30',
        '  time_zone: Europe/Berlin',
      ),
      { NTFY_URL: 'https://ntfy.sh/topic', NTFY_TOKEN: 'tk' },
    );
    expect(policy.notify.channels).toEqual([
      {
        name: 'phone',
        kind: 'ntfy',
        events: ['needs_you'],
        digestMs: 0,
        quiet: { from: 22 * 60, to: 7 * 60 + 30, timeZone: 'Europe/Berlin' },
        url: 'https://ntfy.sh/topic',
        secret: null,
        token: 'tk',
        command: null,
        passEnv: [],
      },
    ]);
  });

  test('a channel of its own quiet hours, or none', () => {
    const usual = '  quiet_hours: 22:00-07:00';
    const [phone] = load(channel('{ kind: desktop, quiet_hours: none }', usual)).policy.notify.channels;
    expect(phone?.quiet).toBeNull();
  });

  test.each(['url', 'secret', 'token'])('a written %s is refused, and not shown', (key) => {
    const { message, problems } = refusal(channel(`{ kind: slack, ${key}: https://hooks.example/hidden }`));
    expect(problems).toMatchObject([{ key: `notify.channels.phone.${key}`, line: 4 }]);
    expect(message).toContain('must be a variable');
    expect(JSON.stringify([message, problems])).not.toContain('hidden');
  });

  test('a variable that is not set is a warning, and keeps nobody from working', () => {
    const { warnings, policy } = load(channel('{ kind: slack, url: $SLACK }'));
    expect(warnings.map(({ message }) => message)).toEqual([expect.stringContaining('SLACK is not set')]);
    expect(policy.notify.channels[0]?.url).toBeNull();
  });

  test.each([
    ['{ kind: pigeon }', 'notify.channels.phone.kind'],
    ['{ kind: desktop, events: [merge] }', 'notify.channels.phone.events.0'],
    ['{ kind: desktop, quiet_hours: 25:00-07:00 }', 'notify.channels.phone.quiet_hours'],
  ])('%s is refused', (text, key) => {
    expect(refusal(channel(text)).problems).toMatchObject([{ key }]);
  });

  test('a time zone that nobody knows is refused', () => {
    expect(refusal(matter('notify: { time_zone: Mars/Base }')).problems).toMatchObject([
      { key: 'notify.time_zone' },
    ]);
  });
});
