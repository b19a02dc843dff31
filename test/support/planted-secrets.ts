/**
 * Secrets of many kinds, none of them anybody's: made up here, so that no scanner finds one in this file. `secret` is
 * what may not be left of `text`.
 */
export interface Planted {
  kind: string;
  text: string;
  secret: string;
}

const LETTERS = 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xYz0C';
const HEX = '0123456789abcdef';

/** So many characters that look drawn by lot and are the same every time. */
function drawn(length: number, from = LETTERS): string {
  let state = 7;
  return Array.from({ length }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return from[Math.floor((state / 2147483648) * from.length)];
  }).join('');
}

const hex = (length: number): string => drawn(length, HEX);
const upper = (length: number): string => drawn(length, 'ABCDEFGHJKLMNPQRSTUVWXYZ234567');
const letters = (length: number): string => drawn(length, 'abcdefghijkLMNOPQRSTUVWXYZ');

const keys: Record<string, string> = {
  'an AWS access key': `AKIA${upper(16)}`,
  'an Azure storage key': `AccountKey=${drawn(86)}==`,
  'a GitHub token': `ghp_${drawn(36)}`,
  'a fine-grained GitHub token': `github_pat_${drawn(22)}_${drawn(59)}`,
  'a GitLab token': `glpat-${drawn(20)}`,
  'an Anthropic key': `sk-ant-api03-${drawn(93)}AA`,
  'an OpenRouter key': `sk-or-v1-${hex(64)}`,
  'an OpenAI key': `sk-proj-${drawn(48)}`,
  'a Google API key': `AIza${drawn(35)}`,
  'a Google OAuth secret': `GOCSPX-${drawn(28)}`,
  'a Google access token': `ya29.${drawn(60)}`,
  'a Groq key': `gsk_${drawn(52)}`,
  'an xAI key': `xai-${drawn(80)}`,
  'a Perplexity key': `pplx-${drawn(48)}`,
  'a Replicate token': `r8_${drawn(37)}`,
  'a Hugging Face token': `hf_${letters(34)}`,
  'a Slack token': `xoxb-123456789012-1234567890123-${drawn(24)}`,
  'a Slack webhook': `https://hooks.slack.com/services/T0${upper(7)}/B0${upper(7)}/${drawn(24)}`,
  'a Discord webhook': `https://discord.com/api/webhooks/123456789012345678/${drawn(68)}`,
  'a Discord bot token': `M${drawn(23)}.${drawn(6)}.${drawn(38)}`,
  'a Telegram bot token': `123456789:AA${drawn(33)}`,
  'a Stripe key': `sk_live_${drawn(24)}`,
  'a Stripe test key': `sk_test_${drawn(24)}`,
  'a Square token': `sq0atp-${drawn(22)}`,
  'a Shopify token': `shpat_${hex(32)}`,
  'an npm token': `npm_${drawn(36)}`,
  'a PyPI token': `pypi-AgEIcHlwaS5vcmc${drawn(80)}`,
  'a RubyGems key': `rubygems_${hex(48)}`,
  'a Docker token': `dckr_pat_${drawn(27)}`,
  'a SendGrid key': `SG.${drawn(22)}.${drawn(43)}`,
  'a Twilio key': `SK${hex(32)}`,
  'a Mailgun key': `key-${hex(32)}`,
  'a Linear key': `lin_api_${drawn(40)}`,
  'a Notion token': `ntn_${drawn(46)}`,
  'a Figma token': `figd_${drawn(40)}`,
  'an Atlassian token': `ATATT3xFfGF0${drawn(170)}`,
  'a Sentry token': `sntrys_${drawn(80)}`,
  'a Grafana token': `glsa_${drawn(32)}_${hex(8)}`,
  'a New Relic key': `NRAK-${upper(27)}`,
  'a Postman key': `PMAK-${hex(24)}-${hex(34)}`,
  'a Databricks token': `dapi${hex(32)}`,
  'a DigitalOcean token': `dop_v1_${hex(64)}`,
  'a Heroku key': `HRKU-AA${drawn(58)}`,
  'a Netlify token': `nfp_${drawn(36)}`,
  'a Fly.io token': `fm2_${drawn(80)}`,
  'a Supabase token': `sbp_${hex(40)}`,
  'a PlanetScale token': `pscale_tkn_${drawn(43)}`,
  'a Pulumi token': `pul-${hex(40)}`,
  'a Terraform token': `${drawn(14)}.atlasv1.${drawn(67)}`,
  'a Vault token': `hvs.${drawn(90)}`,
  'a Doppler token': `dp.pt.${drawn(43)}`,
  'a 1Password token': `ops_eyJ${drawn(160)}`,
  'a Tailscale key': `tskey-auth-${drawn(17)}-${drawn(32)}`,
  'an age key': `AGE-SECRET-KEY-1${upper(58)}`,
  'a JSON Web Token': `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${drawn(43)}`,
  'a webhook secret': `whsec_${drawn(32)}`,
};

