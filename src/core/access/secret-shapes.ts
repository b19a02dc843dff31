/**
 * The shapes of the keys that providers hand out. Each begins with something that nothing else begins with, so that a
 * commit, a UUID or a digest is never taken for one. None has a quote or a backslash in it: cut out of JSON, what is left
 * is still JSON.
 */
export interface SecretShape {
  /** As in "file: a GitHub token". */
  name: string;
  shape: RegExp;
}

/** A letter before it makes it a part of something else, unless it ends an escape (`\n`) or a colour. */
const STARTS = String.raw`(?<=^|[^A-Za-z0-9]|\\[bfnrt]|\x1b\[[\d;]*m)`;
const ENDS = '(?![A-Za-z0-9])';

const shapes = (...table: readonly (readonly [name: string, source: string])[]): readonly SecretShape[] =>
  table.map(([name, source]) => ({ name, shape: new RegExp(`${STARTS}(?:${source})`) }));

/** All of them in one pass: where one can't start is looked at once, not once for each. */
export const anyOf = (table: readonly SecretShape[]): RegExp =>
  new RegExp(
    `(?=[A-Za-z0-9-])${STARTS}(?:${table.map(({ shape }) => shape.source.slice(STARTS.length)).join('|')})`,
    'g',
  );

/** Between the lines of a key: a line end, or the escape for one in JSON. */
const GAP = String.raw`(?:\s|\\+[nrt])`;
const END = '-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----';
/** Up to its end, or to where the text was cut. */
const PRIVATE_KEY = [
  '-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----',
  `(?:${GAP}+[A-Z][A-Za-z-]{2,20}: [\\w ,./()-]{1,80})*`,
  `(?:${GAP}+[A-Za-z0-9+/]{16,}={0,2})*`,
  `(?:${GAP}+=?[A-Za-z0-9+/]{1,16}={0,2}(?=${GAP}*${END}))*`,
  `(?:${GAP}*${END})?`,
].join('');

/** Nobody writes one of these by chance: in a change they are a finding, anywhere else they are struck out. */
export const KEY_SHAPES: readonly SecretShape[] = shapes(
  ['a private key', PRIVATE_KEY],
  ['an age key', `AGE-SECRET-KEY-1[0-9A-Z]{58}${ENDS}`],
  ['an AWS access key', `(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}${ENDS}`],
  ['an Azure storage key', 'AccountKey=[A-Za-z0-9+/]{86}=='],
  ['a GitHub token', `(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})${ENDS}`],
  ['a GitLab token', '(?:glpat|gldt|glrt|glcbt|glptt|glft|glimt|glagent|gloas|glsoat)-[A-Za-z0-9_-]{20,}'],
  ['an Anthropic key', 'sk-ant-[A-Za-z0-9_-]{20,}'],
  ['an OpenRouter key', 'sk-or-v1-[0-9a-f]{32,}'],
  ['an OpenAI key', 'sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}'],
  ['a Google API key', `AIza[0-9A-Za-z_-]{35}${ENDS}`],
  ['a Google OAuth secret', 'GOCSPX-[A-Za-z0-9_-]{28}'],
  ['a Google access token', String.raw`ya29\.[A-Za-z0-9_-]{30,}`],
  ['a Groq key', `gsk_[A-Za-z0-9]{52}${ENDS}`],
  ['an xAI key', `xai-[A-Za-z0-9]{70,}${ENDS}`],
  ['a Perplexity key', `pplx-[A-Za-z0-9]{40,}${ENDS}`],
  ['a Replicate token', `r8_[A-Za-z0-9]{37}${ENDS}`],
  ['a Hugging Face token', `hf_[A-Za-z]{34}${ENDS}`],
  ['a Slack token', '(?:xox[abceoprs]|xapp)-[A-Za-z0-9-]{10,}'],
  [
    'a Slack webhook',
    String.raw`https://hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}`,
  ],
  [
    'a Discord webhook',
    String.raw`https://(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,}/[A-Za-z0-9_-]{50,}`,
  ],
  ['a Discord bot token', String.raw`[MNO][A-Za-z0-9]{23,25}\.[\w-]{6}\.[\w-]{27,}`],
  ['a Telegram bot token', String.raw`\d{8,10}:AA[\w-]{33}${ENDS}`],
  ['a Stripe key', '(?:sk|rk)_live_[A-Za-z0-9]{20,}'],
  ['a Square token', 'sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}'],
  ['a Shopify token', `shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}${ENDS}`],
  ['an npm token', `npm_[A-Za-z0-9]{36}${ENDS}`],
  ['a PyPI token', 'pypi-AgE[A-Za-z0-9_-]{50,}'],
  ['a RubyGems key', `rubygems_[0-9a-f]{48}${ENDS}`],
  ['a Docker token', 'dckr_[po]at_[A-Za-z0-9_-]{27,}'],
  ['a SendGrid key', String.raw`SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`],
  ['a Twilio key', `SK[0-9a-f]{32}${ENDS}`],
  ['a Mailgun key', `key-[0-9a-f]{32}${ENDS}`],
  ['a Linear key', `lin_(?:api|oauth)_[A-Za-z0-9]{32,}${ENDS}`],
  ['a Notion token', `ntn_[A-Za-z0-9]{40,}${ENDS}`],
  ['a Figma token', 'fig[dru]_[A-Za-z0-9_-]{40,}'],
  ['an Atlassian token', 'ATATT3[A-Za-z0-9_=-]{100,}'],
  ['a Sentry token', 'sntry[su]_[A-Za-z0-9+/=_-]{50,}'],
  ['a Grafana token', '(?:glc_[A-Za-z0-9+/]{32,}={0,2}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8})'],
  ['a New Relic key', `NRAK-[0-9A-Z]{27}${ENDS}`],
  ['a Postman key', `PMAK-[0-9a-f]{24}-[0-9a-f]{34}${ENDS}`],
  ['a Databricks token', `dapi[0-9a-f]{32}(?:-\\d)?${ENDS}`],
  ['a DigitalOcean token', `do[opr]_v1_[0-9a-f]{64}${ENDS}`],
  ['a Heroku key', 'HRKU-AA[A-Za-z0-9_-]{50,}'],
  ['a Netlify token', `nfp_[A-Za-z0-9]{36}${ENDS}`],
  ['a Fly.io token', '(?:fo1|fm[12][ar]?)_[A-Za-z0-9+/=_-]{40,}'],
  ['a Supabase token', `sbp_[0-9a-f]{40}${ENDS}`],
  ['a PlanetScale token', String.raw`pscale_(?:tkn|pw|oauth)_[\w.=-]{32,}`],
  ['a Pulumi token', `pul-[0-9a-f]{40}${ENDS}`],
  ['a Terraform token', String.raw`[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}`],
  ['a Vault token', String.raw`hv[sbr]\.[A-Za-z0-9_-]{24,}`],
  ['a Doppler token', String.raw`dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}`],
  ['a 1Password token', 'ops_eyJ[A-Za-z0-9+/=_-]{100,}'],
  ['a Tailscale key', 'tskey-[a-z]+-[A-Za-z0-9-]{20,}'],
);

/** Struck out where it is said, but no finding: tests and examples are full of them. */
export const LOOSE_SHAPES: readonly SecretShape[] = shapes(
  ['a JSON Web Token', String.raw`eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*`],
  ['a Stripe test key', '(?:sk|rk)_test_[A-Za-z0-9]{20,}'],
  ['a webhook secret', 'whsec_[A-Za-z0-9+/]{24,}={0,2}'],
);
