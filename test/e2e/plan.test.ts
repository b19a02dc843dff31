/** Plan files on the command line: a skeleton, and what is said of one that lacks something. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Project, project } from '../support/command-line.ts';
import { filledPlan } from '../support/plan-play.ts';

let repo: Project;
afterEach(() => repo.remove());

const read = (file: string): string => readFileSync(join(repo.path, file), 'utf8');

test('plan new writes a plan to fill in, which lints clean then, and never over another file', async () => {
  repo = project();
  const path = join(repo.path, 'auth-refactor.md');
  expect(await repo.run('plan', 'new', 'Auth Refactor')).toMatchObject({
    code: 0,
    stdout: `Wrote ${path}. Fill it in, then check it with \`forge-loop plan lint\`.\n`,
  });
  expect(read('auth-refactor.md')).toContain('Loop Name: auth-refactor\n');
  const unfilled = await repo.run('plan', 'lint', 'auth-refactor.md');
  expect(unfilled.code).toBe(1);
  expect(unfilled.stdout).toContain('auth-refactor.md:9: error: this line is unchanged from `plan new`\n');
  repo.write('auth-refactor.md', filledPlan('auth-refactor'));
  expect(await repo.run('plan', 'lint', 'auth-refactor.md')).toMatchObject({
    code: 0,
    stdout: 'auth-refactor: 2 milestones, nothing is missing\n',
  });

  repo.write('auth-refactor.md', 'mine');
  expect(await repo.run('plan', 'new', 'auth-refactor')).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: ${path} already exists.\nhint: Name another file with --output.\n`,
  });
  expect(read('auth-refactor.md')).toBe('mine');
  expect(await repo.json('plan', 'new', '--output', 'other.md')).toEqual({
    name: 'plan',
    path: join(repo.path, 'other.md'),
  });
  expect(await repo.run('plan', 'new', '--output', 'nowhere/plan.md')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('its folder is not there'),
  });
});

test('plan lint names file and line, and its exit code tells errors from warnings', async () => {
  repo = project();
  const plan = filledPlan('tokens');
  const line = (text: string): number => plan.split('\n').indexOf(text) + 1;

  repo.write('tokens.md', plan.replace('Loop Name: tokens', ''));
  expect(await repo.run('plan', 'lint', 'tokens.md')).toMatchObject({
    code: 3,
    stdout: [
      'tokens.md:1: warning: the plan has no Loop Name',
      '  → Add a line `Loop Name: auth-refactor`, of one to three words: task, branch and worktree are called so.',
      'tokens: 2 milestones, 0 errors, 1 warning\n',
    ].join('\n'),
  });

  repo.write('tokens.md', plan.replace('- How to tell that the whole plan is done. Really.', ''));
  const linted = await repo.run('plan', 'lint', 'tokens.md', '--json');
  expect(linted.code).toBe(1);
  expect(JSON.parse(linted.stdout)).toEqual({
    file: 'tokens.md',
    name: 'tokens',
    title: 'tokens',
    milestones: [1, 2].map(() => ({
      title: 'what it achieves Really.',
      line: expect.any(Number),
    })),
    problems: [
      {
        severity: 'error',
        line: line('<!-- forge-plan:end -->'),
        problem: 'the plan has no `## Verification`, or nothing below it',
        advice: expect.any(String),
      },
    ],
  });

  const readme = await repo.run('plan', 'lint', 'README.md');
  expect(readme.code).toBe(1);
  expect(readme.stdout).toMatch(
    /^README.md: error: there is no plan: .*\n {2}→ Put .*\n1 error, 0 warnings\n$/,
  );
  expect(await repo.run('plan', 'lint', 'gone.md')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no such file'),
  });
  expect(await repo.run('plan', 'lint')).toMatchObject({ code: 2 });
});
