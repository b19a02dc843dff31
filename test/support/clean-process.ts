import { afterAll, expect } from 'vitest';

// Test files share a process: what one leaves in the environment, the next would find.
const { env } = process;
const before = { ...env };

afterAll(() => {
  const left = { ...process.env };
  const isReplaced = process.env !== env;
  process.env = env;
  for (const name of Object.keys(env)) if (!(name in before)) delete env[name];
  Object.assign(env, before);
  expect(isReplaced, 'a test replaced process.env').toBe(false);
  expect(left, 'a test changed the environment and did not restore it').toEqual(before);
});
