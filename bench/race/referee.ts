/** Plays the faults to one racer, and finds out afterwards what it did, from git and from what agents and tests wrote down. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Scratch, scratch, workflow } from '../scratch.ts';
import { ISSUES } from './issues.ts';
import { type Racer, raceFolder, TESTS } from './racers.ts';

const OUTAGE_MS = 20_000;
const MOST_MS = 15 * 60_000;

export interface Result {
  merged: number;
  /** Issues whose item landed more than once. */
  twice: number;
  /** Commits of trunk whose tests are red, of all that landed; and whether the last one's are. */
  redLandings: number;
  landings: number;
  endsRed: boolean;
  /** Landed trees on which no test ever passed. */
  unverified: number;
  paid: { coder: number; critic: number };
  /** Turns that began in a work tree where another was still at work. */
  beside: number;
  pwned: boolean;
  wallMs: number;
  atFault: string[];
}

export async function race(racer: Racer): Promise<Result> {
  const place = await scratch(workflow('true'));
  try {
    await furnish(place, racer);
    const startedAt = performance.now();
    await play(place, racer);
    return await judge(place, racer, performance.now() - startedAt);
  } finally {
    rmSync(place.root, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function furnish(place: Scratch, racer: Racer): Promise<void> {
  for (const folder of ['race/at-work', 'issues', 'trees', 'repo/items'])
    mkdirSync(join(place.root, folder), { recursive: true });
  writeFileSync(join(raceFolder(place), 'turns'), '');
  writeFileSync(join(raceFolder(place), 'gates'), '');
  writeFileSync(join(place.repo, 'items', '0'), 'id 0\nfine\n');
  cpSync(TESTS, join(place.repo, 'check.sh'));
  racer.prepare(place, ISSUES);
  await place.git(['add', '-A']);
  await place.git(['commit', '-qm', 'The first item']);
  await place.git(['tag', '-a', 'v1', '-m', 'v1']);
}

/** Runs it to its end, and meanwhile does what the agent asks for. */
async function play(place: Scratch, racer: Racer): Promise<void> {
  const at = (name: string): string => join(raceFolder(place), name);
  const giveUpAt = performance.now() + MOST_MS;
  let runner = racer.start(place);
  let outSince: number | null = null;
  const isOver = (): boolean => runner.exitCode !== null || runner.signalCode !== null;
  const killFor = async (issue: number, whileDead: () => Promise<void>): Promise<void> => {
    rmSync(at(`kill-${issue}`));
    racer.kill(runner);
    await until(isOver, giveUpAt);
    writeFileSync(at(`killed-${issue}`), '');
    await whileDead();
    runner = racer.start(place);
  };
  while (!isOver() && performance.now() < giveUpAt) {
    if (existsSync(at('kill-3'))) await killFor(3, async () => {});
    if (existsSync(at('kill-4'))) await killFor(4, () => until(() => !isAtWork(place, 4), giveUpAt));
    if (existsSync(at('outage'))) {
      outSince ??= performance.now();
      if (performance.now() - outSince > OUTAGE_MS) rmSync(at('outage'));
    }
    await pause(50);
  }
  if (!isOver()) racer.kill(runner);
  // What it left behind has time to end.
  await until(() => !ISSUES.some(({ number }) => isAtWork(place, number)), performance.now() + 60_000);
}

async function until(isSo: () => boolean, giveUpAt: number): Promise<void> {
  while (!isSo() && performance.now() < giveUpAt) await pause(50);
}

function isAtWork(place: Scratch, issue: number): boolean {
  const pids = readdirSync(join(raceFolder(place), 'at-work')).filter((name) => name.startsWith(`${issue}.`));
  return pids.some((name) => existsSync(`/proc/${name.split('.')[1]}`));
}

async function judge(place: Scratch, racer: Racer, wallMs: number): Promise<Result> {
  const lines = (name: string): string[] =>
    readFileSync(join(raceFolder(place), name), 'utf8')
      .trim()
      .split('\n')
      .filter(Boolean);
  const turns = lines('turns');
  const green = new Set(
    lines('gates').flatMap((line) => (line.endsWith(' green') ? [line.split(' ')[0]] : [])),
  );
  const count = (line: string): number => turns.filter((one) => one === line).length;
  const all = (end: string): number => turns.filter((one) => one.endsWith(end)).length;

  const trunk = (await place.git(['rev-list', '--reverse', '--first-parent', 'v1..main']))
    .split('\n')
    .filter(Boolean);
  const landed = trunk.map((sha) => lookAt(place, sha));
  const landings = (issue: number): number => landed.filter(({ items }) => items.includes(issue)).length;
  const atFault: string[] = [];
  for (const { number } of ISSUES) {
    const red = landed.some(({ items, isRed }) => isRed && items.includes(number));
    const word = await racer.lastWord(place, number);
    const refused = count(`${number} coder refused`) + count(`${number} coder failed`);
    atFault.push(
      [
        landings(number) === 0
          ? `NOT merged (${word})`
          : `merged${red ? ', RED' : ''}${landings(number) > 1 ? ', TWICE' : ''}`,
        `${count(`${number} coder paid`)} paid`,
        ...(refused > 0 ? [`${refused} refused`] : []),
        ...(count(`${number} coder beside-another`) > 0 ? ['TWO AGENTS in one work tree'] : []),
      ].join(', '),
    );
  }
  return {
    merged: ISSUES.filter(({ number }) => landings(number) > 0).length,
    twice: ISSUES.filter(({ number }) => landings(number) > 1).length,
    redLandings: landed.filter(({ isRed }) => isRed).length,
    landings: landed.length,
    endsRed: landed.at(-1)?.isRed ?? false,
    unverified: landed.filter(({ items, hash }) => items.length > 0 && !green.has(hash)).length,
    paid: { coder: all(' coder paid'), critic: all(' critic paid') },
    beside: all(' beside-another'),
    pwned: existsSync(join(raceFolder(place), 'pwned')) || existsSync(join(place.repo, 'pwned')),
    wallMs,
    atFault,
  };
}

/** One commit of trunk, in a fresh tree: which issues' items came with it, and are its tests red? */
function lookAt(place: Scratch, sha: string): { items: number[]; isRed: boolean; hash: string } {
  const tree = join(place.root, 'referee');
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: place.repo, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  git('worktree', 'add', '--quiet', '--detach', '--force', tree, sha);
  const env = { ...place.env, RACE: join(place.root, 'referee-notes') };
  mkdirSync(env.RACE, { recursive: true });
  const { status } = spawnSync('sh', ['./check.sh'], { cwd: tree, env });
  const hash = execFileSync('sh', ['-c', 'cat items/* | sha1sum | cut -c1-40'], {
    cwd: tree,
    encoding: 'utf8',
  });
  git('worktree', 'remove', '--force', tree);
  const changed = git('diff', '--name-only', `${sha}^1`, sha, '--', 'items')
    .trim()
    .split('\n')
    .filter(Boolean);
  return { items: changed.map((path) => Number(path.split('/')[1])), isRed: status !== 0, hash: hash.trim() };
}
