/**
 * Moving a checkout along with trunk, without ever losing a person's edit.
 *
 * Before trunk moves we hold the checkout's own `index.lock`, so nobody can commit from files that lag behind. The lock
 * says who holds it and from where to where trunk moves: when its holder died, whoever comes next finishes the move if
 * trunk did move, or just removes the lock. The new index is built beside the old one and renamed into place.
 */
import { copyFileSync, existsSync, lstatSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type Changed, changesBetween } from '../../git/changes.ts';
import { nulSeparated } from '../../git/git.ts';
import { isAncestor } from '../../git/objects.ts';
import { isOwnerDead, ownerIdentity } from '../../process/owner.ts';
import { type Checkout, collisions, isAnyMissing, naming, whyBusy, whyEdited } from './checkout.ts';
import { createFile, readIfThere } from './file.ts';

export type Locked =
  | { kind: 'locked'; advance(): Promise<string | null>; release(): void }
  | { kind: 'busy'; why: string };

/** Takes the checkout's lock and makes sure that the move can be made. `busy` leaves everything as it was. */
export async function lockCheckout(checkout: Checkout, from: string, to: string): Promise<Locked> {
  const lock = take(checkout, from, to);
  if (!lock) return { kind: 'busy', why: gitIsBusy(checkout) };
  try {
    copyIndex(checkout, lock);
    const why = whyBusy(checkout) ?? (await whyImpossible(checkout, lock));
    if (why === null) {
      return {
        kind: 'locked',
        advance: () => moveAlong(checkout, lock),
        release: () => letGo(checkout, lock),
      };
    }
    letGo(checkout, lock);
    return { kind: 'busy', why };
  } catch (error) {
    letGo(checkout, lock);
    throw error;
  }
}

/**
 * Finishes or takes back what an earlier landing left, of a dead process or of this one. Call it only while no landing
 * is under way. Answers with what a person should know, or null. The lock of another process that lives, or of another
 * program, is left alone.
 */
export async function settle(checkout: Checkout): Promise<string | null> {
  const lock = readLock(checkout);
  if (!lock || !isLeftOver(lock)) return null;
  const head = (await checkout.git(['rev-parse', 'HEAD'])).stdout.trim();
  if (head !== lock.from && (await isAncestor(checkout.git, lock.to, head))) {
    return advance(checkout, { ...lock, to: head });
  }
  letGo(checkout, lock);
  return null;
}

/**
 * Trunk is at `to`, but the index is still that of `from`, and no lock tells why: a person removed it after a crash.
 * When no file was changed either, there is no doubt about what was meant.
 */
export async function catchUp(checkout: Checkout, from: string, to: string): Promise<string | null> {
  const behind = await checkout.git(['diff-index', '--cached', '--quiet', from], { allow: [1] });
  if (behind.exitCode !== 0) return null;
  const lock = take(checkout, from, to);
  if (!lock) return null;
  await freshIndex(checkout, lock);
  const kept = await notAsBefore(checkout, lock, await changesBetween(checkout.git, from, to));
  if (kept.length === 0 && (await whyBlocked(checkout, lock)) === null) return advance(checkout, lock);
  letGo(checkout, lock);
  return `${checkout.path} was left behind trunk, because files in it were edited; see: git diff HEAD`;
}

/** Why git can't be used in this checkout now; null when it can, also after the next landing has settled it. */
export function whyLocked(checkout: Checkout): string | null {
  return existsSync(lockPath(checkout)) && !isUnsettled(checkout) ? gitIsBusy(checkout) : null;
}

/** What stands in the way of moving this checkout (to `to`, when that is known), asked without taking its lock. */
export async function whyImmovable(
  checkout: Checkout,
  from: string,
  to: string | null,
): Promise<string | null> {
  const busy = whyBusy(checkout);
  if (busy !== null || to === null) return busy;
  const untaken: Lock = { purpose: PURPOSE, from, to, owner: ownerIdentity() };
  try {
    copyIndex(checkout, untaken);
    return await whyImpossible(checkout, untaken);
  } finally {
    rmSync(privateIndex(checkout, untaken), { force: true });
  }
}

