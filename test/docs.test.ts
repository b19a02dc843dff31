/** The pages people read are held to the code: what it can say is explained, and what they point at exists. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import type { FailureCode } from '../src/agent/agent.ts';
import { addCommands } from '../src/cli/commands.ts';
import { configKeys } from '../src/config/keys.ts';
import { loadSettings } from '../src/config/load.ts';
import { afterRound } from '../src/core/change/findings.ts';
import { event, type TurnStatus } from '../src/core/event.ts';
import { HOLDS } from '../src/core/hold.ts';
import { trunkChanged } from '../src/core/loop/loop-hold.ts';
import { LOOP_WAITS } from '../src/core/loop/loop-waits.ts';
import { REASONS } from '../src/core/machine.ts';
import { lintPlan } from '../src/core/plan/lint.ts';
import { parsePlan } from '../src/core/plan/plan.ts';
import { CHANNEL_KINDS, NOTICE_KINDS } from '../src/core/tell/notify.ts';
import { ConfigError } from '../src/errors.ts';
import { OPERATIONS, type OperationName, perform, type Result } from '../src/operations.ts';
import { schemaProblems } from './support/json-schemas.ts';
import { differences, shapesIn } from './support/json-shapes.ts';
import { MINUTE, moved, type OpenedRepository, openedRepository } from './support/opened-repository.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const sources = ['src', 'test'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, String(path))),
);

describe('docs/reasons.md', () => {
  test('explains exactly the reasons a task can be abandoned for, with their class and advice', () => {
    const rows = tableUnder('Reasons');
    expect(rows.map(([name]) => name)).toEqual(Object.keys(REASONS));
    for (const [name, outcome, meaning, advice] of rows) {
      const info = REASONS[name as keyof typeof REASONS];
      expect([outcome, advice], name).toEqual([info.outcome, info.advice]);
      expect(meaning!.toLowerCase(), name).toContain(info.says.toLowerCase());
    }
  });

  test('explains exactly the holds, with who ends them', () => {
    const rows = tableUnder('Holds');
    expect(Object.fromEntries(rows.map((row) => [row[0], row.at(-1)]))).toEqual(
      Object.fromEntries(Object.entries(HOLDS).map(([reason, { advice }]) => [reason, advice])),
    );
  });

  test('explains exactly why the whole loop waits: what that stops, whether it ends by itself, what to do', () => {
    const rows = tableUnder('Why the whole loop waits');
    const told = rows.map(([reason, , stops, ends, advice]) => [
      reason,
      stops,
      ends!.startsWith('yes'),
      advice,
    ]);
    expect(told).toEqual(
      Object.entries(LOOP_WAITS).map(([reason, { stops, endsBy, advice }]) => [
        ...[reason, stops],
        ...[endsBy !== 'person', advice],
      ]),
    );
  });

  test('explains every way a turn ends and every failure code an agent can give', () => {
    // The compiler asks for the codes that are missing here.
    const statuses: Record<TurnStatus, true> = {
      finished: true,
      failed: true,
      timed_out: true,
      stalled: true,
      cancelled: true,
      interrupted: true,
    };
    const codes: Record<FailureCode, true> = {
      exit_nonzero: true,
      could_not_start: true,
      sandbox_failed: true,
      unanswered: true,
      crashed: true,
      invalid_result: true,
      rate_limit: true,
      overload: true,
      usage_limit: true,
      auth: true,
      billing: true,
      setting_refused: true,
      network: true,
      session_lost: true,
      context_overflow: true,
      invalid_request: true,
      model_unavailable: true,
      refusal: true,
      out_of_budget: true,
      spend_unknown: true,
    };
    expect(tableUnder('How a turn ends').map(([name]) => name)).toEqual(Object.keys(statuses));
    const explained = tableUnder('Failure codes').map(([name]) => name);
    expect(explained).toEqual(expect.arrayContaining(Object.keys(codes)));
    const ofTheLoop = read('src/loop/turn.ts').matchAll(/(?:ended\('failed', |code: )'(\w+)'/g);
    expect(explained).toEqual(expect.arrayContaining([...ofTheLoop].map((match) => match[1])));
  });

  /** The rows of the table below a heading; a name in backticks is given without them. */
  function tableUnder(heading: string): string[][] {
    const section = read('docs/reasons.md').split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!;
    const rows = section.split('\n').filter((line) => line.startsWith('| ') && !/^[| -]+$/.test(line));
    return rows.slice(1).map((line) => {
      const [name, ...cells] = line.split('|').slice(1, -1);
      return [name!.replaceAll('`', '').trim(), ...cells.map((cell) => cell.trim())];
    });
  }
});

