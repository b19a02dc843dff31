/** What the scripted agent does in place of a model. The format is described in docs/scripted-agent.md. */
import { join } from 'node:path';
import { quoted } from './shell.ts';

/**
 * The critic of #4 reads for as long as #1 needs to land, so that #4 always meets a trunk that moved. It stops waiting
 * after half a minute: when #1 fails, the demo has to end and say so.
 */
export const scriptFor = (project: string): string => `# Played instead of asking a model.
# The first rule whose "when" holds is taken.
rules:
  # 1: right at the first attempt.
  - when: { issue: 1, role: coder }
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
              assert.equal(sum([]), 0);
            });
      - commit: Add sum
      - say: Added sum with a test for a list and for none.

  # 2: its own test fails, because only the first word is capitalised.
  - when: { issue: 2, role: coder, round: 1 }
    steps:
      - sleepMs: 900
      - append:
          src/text.js: |

            export const titleCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);
      - write:
          test/title-case.test.js: |
            import assert from 'node:assert/strict';
            import { test } from 'node:test';
            import { titleCase } from '../src/text.js';

            test('capitalises every word', () => {
              assert.equal(titleCase('the old man'), 'The Old Man');
            });
      - say: Added titleCase.
  - when: { issue: 2, role: coder }
    steps:
      - expectPrompt:
          contains: [node --test, 'The Old Man']
          excludes: [for headings]
      - sleepMs: 900
      - write:
          src/text.js: |
            export const words = (text) => text.split(/\\s+/).filter((word) => word !== '');

            export const titleCase = (text) => text.replace(/\\b[a-z]/g, (letter) => letter.toUpperCase());
      - say: It only changed the first word; now it changes every one.

  # 3: passes its gate, but the critic finds what the tests do not show.
  - when: { issue: 3, role: coder, round: 1 }
    steps:
      - sleepMs: 1200
      - write:
          src/slug.js: |
            export const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
          test/slug.test.js: |
            import assert from 'node:assert/strict';
            import { test } from 'node:test';
            import { slug } from '../src/slug.js';

            test('joins words by dashes', () => {
              assert.equal(slug('Hello World'), 'hello-world');
            });
      - say: Added slug.
  - when: { issue: 3, role: critic, round: 1 }
    steps:
      - sleepMs: 700
      - answer:
          verdict: REQUEST_CHANGES
          summary: The second criterion is not met.
          findings:
            - severity: sev2
              category: correctness
              file: src/slug.js
              line: 1
              message: A title that ends with punctuation gives a slug that ends with a dash.
              scenario: slug('Ready, set, go!') returns 'ready-set-go-'
              suggestion: Trim dashes at both ends, and test it.
          criteria:
            - { id: c1, met: met, evidence: test/slug.test.js joins words by dashes }
            - { id: c2, met: unmet, evidence: src/slug.js line 1 }
  - when: { issue: 3, role: coder }
    steps:
      - expectPrompt:
          contains: [ready-set-go-]
          excludes: [part of an address]
      - sleepMs: 900
      - write:
          src/slug.js: |
            export const slug = (title) =>
              title
                .toLowerCase()
                .replace(/[^a-z0-9]+/g, '-')
                .replace(/^-|-$/g, '');
      - append:
          test/slug.test.js: |

            test('neither begins nor ends with a dash', () => {
              assert.equal(slug('Ready, set, go!'), 'ready-set-go');
              assert.equal(slug('"Quoted"'), 'quoted');
            });
      - say: Dashes at the ends are gone, with a test.

  # 4: begins together with 1 and changes the same lines; 1 lands first.
  - when: { issue: 4, role: coder, round: 1 }
    steps:
      - sleepMs: 1000
      - append:
          src/numbers.js: |

            export const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / Math.max(1, numbers.length);
      - write:
          test/mean.test.js: |
            import assert from 'node:assert/strict';
            import { test } from 'node:test';
            import { mean } from '../src/numbers.js';

            test('averages', () => {
              assert.equal(mean([2, 4]), 3);
              assert.equal(mean([]), 0);
            });
      - say: Added mean.
  - when: { issue: 4, role: critic, round: 1 }
    steps:
      - shell: |
          tries=0
          until [ -e ${quoted(join(project, 'test/sum.test.js'))} ] || [ $tries -ge 150 ]; do
            tries=$((tries + 1))
            sleep 0.2
          done
      - answer:
          verdict: APPROVE
          summary: Every criterion of the contract has a test.
          criteria:
            - { id: c1, met: met, evidence: test/mean.test.js averages }
            - { id: c2, met: met, evidence: test/mean.test.js averages }
  - when: { issue: 4, role: coder }
    steps:
      - expectPrompt:
          contains: [conflicts with changes that landed on trunk, src/numbers.js]
          excludes: [the average of a list]
      - shell: grep '^<<<<<<<' src/numbers.js && grep '^>>>>>>>' src/numbers.js
      - sleepMs: 900
      - shell: |
          grep -v '^[<=>]\\{7\\}' src/numbers.js > numbers.resolved
          mv numbers.resolved src/numbers.js
      - say: Kept both, sum from trunk and mean from here.

  # Whatever else is judged is good. Each criterion is judged by its id.
  - when: { issue: 2, role: critic }
    steps:
      - sleepMs: 500
      - answer:
          verdict: APPROVE
          summary: Every criterion of the contract has a test.
          criteria:
            - { id: c1, met: met, evidence: test/title-case.test.js capitalises every word }
  - when: { role: critic }
    steps:
      - sleepMs: 500
      - answer:
          verdict: APPROVE
          summary: Every criterion of the contract has a test.
          criteria:
            - { id: c1, met: met, evidence: a test of its own }
            - { id: c2, met: met, evidence: a test of its own }
          earlier:
            - { id: "1", addressed: "yes", why: dashes are trimmed at both ends and that is tested }
`;
