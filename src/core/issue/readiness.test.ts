/** Ready, thin, unsure or declined: the examples are the rule. */
import { describe, expect, test } from 'vitest';
import { type Readiness, readiness } from './readiness.ts';

const judged = (title: string, body: string): string => {
  const { decision, thin } = readiness(title, body);
  return thin ? 'thin' : decision;
};
const longBackground =
  'Some background about how we got here and why it matters to people who read tables. '.repeat(60);

describe('ready: what is to be observed is said (dispatch 12)', () => {
  test.each([
    [
      'Revoke asks first',
      'Clicking Revoke opens a role=alertdialog; ESC closes it; confirm POSTs /tokens/<id>/revoke',
    ],
    [
      'Make the revoke flow nicer',
      'Clicking Revoke opens a dialog with the text "Revoke token?"; ESC closes it.',
    ],
    // Criteria, in whatever form they come.
    ['Improve the parser', '- [ ] parses `a,b` into two fields\n- [ ] rejects an unclosed quote'],
    ['Nicer dates', '## Acceptance criteria\n\nDates are shown as 2024-05-01.'],
    ['Sessions', '**Definition of done**\n\nA session ends after thirty minutes without a click.'],
    ['Better validation', 'Given an empty name, when the form is sent, then the field shows an error.'],
    ['Nicer errors', 'Given a missing file\nWhen it is opened\nThen its name is in the message'],
    ['Refactor the store behind an interface', 'Verify: npm test && npx depcheck src/store'],
    [
      'Password reset',
      '```gherkin\nGiven a user who forgot the password\nWhen they ask for a link\nThen it is mailed\n```',
    ],
    ['Export', '1. [ ] the file has a header line\n2. [ ] umlauts survive'],
    // Post-conditions that name a value, a place or a symbol.
    [
      'Improve the error for a missing file',
      'Running `cat-it nope.txt` prints `nope.txt: not found` to stderr and exits 2.',
    ],
    ['Clean up temp files', 'After a run, `ls $TMPDIR/app-*` is empty.'],
    ['Improve startup time', '`app --version` returns in under 200 ms on the CI machine.'],
    ['Simplify config', 'config.load() returns the same object for YAML and JSON input.'],
    ['Add a /health endpoint', 'GET /health responds 200 with {"ok":true}.'],
    ['Support Node 24', 'The tests pass on Node 24.'],
    ['Improve retry', 'The client retries 3 times on HTTP 503, then throws RetryError.'],
    [
      'Prettier output for --help',
      'Each option of `--help` is on one line, no line is longer than 80 columns.',
    ],
    ['Use prettier', 'Add prettier 3 as a dev dependency; `npx prettier --check .` exits 0.'],
    ['Add', 'add(2, 3) returns 5'],
    ['Slugs', 'slug("Hello World") equals "hello-world"'],
    ['Rate limit', 'The 101st request within a minute must be answered with 429 and a Retry-After header.'],
    ['Cache headers', 'Responses for /assets should contain `Cache-Control: immutable`.'],
    ['Add dark mode', 'The toggle sets `data-theme=dark` on <html>, and localStorage `theme` is `dark`.'],
    ['Fix all lint errors', '`npx biome check .` exits 0.'],
    [
      'Better names in the API',
      'Rename `getUsr` to `getUser` in src/api.ts and everywhere it is used; `grep -r getUsr src` finds nothing.',
    ],
    [
      'A long but checkable issue that asks for a nicer table',
      `${longBackground}\n\n- [ ] \`table([])\` returns an empty string`,
    ],
    // Reports with what happens and what should.
    ['Crash when the list is empty', 'sum([]) throws. It should return 0.'],
    [
      'Login fails after a password change',
      '### Steps to reproduce\n1. change the password\n2. log in with the new one\n\n### Expected\nI am logged in\n\n### Actual\nthe form comes back without a word',
    ],
    [
      'Wrong total in the cart',
      '**To reproduce**: put two shirts in the cart.\n**Expected**: the sum of both.\n**Actual**: the price of one.',
    ],
    ['Sorting', 'I sorted by date and expected the newest on top, but got the oldest.'],
    [
      'Template filled in by somebody in a hurry',
      '<!-- Please describe the bug as clearly as possible, make it nicer to read -->\n- [x] I have searched existing issues\n\nWhat happens: the menu stays open\nExpected: it closes',
    ],
    // Changes that are their own check.
    ['Fix typo in README: teh → the', ''],
    ['Fix typo', 'In README.md, "recieve" should be "receive".'],
    ['Typo on the start page: it should read weather, not whether', ''],
    ['Upgrade zod to 4', ''],
    ['Bump the minimum Node version from 18 to 20', ''],
    ['Rename `fetchAll` to `list`', ''],
    ['Replace moment.js with date-fns', ''],
    ['Remove the deprecated `--legacy` flag', ''],
    ['Revert src/cache.ts to what it was before the last release', ''],
    // Another language is judged by the same signs.
    ['Summe einer leeren Liste', '`sum([])` muss 0 liefern.\n\n- [ ] `sum([])` liefert 0'],
    ['エクスポート', '- [ ] CSVの1行目は見出し'],
    ['La recherche', '### Acceptance\nUne recherche vide ne change pas la liste.'],
  ])('%s', (title, body) => {
    expect(judged(title, body)).toBe('ready');
    expect(readiness(title, body)).toMatchObject({ checkable: true, problem: '', questions: [] });
  });
});

