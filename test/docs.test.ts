/** The pages people read are held to the code: what it can say is explained, and what they point at exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import type { FailureCode } from '../src/agent/agent.ts';
import { addCommands } from '../src/cli/commands.ts';
import type { TurnStatus } from '../src/core/event.ts';
import { REASONS } from '../src/core/machine.ts';
import { HOLD_ADVICE } from '../src/core/words.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

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
    expect(Object.fromEntries(rows.map((row) => [row[0], row.at(-1)]))).toEqual(HOLD_ADVICE);
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
      crashed: true,
      invalid_result: true,
      rate_limit: true,
      overload: true,
      usage_limit: true,
      auth: true,
      network: true,
      session_lost: true,
      context_overflow: true,
      invalid_request: true,
      model_unavailable: true,
      refusal: true,
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
  const sources = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, String(path))),
  );

  test('names only files that are there', () => {
    const named = [...page.matchAll(/`((?:[\w-]+\/)*[\w-]+\.ts)`/g)].map((match) => match[1]!);
    const missing = named.filter((name) => !sources.some((path) => `/${path}`.endsWith(`/${name}`)));
    expect(missing).toEqual([]);
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

  test('lists the subcommands of task, issue and pull', () => {
    for (const group of ['task', 'issue', 'pull']) {
      const row = read('README.md')
        .split('\n')
        .find((line) => line.startsWith(`| \`forge-loop ${group}\``));
      const listed = [...row!.matchAll(/`([a-z]+)`/g)].map((match) => match[1]);
      expect(listed.sort()).toEqual(COMMANDS[group]!.sort());
    }
  });
});

/** Every command of the program with its subcommands. */
const COMMANDS: Record<string, string[]> = (() => {
  const program = new Command();
  const nowhere = () => Promise.reject(new Error('not opened'));
  addCommands(program, { version: '0', open: nowhere, newRepository: nowhere }, () => {});
  return Object.fromEntries(
    program.commands.map((command) => [command.name(), command.commands.map((sub) => sub.name())]),
  );
})();

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