describe('Markdown', () => {
  const pages = markdownIn('.');

  test('is found', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/ARCHITECTURE.md', 'docs/reasons.md']));
  });

  test.each(pages)('%s has no link that leads nowhere', (page) => {
    const dead = linksIn(read(page)).filter((link) => !leadsSomewhere(page, link));
    expect(dead).toEqual([]);
  });

  test.each(pages)('%s names no file of src/ or test/ that is not there', (page) => {
    const named = [...withoutFences(read(page)).matchAll(/`((?:src|test|docs)\/[\w./-]+)`/g)];
    expect(named.map((match) => match[1]!).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test.each(pages.filter((page) => page !== 'CHANGELOG.md'))(
    '%s names no file of the code that is gone',
    (page) => {
      const named = [...withoutFences(read(page)).matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts)`/g)].map(
        (match) => match[1]!,
      );
      expect(named.filter((name) => !isThere(name))).toEqual([]);
    },
  );

  function isThere(name: string): boolean {
    return existsSync(join(root, name)) || sources.some((path) => path.endsWith(`/${name}`));
  }

  function leadsSomewhere(page: string, link: string): boolean {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : relative(root, join(root, dirname(page), path));
    if (!existsSync(join(root, target))) return false;
    if (anchor === undefined) return true;
    return headingsIn(read(target)).includes(anchor);
  }
});

describe('docs/ARCHITECTURE.md', () => {
  const page = read('docs/ARCHITECTURE.md');

  test('names only files that are there', () => {
    const named = [...page.matchAll(/`((?:[\w-]+\/)*[\w-]+\.ts)`/g)].map((match) => match[1]!);
    const missing = named.filter((name) => !sources.some((path) => `/${path}`.endsWith(`/${name}`)));
    expect(missing).toEqual([]);
  });

  test('a function that is named with its file is declared there', () => {
    const named = [...page.matchAll(/`(\w+)\(\)`(?:\s+in\s+|\s+\()`((?:[\w-]+\/)*[\w-]+\.ts)`/g)].map(
      (match) => [match[1]!, match[2]!] as const,
    );
    expect(named.length).toBeGreaterThan(15);
    const isDeclared = (name: string, path: string): boolean =>
      new RegExp(`\\b(?:function|const) ${name}\\b`).test(read(path));
    const wrong = named.filter(([name, file]) => {
      const paths = sources.filter((path) => `/${path}`.endsWith(`/${file}`));
      return !paths.some((path) => isDeclared(name, path));
    });
    expect(wrong).toEqual([]);
  });

  test('names every file of the core and the loop', () => {
    const files = sources.filter((path) => /^src\/(core|loop)\/.*(?<!\.test)\.ts$/.test(path));
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((path) => !page.includes(`${path.split('/').at(-1)}\``))).toEqual([]);
  });

  test('names only functions, types and constants that are in the code', () => {
    const code = sources.filter((path) => path.endsWith('.ts')).map(read);
    const named = [
      ...page.matchAll(/`([A-Za-z]\w*)(?:\(\)|\([a-z, ]+\))`|`([a-z]+[A-Z]\w*|[A-Z][a-zA-Z]+)`/g),
    ];
    const words = [...new Set(named.map((match) => match[1] ?? match[2]!))];
    expect(words.length).toBeGreaterThan(60);
    const missing = words.filter((word) => !code.some((text) => new RegExp(`\\b${word}\\b`).test(text)));
    expect(missing).toEqual([]);
  });
});

describe('README.md', () => {
  test('names only commands that exist, and all of them', () => {
    const code = [...read('README.md').matchAll(/^```[\s\S]*?^```$|`[^`\n]+`/gm)].join('\n');
    const named = new Set([...code.matchAll(/\bforge-loop ([a-z]+)/g)].map((match) => match[1]!));
    expect([...named].sort()).toEqual(Object.keys(COMMANDS).sort());
  });

  test('has a row for every command', () => {
    const rows = [...read('README.md').matchAll(/^\| `forge-loop ([a-z]+)` \|/gm)].map((match) => match[1]!);
    expect(rows.sort()).toEqual(Object.keys(COMMANDS).sort());
  });

  test('lists the subcommands of task, issue, plan, loop, pull, findings and notify', () => {
    for (const group of ['task', 'issue', 'plan', 'loop', 'pull', 'findings', 'notify']) {
      const row = read('README.md')
        .split('\n')
        .find((line) => line.startsWith(`| \`forge-loop ${group}\``));
      const listed = [...row!.matchAll(/`([a-z]+)`/g)].map((match) => match[1]);
      expect(listed.sort()).toEqual(COMMANDS[group]!.sort());
    }
  });
});

