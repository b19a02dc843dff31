/** Whether deliveries of GitHub can arrive: the port, and, where the token may see it, the hook at GitHub. */
import { createServer } from 'node:net';
import type { Context } from '../context.ts';
import { ForgeUnavailable } from '../errors.ts';
import type { ForgeHook } from '../forge/forge.ts';
import type { Check } from './doctor.ts';

export async function webhook(context: Context): Promise<Check[]> {
  const { settings, problem } = await context.settings();
  const { port, bind, secret } = settings.workflow.webhook;
  if (problem || secret === null) return [];
  const here = port === null ? [] : [await listening(port, bind)];
  if (settings.tracker.kind === 'local')
    return [...here, check('warn', 'the local forge has no webhooks', 'Leave out webhook.')];
  return [...here, ...(await atForge(context))];
}

/** Free, or held by a runner, which knows what is not signed. */
export async function listening(port: number, bind: string): Promise<Check> {
  const where = `${bind}:${port}`;
  const refusal = await new Promise<NodeJS.ErrnoException | null>((done) => {
    const server = createServer();
    server.once('error', done);
    server.listen(port, bind, () => server.close(() => done(null)));
  });
  if (refusal === null) return check('ok', `${where} is free for deliveries`);
  if (refusal.code !== 'EADDRINUSE')
    return check(
      'fail',
      `nothing can listen on ${where}: ${refusal.message}`,
      'Fix webhook.port or webhook.bind.',
    );
  const answer = await fetch(`http://${where}${HOOK_PATH}`, {
    method: 'POST',
    signal: AbortSignal.timeout(3000),
  })
    .then(({ status }) => status)
    .catch(() => null);
  return answer === 401
    ? check('ok', `a runner takes deliveries at http://${where}${HOOK_PATH}`)
    : check('fail', `another program listens on ${where}`, 'Set another webhook.port, at your proxy, too.');
}

async function atForge(context: Context): Promise<Check[]> {
  const forge = await context.forge();
  try {
    return aboutHooks((await forge.hooks?.()) ?? null);
  } catch (error) {
    // That it gives no answer is the forge's own line.
    if (error instanceof ForgeUnavailable) return [];
    throw error;
  }
}

/** What GitHub's own list of hooks says; null when the token may not see it. */
export function aboutHooks(hooks: readonly ForgeHook[] | null): Check[] {
  const enter = `Settings → Webhooks → Add webhook: the outer address of ${HOOK_PATH}, application/json, the same secret.`;
  if (hooks === null)
    return [
      check(
        'ok',
        'this token may not see the webhooks of the repository (Webhooks: read); `forge-loop events --type webhook_received` shows what arrives',
      ),
    ];
  const ours = hooks.filter(({ url }) => pathOf(url).endsWith(HOOK_PATH));
  if (ours.length === 0)
    return [check('warn', `GitHub has no webhook whose address ends with ${HOOK_PATH}`, enter)];
  return ours.map(({ url, active, events, last }) => {
    if (!active) return check('warn', `the webhook ${url} is switched off`, 'Tick Active in its settings.');
    const missing = events.includes('*') ? [] : NEEDED.filter((name) => !events.includes(name));
    if (last && (last.status < 200 || last.status > 299))
      return check(
        'warn',
        `the last delivery to ${url} failed: ${last.status || 'no answer'}${last.message ? `, ${last.message}` : ''}`,
        last.status === 401
          ? 'Enter the same secret at GitHub and in webhook.secret.'
          : `Check that the address leads to webhook.port here, and that \`forge-loop run\` runs; then redeliver it at GitHub.`,
      );
    if (missing.length > 0)
      return check(
        'warn',
        `the webhook ${url} does not send: ${missing.join(', ')}`,
        'Tick them in its settings.',
      );
    return check(
      'ok',
      `GitHub delivers to ${url}${last ? `; the last delivery was answered ${last.status}` : ''}`,
    );
  });
}

const HOOK_PATH = '/webhook';

/** Without these something would be seen only by looking. */
const NEEDED = ['issues', 'issue_comment', 'pull_request', 'pull_request_review', 'check_run', 'push'];

const check = (level: Check['level'], what: string, fix: string | null = null): Check => ({
  name: 'webhook',
  level,
  what,
  fix,
});

const pathOf = (url: string): string => (URL.canParse(url) ? new URL(url).pathname : '');
