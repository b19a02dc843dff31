/**
 * Composes the product: config → implementations → loop → surfaces. Only this file names concrete implementations.
 *
 * Each is imported when it is first needed: a command that looks at one thing does not wait for the rest to load.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from './config/load.ts';
import type { RequireAcceptable, SettingsWatch } from './config/reload.ts';
import type { Context, Original, Serving, Tools } from './context.ts';
import type { Policy } from './core/policy.ts';
import { ConfigError, UserError } from './errors.ts';
import type { IssueDesk, PullDesk } from './forge/desk.ts';
import type { Forge } from './forge/forge.ts';
import type { Git } from './git/git.ts';
import type { Hearing } from './http/webhook.ts';
import { localDay } from './loop/day.ts';
import type { Clock, Ports, SettingsSource } from './loop/ports.ts';
import type { Channels } from './notify/notify.ts';
import type { RunProgram } from './notify/programs.ts';
import type { Processes } from './process/process.ts';
import { openRedactor, type Redactor, secretsOf } from './redactor.ts';
import type { Store } from './store/store.ts';
import type { RepositoryKey } from './workspace/repository-key.ts';
import { noteWritten, withWritten } from './written.ts';

export async function main(argv: readonly string[]): Promise<number> {
  const { runCli } = await import('./cli/program.ts');
  const redactor = openRedactor(process.env);
  const open: typeof openContext = (cwd, given) => openContext(cwd, given, redactor);
  return runCli(argv, {
    version: version(),
    open,
    newRepository,
    edit,
    redact: redactor.text,
    serveMcp,
  });
}

async function serveMcp(open: () => Promise<Context>, warn: (text: string) => void): Promise<void> {
  const { liveContext } = await import('./http/live-context.ts');
  const { serveOverStdio } = await import('./mcp/stdio.ts');
  const live = await liveContext(open);
  try {
    await serveOverStdio(live.use, version(), warn);
  } finally {
    await live.close();
  }
}

async function edit(path: string): Promise<void> {
  const { openEditor } = await import('./process/editor.ts');
  openEditor(path);
}

export function version(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** The repository around `cwd`, from any of its subdirectories. */
export async function openContext(
  cwd: string,
  given: { config?: string | null } = {},
  redactor: Redactor = openRedactor(process.env),
): Promise<Context> {
  const { openGit, identity } = await import('./git/git.ts');
  const { isOwnerDead } = await import('./process/owner.ts');
  const { bootClock, startOf } = await import('./process/table.ts');
  const git = await openMain(await openGit(cwd));
  const root = git.worktree;
  if (root === null) {
    throw new UserError(
      `${git.gitDir} is a bare repository; forge-loop works beside a checkout.`,
      'Clone it, or add a worktree, and run forge-loop there.',
    );
  }
  const forgeDir = join(root, '.forge');
  const databasePath = join(forgeDir, 'forge.db');
  const configPath = given.config ? resolve(cwd, given.config) : join(root, 'WORKFLOW.md');

  const settings = once(async () => {
    const read = await readSettings(configPath);
    redactor.learn(secretsOf(read.settings.workflow));
    return read;
  });
  const forgeOf = (current: Settings) =>
    openForge(
      git,
      root,
      current,
      async () => (await context.reading())?.loop().then((row) => row.trunk) ?? null,
      redactor,
    );
  const opened = once(async () => {
    const { settings: current, problem } = await settings();
    if (problem && problem.kind !== 'missing') throw problem;
    return forgeOf(current);
  });
  const forge = once(async () => (await opened()).forge);
  let reader: Store | null = null;
  const excludeForge = async (): Promise<void> => {
    const { ensureExcluded } = await import('./forge/local/exclude.ts');
    ensureExcluded(git);
  };
  const readFrontier = once(async () => {
    const { openFrontier } = await import('./config/frontier.ts');
    return openFrontier(join(forgeDir, 'frontier.yaml'));
  });
  const frontier = async () => (await readFrontier())();
  const known = once(() => readRepositoryKey(git, root));
  const otherWork = async (): Promise<string[]> => {
    const { defaultRoot } = await import('./workspace/paths.ts');
    const { tracesOfWork } = await import('./workspace/traces.ts');
    const { key } = await known();
    const { workspace } = (await readSettings(configPath)).settings;
    const workspaces = workspace.root ?? defaultRoot();
    return tracesOfWork(git, [join(workspaces, key), join(dirname(defaultRoot()), key, 'tasks')]);
  };
  const original = async (): Promise<Original | null> => {
    const { copyOf } = await known();
    const tasks = copyOf === null ? [] : ((await (await context.reading())?.tasks({ live: true })) ?? []);
    return copyOf === null || tasks.length === 0 ? null : { gitDir: copyOf, tasks: tasks.length };
  };
  const writing = once(async () => {
    const { openSqliteStore } = await import('./store/sqlite.ts');
    const { redactingStore } = await import('./store/redacting.ts');
    await excludeForge();
    // Before anything is written: what it has of secrets is known.
    await settings();
    const options = { otherWork, boot: bootClock, committed: noteWritten };
    return redactingStore(await openSqliteStore(databasePath, options), redactor);
  });
  const requireAcceptable: RequireAcceptable = async (next, inForce) => {
    const { requireReady } = await import('./operations/doctor.ts');
    redactor.learn(secretsOf(next.workflow));
    const nextForge = once(async () => (await forgeOf(next)).forge);
    const changed = {
      ...context,
      settings: async () => ({ settings: next, problem: null }),
      forge: nextForge,
    };
    await requireReady(changed, inForce);
  };
  const places = once(async () => {
    const { openPlaces } = await import('./workspace/places.ts');
    return openPlaces((await known()).key);
  });
  let inForce: (() => Policy) | null = null;
  const tools = once(async () => {
    const { settings: first } = await settings();
    const policy = () => inForce?.() ?? first.policy;
    return openTools(git, await known(), first, { forge, redactor, policy });
  });
  const ports = once(async () => {
    await writing();
    const copied = await original();
    if (copied) await refuseCopy(copied);
    await keepRepositoryKey(git, await known());
    const { gitRepository } = await import('./git/repository.ts');
    const composed = await composePorts(configPath, forgeDir, requireAcceptable, {
      redact: redactor,
      ...(await tools()),
      places: await places(),
      forge: await forge(),
      repository: gitRepository(git),
      telemetry: (await telemetry()).telemetry,
      readFrontier: frontier,
      configuredTrunk: (await settings()).settings.tracker.trunk,
      store: await writing(),
    });
    inForce = composed.settings.policy;
    return composed;
  });

  const telemetry = once(async () => {
    const { openOtlp } = await import('./telemetry/otlp.ts');
    const { installHint } = await import('./agent/install-hint.ts');
    return openOtlp(process.env, {
      version: version(),
      project: basename(root),
      redact: redactor,
      installHint,
    });
  });

  const context: Context = {
    root,
    git,
    configPath,
    databasePath,
    forgeDir,
    now: () => Date.now(),
    redact: redactor,
    day: localDay,
    bootClock,
    isOwnerDead,
    startOf,
    refuseInTurn: async (command) => (await import('./agent/in-turn.ts')).refuseInTurn(command, process.env),
    operator: once(async () => (await identity(git))?.name ?? userInfo().username),
    settings,
    frontier,
    forge,
    async pullDesk() {
      const { pulls } = await opened();
      if (pulls) return pulls;
      throw new UserError(
        'Pull requests are not kept here but on the forge of `tracker.kind`.',
        'Look at them, comment on them and review them there: the loop reads what is said.',
      );
    },
    async reading() {
      if (writing.started()) return writing();
      const { openSqliteStore, requireNone } = await import('./store/sqlite.ts');
      if (!reader && !existsSync(databasePath)) await requireNone(databasePath, { otherWork });
      else reader ??= await openSqliteStore(databasePath, { readOnly: true, otherWork, boot: bootClock });
      return reader;
    },
    writing,
    withWritten,
    original,
    database: {
      async backUp(to) {
        const { backUp } = await import('./store/sqlite/backup.ts');
        return backUp(databasePath, to);
      },
      async restore(from) {
        const { restore } = await import('./store/sqlite/backup.ts');
        await excludeForge();
        return restore(databasePath, from, new Date());
      },
    },
    excludeForge,
    places,
    tools,
    ports,
    telemetry,
    runner: once(async () => {
      const { createRunner } = await import('./loop/runner.ts');
      return createRunner(await ports(), version());
    }),
    webhook: async () => openWebhook((await settings()).settings, writing),
    server: async (port) =>
      openServer((await settings()).settings, port, forgeDir, redactor, {
        open: () => openContext(cwd, given, redactor),
        writing,
      }),
    under: (path) => openContext(cwd, { config: path }, redactor),
    isInstalled: async (program) =>
      (await (await import('./agent/program-path.ts')).onPath(program, process.env)) !== null,
    askProgram: async (argv) => (await import('./process/ask-program.ts')).askProgram(argv, root),
    ownCommand: async () =>
      (await context.isInstalled('forge-loop'))
        ? ['forge-loop']
        : [process.execPath, join(import.meta.dirname, '..', 'bin', 'forge-loop.js')],
    configHome: process.env.XDG_CONFIG_HOME || join(homedir(), '.config'),
    atTerminal: async () => (await import('./process/terminal.ts')).atTerminal(redactor.text),
    isInTurn: async () => (await import('./agent/in-turn.ts')).isInTurn(process.env),
    async close() {
      await reader?.close();
      // One that could not be opened was reported by whoever asked for it.
      const writer = writing.started() ? await writing().catch(() => null) : null;
      await writer?.close();
      await git.close();
    },
  };
  return context;
}