test('the plan of docs/plans.md has everything that a plan needs', () => {
  const [, example = ''] = /^````markdown\n([\s\S]*?)^````$/m.exec(read('docs/plans.md')) ?? [];
  expect(lintPlan(example)).toEqual([]);
  expect(parsePlan(example)).toMatchObject({ plan: { name: 'token-expiry', milestones: [{}, {}] } });
});

test('docs/notifications.md has an example of every channel that can be used as it stands', async () => {
  const page = read('docs/notifications.md');
  const examples = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  const url = 'https://ntfy.example/topic';
  const env = { ...Object.fromEntries([...page.matchAll(/\$([A-Z_]+)/g)].map((one) => [one[1]!, url])) };
  env.HOOK_SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`;
  const folder = mkdtempSync(join(tmpdir(), 'forge-docs-'));
  const loaded = examples.map((example) => {
    writeFileSync(join(folder, 'WORKFLOW.md'), `---\n${example}---\n`);
    return loadSettings(join(folder, 'WORKFLOW.md'), env);
  });
  rmSync(folder, { recursive: true });
  expect(loaded.flatMap(({ warnings }) => warnings)).toEqual([]);
  const kinds = loaded.flatMap(({ policy }) => policy.notify.channels.map(({ kind }) => kind));
  expect([...new Set(kinds)].sort()).toEqual([...CHANNEL_KINDS].sort());
  const events = [...page.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]);
  expect(events).toEqual([...NOTICE_KINDS]);
});

describe('an example of settings', () => {
  const sections = configKeys().map(({ key }) => key.split('.')[0]!);
  const examples = markdownIn('.').flatMap((page) =>
    [...read(page).matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => ({ page, text })),
  );
  const ofSettings = examples.filter(({ text }) => sections.includes(/^(\w+):/m.exec(text)?.[1] ?? ''));

  test.each(ofSettings)('in $page names only keys that there are: $text', ({ text }) => {
    const folder = mkdtempSync(join(tmpdir(), 'forge-docs-'));
    const path = join(folder, 'WORKFLOW.md');
    writeFileSync(path, `---\n${text}---\n`);
    const problems = problemsOf(path);
    rmSync(folder, { recursive: true });
    expect(problems.filter((one) => /unknown key|not valid YAML/.test(one))).toEqual([]);
  });

  function problemsOf(path: string): string[] {
    try {
      return loadSettings(path, {}).warnings.map(({ message }) => message);
    } catch (error) {
      if (error instanceof ConfigError) return error.problems.map(({ text }) => text);
      throw error;
    }
  }
});

describe('docs/cli.md', () => {
  const page = read('docs/cli.md');

  test('names every command with all its options', () => {
    const spans = [...page.matchAll(/`forge-loop ([^`]+)`/g)].map((match) => match[1]!);
    const missing = Object.entries(OPTIONS).flatMap(([command, options]) => {
      const said = spans.filter((span) => span === command || span.startsWith(`${command} `)).join(' ');
      if (said === '') return [command];
      return options
        .filter((option) => !said.split(/[\s[\]|]+/).includes(option))
        .map((option) => `${command} ${option}`);
    });
    expect(missing).toEqual([]);
  });

  describe('writes down the JSON', () => {
    const here = openedRepository();
    const shapes = shapesIn(page.split('\n## JSON\n')[1]!);
    const PAGE_NAMES: Record<string, string> = {
      'run.preview': 'run --dry-run',
      'task.retry_all': 'task retry --reason',
      'replay.file': 'replay <file>',
      'replay.verify': 'replay --verify',
      'gate.try': 'doctor --gate',
      access: 'doctor --access',
      attack: 'doctor --attack',
    };
    const pageName = (name: string): string => PAGE_NAMES[name] ?? name.replace('.', ' ');

    test('of every operation', () => {
      const missing = Object.keys(OPERATIONS)
        .map(pageName)
        .filter((name) => !(name in shapes));
      expect(missing).toEqual(['events']);
    });

    test('as it is', async () => {
      const found: string[] = [];
      const ask = async <N extends OperationName>(
        name: N,
        input = {},
        as = pageName(name),
      ): Promise<Result<N>> => {
        const result = await perform(here.context, name, input);
        found.push(...differences(JSON.parse(JSON.stringify(result)), shapes[as]!, as));
        found.push(...schemaProblems(name, result));
        return result;
      };
      await atWork(here);
      for (const name of [
        'status',
        'morning',
        'why',
        'run.preview',
        'task.list',
        'boot',
        'findings.list',
        'cost',
        'report',
        'doctor',
        'config',
      ] as const)
        await ask(name);
      await ask('access', { who: 'coder' });
      for (const one of await perform(here.context, 'events'))
        found.push(...differences(one, shapes.event!, 'event'), ...schemaProblems('events.line', one));
      await ask('task.show', { task: '1' });
      await ask('logs', { task: '1' });
      await ask('replay', { task: '1', at: 'turn_started' });
      await ask('replay.verify');
      const exported = join(here.root, 'task.json');
      writeFileSync(exported, JSON.stringify(await ask('task.export', { task: '1' })));
      await ask('replay.file', { file: exported });
      await ask('task.change', { task: '1' });
      await ask('task.log', { task: '1' });
      await ask('findings.wontfix', { finding: '1.1', why: 'so' });
      await ask('findings.reopen', { finding: '1.2' });
      await ask('pause', { task: '1' }, 'pause <task>');
      await ask('resume', { task: '1' }, 'resume <task>');
      await ask('task.retry_all', { reason: 'no_progress', preview: true });
      await ask('task.restart', { task: '2' });
      await ask('task.tell', { task: '2', text: 'Call it slug.' });
      await ask('task.cancel', { task: '2' });
      await ask('task.abandon', { task: '2' });
      await ask('pause');
      await ask('resume', { all: true }, 'resume --all');
      await ask('resume');
      await ask('stop');
      await ask('issue.new', { title: 'Add', body: 'add(1, 2) returns 3' });
      await ask('issue.list');
      await ask('uninstall');
      await ask('issue.ready', { issue: 3 });
      await ask('issue.comment', { issue: 3, text: 'Please.' });
      await ask('issue.show', { issue: 3 });
      await ask('issue.lint', { issue: 3 });
      await ask('issue.import', { files: [{ file: 'a.md', text: 'Add\n' }] });
      await ask('brief', { issue: 3 });
      await ask('issue.close', { issue: 3 });
      const output = join(here.root, 'plan.md');
      await ask('plan.new', { name: 'plan', output });
      await ask('plan.lint', { file: output, text: readFileSync(output, 'utf8').replace('Loop Name', '') });
      await ask('pull.list');
      await ask('pull.comment', { pull: 1, body: 'Why?' });
      await ask('pull.check', { pull: 1, name: 'build', state: 'red' });
      await ask('pull.review', { pull: 1, verdict: 'approve' });
      await ask('pull.show', { pull: 1 });
      await ask('gc', { dryRun: true });
      await ask('recover');
      await ask('backup', { file: join(here.root, 'backup.db') });
      await ask('init');
      await here.reopen();
      await ask('restore', { file: join(here.root, 'backup.db') });
      expect(found).toEqual([]);
    });
  });
});

