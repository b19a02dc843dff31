/** `forge-loop demo` as a stranger starts it: no git identity, no repository around, odd letters in the paths. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test as plainTest } from 'vitest';
import type { PlanReport } from '../../src/cli/demo/plan-story.ts';
import type { DemoReport, IssueReport } from '../../src/cli/demo/report.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { processesAbout } from '../support/e2e/proc.ts';
import { type Program, startProgram } from '../support/e2e/program.ts';
import { until } from '../support/e2e/until.ts';

interface Stranger {
  /** Everything of this person's is below it. */
  folder: string;
  home: string;
  temp: string;
  start(...args: string[]): Program;
  /** Comes before every other program of this name. */
  program(name: string, script: string): void;
}

const test = plainTest.extend<{ stranger: Stranger }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the pattern
  stranger: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), 'forge-demo-test-'));
    const [home, temp, bin] = ['home', "tëmp o'rary", 'bin'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const path of [home, temp, bin]) mkdirSync(path);
    const PATH = [bin, dirname(process.execPath), process.env.PATH].join(delimiter);
    await use({
      folder,
      home,
      temp,
      start: (...args) => startProgram(args, { cwd: folder, env: { PATH, HOME: home, TMPDIR: temp } }),
      program(name, script) {
        writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
        chmodSync(join(bin, name), 0o755);
      },
    });
    rmSync(folder, { recursive: true, force: true });
  },
});

test('the demo plays every story to its end on real git, and keeps the folder when asked', async ({
  stranger,
  expect,
}) => {
  const { code, stdout, stderr } = await stranger.start('demo', '--json', '--keep').ended;
  expect(stderr).toBe('');
  const report = JSON.parse(stdout) as DemoReport;
  const [sum, titleCase, slug, mean, taste] = report.issues as [
    IssueReport,
    IssueReport,
    IssueReport,
    IssueReport,
    IssueReport,
  ];
  expect(report.issues.flatMap((issue) => issue.differed)).toEqual([]);
  expect([report.issues.length, report.ok, code]).toEqual([5, true, 0]);

  expect(sum.course).toMatchObject({ prompts: ['task'], gates: ['pass'], verdicts: ['APPROVE'] });
  expect(titleCase.course).toMatchObject({ prompts: ['task', 'continuation'], gates: ['fail', 'pass'] });
  expect(slug.course).toMatchObject({
    prompts: ['task', 'revise'],
    verdicts: ['REQUEST_CHANGES', 'APPROVE'],
  });
  expect(mean.course).toMatchObject({ prompts: ['task', 'revise'], conflicts: ['src/numbers.js'] });
  expect(taste.course).toMatchObject({ outcome: 'declined', asked: true });
  for (const issue of [titleCase, slug, mean]) expect(issue).toMatchObject({ turns: 2, sessions: 1 });
  for (const issue of [sum, titleCase, slug, mean]) expect(issue.costUsd).toBeGreaterThan(0);

  const project = report.project!;
  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', project, ...args], { encoding: 'utf8' }).trim();
  const landed = git('log', '--format=%H %s', 'main').split('\n');
  expect(landed.at(-1)).toMatch(/ A small project$/);
  expect(landed.slice(0, -1).sort()).toEqual(
    [sum, titleCase, slug, mean].map(({ mergedSha, title }) => `${mergedSha} ${title}`).sort(),
  );
  expect(git('status', '--porcelain')).toBe('');
  expect(git('branch', '--format=%(refname:short)')).toBe('main');
  const numbers = git('show', 'main:src/numbers.js');
  expect(numbers).toMatch(/^export const sum = /m);
  expect(numbers).toMatch(/^export const mean = /m);
  expect(numbers).not.toMatch(/^[<=>]{7}/m);
  expect(git('log', '--format=%H', 'main', '--', 'src/numbers.js').split('\n').slice(0, 2)).toEqual([
    mean.mergedSha,
    sum.mergedSha,
  ]);

  // The session that was continued heard both prompts, and the body of the issue only once.
  const store = await openSqliteStore(join(project, '.forge', 'forge.db'), { readOnly: true });
  const tasks = (await store.tasks()).map((stored) => stored.task);
  await store.close();
  expect(tasks.map(({ issue }) => issue).sort()).toEqual([1, 2, 3, 4]);
  const continued = tasks.find(({ issue }) => issue === 2)!;
  const kept = readdirSync(report.folder!, { recursive: true, encoding: 'utf8' });
  const prompts = kept
    .filter((path) => path.includes(`${continued.id}/logs/coder-`) && path.endsWith('.prompt.md'))
    .sort()
    .map((path) => readFileSync(join(report.folder!, path), 'utf8'));
  expect(prompts.map((prompt) => prompt.includes('for headings'))).toEqual([true, false]);

  const shown = await stranger.start('-C', project, 'issue', 'show', '5', '--json').ended;
  const { labels, comments } = JSON.parse(shown.stdout) as { labels: string[]; comments: { text: string }[] };
  expect(labels).toEqual(['loop:needs-spec']);
  expect(comments.map(({ text }) => text.match(/\?/g)?.length)).toEqual([3]);
  expect(readdirSync(stranger.home)).toEqual([]);
});

