import { mkdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { attachableTurn } from '../../../test/support/attachable-turn.ts';
import { interactiveCodex } from './attach.ts';
import { writeThread } from './thread.ts';

test('is started with the thread of the session, where and as far as a turn may work', async () => {
  const turn = attachableTurn({ model: 'gpt-5', effort: 'high' });
  mkdirSync(turn.sessionDir, { recursive: true });
  await expect(interactiveCodex(turn)).rejects.toThrow('names no thread');
  await writeThread(turn.sessionDir, 'thread-1');
  const argv = (await interactiveCodex(turn)).join(' ');
  expect(argv).toContain(`resume thread-1 --no-daemon --cd ${turn.cwd}`);
  expect(argv).toContain('--sandbox danger-full-access --ask-for-approval on-request');
  expect(argv).toContain('--model gpt-5 -c model_reasoning_effort="high"');
});
