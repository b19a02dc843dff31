import { expect, test } from 'vitest';
import { rolesInUse } from './role.ts';

test.each([
  [true, 'auto', ['specifier', 'coder', 'critic', 'auditor']],
  [false, 'propose', ['specifier', 'coder', 'auditor']],
  [true, 'off', ['coder', 'critic', 'auditor']],
  [false, 'off', ['coder', 'auditor']],
] as const)('with the critic on: %s and spec.expand: %s, %j are asked', (enabled, expand, roles) => {
  const critic = { enabled } as Parameters<typeof rolesInUse>[0]['critic'];
  expect(rolesInUse({ critic, spec: { expand } })).toEqual(roles);
});