describe('thin: it is clear what it is about, not yet what one should see', () => {
  test.each([
    ['Add `--json` to the status command', ''],
    ['parseDate crashes on leap days', ''],
    ['Handle EPIPE in src/cli/output.ts', ''],
    ['TypeError when saving a profile without a picture', 'It is broken since the last release.'],
    ['Support .env.local files', 'We need loadEnv to know about it.'],
    ['The importer hangs', 'It hangs on this file:\n\n```\na;b;c\n```'],
    ['Allow src/plugins to be a symbolic link', ''],
  ])('%s', (title, body) => {
    expect(judged(title, body)).toBe('thin');
    expect(readiness(title, body).checkable).toBe(true);
  });
});

describe('unsure: nothing to check, and nothing that forbids it; somebody has to read it', () => {
  test.each([
    ['Add dark mode', ''],
    ['Dark mode', 'Add a dark theme. It would be better for my eyes.'],
    ['Search is slow', 'On my machine it takes ages.'],
    ['Login broken', ''],
    ['Two-factor authentication', 'Customers ask for it again and again.'],
    ['Refactor `UserService` to use `HttpClient`', ''],
    ['Optimise queryUsers', 'It does one query per row.'],
    ['Add a tooltip to every button', ''],
    ['Log `userId` on every request', ''],
    ['Fix all lint errors', ''],
    ['Improve everything', 'Make it all nicer, and `npm test` exits 0.'],
    ['x', ''],
    ['', ''],
    ['???', '!!!'],
    // Other languages, never declined merely for that.
    ['Die Anmeldung merkt sich den Namen nicht', 'Nach dem Abmelden ist das Feld leer.'],
    ['Añadir un modo oscuro', 'Los usuarios lo piden desde hace meses.'],
    ['ボタンの色を変更する', '設定画面の保存ボタンを青にしてください。'],
    ['Добавить экспорт в CSV', 'Нужна кнопка на странице отчётов.'],
    ['اضافة الوضع الليلي', ''],
    // A template nobody filled in.
    ['New feature', '## Acceptance criteria\n\n## Notes\n\n- [ ] I have read the contributing guide'],
  ])('%s', (title, body) => {
    const answer = readiness(title, body);
    expect(answer.decision).toBe('unsure');
    expect(answer.questions.length).toBeGreaterThanOrEqual(2);
  });
});