async function refuseCopy(original: Original): Promise<never> {
  const { copiedAdvice, copiedText } = await import('./core/words/words.ts');
  throw new UserError(copiedText(original), copiedAdvice(original));
}

async function readRepositoryKey(git: Git, root: string): Promise<RepositoryKey> {
  const { defaultRoot } = await import('./workspace/paths.ts');
  const { readKey } = await import('./workspace/repository-key.ts');
  return readKey(git.gitDir, root, dirname(defaultRoot()));
}

async function keepRepositoryKey(git: Git, known: RepositoryKey): Promise<void> {
  const { defaultRoot } = await import('./workspace/paths.ts');
  const { keepKey } = await import('./workspace/repository-key.ts');
  keepKey(git.gitDir, known, dirname(defaultRoot()));
}

/** One loop per repository: from a linked worktree it is the main one's, where there is one. */
async function openMain(git: Git): Promise<Git> {
  const { openGit } = await import('./git/git.ts');
  const { mainWorktree } = await import('./git/worktrees.ts');
  const main = await mainWorktree(git);
  if (main === null || main === git.worktree) return git;
  await git.close();
  return openGit(main);
}

async function newRepository(folder: string, identity: { name: string; email: string }): Promise<Git> {
  const { initRepository } = await import('./git/init.ts');
  return initRepository(folder, identity);
}

