import { expect, test } from 'vitest';
import { rolesInUse } from './role.ts';

test.each([
  [true, 'auto', ['specifier', 'coder', 'critic']],
  [false, 'propose', ['specifier', 'coder']],
  [true, 'off', ['coder', 'critic']],
  [false, 'off', ['coder']],
] as const)('with the critic on: %s and spec.expand: %s, %j are asked', (enabled, expand, roles) => {
  const critic = { enabled } as Parameters<typeof rolesInUse>[0]['critic'];
  expect(rolesInUse({ critic, spec: { expand } })).toEqual(roles);
});
