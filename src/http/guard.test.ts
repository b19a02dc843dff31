/** Who may ask: every kind of stranger against every kind of door. */
import { expect, test } from 'vitest';
import { type Asking, type Door, refusalOf } from './guard.ts';

const asking: Asking = {
  method: 'GET',
  page: false,
  host: '127.0.0.1:8088',
  origin: null,
  fetchSite: null,
  tokens: [],
};
const door: Door = { hosts: [], token: null, loopback: true };
const open: Door = { hosts: ['loop.example.org'], token: 'right', loopback: false };

test.each<[string, Partial<Asking>, Door, string | null]>([
  ['a program on this machine reads', {}, door, null],
  ['a program on this machine writes', { method: 'POST' }, door, 'token_needed'],
  ['… with the token', { method: 'POST', tokens: ['right'] }, { ...door, token: 'right' }, null],
  ['… with another', { method: 'POST', tokens: ['wrong'] }, { ...door, token: 'right' }, 'token_needed'],
  ['… with an empty one', { method: 'POST', tokens: [''] }, { ...door, token: 'right' }, 'token_needed'],
  [
    'our page writes',
    { method: 'POST', origin: 'http://127.0.0.1:8088', fetchSite: 'same-origin' },
    door,
    null,
  ],
  [
    'our page, by another name of this machine',
    { method: 'POST', host: 'localhost:8088', origin: 'http://localhost:8088' },
    door,
    null,
  ],
  ['our page, by its address alone', { host: '[::1]:8088' }, door, null],
  ['a page of another port', { method: 'POST', origin: 'http://127.0.0.1:3000' }, door, 'foreign_origin'],
  ['a page of another site', { method: 'POST', origin: 'https://evil.example' }, door, 'foreign_origin'],
  ['a page without an origin (`null`)', { method: 'POST', origin: 'null' }, door, 'foreign_origin'],
  ['a form of another site', { method: 'POST', fetchSite: 'cross-site' }, door, 'foreign_origin'],
  ['an image of another site', { fetchSite: 'cross-site' }, door, 'foreign_origin'],
  ['a link of another site to the page', { page: true, fetchSite: 'cross-site' }, door, null],
  ['a name that was pointed here', { host: 'evil.example:8088' }, door, 'unknown_host'],
  [
    '… also where its page is ours by that name',
    { method: 'POST', host: 'evil.example', origin: 'http://evil.example' },
    door,
    'unknown_host',
  ],
  ['no name at all', { host: null }, door, 'unknown_host'],
  ['from the network, without the token', { host: '10.0.0.5:8088' }, open, 'token_needed'],
  ['from the network, with it', { host: '10.0.0.5:8088', tokens: ['right'] }, open, null],
  ['by a name that was given to it', { host: 'loop.example.org', tokens: ['right'] }, open, null],
  [
    'from the network, our page without the token',
    { method: 'POST', host: '10.0.0.5:1', origin: 'http://10.0.0.5:1' },
    open,
    'token_needed',
  ],
])('%s', (_who, given, at, code) => {
  expect(refusalOf({ ...asking, ...given }, at)?.code ?? null).toBe(code);
});