/** One task that is held in the middle of a turn, judged, with a pull request; and one that ended. */
async function atWork(here: OpenedRepository): Promise<void> {
  const { context, git } = here;
  const body = 'prints "ok"\n\n- [ ] it prints ok\n';
  await perform(context, 'issue.new', { title: 'One', body, ready: true });
  await here.ready('Two');
  const held = { reason: 'gate_could_not_run', detail: 'no npm', until: null } as const;
  const started = { turn: 1, role: 'coder', sessionId: 's', prompt: 'task' } as const;
  const condition = { name: 'verdict', met: true, value: 'APPROVE', evidence: 'c1' } as const;
  const stored = await here.commit(
    await here.taskOf(1, 'aaaa0001'),
    moved('queued', 'dispatched'),
    event('turn_started', started),
    event('merge_decided', { permitted: true, conditions: [condition] }),
    event('hold_set', held),
  );
  await here.commit(await here.taskOf(2, 'aaaa0002'), moved('queued', 'abandoned', 'no_progress'));
  const problem = {
    category: 'x',
    line: 3,
    scenario: null,
    suggestion: null,
    severity: 'sev2',
    file: 'a.ts',
  } as const;
  const round = {
    task: 'aaaa0001',
    source: 'critic',
    by: 'critic',
    at: 1,
    answers: null,
    headSha: 'c1',
  } as const;
  const both = ['one', 'two'].map((message) => ({ ...problem, message }));
  const findings = afterRound(afterRound([], both, { ...round, round: 1 }), both.slice(0, 1), {
    ...round,
    round: 2,
  });
  const store = await context.writing();
  const at = context.now();
  const lease = await here.leaseOf('aaaa0001');
  await store.commit({
    ...{ lease, taskId: 'aaaa0001', expectedVersion: stored.version, events: [], findings, at },
    addActions: [{ kind: 'gate', scope: 'work', tree: 't', commit: 'c' }],
  });
  const usage = {
    task: 'aaaa0001',
    turn: 1,
    role: 'coder',
    sessionId: 's',
    model: 'm',
    key: 'k',
    at,
    costUsd: 1,
  } as const;
  await store.addUsage(lease, [{ ...usage, input: 1, output: 1, cacheRead: 1, cacheWrite: 0, reasoning: 0 }]);
  await store.releaseLease(lease);
  await store.request({ task: 'aaaa0001', kind: 'pause', by: 'Eva', at });
  const loopHold = trunkChanged('main', 'develop');
  const last = {
    id: 'd',
    sha: 'c1',
    status: 'succeeded',
    problem: null,
    startedAt: at,
    endedAt: at,
  } as const;
  await store.updateLoop(
    { deploy: { considered: 1, last, deployedSha: 'c1' } },
    [event('loop_held', loopHold), event('account_limited', { account: 'a', why: 'x', until: at + MINUTE })],
    at,
  );
  const forge = await context.forge();
  await forge.push('loop/1-s', git('commit-tree', 'HEAD^{tree}', '-p', 'HEAD', '-m', 'work'), null);
  await forge.ensurePull({ issue: 1, branch: 'loop/1-s', title: 'One (#1)', body: 'Fixes #1', marker: 't' });
}

