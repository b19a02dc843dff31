import { expect, test } from 'vitest';
import { baseKey, createFacts } from './facts.ts';

test('what was set longest ago is forgotten first', () => {
  const facts = createFacts(3);
  facts.set(baseKey('trunk', 'a'), 'base');
  facts.set(baseKey('trunk', 'b'), 'base');
  facts.set('tree a', 't');
  facts.set(baseKey('a', 'trunk'), 'base');
  facts.set('tree b', 't');
  expect(facts.has(baseKey('trunk', 'b'))).toBe(false);
  expect(facts.get(baseKey('trunk', 'a'))).toBe('base');
});
