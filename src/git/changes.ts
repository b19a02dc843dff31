/** Which paths differ between two trees, and what each side has there. */
import { type Git, nulSeparated } from './git.ts';
import { rememberRecent } from './recent.ts';

export interface Changed {
  path: string;
  /** Mode and blob before and after; null where the path does not exist. */
  from: string | null;
  to: string | null;
}

export async function changesBetween(git: Git, from: string, to: string): Promise<readonly Changed[]> {
  const trees = await git.resolveAll([`${from}^{tree}`, `${to}^{tree}`]);
  if (trees[0] === trees[1]) return [];
  const [before, after] = [trees[0] ?? from, trees[1] ?? to];
  return recently(git, `${before} ${after}`, async () => {
    const args = [
      'diff-tree',
      '-r',
      '-z',
      '--no-renames',
      '--raw',
      '--ignore-submodules=none',
      before,
      after,
    ];
    return parse(nulSeparated((await git(args)).stdout));
  });
}

const recently = rememberRecent<readonly Changed[]>((changed) => changed.length <= 5000);

function parse(raw: readonly string[]): Changed[] {
  const changed: Changed[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [fromMode = '', toMode = '', fromBlob, toBlob] = raw[at]!.slice(1).split(' ');
    changed.push({
      path: raw[at + 1]!,
      from: /^0+$/.test(fromMode) ? null : `${fromMode} ${fromBlob}`,
      to: /^0+$/.test(toMode) ? null : `${toMode} ${toBlob}`,
    });
  }
  return changed;
}