const PROGRAM = (() => {
  const program = new Command();
  const nowhere = () => Promise.reject(new Error('not opened'));
  addCommands(
    program,
    { version: '0', open: nowhere, newRepository: nowhere, edit: nowhere, redact: String, serveMcp: nowhere },
    () => {},
  );
  return program;
})();

/** Every command of the program with its subcommands. */
const COMMANDS: Record<string, string[]> = Object.fromEntries(
  PROGRAM.commands.map((command) => [command.name(), command.commands.map((sub) => sub.name())]),
);

/** What each command can be given: `task list` → `--all`. */
const OPTIONS: Record<string, string[]> = Object.fromEntries(
  PROGRAM.commands
    .flatMap((command) =>
      command.commands.length === 0
        ? [[command.name(), command] as const]
        : command.commands.map((sub) => [`${command.name()} ${sub.name()}`, sub] as const),
    )
    .map(([name, { options }]) => [name, options.map((option) => option.long!)]),
);

function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && folder === '.' && entry.name !== 'docs') return [];
    if (entry.isDirectory()) return markdownIn(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

/** Inline links to places in this repository. */
function linksIn(markdown: string): string[] {
  return [...withoutFences(markdown).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1]!)
    .filter((link) => !/^[a-z]+:/.test(link));
}

function headingsIn(markdown: string): string[] {
  return [...withoutFences(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const withoutFences = (markdown: string): string => markdown.replace(/^(`{3,})[\s\S]*?^\1\s*$/gm, '');

describe('plain words', () => {
  const said = [...markdownIn('.'), ...sources.filter((path) => /^src\/.*(?<!\.test)\.ts$/.test(path))];

  // Sentences that readers stumbled over, and what is said instead.
  test.each([
    [/worked in, as of/i, 'Addressed in x'],
    [/at work again/i, 'Revising: changes requested'],
    [/\bmend (trunk|that|it)\b/i, 'fix'],
    [/only so many/i, 'only the newest n'],
    [/goes on with the next step/i, 'ready; the runner takes the next step'],
    [/declined for now/i, 'Not started'],
    [/nothing was decided by it/i, "The coder's own summary (not used as evidence)"],
    [/how one sees that/i, 'how to tell it is done'],
    [/a dot and a number/i, 'finding id, e.g. 7.2'],
    [/was no JSON object/i, 'could not be parsed as a JSON object'],
    [/what it rests on/i, 'what it waits for'],
  ])('%s is nowhere: %s', (phrase) => {
    expect(said.filter((path) => phrase.test(withoutComments(read(path))))).toEqual([]);
  });

  /** Comments of the code are for those who read code. */
  const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
});
