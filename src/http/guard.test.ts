/** Who may ask: every kind of stranger against every kind of thing that is asked for. */
import { expect, test } from 'vitest';
import { type Asking, refusalOf } from './guard.ts';

const asking: Asking = {
  method: 'GET',
  what: 'call',
  host: '127.0.0.1:8088',
  origin: null,
  fetchSite: null,
  proof: null,
};
const OWN = { origin: 'http://127.0.0.1:8088', fetchSite: 'same-origin' };

test.each<[string, Partial<Asking>, string | null]>([
  ['a program on this machine reads', {}, 'token_needed'],
  ['… writes', { method: 'POST' }, 'token_needed'],
  ['… and says that it is our page', { method: 'POST', ...OWN }, 'token_needed'],
  ['… wants the page itself', { what: 'page' }, 'token_needed'],
  ['… wants tools', { method: 'POST', what: 'mcp' }, 'token_needed'],
  ['… wants to log in', { method: 'POST', what: 'login' }, null],
  ['a program with the token reads', { proof: 'token' }, null],
  ['… writes', { method: 'POST', proof: 'token' }, null],
  ['… wants tools', { method: 'POST', what: 'mcp', proof: 'token' }, null],
  ['our page, logged in, writes', { method: 'POST', proof: 'cookie', ...OWN }, null],
  [
    '… by another name of this machine',
    { method: 'POST', proof: 'cookie', host: 'localhost:8088', origin: 'http://localhost:8088' },
    null,
  ],
  ['… by its address alone', { host: '[::1]:8088', proof: 'cookie' }, null],
  ['… wants tools', { method: 'POST', what: 'mcp', proof: 'cookie', ...OWN }, 'token_needed'],
])('%s', (_who, given, code) => {
  expect(refusalOf({ ...asking, ...given }, [])?.code ?? null).toBe(code);
});

test.each<[string, Partial<Asking>, string | null]>([
  ['a page of another port', { method: 'POST', origin: 'http://127.0.0.1:3000' }, 'foreign_origin'],
  ['a page of another site', { method: 'POST', origin: 'https://evil.example' }, 'foreign_origin'],
  ['a page without an origin (`null`)', { method: 'POST', origin: 'null' }, 'foreign_origin'],
  ['a form of another site', { method: 'POST', fetchSite: 'cross-site' }, 'foreign_origin'],
  [
    'a form of another site that logs in',
    { method: 'POST', what: 'login', origin: 'https://evil.example' },
    'foreign_origin',
  ],
  ['an image of another site', { fetchSite: 'cross-site' }, 'foreign_origin'],
  ['an image of another port', { fetchSite: 'same-site' }, 'foreign_origin'],
  ['a link of another site to tools', { what: 'mcp', fetchSite: 'cross-site' }, 'foreign_origin'],
  ['a link of another site to the page', { what: 'page', fetchSite: 'cross-site' }, null],
  ['a name that was pointed here', { host: 'evil.example:8088' }, 'unknown_host'],
  [
    '… also where its page is ours by that name',
    { method: 'POST', host: 'evil.example', origin: 'http://evil.example' },
    'unknown_host',
  ],
  ['… also to log in', { what: 'login', host: 'evil.example' }, 'unknown_host'],
  ['no name at all', { host: null }, 'unknown_host'],
  ['a name that was given to it', { host: 'loop.example.org' }, null],
])('%s, in the browser of the operator, who is logged in', (_who, given, code) => {
  const asked = { ...asking, proof: 'cookie' as const, ...given };
  expect(refusalOf(asked, ['loop.example.org'])?.code ?? null).toBe(code);
});
