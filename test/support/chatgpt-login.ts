/** What `codex login` with a ChatGPT account keeps in auth.json: well-formed, and worth nothing. */
export function chatgptLogin(expiresAt: number): Record<string, unknown> {
  const account = { chatgpt_account_id: 'account-1', chatgpt_plan_type: 'plus', chatgpt_user_id: 'user-1' };
  const claims = {
    exp: Math.floor(expiresAt / 1000),
    email: 'ada@example.com',
    'https://api.openai.com/auth': account,
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}.${part({})}`;
  return {
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: {
      id_token: token,
      access_token: token,
      refresh_token: 'what-renews-it',
      account_id: 'account-1',
    },
    last_refresh: new Date(expiresAt - 3_600_000).toISOString(),
  };
}