test('the demo of a plan goes as told, and leaves its branch beside trunk', async ({ stranger, expect }) => {
  const { code, stdout, stderr } = await stranger.start('demo', '--plan', '--json', '--keep').ended;
  expect(stderr).toBe('');
  const report = JSON.parse(stdout) as PlanReport;
  expect(report.differed).toEqual([]);
  expect([report.ok, code]).toEqual([true, 0]);
  expect(report.course).toMatchObject({ status: 'completed', amended: [3], open: 0 });
  expect(report.course.audits.filter((audit) => audit === 'dirty')).toHaveLength(1);

  const git = (...args: string[]): string =>
    execFileSync('git', ['-C', report.project!, ...args], { encoding: 'utf8' }).trim();
  expect(git('log', '--format=%s', 'main')).toBe('A small project');
  expect(git('log', '--reverse', '--format=%s', `main..${report.loop.task.branch}`).split('\n')).toEqual(
    report.course.commits,
  );
  const shown = await stranger.start('-C', report.project!, 'loop', 'status', report.loop.name).ended;
  expect(shown.stdout).toContain('milestone 3: ');
  expect(readdirSync(stranger.home)).toEqual([]);
});

test('a story that goes another way is named, the exit code is 1, and the folder is removed', async ({
  stranger,
  expect,
}) => {
  // A gate that lets the first attempt at #2 pass: it is found out on the merged tree.
  const lied = join(stranger.folder, 'lied');
  stranger.program(
    'node',
    `case "$PWD" in */2-*) [ -e '${lied}' ] || { touch '${lied}'; exit 0; } ;; esac\nexec '${process.execPath}' "$@"`,
  );
  const { code, stdout } = await stranger.start('demo').ended;
  expect(stdout).toContain('not as told: prompts: told was task, continuation, it came to task, revise');
  expect(stdout).toContain('Not every story ended as expected');
  expect(stdout).toMatch(/#2 gate on the merged tree failed/);
  expect(code).toBe(1);
  expect(readdirSync(stranger.temp)).toEqual([]);
  expect(readdirSync(stranger.home)).toEqual([]);
});

test('Ctrl-C leaves neither a folder nor a process behind', async ({ stranger, expect }) => {
  const demo = stranger.start('demo');
  await until('its first turn', () => demo.said().includes('turn 1 started'));
  expect(processesAbout(stranger.temp)).not.toEqual([]);
  demo.send('SIGINT');
  const { code, stderr } = await demo.ended;
  expect(stderr).toContain('Stopped by SIGINT');
  expect(code).toBe(1);
  // A git that answered questions ends by itself when its input closes, a moment after us.
  await until('its last process to be gone', () => processesAbout(stranger.temp).length === 0);
  expect(readdirSync(stranger.temp)).toEqual([]);
});
