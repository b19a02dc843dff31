/** What every sandbox has to do: see sandbox.ts. What only one does is tested beside it. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { PATH, type SandboxStage, started } from '../../test/support/sandbox-stage.ts';
import { HOST, secureHosts } from '../../test/support/secure-hosts.ts';
import { SandboxFailed } from '../errors.ts';
import type { NetworkRequest } from '../gateway/gateway.ts';
import { openGateway } from '../gateway/server.ts';

export function sandboxContract({
  subject,
  at,
  options,
  confinement,
  access,
  command,
  inside,
}: SandboxStage): void {
  test('can be started here, by the whole profile', async () => {
    expect(await confinement().unavailable()).toBeNull();
  });

  test('works in its workspace and its home, with tools and its own environment', async () => {
    const odd = `it's "two\nlines" of $HOME \\ `;
    const { said, stderr, code } = await inside(
      'pwd; cat >made; git --version; node -p 1+1; echo "$HOME"; printf %s "$ODD"',
      { env: { ODD: odd, UID: '7' } },
    );
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const [pwd, git, node, home, ...rest] = said.split('\n');
    expect([pwd, git, node, home]).toEqual([
      at('workspace'),
      expect.stringMatching(/^git version/),
      '2',
      at('home'),
    ]);
    expect(rest.join('\n')).toBe(odd.trim());
    expect(readFileSync(at('workspace/made'), 'utf8')).toBe('given');
    expect(statSync(at('workspace/made')).uid).toBe(process.getuid?.());
  });

  // srt knows no place that is read-only in one that is not.
  test.skipIf(subject.kind === 'srt')(
    'can’t write where it may only read, also in a place of its own that lies in what it may read',
    async () => {
      mkdirSync(at('workspace/planted'));
      const { said } = await inside('touch planted/x; touch made; ls planted; ls', {
        readRoots: [at(), at('workspace/planted')],
      });
      expect(said.split('\n')).toEqual(['made', 'planted']);
    },
  );

  test('sees nothing of the operator, other tasks, the repository, other temporary files or passwords', async () => {
    const places = [at('operator'), at('state/tasks'), at('repository/.git/config'), tmpdir(), '/etc/shadow'];
    const own = [at('workspace'), at('home'), at('repository/.git/objects')];
    const not = own.map((path) => `! -path '${path}/*'`).join(' ');
    const { said } = await inside(
      `for place in ${places.map((path) => `'${path}'`).join(' ')}; do find "$place" -type f -size +0 ${not} 2>/dev/null; done`,
    );
    const seen = said.split('\n').filter((line) => line !== '' && !subject.shows?.test(line));
    expect(seen).toEqual([]);
  });

  test('reads what it was given, writes nowhere else, and has no rights', async () => {
    const given = [at('operator/given'), at('repository/.git/objects')];
    const { said } = await inside(
      `for place in / /usr /etc /proc/sys/kernel ${given.map((path) => `'${path}'`).join(' ')}; do touch "$place/x" 2>/dev/null && echo "$place"; done
       ls -d ${given.map((path) => `'${path}'`).join(' ')}; cat '${at('operator/given/notes')}'; echo
       grep -E 'CapEff|NoNewPrivs' /proc/self/status | tr -d '\\t'`,
      { readRoots: [at('operator/given'), at('operator/missing')] },
    );
    expect(said.split('\n')).toEqual([...given, 'to be read', 'CapEff:0000000000000000', 'NoNewPrivs:1']);
  });

  let hours = 0;
  const isContainer = typeof subject.kind !== 'string';
  // Nobody but root could make a file there. A container has the system of its image.
  test.skipIf(process.getuid?.() !== 0 || isContainer).each(['/etc', '/usr/local/share', '/opt'])(
    'reads nothing in %s that not everybody may, unless it is given or a tool',
    async (system) => {
      const folder = `${system}/forge-loop-test-${process.pid}`;
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      mkdirSync(`${folder}/closed/bin`, { recursive: true });
      writeFileSync(`${folder}/open`, 'open');
      writeFileSync(`${folder}/secret`, 'secret', { mode: 0o640 });
      writeFileSync(`${folder}/closed/secret`, 'secret');
      writeFileSync(`${folder}/closed/bin/tool`, '#!/bin/sh\necho tool\n', { mode: 0o755 });
      chmodSync(`${folder}/closed`, 0o700);
      // It looks now and then, and waits for that where the last look is too long ago.
      hours += 4;
      const later = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + hours * 3_600_000);
      onTestFinished(() => later.mockRestore());
      const look = `cat ${folder}/open ${folder}/secret ${folder}/closed/secret`;
      expect((await inside(look)).said).toBe('open');
      expect((await inside(look, { readRoots: [`${folder}/secret`] })).said).toBe('opensecret');
      // srt shows nothing that lies in what it hides.
      const tool = subject.kind === 'srt' ? '' : 'tool\n';
      const env = { PATH: `${folder}/closed/bin:${subject.path ?? PATH}` };
      expect((await inside(`tool; ${look}`, { env })).said).toBe(`${tool}open`);
    },
  );

  test('that only reads can write nothing of what it reads', async () => {
    const { said, code } = await inside('touch there 2>/dev/null; ls', {
      readRoots: [at('workspace')],
      writeRoots: [at('home')],
    });
    expect({ said, code }).toEqual({ said: '', code: 0 });
  });

  test('takes everything it started with it', async () => {
    const number = `1000.${process.pid}`;
    await inside(`setsid env -i /usr/bin/sleep ${number} & until pgrep -f 'sleep ${number}'; do :; done`);
    expect(spawnSync('pgrep', ['-fx', `/usr/bin/sleep ${number}`], { encoding: 'utf8' }).stdout).toBe('');
  });

  test.each([
    ['exit 7', 7],
    ['exit 125', 125],
    ['kill -TERM $$', 143],
    ['kill -KILL $$', 137],
  ])('ends as its program does: %s', async (script, code) => {
    expect(await inside(script)).toMatchObject({ code, problem: null });
  });

  test('that could not be started is told from one that failed', async () => {
    const confined = await confinement().confine(command(':'), access());
    rmSync(at('home'), { recursive: true });
    const [code] = (await once(started(confined), 'exit')) as [number];
    expect(confined.problem({ code })).toBe(`${subject.name} could not confine it`);
    await confined.dispose();
  });

  test.each([
    ['a link to something else', () => symlinkSync(at('operator'), at('planted')), /leads to .*operator/],
    ['nothing', () => {}, /is not there/],
  ])('is not started where a place of its own is %s', async (_, plant, why) => {
    // Whether it works at all is found first, and may leave something for the next time.
    await confinement().unavailable();
    const folder = (): string[] => (existsSync(options().folder) ? readdirSync(options().folder) : []);
    const before = folder();
    plant();
    const planted = access({ writeRoots: [at('workspace'), at('planted')] });
    const refused = confinement().confine(command('true'), planted);
    await expect(refused).rejects.toThrow(SandboxFailed);
    await expect(refused).rejects.toThrow(why);
    expect(folder()).toEqual(before);
  });

  test('is not started by what lies in its workspace, whatever its PATH', async () => {
    mkdirSync(at('workspace/bin'));
    for (const name of ['prlimit', 'bwrap', 'podman', 'docker', 'socat', 'node', 'env'])
      for (const folder of ['workspace', 'workspace/bin'])
        writeFileSync(at(folder, name), `#!/bin/sh\ncat '${at('operator/.ssh/id_ed25519')}'\n`, {
          mode: 0o755,
        });
    const path = subject.path ?? PATH;
    for (const PATH of [`:${path}`, `./bin:.:${path}`, `${at('workspace')}:${path}`])
      expect(await inside('echo confined', { env: { PATH } })).toMatchObject({ said: 'confined', code: 0 });
  });

  describe('with tools of the operator', () => {
    const makeProgram = (path: string, text: string): void => {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    };
    const makeFile = (path: string, text: string): void => {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), text);
    };
    const path = subject.path ?? PATH;

    test('finds them where PATH and toolchains say, but not what lies around them', async () => {
      makeProgram('operator/tools/bin/hello', 'echo hello');
      makeFile('operator/java/release', '21');
      const env = {
        PATH: `${at('operator/tools/bin')}:${at('operator')}:${path}`,
        JAVA_HOME: at('operator/java'),
      };
      const { said } = await inside(`hello; cat "$JAVA_HOME/release"; echo; ls '${at('operator')}'`, { env });
      expect(said.split('\n')).toEqual(['hello', '21', 'java', 'tools']);
    });

    test('finds the packages that links in its PATH lead to', async () => {
      const lib = 'operator/.npm-global/lib/node_modules/tool';
      mkdirSync(at('operator/.npm-global/bin'), { recursive: true });
      makeFile(`${lib}/said.txt`, 'from its package');
      makeProgram(`${lib}/bin/tool.sh`, 'cat "$(dirname "$(realpath "$0")")/../said.txt"');
      symlinkSync('../lib/node_modules/tool/bin/tool.sh', at('operator/.npm-global/bin/tool'));
      makeFile('operator/venvs/other/settings', 'of its venv');
      makeProgram('operator/venvs/other/bin/other', 'cat "$(dirname "$(realpath "$0")")/../settings"');
      symlinkSync(at('operator/venvs/other/bin/other'), at('operator/.npm-global/bin/other'));
      const env = { PATH: `${at('operator/.npm-global/bin')}:${path}` };
      const { said } = await inside(`tool; echo; other; echo; ls -a '${at('operator')}'`, { env });
      expect(said.split('\n')).toEqual([
        'from its package',
        'of its venv',
        '.',
        '..',
        '.npm-global',
        'venvs',
      ]);
    });

    test('sees no credentials among them', async () => {
      const secrets = ['operator/.cargo/credentials.toml', 'operator/.local/keyring'];
      for (const secret of secrets) makeFile(secret, 'TOKEN\n');
      for (const tool of ['operator/.cargo/bin/rustup', 'operator/.local/bin/python3.11'])
        makeProgram(tool, 'echo runs');
      mkdirSync(at('operator/bin'));
      symlinkSync('rustup', at('operator/.cargo/bin/cargo'));
      symlinkSync(at('operator/.local/bin/python3.11'), at('operator/bin/python'));
      const env = { PATH: `${at('operator/.cargo/bin')}:${at('operator/bin')}:${path}` };
      const read = secrets.map((secret) => `'${at(secret)}'`).join(' ');
      expect(await inside(`cargo; python; cat ${read}`, { env })).toMatchObject({ said: 'runs\nruns' });
    });
  });

  describe('what a coder left where it may write', () => {
    const KEY = 'operator/.ssh/id_ed25519';
    const secrets = [KEY, 'repository/.git/config', 'operator/deep/keys/key']
      .map((one) => `'${at(one)}'`)
      .join(' ');
    const path = subject.path ?? PATH;
    const asCoder = (place: string) => ({
      writable: [at(place)],
      writeRoots: [at('workspace'), at('home'), at(place)],
    });
    /** Of a gate, and of roles that only read. */
    const asOthers = (place: string) => ({ writable: [at(place)] });

    test.each([
      [
        'links in a folder of PATH',
        { place: 'operator/go/bin', programs: 'operator/go/bin' },
        `ln -s '${at(KEY)}' x; ln -s '${at('repository/.git/config')}' y`,
      ],
      [
        'a folder of PATH made anew, with a link in it',
        { place: 'operator/nvm', programs: 'operator/nvm/v/bin' },
        `mv v w && mkdir -p v/bin && ln -s '${at(KEY)}' v/bin/x`,
      ],
      [
        'a program and a link to it, in the bin of a folder that is not its own',
        { place: 'operator/deep/keys/bin', programs: 'operator/deep/keys/bin' },
        'touch tool; ln -s tool x',
      ],
    ])('shows nothing to the next start: %s', async (_, { place, programs }, script) => {
      mkdirSync(at(programs), { recursive: true });
      mkdirSync(at('operator/deep/keys'), { recursive: true });
      writeFileSync(at('operator/deep/keys/key'), 'PRIVATE KEY');
      const env = { PATH: `${at(programs)}:${path}` };
      const left = await inside(`cd '${at(place)}' && ${script}`, { ...asCoder(place), env });
      expect(left).toMatchObject({ stderr: '', code: 0 });
      for (const who of [asCoder(place), asOthers(place)])
        expect((await inside(`cat ${secrets}`, { ...who, env })).said).toBe('');
    });

    test.each([
      ['what it may read', { readRoots: [at('operator/u/ref')] }],
      ['a folder of PATH', { env: { PATH: `${at('operator/u/ref')}:${path}` } }],
      ['a toolchain', { env: { JAVA_HOME: at('operator/u/ref') } }],
      ['what it may read, by a link of the operator', { readRoots: [at('operator/ours')] }],
    ])('is not followed out of there as %s', async (_, use) => {
      mkdirSync(at('operator/u/ref'), { recursive: true });
      symlinkSync(at('operator/u/ref'), at('operator/ours'));
      const left = await inside(
        `cd '${at('operator/u')}' && rm -r ref && ln -s ../.ssh ref`,
        asCoder('operator/u'),
      );
      expect(left).toMatchObject({ stderr: '', code: 0 });
      for (const who of [asCoder('operator/u'), asOthers('operator/u')]) {
        const started = inside(`cat '${at(KEY)}'`, { ...who, ...use });
        await expect(started).rejects.toThrow(SandboxFailed);
        await expect(started).rejects.toThrow(
          /leads to .*\.ssh, out of .*operator\/u, which agents may write to/,
        );
      }
    });

    // srt shows what a link on the way to a folder leads to, and not the link.
    test.skipIf(subject.kind === 'srt')(
      'is followed within it, as tools link to what lies beside them',
      async () => {
        for (const folder of ['21/bin', 'lib/node_modules/npm', 'bin'])
          mkdirSync(at('operator/tools', folder), { recursive: true });
        writeFileSync(at('operator/tools/21/bin/java'), '#!/bin/sh\necho java\n', { mode: 0o755 });
        writeFileSync(at('operator/tools/lib/node_modules/npm/npm'), '#!/bin/sh\necho npm\n', {
          mode: 0o755,
        });
        symlinkSync('21', at('operator/tools/current'));
        symlinkSync('../lib/node_modules/npm/npm', at('operator/tools/bin/npm'));
        const env = { PATH: `${at('operator/tools/current/bin')}:${at('operator/tools/bin')}:${path}` };
        const { said } = await inside('java; npm', { ...asOthers('operator/tools'), env });
        expect(said).toBe('java\nnpm');
      },
    );
  });

  test('is on no network where it was given none', async () => {
    expect((await inside("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '")).said).toBe('lo');
  });

  describe('with a door of the gateway', () => {
    let service: Server;
    let port = 0;
    let seen: NetworkRequest[] = [];
    beforeEach(async () => {
      seen = [];
      service = createServer((_, response) => response.end('of this machine'));
      await once(service.listen(0, '127.0.0.1'), 'listening');
      port = (service.address() as AddressInfo).port;
    });
    afterEach(() => void service.close());

    const open = (network: string[]) =>
      openGateway({}).open({
        at: 'inside',
        network,
        advice: 'grant it',
        onRequest: (one) => void seen.push(one),
      });

    test('goes where it is let, is told where not, and reaches nothing past it', async () => {
      const door = await open([`127.0.0.1:${port}`]);
      const script = `node -e 'const http = require("http"); const proxy = new URL(process.env.http_proxy);
        const ask = (to) => new Promise((done) => http.get({ host: proxy.hostname, port: proxy.port, path: to }, (r) => { let said = ""; r.on("data", (x) => said += x).on("end", () => done(said.trim())); }));
        const connect = () => new Promise((done) => require("net").connect(${port}, "127.0.0.1").on("connect", () => done("reached")).on("error", (e) => done(e.code)));
        (async () => { for (const to of process.argv.slice(1)) console.log(await ask(to)); console.log(await connect()); })();'`;
      const { said, code } = await inside(`${script} http://127.0.0.1:${port}/ http://example.org/; exit 3`, {
        network: door.way!,
      });
      expect(said.split('\n')).toEqual([
        'of this machine',
        expect.stringMatching(/example\.org:80 is not in the network of this command: grant it/),
        'ECONNREFUSED',
      ]);
      expect(code).toBe(3);
      await door.close();
      expect(seen).toMatchObject([
        { host: '127.0.0.1', port, verdict: 'allowed' },
        { host: 'example.org', port: 80, verdict: 'refused' },
      ]);
    });

    test('does without where it is given the network of this machine', async () => {
      const script = `node -e 'require("http").get("http://127.0.0.1:${port}/", (r) => r.pipe(process.stdout))'`;
      expect(await inside(script, { network: 'host' })).toMatchObject({ said: 'of this machine', code: 0 });
    });

    test('uses a secret at its host, and sees only what takes its place', async () => {
      const hosts = await secureHosts();
      const VALUE = 'a-value-nobody-sees';
      hosts.answer = ({ headers }, response) => response.end(`heard ${headers.authorization}`);
      const door = await openGateway({ ...hosts.operator, KEY: VALUE }).open({
        at: 'inside',
        network: [],
        secrets: [{ name: 'API_KEY', from: { env: 'KEY' }, hosts: [`${HOST}:443`] }],
        advice: 'grant it',
      });
      const script = `node -e 'const { request } = require("http"); const proxy = new URL(process.env.https_proxy);
        request({ host: proxy.hostname, port: proxy.port, method: "CONNECT", path: "${HOST}:443" }).on("connect", (_, socket) =>
          require("https").get("https://${HOST}/", { socket, agent: false, headers: { authorization: "Bearer " + process.env.API_KEY } },
            (r) => r.pipe(process.stdout))).end();'`;
      const { said, code } = await inside(script, { network: door.way! });
      expect({ said, code }).toEqual({ said: `heard Bearer ${'*'.repeat(VALUE.length)}`, code: 0 });
      expect(hosts.heard).toMatchObject([{ headers: { authorization: `Bearer ${VALUE}` } }]);
      await door.close();
      await hosts.close();
    });

    test.each([
      ['exit 7', 7],
      ['kill -TERM $$', 143],
      ['cat', 0],
    ])('ends as the command does: %s', async (script, code) => {
      const door = await open([]);
      expect(await inside(script, { network: door.way! })).toMatchObject({ code, problem: null });
      await door.close();
    });

    test('is reached from outside at a port that it listens on', async () => {
      const door = await open([]);
      const script = `exec node -e 'require("http").createServer((q, r) => { r.end("of " + q.url); }).listen(8123, "127.0.0.1", () => console.log("ready"))'`;
      const confined = await confinement().confine(command(script), access({ network: door.way! }));
      const child = started(confined);
      await once(child.stdout!, 'data');
      const reached = await door.reach(8123);
      const asked = ['/one', '/two'].map(async (path) =>
        (await fetch(`http://127.0.0.1:${reached}${path}`)).text(),
      );
      expect(await Promise.all(asked)).toEqual(['of /one', 'of /two']);
      child.kill('SIGKILL');
      await once(child, 'exit');
      await confined.dispose();
      await door.close();
    });
  });
}
