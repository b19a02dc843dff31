/** The five issues of the demo, what each is there to show, and the course it is told to take. */
import type { Course } from './course.ts';

export interface DemoIssue {
  title: string;
  body: string;
  story: string;
  told: Course;
}

const ONE_SESSION = { outcome: 'merged' as const, sessions: 1, conflicts: [], asked: false };

export const ISSUES: readonly DemoIssue[] = [
  {
    title: 'Add sum(numbers)',
    body: `\`src/numbers.js\` gets \`sum\`, which adds up a list of numbers.

## Acceptance
- [ ] \`sum([1, 2, 3])\` returns 6
- [ ] \`sum([])\` returns 0
`,
    story: 'passes at once',
    told: { ...ONE_SESSION, prompts: ['task'], gates: ['pass'], verdicts: ['APPROVE'] },
  },
  {
    title: 'Capitalise every word',
    body: `\`src/text.js\` gets \`titleCase\`, for headings.

## Acceptance
- [ ] \`titleCase('the old man')\` returns \`'The Old Man'\`
`,
    story: 'fails its gate, is continued on the same session',
    told: {
      ...ONE_SESSION,
      prompts: ['task', 'continuation'],
      gates: ['fail', 'pass'],
      verdicts: ['APPROVE'],
    },
  },
  {
    title: 'Add slug(title)',
    body: `\`src/slug.js\` turns a title into a part of an address: small letters and digits, joined by single dashes.

## Acceptance
- [ ] \`slug('Hello World')\` returns \`'hello-world'\`
- [ ] a slug neither begins nor ends with a dash
`,
    story: 'the critic asks for changes, it is revised on the same session',
    told: {
      ...ONE_SESSION,
      prompts: ['task', 'revise'],
      gates: ['pass', 'pass'],
      verdicts: ['REQUEST_CHANGES', 'APPROVE'],
    },
  },
  {
    title: 'Add mean(numbers)',
    body: `\`src/numbers.js\` gets \`mean\`, the average of a list of numbers.

## Acceptance
- [ ] \`mean([2, 4])\` returns 3
- [ ] \`mean([])\` returns 0
`,
    story: 'touches the same lines as #1, which landed first: resolves the conflict',
    told: {
      ...ONE_SESSION,
      prompts: ['task', 'revise'],
      gates: ['pass', 'pass'],
      verdicts: ['APPROVE', 'APPROVE'],
      conflicts: ['src/numbers.js'],
    },
  },
  {
    title: 'Make the report nicer',
    body: `It looks dated. Please make it more modern, with a cleaner and friendlier feel.
`,
    story: 'a matter of taste: declined with questions, no task',
    told: {
      outcome: 'declined',
      sessions: 0,
      prompts: [],
      gates: [],
      verdicts: [],
      conflicts: [],
      asked: true,
    },
  },
];