async function readSettings(path: string): Promise<{ settings: Settings; problem: ConfigError | null }> {
  const { loadSettings } = await import('./config/load.ts');
  try {
    return { settings: loadSettings(path, process.env), problem: null };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { defaultSettings } = await import('./config/defaults.ts');
    return { settings: defaultSettings(path), problem: error };
  }
}

async function openForge(
  git: Git,
  root: string,
  settings: Settings,
  remembered: () => Promise<string | null>,
  redactor: Redactor,
): Promise<{ forge: Forge & IssueDesk; pulls: PullDesk | null }> {
  const { redactingForge } = await import('./forge/redacting.ts');
  const { kind, auth, provider } = settings.tracker;
  if (kind === 'github') {
    const { openGitHub } = await import('./forge/github/open.ts');
    const { fileLog } = await import('./log.ts');
    const log = fileLog(join(root, '.forge', 'logs', 'runner.log'), redactor);
    const forge = await openGitHub({
      git,
      root,
      auth,
      provider,
      labels: settings.policy.labels,
      trunk: settings.tracker.trunk,
      remembered,
      trusted: () => settings.workflow.trust.ready_by,
      method: () => settings.policy.merge.method,
      pollMs: () => settings.policy.pollIntervalMs,
      env: process.env,
      warn: (message) => log('warn', message),
    });
    return { forge: redactingForge(forge, redactor.text), pulls: null };
  }
  const { localForge } = await import('./forge/local/local.ts');
  const { defaultRoot } = await import('./workspace/paths.ts');
  const { trunk } = settings.tracker;
  const forge = await localForge({
    git,
    root,
    now: () => Date.now(),
    labels: settings.policy.labels,
    workspaceRoot: settings.workspace.root ?? defaultRoot(),
    remembered,
    ...(trunk === null ? {} : { trunk }),
  });
  return { forge: redactingForge(forge, redactor.text), pulls: forge };
}

