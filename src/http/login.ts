/**
 * How the operator proves who they are. A program sends the token. A browser opens the link that was printed at the start, or enters
 * the token, and has a cookie from then on. The key in that link is made anew at each start and is kept in memory only, so no agent
 * can look it up.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Context as Asked, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import { html } from 'hono/html';
import type { Proof } from './guard.ts';

interface Login {
  /** What the printed link has in place of the token. */
  readonly key: string;
  proofOf(asked: Asked): Proof;
  /** `/login`. */
  readonly pages: Hono;
  /** In place of a page that was asked for without proof. */
  first(asked: Asked): Response | Promise<Response>;
}

export function openLogin(token: string | null): Login {
  const key = randomBytes(32).toString('base64url');
  // Not the token itself: a browser sends its cookies to every port of a machine. It outlives a start where a token does.
  const cookie = createHmac('sha256', token ?? key)
    .update('forge-loop cookie')
    .digest('base64url');
  const isToken = (given: string): boolean => isSame(given, key) || (token !== null && isSame(given, token));
  const hasCookie = (asked: Asked): boolean => isSame(getCookie(asked, cookieName(asked)) ?? '', cookie);

  const enter = (asked: Asked, given: string, to: string) => {
    if (!isToken(given)) return asked.html(form(to, 'This is not the token.'), 401);
    const days = 30 * 86_400;
    setCookie(asked, cookieName(asked), cookie, {
      ...{ httpOnly: true, sameSite: 'Strict', path: '/', maxAge: days },
    });
    return asked.redirect(to, 303);
  };

  const pages = new Hono();
  pages.get('/', (asked) => {
    const to = local(asked.req.query('to'));
    const given = asked.req.query('token');
    if (given !== undefined) return enter(asked, given, to);
    return hasCookie(asked) ? asked.redirect(to, 303) : asked.html(form(to, null));
  });
  pages.post('/', bodyLimit({ maxSize: 10_000 }), async (asked) => {
    const { token: given, to } = await asked.req.parseBody();
    return enter(asked, text(given), local(text(to)));
  });

  return {
    key,
    pages,
    proofOf(asked) {
      const bearer = /^Bearer (.+)$/.exec(asked.req.header('authorization') ?? '')?.[1];
      if (bearer !== undefined && isToken(bearer)) return 'token';
      return hasCookie(asked) ? 'cookie' : null;
    },
    /** By way of a page of ours: after a link on another site, the browser sends the cookie only from there on. */
    first(asked) {
      const { pathname, search } = new URL(asked.req.url);
      const login = `/login?to=${encodeURIComponent(pathname + search)}`;
      const refresh = html`<meta http-equiv="refresh" content="0;url=${login}" />`;
      return asked.html(page(refresh, html`<p><a href="${login}">Log in</a></p>`), 401);
    },
  };
}

/** Servers on other ports of this machine have cookies of their own. */
const cookieName = (asked: Asked): string =>
  `forge-loop-${/:(\d+)$/.exec(asked.req.header('host') ?? '')?.[1] ?? 'token'}`;

/** Only a place of this server: nobody's link leads elsewhere by way of the login. */
function local(to: string | undefined): string {
  const here = 'http://here';
  if (to === undefined || !URL.canParse(to, here)) return '/';
  const { origin, pathname, search } = new URL(to, here);
  return origin === here && !pathname.startsWith('//') ? pathname + search : '/';
}

const text = (given: unknown): string => (typeof given === 'string' ? given : '');

/** In the same time, however much of it is right. */
function isSame(given: string, right: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}

type Html = ReturnType<typeof html>;

const form = (to: string, problem: string | null): Html =>
  page(
    html``,
    html`<h1>Log in to forge-loop</h1>
      <p>Open the link that <code>forge-loop run</code> or <code>forge-loop dashboard</code> printed when it started, or enter the token.</p>
      ${problem === null ? '' : html`<p role="alert">${problem}</p>`}
      <form method="post" action="/login">
        <input type="hidden" name="to" value="${to}" />
        <label>Token <input type="password" name="token" required autofocus autocomplete="current-password" /></label>
        <button>Log in</button>
      </form>`,
  );

const page = (head: Html, body: Html): Html => html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <meta name="color-scheme" content="light dark" />
    <title>forge-loop: log in</title>
    ${head}
  </head>
  <body><main>${body}</main></body>
</html>`;
