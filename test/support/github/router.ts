/** Paths with names in them, the permission each needs, and who may pass. */
import { type Answer, notFound, Refusal } from './answer.ts';
import { says } from './error-texts.ts';
import { mayUse, notAccessible } from './token-rights.ts';
import { atLeast, type Permission, permissionOf, type World } from './world.ts';

export interface Call {
  world: World;
  /** Who asks. */
  user: string;
  url: URL;
  params: Record<string, string>;
  body: Record<string, unknown>;
  accept: string;
}

export type Handler = (call: Call) => Answer | Promise<Answer>;

export interface Route {
  method: string;
  /** `/repos/:owner/:repo` is left out of the paths of a repository's routes. */
  pattern: RegExp;
  names: string[];
  needs: Permission;
  /** The fine-grained permission this needs, as GitHub names it. */
  right: string;
  handler: Handler;
}

export function route(
  method: string,
  path: string,
  needs: Permission,
  right: string,
  handler: Handler,
): Route {
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!);
  // A branch name may hold slashes; everything else is one part.
  const source = path.replace(/:(\w+)/g, (_whole, name: string) =>
    name === 'branch' || name === 'ref' ? '(.+)' : '([^/]+)',
  );
  return { method, pattern: new RegExp(`^${source}$`), names, needs, right, handler };
}

export async function dispatch(
  routes: readonly Route[],
  method: string,
  path: string,
  call: Omit<Call, 'params'>,
): Promise<Answer> {
  const { world, user } = call;
  const found = routes.find((one) => one.method === method && one.pattern.test(path));
  if (!found) throw new Error(`the test server does not know ${method} ${path}`);
  const given = permissionOf(world, user);
  if (!atLeast(given, 'read')) throw notFound();
  if (!mayUse(world, user, found.right))
    throw new Refusal(403, notAccessible(world, user), [], { 'x-accepted-github-permissions': found.right });
  if (!atLeast(given, found.needs))
    throw new Refusal(
      found.method === 'GET' ? 404 : 403,
      found.method === 'GET' ? says('notFound') : notAccessible(world, user),
      [],
      { 'x-accepted-github-permissions': found.right },
    );
  if (world.archived && found.method !== 'GET') throw new Refusal(403, says('archived'));
  const values = found.pattern.exec(path)!.slice(1).map(decodeURIComponent);
  const params = Object.fromEntries(found.names.map((name, index) => [name, values[index]!]));
  return found.handler({ ...call, params });
}

export function text(body: Record<string, unknown>, key: string): string | undefined {
  const value = body[key];
  return typeof value === 'string' ? value : undefined;
}

export function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}
