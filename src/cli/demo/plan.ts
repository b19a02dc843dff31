/** The plan of `demo --plan`, what the scripted agent does in place of a model, and the course it is told to take. */
import type { PlanCourse } from './plan-course.ts';

export const PLAN_NAME = 'numbers-in-words';

export const PLAN_TEXT = `<!-- forge-plan:start -->
# Numbers in words

Loop Name: ${PLAN_NAME}

Objective: the report of tally tells the sum, with a heading.

<!-- forge-section -->
## Add sum

### Files
- src/numbers.js, test/sum.test.js

### Edits
- Add \`sum\`, which adds up a list of numbers.

### Acceptance Criteria
- \`sum([1, 2, 3])\` returns 6.

### Verification
- \`node --test\`

<!-- forge-section -->
## Add titleCase

### Files
- src/text.js, test/title-case.test.js

### Edits
- Add \`titleCase\`, for headings.

### Acceptance Criteria
- Every word begins with a capital.

### Verification
- \`node --test\`

<!-- forge-section -->
## Report the sum

### Files
- src/report.js, test/report.test.js

### Edits
- Add \`summary\`, with a heading and the sum.

### Acceptance Criteria
- \`summary('in all', [1, 2])\` returns \`'In All: 3'\`.

### Verification
- \`node --test\`

## Verification

- \`node --test\`

<!-- forge-plan:end -->
`;

export const PLAN_TOLD: PlanCourse = {
  status: 'completed',
  turns: ['plan', 'audit', 'plan', 'audit', 'plan', 'audit', 'plan', 'audit', 'final_audit', 'post_action'],
  audits: ['clean', 'dirty', 'clean', 'clean', 'clean'],
  amended: [3],
  commits: ['section 1: Add sum', 'section 2: Add titleCase', 'section 3: Report the sum'],
  open: 0,
  summary: 'All three milestones are on the branch, and every test passes.',
};

export const PLAN_SCRIPT = `# Played instead of asking a model.
# The first rule whose "when" holds is taken.
rules:
  # 1: right at the first attempt. Its auditor sees that a later milestone leaves something open.
  - when: { role: coder, round: 1 }
    steps:
      - sleepMs: 600
      - append:
          src/numbers.js: |

            export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
      - write:
          test/sum.test.js: |
            import assert from 'node:assert/strict';
            import { test } from 'node:test';
            import { sum } from '../src/numbers.js';

            test('adds up', () => {
              assert.equal(sum([1, 2, 3]), 6);
            });
      - say: Added sum with a test.
  - when: { role: auditor, round: 1 }
    steps:
      - sleepMs: 500
      - answer:
          clean: true
          summary: { done: sum adds up a list; of none it is 0. }
          amendments:
            - milestone: 3
              rationale: the plan does not say what is reported of an empty list
              text: |
                ## Report the sum

                ### Files
                - src/report.js, test/report.test.js

                ### Edits
                - Add \`summary\`, with a heading and the sum.

                ### Acceptance Criteria
                - \`summary('in all', [1, 2])\` returns \`'In All: 3'\`.
                - \`summary('in all', [])\` returns \`'In All: nothing'\`.

                ### Verification
                - \`node --test\`

  # 2: its own test passes, but its auditor finds what the test does not show.
  - when: { role: coder, round: 2 }
    steps:
      - sleepMs: 700
      - append:
          src/text.js: |

            export const titleCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);
      - write:
          test/title-case.test.js: |
            import assert from 'node:assert/strict';
            import { test } from 'node:test';
            import { titleCase } from '../src/text.js';

            test('capitalises', () => {
              assert.equal(titleCase('total'), 'Total');
            });
      - say: Added titleCase.
  - when: { role: auditor, round: 2 }
    steps:
      - sleepMs: 500
      - answer:
          clean: false
          findings:
            - severity: bug
              file: src/text.js
              line: 3
              description: Only the first word gets a capital.
              scenario: titleCase('the old man') returns 'The old man'
  - when: { role: coder, round: 3 }
    steps:
      - expectPrompt: { contains: [the old man, 'iteration 2'] }
      - sleepMs: 700
      - write:
          src/text.js: |
            export const words = (text) => text.split(/\\s+/).filter((word) => word !== '');

            export const titleCase = (text) => text.replace(/\\b[a-z]/g, (letter) => letter.toUpperCase());
      - append:
          test/title-case.test.js: |

            test('capitalises every word', () => {
              assert.equal(titleCase('the old man'), 'The Old Man');
            });
      - say: Every word gets its capital now, with a test.
  - when: { role: auditor, round: 3 }
    steps:
      - expectPrompt: { contains: [Only the first word gets a capital] }
      - sleepMs: 500
      - answer:
          clean: true
          resolved: [{ id: "1", why: every word is covered and tested }]
          summary: { done: titleCase gives every word a capital. }

  # 3: as amended.
  - when: { role: coder, round: 4 }
    steps:
      - expectPrompt: { contains: ['In All: nothing', titleCase gives every word a capital] }
      - sleepMs: 700
      - write:
          src/report.js: |
            import { max, sum } from './numbers.js';
            import { titleCase } from './text.js';

            export const report = (numbers) => \`\${numbers.length} numbers, the largest is \${max(numbers)}\`;

            export const summary = (heading, numbers) =>
              \`\${titleCase(heading)}: \${numbers.length === 0 ? 'nothing' : sum(numbers)}\`;
          test/report.test.js: |
            import assert from 'node:assert/strict';
            import { test } from 'node:test';
            import { summary } from '../src/report.js';

            test('sums up under a heading', () => {
              assert.equal(summary('in all', [1, 2]), 'In All: 3');
              assert.equal(summary('in all', []), 'In All: nothing');
            });
      - say: Added summary, also for an empty list.
  - when: { role: auditor, round: 4 }
    steps:
      - sleepMs: 500
      - answer: { clean: true, summary: { done: summary has a heading and the sum. } }

  # The whole, and what runs after it.
  - when: { role: auditor }
    steps:
      - sleepMs: 500
      - answer: { clean: true, summary: { done: the parts go together. } }
  - when: { role: coder }
    steps:
      - sleepMs: 400
      - say: ${PLAN_TOLD.summary}
`;