describe('declined: taste, too many criteria or no end, and nothing that could be checked (dispatch 12)', () => {
  test.each([
    ['Make the revoke flow nicer', '', 'taste'],
    ['Make the revoke flow nicer', 'The revoke flow is a bit clunky. Please make it nicer.', 'taste'],
    ['Improve the dashboard', 'It should look better and feel more modern.', 'taste'],
    ['Clean up the code', 'The code in the parser is messy, please clean it up.', 'taste'],
    ['Refactor', 'Refactor the payment module so that it is more readable and elegant.', 'taste'],
    ['Refactor the billing module', '', 'taste'],
    ['Polish the onboarding', 'Users should have a better first impression.', 'taste'],
    ['Better error messages', 'The error messages are not user-friendly. They should be better.', 'taste'],
    [
      'Modernize the UI',
      'Our UI looks like 2009. Make it sleek and beautiful, like https://example.com/pricing.',
      'taste',
    ],
    [
      'Settings page feels off',
      'Something about the settings page feels off. It should be more intuitive.',
      'taste',
    ],
    ['Improve performance', 'The app must be faster. It should be snappy and feel good.', 'taste'],
    ['Simplify the API', 'The API is too complicated. Developers should enjoy using it.', 'taste'],
    ['Nicer logs', 'Logs should be prettier and easier on the eye.', 'taste'],
    ['Improve the docs', 'The docs should read better. See README.md for what we have today.', 'taste'],
    [
      'Make the landing page beautiful',
      `${'Our landing page is the first thing people see, and it should make them feel welcome. '.repeat(40)}
       Please make it more beautiful and polished, in the spirit of 2024.`,
      'taste',
    ],
    [
      'Tidy up',
      'We have 3 modules that grew over 5 years. Tidy up where it makes sense, improve names, and make the whole thing nicer to work with.',
      'taste',
    ],
    ['Cleaner code', 'The "utils" folder should be cleaner.', 'taste'],
    ['Revoke flow', 'Please make it nicer.', 'taste'],
    ['Welcome', 'When people see the page, then they should feel that it is polished.', 'taste'],
    ['Checklist', '- [ ] it looks nicer\n- [ ] it feels right\n\nIt should be nicer.', 'taste'],
    ['Faster builds', '', 'taste'],
    ['Rewrite the app from scratch', '', 'unbounded'],
    ['Fix everything', 'Please fix everything that is wrong.', 'unbounded'],
    ['Migrate the whole codebase to TypeScript', 'We want types.', 'unbounded'],
    ['Fix all bugs', '', 'unbounded'],
    ['Tests', 'Write tests for the entire application.', 'unbounded'],
    ['A long list', '- [ ] `f()` returns 1\n'.repeat(1500), 'too_many'],
  ])('%s: %s', (title, body, rule) => {
    const answer = readiness(title, body);
    expect(answer).toMatchObject({ decision: 'declined', checkable: false, thin: false });
    expect(answer.rules.filter(({ points }) => points <= -3).map((one) => one.rule)).toContain(rule);
    expect(answer.questions.length).toBeGreaterThanOrEqual(3);
  });
});

describe('what looks like taste and is none', () => {
  test.each([
    ['Add the option `pretty`', ''],
    ['Support --pretty in the printer.ts command', ''],
    ['Clean up temp files on exit', ''],
    ['Clean up the old worktrees after a merge', ''],
    ['Use prettier', ''],
    ['Pretty-print JSON in `show`', ''],
    ['Dark mode', 'Add it. The old one was nice too.'],
  ])('%s', (title, body) => {
    expect(readiness(title, body).rules.map(({ rule }) => rule)).not.toContain('taste');
  });
});

describe('length alone decides nothing (dispatch 12)', () => {
  test('the shortest checkable text is taken, the longest text of taste is declined', () => {
    expect(judged('x', 'f() returns 1')).toBe('ready');
    expect(judged('Make it nicer', 'It should be nicer in every way. '.repeat(500))).toBe('declined');
  });

  test.each([
    ['unsure', 'Add dark mode', 'People have asked for it. '],
    ['thin', 'parseDate crashes on leap days', 'It was like that before. '],
    ['ready', 'f() returns 1', 'It was like that before. '],
    ['declined', 'Make it nicer', 'It was like that before. '],
  ])('saying more of the same leaves it %s', (expected, title, more) => {
    expect(judged(title, '')).toBe(expected);
    expect(judged(title, more.repeat(1000))).toBe(expected);
  });
});