/** An earlier landing was cut short here. */
export function isUnsettled(checkout: Checkout): boolean {
  const lock = readLock(checkout);
  return lock !== null && isLeftOver(lock);
}

const PURPOSE = 'forge-loop is moving this checkout to a merged commit';
const lockSchema = z.object({
  purpose: z.literal(PURPOSE),
  from: z.string(),
  to: z.string(),
  owner: z.string(),
});
type Lock = z.infer<typeof lockSchema>;

const lockPath = (checkout: Checkout): string => join(checkout.gitDir, 'index.lock');
const privateIndex = (checkout: Checkout, lock: Lock): string =>
  join(checkout.gitDir, `forge-loop-index.${lock.owner.slice(lock.owner.lastIndexOf('/') + 1)}`);

function take(checkout: Checkout, from: string, to: string): Lock | null {
  const lock: Lock = { purpose: PURPOSE, from, to, owner: ownerIdentity() };
  return createFile(lockPath(checkout), `${JSON.stringify(lock)}\n`) ? lock : null;
}

function readLock(checkout: Checkout): Lock | null {
  try {
    return lockSchema.parse(JSON.parse(readIfThere(lockPath(checkout)) ?? ''));
  } catch {
    return null;
  }
}

/** A lock that was removed and taken by another program meanwhile is not ours to remove. */
function letGo(checkout: Checkout, lock: Lock): void {
  rmSync(privateIndex(checkout, lock), { force: true });
  if (readLock(checkout)?.owner === lock.owner) rmSync(lockPath(checkout), { force: true });
}

function gitIsBusy(checkout: Checkout): string {
  return `git is busy in ${checkout.path}; if it is not, delete ${lockPath(checkout)}.`;
}

/** Only one landing runs at a time, so one of this very process is over as well when it is looked at. */
function isLeftOver(lock: Lock): boolean {
  const process = (owner: string) => owner.slice(0, owner.lastIndexOf('/'));
  return process(lock.owner) === process(ownerIdentity()) || isOwnerDead(lock.owner);
}

/**
 * What stands in the way of the move, told before anything has moved; null when nothing does. Git says so at once in most
 * cases. It doubts files that were only touched, and names none: then it looks at all of them.
 */
async function whyImpossible(checkout: Checkout, lock: Lock): Promise<string | null> {
  const change = await changesBetween(checkout.git, lock.from, lock.to);
  if (!isAnyMissing(checkout, change) && (await whyBlocked(checkout, lock)) === null) return null;
  return (
    (await whyEdited(checkout, privateIndex(checkout, lock), change)) ?? (await whyBlocked(checkout, lock))
  );
}

/** Files that the move would overwrite, or what git says against it. */
async function whyBlocked(checkout: Checkout, lock: Lock): Promise<string | null> {
  const inTheWay = await collisions(checkout, await changesBetween(checkout.git, lock.from, lock.to));
  if (inTheWay.length > 0) {
    return `the merge would overwrite ${naming(inTheWay)} in ${checkout.path}; move it away or delete it.`;
  }
  const env = { GIT_INDEX_FILE: privateIndex(checkout, lock) };
  const tried = await checkout.git(['read-tree', '-n', '-m', '-u', lock.from, lock.to], {
    env,
    allow: [1, 128],
  });
  return tried.exitCode === 0 ? null : `${checkout.path} can't take the merge: ${tried.stderr.trim()}`;
}

/** The move that was just found possible. Whatever happened to the files since is git's or `advance`'s to notice. */
async function moveAlong(checkout: Checkout, lock: Lock): Promise<string | null> {
  const env = { GIT_INDEX_FILE: privateIndex(checkout, lock) };
  const moved = await checkout.git(['read-tree', '-m', '-u', lock.from, lock.to], { env, allow: [1, 128] });
  if (moved.exitCode !== 0) return advance(checkout, lock);
  install(checkout, lock);
  return null;
}

/**
 * A changed path that no longer looks as it did before the move is kept as it stands, and only its index entry moves:
 * it is either already the new file, or somebody's edit.
 */
