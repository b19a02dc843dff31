import { expect, test } from 'vitest';
import { rolesInUse } from './role.ts';

test.each([
  [true, 'auto', ['specifier', 'coder', 'critic', 'auditor', 'planner']],
  [false, 'propose', ['specifier', 'coder', 'auditor', 'planner']],
  [true, 'off', ['coder', 'critic', 'auditor', 'planner']],
  [false, 'off', ['coder', 'auditor', 'planner']],
] as const)('with the critic on: %s and spec.expand: %s, %j are asked', (enabled, expand, roles) => {
  const critic = { enabled } as Parameters<typeof rolesInUse>[0]['critic'];
  expect(rolesInUse({ critic, spec: { expand } })).toEqual(roles);
});