async function openTools(
  git: Git,
  { key, former }: RepositoryKey,
  settings: Settings,
  { forge, redactor, policy }: { forge: () => Promise<Forge>; redactor: Redactor; policy: () => Policy },
): Promise<Tools> {
  const { identity } = await import('./git/git.ts');
  const { defaultRoot, realRoot } = await import('./workspace/paths.ts');
  const { prepareHome } = await import('./workspace/home.ts');
  const { removeTree } = await import('./workspace/remove-tree.ts');
  const { cloneWorkspaces } = await import('./workspace/clone.ts');
  const { worktreeWorkspaces } = await import('./workspace/worktree.ts');
  const { passedOn } = await import('./core/access/toolchains.ts');
  const { childEnvironment } = await import('./process/environment.ts');
  const { hostProcesses } = await import('./process/host.ts');
  const { objectStores } = await import('./git/object-stores.ts');
  const { bwrap } = await import('./sandbox/bwrap.ts');
  const { containers } = await import('./sandbox/container.ts');
  const { openSandbox } = await import('./sandbox/open.ts');
  const { srt } = await import('./sandbox/srt.ts');
  const { strayOf } = await import('./sandbox/strays.ts');
  const { openGateway } = await import('./gateway/server.ts');
  const { renderPrompt } = await import('./config/prompt.ts');
  const { acpAgent } = await import('./agent/acp/acp.ts');
  const { claudeAgent } = await import('./agent/claude/claude.ts');
  const { codexAgent } = await import('./agent/codex/codex.ts');
  const { commandAgent } = await import('./agent/command.ts');
  const { opencodeAgent } = await import('./agent/opencode/opencode.ts');
  const { confinedPrograms } = await import('./agent/programs.ts');
  const { installHint } = await import('./agent/install-hint.ts');
  const { openStandIns } = await import('./agent/stand-ins.ts');
  const { turnVariables } = await import('./agent/turn-place.ts');
  const { scriptedAgent } = await import('./agent/scripted.ts');

  const workspaceRoot = settings.workspace.root ?? defaultRoot();
  const makeWorkspaces = settings.workspace.kind === 'worktree' ? worktreeWorkspaces : cloneWorkspaces;
  const processes = hostProcesses(redactor.text);
  const kept = realRoot(dirname(defaultRoot()));
  const writable = () => Object.values(policy().agents).flatMap(({ write }) => write);
  const machine = {
    writable,
    objects: () => objectStores(git.gitDir),
    hidden: [homedir(), dirname(git.gitDir), kept, workspaceRoot],
    programs: [dirname(dirname(process.execPath)), process.execPath, import.meta.dirname],
    never: settings.workspace.kind === 'worktree' ? SHARES_GIT : null,
  };
  const sandbox = openSandbox({
    bwrap: bwrap({ folder: join(kept, key, 'sandbox'), ...machine }),
    containers: containers({ folder: join(kept, key, 'containers'), ...machine }),
    srt: srt({ folder: join(kept, key, 'srt'), installHint, ...machine }),
  });
  const programs = confinedPrograms(
    processes,
    sandbox,
    redactor.text,
    passedOn(process.env, ['TERM', 'COLORTERM', 'TERM_PROGRAM', 'LC_CTYPE']),
  );
  const gateway = openGateway(process.env, (secret) => redactor.learn([secret]));
  const parts = { programs, gateway, operator: process.env, now: () => Date.now() };
  const agents = [
    claudeAgent(parts),
    codexAgent(parts),
    opencodeAgent(parts),
    acpAgent(parts),
    commandAgent(parts),
    scriptedAgent(parts),
  ];
  const operatorIdentity = async () => {
    const known = await identity(git);
    if (known) return known;
    throw new UserError(
      'git does not know who you are, so nothing can be committed in your name.',
      'git config --global user.name "Your Name" && git config --global user.email you@example.com',
    );
  };
  return {
    workspaceRoot,
    workspaces: makeWorkspaces({
      git,
      root: workspaceRoot,
      repositoryKey: key,
      former,
      trunk: async () => (await forge()).trunk(),
    }),
    processes,
    sandbox,
    gateway,
    channels: await openNotify(git, processes),
    agents: () => agents,
    agent(kind) {
      const found = agents.find((agent) => agent.kind === kind);
      if (!found) throw new UserError(`There is no agent of kind ${kind}.`, 'Set agent.kind in WORKFLOW.md.');
      return found;
    },
    render: renderPrompt,
    identity: operatorIdentity,
    prepareHome: (home, child) =>
      prepareHome(home, child, homedir(), (path) => strayOf(path, writable()) === null),
    childEnvironment: async (env, { task, home, pass = [] }) => {
      const known = await operatorIdentity();
      return childEnvironment({ home, mark: task, identity: known, env, extra: passedOn(process.env, pass) });
    },
    openTurnEnvironment(turn, env) {
      const told = turnVariables({ ...turn, number: 1, issue: 1, sessionId: 'session', resume: false });
      return openStandIns(turn, { ...env, ...told }, () => {});
    },
    discard: removeTree,
  };
}

