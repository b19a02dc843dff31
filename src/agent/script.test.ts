import { expect, test } from 'vitest';
import { parseScript } from './script.ts';

test('a script is YAML or JSON, with rules and a default', () => {
  const yaml = parseScript(
    'rules:\n  - when: { issue: 1, role: coder }\n    steps: [{ say: hi }]\n',
    's.yaml',
  );
  expect(yaml).toEqual({ rules: [{ when: { issue: 1, role: 'coder' }, steps: [{ say: 'hi' }] }] });
  expect(parseScript('{"default":[{"answer":null}]}', 's.json')).toEqual({
    rules: [],
    default: [{ answer: null }],
  });
});

test('an error names the rule, the step and the key', () => {
  const script = (steps: string) => () =>
    parseScript(`rules: [{ steps: [] }, { steps: [{ say: a }, ${steps}] }]`, 's.yaml');
  expect(script('{ wirte: { a: b } }')).toThrow(/s\.yaml is invalid: rule 2, step 2: .*wirte/);
  expect(script('{ sleepMs: soon }')).toThrow(/rule 2, step 2, sleepMs: /);
  expect(script('{ say: a, shell: b }')).toThrow(/rule 2, step 2: a step does exactly one thing/);
  expect(script('{ write: { ../a: b } }')).toThrow(/rule 2, step 2, write.*inside the workspace/);
  expect(() => parseScript('rules: [{ when: { role: boss }, steps: [] }]', 's.yaml')).toThrow(
    /rule 1, when, role/,
  );
  expect(() => parseScript('a: [', 's.yaml')).toThrow(/s\.yaml is not YAML/);
});
