import { cp, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keyOfPath } from './paths.ts';
import { keepKey, type RepositoryKey, readKey } from './repository-key.ts';

let dir: string;
let states: string;
beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'forge-key-')));
  states = join(dir, 'state');
  await mkdir(join(at('app'), '.git'), { recursive: true });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const at = (name: string): string => join(dir, name);
const gitDir = (name: string): string => join(dir, name, '.git');
const look = (name: string): RepositoryKey => readKey(gitDir(name), at(name), states);
/** As somebody who works there does. */
const use = (name: string): RepositoryKey => {
  const found = look(name);
  keepKey(gitDir(name), found, states);
  return found;
};
const copy = (from: string, to: string): Promise<void> => cp(at(from), at(to), { recursive: true });

describe('the key of a repository', () => {
  it('follows from its path until it is kept, so that what was there before is found', () => {
    expect(look('app')).toEqual({ key: keyOfPath(at('app')), former: [], copyOf: null });
    expect(use('app')).toEqual(look('app'));
  });

  it('stays when the folder is moved, and remembers where it was', async () => {
    const { key } = use('app');
    await rename(at('app'), at('elsewhere'));
    expect(use('elsewhere')).toEqual({ key, former: [gitDir('app')], copyOf: null });
    expect(use('elsewhere')).toEqual({ key, former: [gitDir('app')], copyOf: null });
    await rename(at('elsewhere'), at('third'));
    expect(use('third')).toEqual({ key, former: [gitDir('app'), gitDir('elsewhere')], copyOf: null });
    await rename(at('third'), at('app'));
    expect(use('app')).toEqual({ key, former: [gitDir('elsewhere'), gitDir('third')], copyOf: null });
  });

  it('stays when the old path leads to the new one', async () => {
    const { key } = use('app');
    await rename(at('app'), at('elsewhere'));
    await symlink(at('elsewhere'), at('app'));
    expect(use('elsewhere')).toMatchObject({ key, copyOf: null });
  });

  it('is another for a copy, whose original keeps it', async () => {
    const { key } = use('app');
    await copy('app', 'copied');
    expect(look('copied')).toEqual({ key: keyOfPath(at('copied')), former: [], copyOf: gitDir('app') });
    expect(use('copied').key).not.toBe(key);
    expect(look('copied')).toEqual({ key: keyOfPath(at('copied')), former: [], copyOf: null });
    expect(use('app').key).toBe(key);
  });

  it('is another for a copy also when its original has moved since', async () => {
    const { key } = use('app');
    await copy('app', 'copied');
    await rename(at('app'), at('elsewhere'));
    expect(use('elsewhere').key).toBe(key);
    expect(look('copied')).toMatchObject({ key: keyOfPath(at('copied')), copyOf: gitDir('elsewhere') });
  });

  it('goes to the copy when the original is no more', async () => {
    const { key } = use('app');
    await copy('app', 'copied');
    await rm(at('app'), { recursive: true });
    expect(use('copied')).toEqual({ key, former: [gitDir('app')], copyOf: null });
  });

  it('is not taken from one that moved away by another at its old path', async () => {
    const { key } = use('app');
    await rename(at('app'), at('elsewhere'));
    expect(use('elsewhere').key).toBe(key);
    await mkdir(gitDir('app'), { recursive: true });
    const other = use('app').key;
    expect(other).not.toBe(key);
    expect(other).toMatch(/^app-[0-9a-f]{8}$/);
    expect(look('app').key).toBe(other);
  });

  it('follows from the path when what was kept can not be read', async () => {
    use('app');
    await writeFile(join(gitDir('app'), 'forge-loop', 'repository.json'), '{"key":"../../x"');
    expect(look('app').key).toBe(keyOfPath(at('app')));
    await writeFile(
      join(gitDir('app'), 'forge-loop', 'repository.json'),
      '{"key":"../../x","gitDir":"/","former":[]}',
    );
    expect(look('app').key).toBe(keyOfPath(at('app')));
  });
});