async function openNotify(git: Git, processes: Processes): Promise<Channels> {
  const { dialer } = await import('./gateway/dial.ts');
  const { passedOn } = await import('./core/access/toolchains.ts');
  const { MARK } = await import('./process/process.ts');
  const { onPath } = await import('./agent/program-path.ts');
  const { SEND_TIMEOUT_MS } = await import('./notify/notify.ts');
  const { openChannels } = await import('./notify/open.ts');
  const { commandChannel } = await import('./notify/command.ts');
  const { desktopChannel } = await import('./notify/desktop.ts');
  const { discordChannel } = await import('./notify/discord.ts');
  const { ntfyChannel } = await import('./notify/ntfy.ts');
  const { slackChannel } = await import('./notify/slack.ts');
  const { webhookChannel } = await import('./notify/webhook.ts');
  const run: RunProgram = ({ message, pass, ...child }) =>
    processes.launch({
      ...child,
      cwd: git.worktree!,
      env: { ...passedOn(process.env, [...NOTIFY_VARIABLES, ...pass]), [MARK]: `notify-${message}` },
      // What it said last is told with its failure; nothing else of it is worth a file.
      logPath: '/dev/null',
      timeoutMs: SEND_TIMEOUT_MS,
    });
  const parts = { dial: dialer(process.env), now: () => Date.now() };
  return openChannels([
    webhookChannel(parts),
    slackChannel(parts),
    discordChannel(parts),
    ntfyChannel(parts),
    commandChannel(run),
    desktopChannel({
      platform: process.platform,
      isThere: async (program) => (await onPath(program, process.env)) !== null,
      run,
    }),
  ]);
}

const NOTIFY_VARIABLES = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

const SHARES_GIT =
  "a linked worktree writes to your repository's .git, which nothing can confine: set `workspace.kind: clone`";

async function openWebhook(
  { workflow: { webhook } }: Settings,
  writing: () => Promise<Store>,
): Promise<{ url: string; close(): Promise<void> } | null> {
  const { port, bind } = webhook;
  const hearing = await hearingOf(webhook, writing);
  if (port === null || hearing === null) return null;
  const { startWebhook } = await import('./http/webhook.ts');
  return startWebhook({ ...hearing, port, bind });
}

async function hearingOf(
  { secret }: Settings['workflow']['webhook'],
  writing: () => Promise<Store>,
): Promise<Hearing | null> {
  if (secret === null) return null;
  const { event } = await import('./core/event.ts');
  return {
    secret,
    heard: async (kinds) =>
      (await writing()).record({ events: [event('webhook_received', { kinds })], at: Date.now() }),
  };
}

