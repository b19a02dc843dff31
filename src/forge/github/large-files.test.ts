import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasLfs } from '../../../test/support/lfs.ts';
import { type Scratch, scratch } from '../../../test/support/local-people.ts';
import { ForgeUnavailable } from '../../errors.ts';
import { openGit } from '../../git/git.ts';
import { uploadObjects } from './large-files.ts';

// git-lfs is a program of its own, which not every machine has.
describe.skipIf(!hasLfs)('uploading what is in Git LFS', () => {
  let s: Scratch;
  let server: Server;
  let url: string;
  let refusal: { status: number; body: { message: string } } | null;
  let seen: { passwords: Set<string>; uploaded: Map<string, string> };

  beforeEach(async () => {
    s = await scratch();
    s.sh(['lfs', 'install', '--local', '--skip-repo']);
    s.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n');
    s.write('old.bin', 'old');
    s.sh(['add', '.']);
    s.sh(['commit', '-q', '-m', 'Old']);
    refusal = null;
    seen = { passwords: new Set(), uploaded: new Map() };
    server = createServer((request, response) => {
      answer(request).then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/vnd.git-lfs+json' });
        response.end(JSON.stringify(body));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ada/repo.git`;
  });
  afterEach(() => {
    server.close();
    s.dispose();
  });

  /** As much of the batch API as an upload needs. */
  async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const body = await text(request);
    const path = request.url ?? '';
    if (path.startsWith('/upload/')) {
      seen.uploaded.set(path.slice('/upload/'.length), body);
      return { status: 200, body: {} };
    }
    if (!path.endsWith('/objects/batch')) return { status: 404, body: { message: 'none' } };
    const basic = /^Basic (.*)$/.exec(request.headers.authorization ?? '')?.[1];
    if (basic === undefined) return { status: 401, body: { message: 'who are you' } };
    seen.passwords.add(Buffer.from(basic, 'base64').toString());
    if (refusal) return refusal;
    const { objects } = JSON.parse(body) as { objects: { oid: string; size: number }[] };
    const upload = ({ oid }: { oid: string }) => ({ href: `${new URL(url).origin}/upload/${oid}` });
    return {
      status: 200,
      body: { objects: objects.map((one) => ({ ...one, actions: { upload: upload(one) } })) },
    };
  }

  const upload = async (known: string[]) =>
    uploadObjects({ git: await openGit(s.root), url, token: async () => 'sesame' }, 'HEAD', known);

  it('sends the objects of new commits with the token, and no others', async () => {
    const before = s.sh(['rev-parse', 'HEAD']).trim();
    s.write('new.bin', 'new');
    s.write('notes.txt', 'text');
    s.sh(['add', '.']);
    s.sh(['commit', '-q', '-m', 'New']);
    await upload([before]);
    expect([...seen.uploaded.values()]).toEqual(['new']);
    expect([...seen.passwords]).toEqual(['x-access-token:sesame']);
    seen.uploaded.clear();
    await upload([s.sh(['rev-parse', 'HEAD']).trim()]);
    expect(seen.uploaded.size).toBe(0);
  });

  it.each(['insteadOf', 'pushInsteadOf'])(
    'asks the forge itself, whatever the operator has git stand in for it by %s',
    async (diversion) => {
      s.sh(['config', `url.ssh://git@nowhere.invalid/.${diversion}`, `${new URL(url).origin}/ada/`]);
      await upload([]);
      expect([...seen.uploaded.values()]).toEqual(['old']);
    },
  );

  it.each([
    [422, 'This repository is over its data quota.', true],
    [403, 'This repository exceeded its LFS budget.', true],
    [503, 'Come back later.', false],
  ])('tells a refusal from an outage: %i', async (status, message, isRefused) => {
    refusal = { status, body: { message } };
    const answer = await upload([]).catch((problem: Error) => problem);
    expect(answer instanceof ForgeUnavailable).toBe(!isRefused);
    if (isRefused) expect(answer).toContain(message);
  });

  it('offers the token to no other host that the checkout names, and says what failed', async () => {
    const { port } = server.address() as AddressInfo;
    s.write('.lfsconfig', `[lfs]\n\turl = http://localhost:${port}/elsewhere\n\tlocksverify = false\n`);
    await expect(upload([])).rejects.toThrow(/Git LFS could not upload the objects of/);
    expect([...seen.passwords]).toEqual([]);
  });
});