/** What a text says is one, whatever its shape. */
const named: readonly Planted[] = [
  {
    kind: 'a password in an address',
    text: `postgres://app:${drawn(12)}@db.example.org/app`,
    secret: drawn(12),
  },
  { kind: 'a token in an address', text: `https://${drawn(30)}@git.example.org/app.git`, secret: drawn(30) },
  { kind: 'a basic credential', text: `Authorization: Basic ${drawn(24)}==`, secret: drawn(24) },
  { kind: 'a bearer credential', text: `authorization: Bearer ${drawn(32)}`, secret: drawn(32) },
  { kind: 'a variable', text: `DB_PASSWORD=correct-horse`, secret: 'correct-horse' },
  { kind: 'a setting', text: `api_key: "${drawn(16)}"`, secret: drawn(16) },
  { kind: 'a field of JSON', text: `{"clientSecret":"${drawn(16)}"}`, secret: drawn(16) },
  { kind: 'a flag', text: `agent --api-key ${drawn(16)}`, secret: drawn(16) },
  { kind: 'an AWS secret key', text: `aws_secret_access_key = ${drawn(40)}`, secret: drawn(40) },
];

const privateKey = [
  '-----BEGIN RSA PRIVATE KEY-----',
  drawn(64),
  drawn(64),
  `${drawn(20)}==`,
  '-----END RSA PRIVATE KEY-----',
];

export const PLANTED: readonly Planted[] = [
  { kind: 'a private key', text: privateKey.join('\n'), secret: drawn(64) },
  ...Object.entries(keys).map(([kind, secret]) => ({ kind, text: secret, secret })),
  ...named,
];

/** What must be left as it is, although it looks drawn by lot or speaks of secrets. */
export const HARMLESS: readonly string[] = [
  `commit ${hex(40)}`,
  `tree ${hex(64)} of sha256:${hex(64)}`,
  `integrity sha512-${drawn(86)}==`,
  'session 0b54aa0e-5e6a-4d2c-9b1e-2a2f0b7a8f11',
  `ses_${drawn(26)} and msg_${drawn(26)}`,
  `STRIPE_KEY=held-by-forge-loop-${hex(24)}`,
  `API_TOKEN=held-by-forge-loop-${hex(24)} npm test`,
  'forge/7-add-a-token-endpoint-a1b2c3',
  'used 12345678 tokens: 4096 read, 10000 written',
  'MAX_TOKENS=32000 TOKENIZERS_PARALLELISM=false',
  "error TS2339: Property 'token' does not exist on type '{ secret: string; }'",
  'const token = await getToken(request);',
  'password: string; apiKey?: string | undefined;',
  'the password is required, and the secret is kept',
  `token: \${{ secrets.NPM_TOKEN_2 }}`,
  'GITHUB_TOKEN=$GITHUB_TOKEN_2 gh api',
  'apiKey: process.env.API_KEY_2',
  '{"maxTokens":4096,"secret":1234567e10,"token":null}',
  'https://example.org:8080/@scope/package@1.2.3',
  'git@github.com:owner/name.git',
  'task-runner-that-has-a-very-long-name-of-its-own-0123456789',
  'disk-usage-of-the-container-image-by-layer-0123456789',
  'class="sk-fade sk-loading"',
  'claude-sonnet-4-5-20250929',
  '2026-11-18T13:37:00.000Z',
  'Basic src/core/decide2.test.ts passes',
];