async function openServer(
  { workflow: { server, webhook } }: Settings,
  port: number | null,
  forgeDir: string,
  redact: Redactor,
  { open, writing }: { open: () => Promise<Context>; writing: () => Promise<Store> },
): Promise<Serving | null> {
  const { bind, token, hosts } = server;
  const asked = port ?? server.port;
  if (asked === null) return null;
  const { startServer } = await import('./http/server.ts');
  const { mcpOverHttp } = await import('./mcp/http.ts');
  const { fileLog } = await import('./log.ts');
  const log = fileLog(join(forgeDir, 'logs', 'runner.log'), redact);
  return startServer({
    port: asked,
    bind,
    token,
    hosts,
    version: version(),
    pages: fileURLToPath(new URL('../dist/web/', import.meta.url)),
    schemas: fileURLToPath(new URL('../schema/json/v1/', import.meta.url)),
    redact,
    open,
    mcp: ({ use }) => mcpOverHttp(use, version(), (message) => log('warn', `mcp: ${message}`)),
    webhook: await hearingOf(webhook, writing),
    log: (message) => log('error', message),
  });
}

async function composePorts(
  configPath: string,
  forgeDir: string,
  requireAcceptable: RequireAcceptable,
  {
    readFrontier,
    ...parts
  }: Tools &
    Pick<Ports, 'places' | 'forge' | 'repository' | 'store' | 'configuredTrunk' | 'redact' | 'telemetry'> & {
      readFrontier: Context['frontier'];
    },
): Promise<Ports> {
  const { watchSettings } = await import('./config/reload.ts');
  const { ownerIdentity, isOwnerDead } = await import('./process/owner.ts');
  const { bootClock } = await import('./process/table.ts');
  const { watchTestReports } = await import('./workspace/test-reports.ts');
  const { lastWrite } = await import('./process/last-write.ts');
  const { TIMING } = await import('./loop/ports.ts');
  const { fileLog } = await import('./log.ts');
  const { logFields } = await import('./core/task.ts');
  const { toldOnce } = await import('./config/frontier.ts');
  const watch = watchSettings(configPath, process.env, { root: dirname(forgeDir), requireAcceptable });
  const settings = settingsSource(watch, configPath);
  const log = fileLog(join(forgeDir, 'logs', 'runner.log'), parts.redact, undefined, async (id) => {
    const stored = await parts.store.task(id);
    return stored ? logFields(stored.task) : {};
  });
  return {
    ...parts,
    settings,
    frontier: toldOnce(readFrontier, (message) => log('warn', message)),
    agentFor: (role) => parts.agent(settings.policy().agents[role].kind),
    watchTestReports,
    writeText: async (path, text) => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { mode: 0o600 });
    },
    appendText: async (path, text) => {
      await mkdir(dirname(path), { recursive: true });
      await appendFile(path, text, { mode: 0o600 });
    },
    readText: (path) => readFile(path, 'utf8').catch(() => null),
    lastWrite,
    clock: systemClock(),
    bootClock,
    timing: TIMING,
    random: Math.random,
    newId: randomUUID,
    project: basename(dirname(forgeDir)),
    owner: ownerIdentity(),
    isOwnerDead,
    log,
  };
}

function settingsSource(watch: SettingsWatch, path: string): SettingsSource {
  return {
    path,
    policy: () => watch.current().policy,
    template: (kind) => watch.current().prompts[kind],
    check: watch.check,
    problem: watch.problem,
  };
}

function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    day: localDay,
    after(ms, wake) {
      const timer = setTimeout(wake, Math.min(ms, LONGEST_TIMER_MS));
      return () => clearTimeout(timer);
    },
  };
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** One attempt, shared by everybody who asks. */
function once<T>(make: () => Promise<T>): (() => Promise<T>) & { started(): boolean } {
  let made: Promise<T> | null = null;
  const get = (): Promise<T> => {
    made ??= make();
    return made;
  };
  return Object.assign(get, { started: () => made !== null });
}
