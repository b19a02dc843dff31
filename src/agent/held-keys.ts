/** The keys of providers that the gateway holds for programs of the operator's own, which find their provider by variables. */
import { HELD_KEYS } from '../core/policy.ts';
import { type Passage, PLACEHOLDER } from './passage.ts';

type Environment = Readonly<Record<string, string>>;

const PROVIDERS: Readonly<
  Record<
    (typeof HELD_KEYS)[number],
    {
      url: string;
      upstream: string;
      speaks: Parameters<NonNullable<Passage['route']>>[0]['speaks'];
      proof(key: string): Record<string, string>;
    }
  >
> = {
  ANTHROPIC_API_KEY: {
    url: 'ANTHROPIC_BASE_URL',
    upstream: 'https://api.anthropic.com',
    speaks: ['messages'],
    proof: (key) => ({ 'x-api-key': key }),
  },
  OPENAI_API_KEY: {
    url: 'OPENAI_BASE_URL',
    upstream: 'https://api.openai.com/v1',
    speaks: ['responses', 'chat'],
    proof: (key) => ({ authorization: `Bearer ${key}` }),
  },
  GEMINI_API_KEY: {
    url: 'GOOGLE_GEMINI_BASE_URL',
    upstream: 'https://generativelanguage.googleapis.com',
    speaks: ['generate'],
    proof: (key) => ({ 'x-goog-api-key': key }),
  },
};

export const credentialIn = (environment: Environment): 'key' | 'none' =>
  HELD_KEYS.some((key) => environment[key]) ? 'key' : 'none';

/** What takes the place of the keys in it. */
export function heldIn(environment: Environment, route: Passage['route']): Record<string, string> {
  if (route === null) return {};
  const held = HELD_KEYS.flatMap((key) => {
    const secret = environment[key];
    if (!secret) return [];
    const { url, upstream, speaks, proof } = PROVIDERS[key];
    const address = route({ upstream: environment[url] || upstream, headers: proof(secret), speaks });
    return [
      [key, PLACEHOLDER],
      [url, address],
    ];
  });
  return Object.fromEntries(held);
}
