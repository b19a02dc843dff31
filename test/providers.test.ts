/** docs/providers.md is written from what the scripted model sends and what the real programs made of it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { FailureCode } from '../src/agent/agent.ts';
import { ANSWERED, MEANS, PROVIDER_ERRORS } from './support/llm/provider-errors.ts';
import { CARRIERS, SEEN } from './support/llm/seen.ts';

const path = fileURLToPath(new URL('../docs/providers.md', import.meta.url));

/** What the loop does about each; docs/reasons.md has the whole of it. */
const DOES: Partial<Record<FailureCode, string>> = {
  billing: 'the account waits for you (`account_empty`), or until the time that the provider named',
  auth: 'after three in a row the account waits for you (`credential_refused`)',
  model_unavailable:
    'asks the next of `fallback_models`; without one the account waits for another setting (`setting_refused`)',
  setting_refused: 'the account waits for another setting (`setting_refused`)',
  rate_limit: 'tries again later; three in a row are an outage, which no task pays for',
  overload: 'tries again later; three in a row are an outage, which no task pays for',
  network: 'tries again later; three in a row are an outage, which no task pays for',
  context_overflow: '`session.when_full` decides: a new session takes over, or the task ends',
};

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const short = (text: string): string => (text.length > 90 ? `${text.slice(0, 89).trimEnd()}…` : text);
const row = (...cells: string[]): string => `| ${cells.map(cell).join(' | ')} |`;
const table = (head: string[], rows: string[][]): string =>
  [row(...head), `|${'---|'.repeat(head.length)}`, ...rows.map((cells) => row(...cells))].join('\n');

const answered = table(
  ['', 'Anthropic Messages', 'OpenAI Responses', 'OpenAI Chat Completions', 'Gemini generateContent', 'code'],
  PROVIDER_ERRORS.map((error) => [
    error,
    ...(['messages', 'responses', 'chat', 'generateContent'] as const).map((wire) => {
      const { status, body, midStream } = ANSWERED[wire][error];
      return `${midStream ? 'in a stream' : status}: ${short(body.error.message)}`;
    }),
    `\`${MEANS[error]}\``,
  ]),
);

const done = table(
  ['code', 'what the loop does'],
  Object.entries(DOES).map(([code, does]) => [`\`${code}\``, does]),
);

const seen = table(
  ['agent', 'what its provider says', 'code', 'what you read'],
  CARRIERS.flatMap((carrier) =>
    SEEN[carrier].map(({ error, said, code = MEANS[error] }) => [carrier, error, `\`${code}\``, short(said)]),
  ),
);

const PAGE = `# What providers say, and what the loop does

On a bad night an account is empty, a login expires, a provider is down. None of that is a task's fault, and no
coder can fix it: the turn is repeated with the same prompt and counts towards no limit of the task. A problem that affects every task
pauses the account, once, until you run \`forge-loop resume\`. Details are in [reasons.md](reasons.md).

## What they say

Word for word, cut after a line; what each means is the same whichever agent carries it.

${answered}

## What the loop does

${done}

## What becomes of it on the way

Programs hand errors on in their own words. These were seen with the real ones, at the versions in
[agents.md](agents.md); \`npm run test:agents\` sees them again.

${seen}
`;

test('docs/providers.md says what is sent and what was seen', () => {
  if (process.env.UPDATE_DOCS) writeFileSync(path, PAGE);
  expect(readFileSync(path, 'utf8')).toBe(PAGE);
});

test('every code that a provider’s error has is explained', () => {
  const codes = [
    ...Object.values(MEANS),
    ...CARRIERS.flatMap((carrier) => SEEN[carrier].flatMap(({ code }) => code ?? [])),
  ];
  expect(Object.keys(DOES)).toEqual(expect.arrayContaining(codes));
});
