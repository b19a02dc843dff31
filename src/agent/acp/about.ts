/** Which programs that speak ACP are here, and who pays for each. A program of the operator's own is not asked: it is theirs. */
import type { AgentPolicy } from '../../core/policy.ts';
import type { About, SignIn } from '../agent.ts';
import { signInOf as ofClaude } from '../claude/credential.ts';
import { signInOf as ofCodex } from '../codex/credential.ts';
import { signInOf as ofOpencode } from '../opencode/provider.ts';
import { type Environment, newerNodeFor, versionOf } from '../program-path.ts';
import { isPreset, PRESETS, type Preset, programOf } from './presets.ts';

export async function aboutAcp(
  configured: readonly AgentPolicy[],
  operator: Environment,
  now: number,
): Promise<About[]> {
  const own = configured.filter(({ preset, command }) => command !== null && !(preset && isPreset(preset)));
  return [
    ...(await Promise.all(PRESETS.map(aboutPreset))),
    ...[...new Set(own.map(({ command }) => command))].map((command) => ({
      name: `acp \`${command}\``,
      installed: true,
      version: null,
      signIn: { unknown: 'it is a program of your own' },
    })),
  ];

  async function aboutPreset(preset: Preset): Promise<About> {
    const argv = await programOf(preset, operator);
    const wantsNode = argv && (await newerNodeFor(argv));
    return {
      name: `acp ${preset}`,
      installed: argv !== null,
      version: argv && (await versionOf(argv)),
      ...(wantsNode && { wantsNode }),
      signIn: await signInOf(preset),
    };
  }

  async function signInOf(preset: Preset): Promise<SignIn> {
    switch (preset) {
      case 'claude-agent-acp':
        return ofClaude(operator, now);
      case 'codex-acp':
        return ofCodex(operator, now);
      case 'opencode': {
        const mine = configured.filter((policy) => policy.preset === preset);
        return ofOpencode(
          mine.flatMap(({ model }) => model ?? []),
          operator,
        );
      }
      case 'gemini':
        return operator.GEMINI_API_KEY ? { by: 'GEMINI_API_KEY' } : 'none';
    }
  }
}
