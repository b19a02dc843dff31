import { expect, test } from 'vitest';
import { notReady } from './doctor.ts';

test('what several roles lack alike is said once, with its advice', () => {
  const lacks = { what: 'agent.command is not set', fix: 'Edit WORKFLOW.md.' };
  const { message, hint } = notReady([lacks, { what: 'git is missing.', fix: null }, lacks]);
  expect(message).toBe('Not ready to run: agent.command is not set; git is missing.');
  expect(hint).toBe('Edit WORKFLOW.md.');
});