async function advance(checkout: Checkout, lock: Lock): Promise<string | null> {
  const { git } = checkout;
  await freshIndex(checkout, lock);
  const env = { GIT_INDEX_FILE: privateIndex(checkout, lock) };
  const kept = await notAsBefore(checkout, lock, await changesBetween(git, lock.from, lock.to));
  const input = indexInfo(kept, (path) => path.to);
  await git(['update-index', '-z', '--index-info'], { env, input });
  const from = kept.length === 0 ? lock.from : await treeWith(checkout, lock, input);
  const moved = await git(['read-tree', '-m', '-u', from, lock.to], { env, allow: [1, 128] });
  if (moved.exitCode !== 0) {
    letGo(checkout, lock);
    return `${checkout.path} could not follow trunk: ${moved.stderr.trim()}`;
  }
  await git(['update-index', '-q', '--refresh'], { env, allow: [1] });
  const differing = new Set(nulSeparated((await git(['diff-files', '--name-only', '-z'], { env })).stdout));
  install(checkout, lock);

  const edited = kept.map((one) => one.path).filter((path) => differing.has(path));
  if (edited.length === 0) return null;
  return `${naming(edited)} in ${checkout.path} was edited meanwhile and left as it is; it lacks the merged change.`;
}

function install(checkout: Checkout, lock: Lock): void {
  renameSync(privateIndex(checkout, lock), join(checkout.gitDir, 'index'));
  letGo(checkout, lock);
}

function copyIndex(checkout: Checkout, lock: Lock): void {
  const index = statSync(join(checkout.gitDir, 'index'), { throwIfNoEntry: false });
  if (!index) return;
  const copy = privateIndex(checkout, lock);
  copyFileSync(join(checkout.gitDir, 'index'), copy);
  // git doubts entries as young as the index itself; a copy that looked younger would take an edit for a clean file.
  utimesSync(copy, index.atimeMs / 1000, Math.floor(index.mtimeMs) / 1000);
}

async function freshIndex(checkout: Checkout, lock: Lock): Promise<void> {
  copyIndex(checkout, lock);
  const env = { GIT_INDEX_FILE: privateIndex(checkout, lock) };
  await checkout.git(['update-index', '-q', '--refresh'], { env, allow: [1] });
}

/** The changed paths whose file is not the one of `from`. A missing file is nobody's edit: it is written again. */
async function notAsBefore(checkout: Checkout, lock: Lock, changed: readonly Changed[]): Promise<Changed[]> {
  const scratch = `${privateIndex(checkout, lock)}.before`;
  const env = { GIT_INDEX_FILE: scratch };
  try {
    const existed = changed.filter((one) => one.from !== null);
    await checkout.git(['update-index', '-z', '--index-info'], {
      env,
      input: indexInfo(existed, (one) => one.from),
    });
    await checkout.git(['update-index', '-q', '--refresh'], { env, allow: [1] });
    const answer = await checkout.git(['diff-files', '--name-only', '-z', '--diff-filter=d'], { env });
    const edited = new Set(nulSeparated(answer.stdout));
    const isThere = (path: string) =>
      lstatSync(join(checkout.path, path), { throwIfNoEntry: false }) !== undefined;
    return changed.filter((one) => (one.from === null ? isThere(one.path) : edited.has(one.path)));
  } finally {
    rmSync(scratch, { force: true });
  }
}

/** The tree of `from` with the kept paths already as in `to`: between these two, git has no reason to look at them. */
async function treeWith(checkout: Checkout, lock: Lock, input: string): Promise<string> {
  const scratch = `${privateIndex(checkout, lock)}.tree`;
  const env = { GIT_INDEX_FILE: scratch };
  try {
    await checkout.git(['read-tree', lock.from], { env });
    await checkout.git(['update-index', '-z', '--index-info'], { env, input });
    return (await checkout.git(['write-tree'], { env })).stdout.trim();
  } finally {
    rmSync(scratch, { force: true });
  }
}

/** The form `update-index --index-info` reads: mode 0 removes an entry. */
function indexInfo(changed: readonly Changed[], side: (one: Changed) => string | null): string {
  const absent = (one: Changed) =>
    (one.from ?? one.to)!.replace(/./g, (digit) => (digit === ' ' ? ' ' : '0'));
  return changed.map((one) => `${side(one) ?? absent(one)}\t${one.path}\0`).join('');
}
