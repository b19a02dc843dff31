/** Taken or declined: the examples are the rule. */
import { describe, expect, test } from 'vitest';
import { readiness } from './spec.ts';

const taken = (title: string, body: string) => readiness(title, body).ready;

describe('declined: taste, and nothing in it could be checked (dispatch 12)', () => {
  test.each([
    ['Make the revoke flow nicer', ''],
    ['Make the revoke flow nicer', 'The revoke flow is a bit clunky. Please make it nicer.'],
    ['Improve the dashboard', 'It should look better and feel more modern.'],
    ['Clean up the code', 'The code in the parser is messy, please clean it up.'],
    ['Refactor', 'Refactor the payment module so that it is more readable and elegant.'],
    ['Polish the onboarding', 'Users should have a better first impression.'],
    ['Better error messages', 'The error messages are not user-friendly. They should be better.'],
    ['Modernize the UI', 'Our UI looks like 2009. Make it sleek and beautiful, like the big sites.'],
    ['Settings page feels off', 'Something about the settings page feels off. It should be more intuitive.'],
    ['Improve performance', 'The app must be faster. It should be snappy and feel good.'],
    ['Simplify the API', 'The API is too complicated. Developers should enjoy using it.'],
    ['Nicer logs', 'Logs should be prettier and easier on the eye.'],
    ['Improve the docs', 'The docs should read better. See README.md for what we have today.'],
    [
      'Make the landing page beautiful',
      `${'Our landing page is the first thing people see, and it should make them feel welcome and excited. '.repeat(40)}
       Please make it more beautiful and polished, in the spirit of 2024.`,
    ],
    [
      'Tidy up',
      'We have 3 modules that grew over 5 years. Tidy up where it makes sense, improve names, and make the whole thing nicer to work with.',
    ],
    ['Cleaner code', 'The "utils" folder should be cleaner.'],
    ['Revoke flow', 'Please make it nicer.'],
    ['Welcome', 'When people see the page, then they should feel that it is polished.'],
  ])('%s', (title, body) => {
    const judged = readiness(title, body);
    expect(judged.ready).toBe(false);
  });
});

describe('taken: something can be checked, or nothing asks for taste', () => {
  test.each([
    [
      'Revoke asks first',
      'Clicking Revoke opens a role=alertdialog; ESC closes it; confirm POSTs /tokens/<id>/revoke',
    ],
    [
      'Make the revoke flow nicer',
      'Clicking Revoke opens a dialog with the text "Revoke token?"; ESC closes it.',
    ],
    ['Fix typo', 'In README.md, "recieve" should be "receive".'],
    [
      'Improve the error for a missing file',
      'Running `cat-it nope.txt` prints `nope.txt: not found` to stderr and exits 2.',
    ],
    ['Improve the parser', '- [ ] parses `a,b` into two fields\n- [ ] rejects an unclosed quote'],
    ['Nicer dates', '## Acceptance criteria\n\nDates are shown as 2024-05-01.'],
    ['Better validation', 'Given an empty name, when the form is sent, then the field shows an error.'],
    ['Clean up temp files', 'After a run, `ls $TMPDIR/app-*` is empty.'],
    ['Improve startup time', '`app --version` returns in under 200 ms on the CI machine.'],
    ['Refactor the store behind an interface', 'Verify: npm test && npx depcheck src/store'],
    ['Simplify config', 'config.load() returns the same object for YAML and JSON input.'],
    ['Add a /health endpoint', 'GET /health responds 200 with {"ok":true}.'],
    ['Add dark mode', ''],
    ['Crash when the list is empty', 'sum([]) throws. It should return 0.'],
    ['Support Node 24', 'The tests pass on Node 24.'],
    ['Upgrade zod to 4', ''],
    ['Improve retry', 'The client retries 3 times on HTTP 503, then throws RetryError.'],
    [
      'Prettier output for --help',
      'Each option of `--help` is on one line, no line is longer than 80 columns.',
    ],
    ['Use prettier', 'Add prettier 3 as a dev dependency; `npx prettier --check .` exits 0.'],
    [
      'Better names in the API',
      'Rename `getUsr` to `getUser` in src/api.ts and everywhere it is used; `grep -r getUsr src` finds nothing.',
    ],
    ['Add', 'add(2, 3) returns 5'],
    ['Dark mode', 'Add a dark theme. It would be better for my eyes.'],
    ['Nicer errors', 'Given a missing file\nWhen it is opened\nThen its name is in the message'],
    ['Slugs', 'slug("Hello World") equals "hello-world"'],
    [
      'A long but checkable issue that asks for a nicer table',
      `${'Some background about how we got here and why it matters to people who read tables. '.repeat(60)}\n\n- [ ] \`table([])\` returns an empty string`,
    ],
  ])('%s', (title, body) => {
    expect(taken(title, body)).toBe(true);
  });
});

describe('length alone decides nothing (dispatch 12)', () => {
  test('the shortest checkable text is taken, the longest text of taste is declined', () => {
    expect(taken('x', 'f() returns 1')).toBe(true);
    expect(taken('Make it nicer', 'It should be nicer in every way. '.repeat(500))).toBe(false);
  });
});

describe('the questions', () => {
  const { questions } = readiness('Make the revoke flow nicer', 'It should feel modern.') as {
    questions: string[];
  };

  test('are concrete: about this issue, its words, and a test that would fail today', () => {
    expect(questions).toHaveLength(3);
    expect(questions[0]).toContain('"Make the revoke flow nicer"');
    expect(questions[1]).toContain('fail before the change and pass after it');
    expect(questions[2]).toContain('"nicer"');
    for (const question of questions) expect(question).toMatch(/[?.]$/);
  });

  test('come back at once, however long and hostile the text', () => {
    for (const flood of ['should ', 'when ', '`', '"', '(', 'a=', 'nicer ']) {
      expect(readiness('Make it nicer', flood.repeat(100_000)), flood).toMatchObject({ ready: false });
      expect(readiness(flood.repeat(100_000), 'Make it nicer'), flood).toMatchObject({ ready: false });
    }
  });
});