describe('the answer', () => {
  const answer: Readiness = readiness('Make the revoke flow nicer', 'It should feel modern.');

  test('asks what is concrete: about this issue, its words, and a test that would fail today', () => {
    const { questions } = answer;
    expect(questions).toHaveLength(3);
    expect(questions[0]).toContain('"Make the revoke flow nicer"');
    expect(questions[1]).toContain('fail before the change and pass after it');
    expect(questions[2]).toContain('"nicer"');
    for (const question of questions) expect(question).toMatch(/[?.]$/);
  });

  test('names each rule with its points and the words it rests on, and the score is their sum', () => {
    const both = readiness('Make the revoke flow nicer', 'ESC closes the dialog "Revoke token?".');
    expect(both.rules).toEqual([
      { rule: 'post_condition', points: 5, because: '"ESC closes the dialog "Revoke token?"."' },
      { rule: 'taste', points: -3, because: '"nicer"' },
    ]);
    expect(both.score).toBe(2);
    expect(answer).toMatchObject({ score: -3, problem: 'it is a matter of taste' });
  });

  test('says how many criteria are too many, and asks where an open end is', () => {
    const list = (n: number) => readiness('A long list', '- [ ] `f()` returns 1\n'.repeat(n));
    expect(list(50).decision).toBe('ready');
    const long = list(1500);
    expect(long.problem).toBe('it lists more than 50 criteria');
    expect(long.questions[0]).toContain('1500 criteria, of which only the first 49 are judged one by one');
    const endless = readiness('Migrate the whole codebase to TypeScript', '');
    expect(endless.problem).toBe('it has no end');
    expect(endless.questions.at(-1)).toContain('"whole codebase"');
  });

  test('demands that exclude each other are for the specifier to find', () => {
    expect(judged('Retry', 'The client must retry. It must never retry.')).not.toBe('declined');
  });

  const list = (...criteria: string[]): string => criteria.map((one) => `- [ ] ${one}\n`).join('');

  test.each([
    [['`sum([])` returns 0', '`sum([])` throws a RangeError']],
    [['sum([]) returns 0.', 'sum([]) must return 1.']],
    [['`cli --x` exits with 0', '`cli --x` exits 2']],
    [['createUser rejects an empty name', 'accepts an empty name and stores it']],
    [['`list` is sorted ascending', 'sorted descending']],
    [['The names are sorted ascending by date', 'The names are sorted descending by date.']],
    [['An empty name is rejected', 'The parser is fast', 'An empty name is allowed']],
    [['`createUser` stores the password', '`createUser` must not store the password']],
    [['The error is shown in `/log`', "The error isn't shown in `/log`"]],
    [['The `name` field is required', 'The `name` field is optional']],
    [['The `name` field is not optional', 'The `name` field is optional']],
    [['The client must always retry', 'The client must never retry']],
    [['`import` keeps comments', '`import` drops comments']],
  ])('%j: two results of one input are for the specifier to judge', (criteria) => {
    const { decision, checkable, problem, questions } = readiness('Add sum', list(...criteria));
    expect({ decision, checkable, problem }).toEqual({
      decision: 'unsure',
      checkable: true,
      problem: 'two of its criteria may contradict each other',
    });
    expect(questions[0]).toMatch(/^Can these both hold: .+ and .+\? If not, which one does, and when\?$/);
  });

  test.each([
    [['`sum([])` returns 0', '`sum([1])` returns 1']],
    [['`sum([])` returns 0', '`sum([])` returns 0']],
    [['`GET /users` returns 200', '`GET /users` returns a JSON list']],
    [['`read(path)` returns the text', '`read(path)` throws when the file is missing']],
    [['createUser rejects an empty name', 'updateUser accepts an empty name']],
    [['createUser rejects an empty name', 'createUser accepts an empty nickname']],
    [['createUser rejects an empty name', 'createUser accepts an empty name when `lenient` is set']],
    [['createUser rejects an empty name', 'accepts an empty name, unless `strict` is set']],
    [['With `--desc` the `list` is sorted descending', 'sorted ascending']],
    [['`list --desc` prints names sorted descending', '`list` prints names sorted ascending']],
    [['sorted ascending by `name`', 'sorted descending by `date`']],
    [['`name` is sorted ascending by default', '`name` is sorted descending with `--reverse`']],
    [['Admins are allowed to delete `/posts`', 'Guests are not allowed to delete `/posts`']],
    [['Expired tokens are rejected by `auth()`', 'Tokens are accepted by `auth()`']],
    [['`save()` stores the draft and does not close the dialog', 'Cancel closes the dialog']],
    [['`fetch` does not retry', '`fetch` does not log']],
    [['Clicking `Eye` shows the password', 'Clicking `Eye` again hides the password']],
    [['a valid `token` passes', 'an invalid `token` fails']],
    [['`--all` includes drafts', '`list` excludes drafts']],
    [['The dialog `#a` opens', 'The dialog `#a` closes']],
  ])('%j: both can hold', (criteria) => {
    expect(readiness('Add sum', list(...criteria)).decision).toBe('ready');
  });

  test.each([
    '### Strict mode\n- [ ] rejects `unknown` keys\n### Lenient mode\n- [ ] accepts `unknown` keys',
    '- In strict mode:\n  - [ ] rejects `unknown` keys\n- In lenient mode:\n  - [ ] accepts `unknown` keys',
  ])('%j: each below a heading of its own, both can hold', (body) => {
    expect(readiness('Unknown keys', body).decision).toBe('ready');
  });

  test('comes in time that grows with the text, however long and hostile it is', () => {
    const floods = [
      ...[
        'should ',
        'when ',
        '`',
        '"',
        '(',
        'a=',
        'nicer ',
        '<!--',
        'it must not ',
        '- [ ] nicer\n',
        '```\n',
      ],
      ...['expected ', 'rename ', '#', '**', ':\n', 'a.', '->', '--a', '_a', 'aA', 'must be x. ', '\u3002'],
    ];
    for (const flood of floods) {
      const inBody = readiness('Make it nicer', flood.repeat(20_000));
      const inTitle = readiness(flood.repeat(20_000), 'Make it nicer');
      expect([inBody.decision, inTitle.decision], flood).not.toContain('ready');
    }
  });
});
