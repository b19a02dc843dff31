import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { attachableTurn } from '../../../test/support/attachable-turn.ts';
import { ownFolder } from '../replace-file.ts';
import { interactiveClaude } from './attach.ts';
import { configDir } from './transcript.ts';

const SERVER = { name: 'docs', command: 'node', args: ['docs.js'] };

test('is started with the session, nothing of the branch’s own, and what a turn is granted', () => {
  const turn = attachableTurn({ model: 'sonnet', effort: 'low' });
  ownFolder(configDir(turn.sessionDir));
  const { argv, env } = interactiveClaude(
    turn,
    { ANTHROPIC_API_KEY: 'held-by-forge-loop' },
    [SERVER],
    'claude',
  );
  expect(argv.slice(0, 5)).toEqual(['claude', '--resume', turn.sessionId, '--permission-mode', 'manual']);
  expect(argv.join(' ')).toContain('--setting-sources  --strict-mcp-config --mcp-config ');
  expect(argv.join(' ')).toContain('--model sonnet --effort low');
  expect(env).toMatchObject({
    HOME: turn.home,
    CLAUDE_CONFIG_DIR: configDir(turn.sessionDir),
    ANTHROPIC_API_KEY: 'held-by-forge-loop',
  });
});

test('what it would ask a newcomer is answered, what it keeps itself stays, and no link is followed', () => {
  const turn = attachableTurn({});
  const path = join(configDir(turn.sessionDir), '.claude.json');
  ownFolder(configDir(turn.sessionDir));
  const kept = () => JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ theme: 'light', projects: { '/other': { a: 1 } } }));
  interactiveClaude(turn, { ANTHROPIC_API_KEY: 'held-by-forge-loop' }, [], 'claude');
  expect(kept()).toEqual({
    theme: 'light',
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved: ['held-by-forge-loop'], rejected: [] },
    projects: { '/other': { a: 1 }, [turn.cwd]: { hasTrustDialogAccepted: true } },
  });

  const outside = join(mkdtempSync(join(tmpdir(), 'outside-')), 'settings');
  writeFileSync(outside, 'of the operator');
  const other = attachableTurn({});
  ownFolder(configDir(other.sessionDir));
  symlinkSync(outside, join(configDir(other.sessionDir), '.claude.json'));
  interactiveClaude(other, {}, [], 'claude');
  expect(readFileSync(outside, 'utf8')).toBe('of the operator');
});
