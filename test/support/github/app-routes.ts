/** What a GitHub App asks for with a token it signed itself: where it is installed, and a token to work with. */
import { randomUUID, verify } from 'node:crypto';
import { type Answer, created, notFound, ok, Refusal } from './answer.ts';
import { says } from './error-texts.ts';
import { iso, userJson } from './shapes.ts';
import { fullName, type World } from './world.ts';

const HOUR_MS = 3_600_000;

/** Null for what is none of an App's paths. */
export function answerApp(
  world: World,
  method: string,
  path: string,
  header: string | undefined,
): Answer | null {
  const isOwn = path.startsWith('/app/') || /^\/repos\/[^/]+\/[^/]+\/installation$/.test(path);
  if (!isOwn) return null;
  const app = verified(world, header);
  const about = { permissions: {}, events: [], created_at: iso(0), updated_at: iso(0) };
  const owner = userJson(world, world.owner);
  if (method === 'GET' && path === `/repos/${fullName(world)}/installation`)
    return ok({
      id: app.installation,
      app_id: 1,
      app_slug: app.slug,
      account: owner,
      target_id: owner.id,
      target_type: owner.type,
      repository_selection: 'selected',
      single_file_name: null,
      suspended_at: null,
      suspended_by: null,
      ...about,
    });
  if (method === 'POST' && path === `/app/installations/${app.installation}/access_tokens`) {
    const token = `ghs_${randomUUID().replaceAll('-', '')}`;
    const login = `${app.slug}[bot]`;
    if (!world.users.has(login)) world.users.set(login, { login, id: world.nextId(), type: 'Bot' });
    world.permissions.set(login, 'write');
    const expiresAt = world.now() + HOUR_MS;
    world.tokens.set(token, { login, lacks: [], expiresAt });
    return created({ token, expires_at: iso(expiresAt) });
  }
  throw notFound();
}

function verified(world: World, header: string | undefined): NonNullable<World['app']> {
  const [head = '', claims = '', signature = ''] = (header ?? '').replace(/^bearer /i, '').split('.');
  const { app } = world;
  const isSigned =
    app !== null &&
    verify(
      'RSA-SHA256',
      Buffer.from(`${head}.${claims}`),
      app.publicKey,
      Buffer.from(signature, 'base64url'),
    );
  if (!isSigned) throw new Refusal(401, says('notSigned'));
  const { iss, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
  const now = world.now() / 1000;
  if (iss !== app.id) throw new Refusal(401, says('notSigned'));
  if (iat > now) throw new Refusal(401, says('fromTheFuture'));
  if (exp <= now) throw new Refusal(401, says('expired'));
  if (exp > now + 600) throw new Refusal(401, says('goodForTooLong'));
  return app;
}
