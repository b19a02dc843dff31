/** The story of an issue whose coder and gate use a secret that neither of them ever has. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { quoted } from '../support/e2e/halt.ts';
import { test } from '../support/e2e/world.ts';
import { HOST, secureHosts } from '../support/secure-hosts.ts';

const missing = spawnSync('bwrap', ['--version']).status !== 0;
if (missing) console.warn('SKIPPED: stories with secrets. Install the package bubblewrap to run them.');

const VALUE = 'sk_test_of_the_operator_7f3a';

/** Files below a folder that have the value, as it is or in base64. */
function holding(folder: string): string[] {
  const coded = Buffer.from(`x:${VALUE}`).toString('base64').slice(4, -4);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => {
      const bytes = readFileSync(path);
      return bytes.includes(VALUE) || bytes.includes(coded);
    });
}

// It needs bubblewrap, which CI installs.
describe.skipIf(missing)('a secret of the project', () => {
  test('is used by coder and gate, and is nowhere to be found', async ({ world }) => {
    const hosts = await secureHosts();
    hosts.answer = ({ headers, url }, response) =>
      response
        .writeHead(headers.authorization?.includes(VALUE) || url.includes(VALUE) ? 200 : 401)
        .end(`you said ${headers.authorization} ${url}\n`);
    const kept = join(world.env.HOME ?? '', 'kept');
    writeFileSync(kept, `${VALUE}\n`);
    Object.assign(world.env, {
      https_proxy: hosts.operator.https_proxy,
      SSL_CERT_FILE: hosts.operator.SSL_CERT_FILE,
    });
    const call = `curl -sSf -H "authorization: Bearer $API_KEY" https://${HOST}/v1/charges`;
    world.settings({
      sandbox: 'bwrap',
      secrets: { API_KEY: { command: `cat ${quoted(kept)}`, host: HOST } },
      gate: { commands: [`${call}/gate && ls done-*.txt`], network: 'none' },
    });
    world.script({
      when: { role: 'coder' },
      steps: [
        { shell: `env; ${call}/coder > done-1.txt; ${call}?key=$API_KEY >> done-1.txt; cat done-1.txt` },
      ],
    });
    const issue = await world.issue({});
    await world.settle();
    expect(await world.task(issue)).toMatchObject({ state: 'merged' });
    expect(hosts.heard.map(({ url }) => url)).toEqual(
      expect.arrayContaining([`/v1/charges?key=${VALUE}`, '/v1/charges/coder', '/v1/charges/gate']),
    );
    expect(world.git('show', 'main:done-1.txt')).toMatch(/you said Bearer \*+ \/v1\/charges\/coder/);
    const went = (await world.events()).filter(({ type }) => type === 'network_used');
    expect(JSON.stringify(went)).toContain(HOST);
    const { stdout } = await world.cli('doctor');
    expect(stdout).toMatch(/ok +secrets +API_KEY is there, for the coder and the gate at api\.example\.org/);
    expect(stdout).not.toContain(VALUE);
    expect(holding(world.folder).filter((path) => path !== kept)).toEqual([]);
    await hosts.close();
  });

  test('that can’t be had keeps the loop from starting, which says why', async ({ world }) => {
    world.settings({
      sandbox: 'bwrap',
      secrets: { API_KEY: { command: 'echo the store is locked >&2; exit 2', host: HOST } },
    });
    await world.issue({});
    const { code, stderr } = await world.run('--until-idle').ended;
    expect(code).not.toBe(0);
    expect(stderr).toContain('secrets.API_KEY: its command ended with exit 2: the store is locked');
    expect((await world.cli('doctor')).stdout).toMatch(/fail +secrets +secrets\.API_KEY: its command/);
  });

  test('that can’t be held for somebody keeps the loop from starting, too', async ({ world }) => {
    world.env.OPERATORS_KEY = VALUE;
    world.settings({
      sandbox: { kind: 'bwrap', network: 'host' },
      secrets: { API_KEY: { env: 'OPERATORS_KEY', host: HOST, for: ['gate'] } },
    });
    await world.issue({});
    const { code, stderr } = await world.run('--until-idle').ended;
    expect(code).not.toBe(0);
    expect(stderr).toContain("API_KEY can't be held for the gate: its network is `host`");
  });
});
